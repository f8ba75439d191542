"""``report``: health, gain, spend and the library's state."""

import json
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli.options import DatabaseOption

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.i18n import Translator


_Day = partial(typer.Option, formats=["%Y-%m-%d"])


def report_command(
    database: DatabaseOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one HTML page that needs nothing else.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the four health metrics as CSV.")] = None,
    spend_csv: Annotated[
        Path | None, typer.Option(help="Write spend by day, purpose, model, agent and round as CSV.")
    ] = None,
    since: Annotated[datetime | None, _Day(help="First day of the HTML page and the CSV files, UTC.")] = None,
    until: Annotated[datetime | None, _Day(help="Last day of them.")] = None,
) -> None:
    """Show how the agent does, what the library gains, and what it cost.

    As text: the newest round and outside episodes. As JSON: all rounds.

    For example:

    python -m core report

    python -m core report --json > figures.json

    python -m core report --html march.html --since 2026-03-01 --until 2026-03-31
    """
    files = {"html": html, "csv": csv, "spend_csv": spend_csv}
    if any(files.values()):
        _write_files(database, {kind: path for kind, path in files.items() if path is not None}, since, until)
        return
    from core.cli.edge import opened, settings_for, translator
    from core.clock import utc_now
    from core.views.report import report

    with opened(settings_for(database)) as store, store.read() as session:
        figures = report(session, now=utc_now())
    if as_json:
        typer.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    t = translator()
    _show_health(t, figures["health"])
    typer.echo(gain_line(t, figures["gain"]))
    _show_spend(t, figures["spend"])
    typer.echo(
        t(
            "Rules: {active} active, {candidate} candidates, {probation} on probation, {archived} archived; "
            "{conflicts} open conflicts.",
            **{state: t.number(n) for state, n in figures["rules"].items()},
            conflicts=t.number(figures["conflicts_open"]),
        )
    )
    typer.echo(
        t(
            "{episodes} episodes, {rounds} finished rounds.",
            episodes=t.number(figures["episodes"]),
            rounds=t.number(figures["rounds"]),
        )
    )


def _write_files(
    database: str | None, files: "Mapping[str, Path]", since: datetime | None, until: datetime | None
) -> None:
    from core.cli.edge import opened, settings_for, translator
    from core.cli.report_files import health_csv, html_page, spend_csv
    from core.clock import utc_now
    from core.errors import UserError
    from core.views.period import Period, period_figures

    if since is not None and until is not None and until < since:
        raise UserError("The last day, {until}, is before the first, {since}.", since=since.date(), until=until.date())
    period = Period(since and since.date(), until and until.date())
    t = translator()
    with opened(settings_for(database)) as store, store.read() as session:
        figures = period_figures(session, period, now=utc_now())
    texts = {
        "html": lambda: html_page(t, figures),
        "csv": lambda: health_csv(figures.health),
        "spend_csv": lambda: spend_csv(figures.lines),
    }
    for kind, path in files.items():
        try:
            path.write_text(texts[kind](), encoding="utf-8")
        except OSError as error:
            raise UserError("{path} cannot be written: {problem}", path=path, problem=error.strerror) from error
        typer.echo(t("Written: {path}", path=path))


def gain_line(t: "Translator", gain: "Mapping[str, Any] | None") -> str:
    """Say the gain in a sentence; ``gain`` has the keys of the report's."""
    if gain is None:
        return t("Gain over the empty library: not measured yet.")
    line = t(
        "Gain over the empty library (round {round}): {gain}; {repaired} tasks repaired, "
        "{regressed} regressed, McNemar p {p}, noise floor {noise}.",
        round=gain["round"],
        gain=t.interval(gain["value"], gain["low"], gain["high"], gain["n"]),
        repaired=t.number(gain["repaired"]),
        regressed=t.number(gain["regressed"]),
        p=t.number(gain["mcnemar_p"], 4),
        noise=t.number(gain["noise_floor"], 3),
    )
    if gain["random_arm"] is None:
        return line
    return line + " " + t("As many random rules: {value}.", value=t.signed(gain["random_arm"]))


def _show_health(t: "Translator", rows: "Sequence[Mapping[str, Any]]") -> None:
    from core.cli.edge import table
    from core.views.names import ARM_NAMES, SPLIT_NAMES

    newest = max((row["round"] for row in rows if row["round"] is not None), default=None)
    names = {
        "success_rate": t("task success rate"),
        "mean_turns": t("mean turns"),
        "tool_error_rate": t("tool-call error rate"),
        "compliance_rate": t("rule compliance"),
    }
    table(
        t("Health, with 95 % intervals"),
        [t("Metric"), t("Round"), t("Split"), t("Arm"), t("Value")],
        [
            [
                names[row["metric"]],
                "–" if row["round"] is None else t.number(row["round"]),
                t(SPLIT_NAMES.get(row["split"], row["split"])),
                t(ARM_NAMES.get(row["arm"], row["arm"])),
                t.interval(row["value"], row["low"], row["high"], row["n"]),
            ]
            for row in rows
            if row["round"] in (None, newest)
        ],
    )


def _show_spend(t: "Translator", spend: "Mapping[str, Any]") -> None:
    from core.cli.edge import table

    names = {"act": t("act"), "digest": t("digest"), "reflect": t("reflect"), "judge": t("judge")}
    columns = [
        t("Purpose"),
        t("Calls"),
        t("Requests"),
        t("Input tokens"),
        t("Cached"),
        t("Output tokens"),
        t("USD"),
    ]
    rows = [
        [
            names.get(purpose, purpose),
            *(t.number(usage[key]) for key in ("calls", "requests", "input_tokens", "cached_tokens", "output_tokens")),
            t.money(usage["cost_usd"], 4),
        ]
        for purpose, usage in spend["by_purpose"].items()
    ]
    table(t("Spend"), columns, rows)
    typer.echo(
        t(
            "Spend: {total} in all, {today} today; retries {retries} of calls, cached {cached} of input "
            "tokens; {unknown} calls of unknown price; simulated {simulated} of calls.",
            total=t.money(spend["total_usd"], 4),
            today=t.money(spend["today_usd"], 4),
            retries=t.percent(spend["retry_share"], 1),
            cached=t.percent(spend["cache_share"], 1),
            unknown=t.number(spend["unknown_price_calls"]),
            simulated=t.percent(spend["simulated_share"]),
        )
    )
