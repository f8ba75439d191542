"""``run``: learning rounds without the pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from core.cli.options import DatabaseOption

if TYPE_CHECKING:
    from core.db import Database


def run_command(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to run; an unfinished one is finished first.")] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of sampling, rollouts, hold-outs and the simulated model.")
    ] = None,
    database: DatabaseOption = None,
    approve: Annotated[
        Literal["required", "auto"] | None,
        typer.Option(help="required: verified rules wait for an expert; auto: they go live by themselves."),
    ] = None,
    environment: Annotated[
        str | None, typer.Option(metavar="NAME", help="incidents, recorded:NAME or module:Class.")
    ] = None,
    random_arm: Annotated[
        bool, typer.Option("--random-arm/--no-random-arm", help="Also evaluate as many random rules.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show where in the program an error came from.")] = False,
) -> None:
    """Run learning rounds, then show the held-out score with and without the library.

    Without OPENAI_API_KEY a simulated model answers.
    Ctrl-C stops cleanly; the same command goes on from there.

    For example:

    python -m core run --rounds 5 --seed 1

    python -m core run --rounds 5 --approve auto --database sqlite:///try.db
    """
    from core.cli.edge import opened, settings_for
    from core.cli.progress import shown_progress
    from core.clock import utc_now
    from core.learning.service import run_rounds

    settings = settings_for(
        database,
        loop=None if seed is None else {"seed": seed},
        simulation=None if seed is None else {"seed": seed},
        lifecycle=None if approve is None else {"approval": approve},
        environment=None if environment is None else {"name": environment},
    )
    with opened(settings) as store:
        with _explained(verbose), shown_progress(rounds) as progress:
            run_rounds(
                settings,
                store,
                rounds=rounds,
                clock=utc_now,
                progress=progress,
                random_arm=random_arm,
                pinned=frozenset() if approve is None else frozenset({"lifecycle.approval"}),
            )
        _show_outcome(store)


@contextmanager
def _explained(verbose: bool) -> Iterator[None]:
    """Say in plain words what ended a run early, and how it goes on."""
    from core.errors import RulewrightError, RunFailedError
    from core.learning.bench import InterruptedRound

    try:
        yield
    except InterruptedRound:
        raise RunFailedError(
            "Another process took over the loop on this database. The same command resumes the round."
        ) from None
    except KeyboardInterrupt:
        raise RunFailedError(
            "Stopped. What was finished is kept; the same command resumes the round where it stopped."
        ) from None
    except RulewrightError:
        raise
    except Exception as error:
        if verbose:
            raise
        raise RunFailedError(
            "The run broke down: {kind}: {problem}. What was finished is kept; the same command goes on from "
            "there. --verbose shows where it came from.",
            kind=type(error).__name__,
            problem=str(error),
        ) from error


def _show_outcome(store: "Database") -> None:
    from core.cli.edge import translator
    from core.cli.report_command import gain_line
    from core.clock import utc_now
    from core.views.health import ablation_scores
    from core.views.report import report

    t = translator()
    with store.read() as session:
        scores = ablation_scores(session)
        figures = report(session, now=utc_now())
    if scores is not None:
        without, with_library = scores
        typer.echo(
            t(
                "Held-out success rate: {without} without the library, {with_library} with it.",
                without=t.interval(without.value, without.low, without.high, without.n),
                with_library=t.interval(with_library.value, with_library.low, with_library.high, with_library.n),
            )
        )
    typer.echo(gain_line(t, figures["gain"]))
    typer.echo(
        t(
            "Spend: {total} in all, {today} today, {calls} calls.",
            total=t.money(figures["spend"]["total_usd"], 4),
            today=t.money(figures["spend"]["today_usd"], 4),
            calls=t.number(figures["spend"]["calls"]),
        )
    )
    unknown = figures["spend"]["unknown_price_calls"]
    if unknown:
        typer.echo(
            t("The price of {unknown} of these calls is unknown: they are not in the sum.", unknown=t.number(unknown))
        )
