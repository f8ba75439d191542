"""The commands, and the one place where an error becomes a message and an exit code.

Exit codes: 0 done; 2 bad usage or input; 1 the work itself failed or was stopped.
Command modules import what they need inside their function, so that ``--help`` answers at once.
"""

import sys
from collections.abc import Sequence

import typer

from core.cli.import_command import import_command
from core.cli.plan_command import plan_command
from core.cli.positions_command import positions_command
from core.cli.report_command import report_command
from core.cli.reset_command import reset_command
from core.cli.run_command import run_command
from core.errors import RulewrightError, UserError

_EPILOG = """
For example:

python -m core run --rounds 5 --seed 1

python -m core report --json

python -m core import episodes.jsonl --environment airline

python -m core plan tasks=2400 retry_share=0.2

Exit codes: 0 done, 2 bad usage or input, 1 the work failed or was stopped.
"""

app = typer.Typer(
    name="python -m core",
    help="Rulewright without its pages: learn rules, import episodes, report, plan spend.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run_command)
app.command("import")(import_command)
app.command("report")(report_command)
app.command("plan")(plan_command)
app.command("check-positions")(positions_command)
app.command("demo-reset")(reset_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit.

    Args:
        arguments: without the program's name; None: the process's own.

    Raises:
        SystemExit: always, with the exit code.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="python -m core")
    except RulewrightError as error:
        from core.cli.edge import translator

        typer.echo(translator().error(error), err=True)
        sys.exit(2 if isinstance(error, UserError) else 1)
