"""``import``: recorded episodes in, from a JSONL file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.options import DatabaseOption

if TYPE_CHECKING:
    from core.db import Database
    from core.episodes.importing import ImportReport
    from core.i18n import Translator


def import_command(
    file: Annotated[Path, typer.Argument(help="JSONL, or JSONL compressed with gzip (.gz); one episode a line.")],
    database: DatabaseOption = None,
    environment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name to keep them under. Default: the file's name up to the first - or dot."
        ),
    ] = None,
) -> None:
    """Import recorded episodes: OpenAI chat messages with a reward.

    A line that cannot be used is named on standard error; the rest is kept,
    and the exit code is then 2. Importing the same file again adds nothing.

    For example:

    python -m core import airline.jsonl.gz --environment airline

    python -m core run --environment recorded:airline   (then learn from them)
    """
    from core.cli.edge import opened, settings_for, translator
    from core.cli.progress import counted_lines
    from core.clock import utc_now
    from core.episodes.importing import import_recorded

    settings, t = settings_for(database), translator()
    with opened(settings) as store:
        with counted_lines(t("Lines read")) as progress:
            done = import_recorded(
                store, file, settings=settings, clock=utc_now, environment=environment, progress=progress
            )
        for problem in done.problems:
            typer.echo(t(problem.template, **problem.values), err=True)
        if done.problem_count:
            typer.echo(t("Lines left out: {n}.", n=t.number(done.problem_count)), err=True)
        _show_outcome(t, store, done)
    if done.problem_count:
        raise typer.Exit(2)


def _show_outcome(t: "Translator", store: "Database", done: "ImportReport") -> None:
    from core.views.health import health_rows

    typer.echo(
        t(
            "{environment}: {added} episodes added, {already} already there, {tasks} tasks.",
            environment=done.environment,
            added=t.number(done.added),
            already=t.number(done.already_there),
            tasks=t.number(done.tasks),
        )
    )
    with store.read() as session:
        rows = health_rows(session, environment=done.environment)
    for split in sorted({row.split for row in rows}):
        metrics = {row.metric: row for row in rows if (row.split, row.arm) == (split, "external")}
        success, turns, errors = (metrics.get(name) for name in ("success_rate", "mean_turns", "tool_error_rate"))
        if success is None or turns is None:
            continue
        typer.echo(
            t(
                "All of {environment}, {split}: success rate {success}; {turns} turns; {calls} tool calls, "
                "{failed} failed.",
                environment=done.environment,
                split=split,
                success=t.interval(success.value, success.low, success.high, success.n, 3),
                turns=t.number(turns.value * turns.n),
                calls=t.number(errors.n if errors else 0),
                failed=t.number(errors.value * errors.n if errors else 0),
            )
        )
