"""The report as files: one HTML page that needs nothing else, and a table for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from html import escape

from core.i18n import Translator
from core.text import for_spreadsheet
from core.views.health import HealthRow, standing_rows
from core.views.names import ARM_NAMES, SPLIT_NAMES
from core.views.period import Period, PeriodFigures
from core.views.spend import SpendLine, Usage

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 2rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; }
.wide { overflow-x: auto; }
svg { width: 100%; height: auto; }
"""
_NAMES = ("success_rate", "mean_turns", "tool_error_rate", "compliance_rate")
_COLUMNS = ("round", "split", "arm", "metric", "value", "low", "high", "n")
_WIDTH, _HEIGHT, _EDGE = 640.0, 180.0, 24.0


def health_csv(rows: Iterable[HealthRow]) -> str:
    """Return the four metrics as CSV with a heading; an empty round stands for none."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: getattr(row, name) for name in _COLUMNS} for row in rows)
    return out.getvalue()


def spend_csv(lines: Iterable[SpendLine]) -> str:
    """Return what was spent by day, purpose, model, agent and round as CSV; an empty round or agent stands for none."""
    out = io.StringIO()
    key = [field.name for field in fields(SpendLine) if field.name != "usage"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*key, *(field.name for field in fields(Usage))])
    writer.writerows([*(_cell(getattr(line, name)) for name in key), *astuple(line.usage)] for line in lines)
    return out.getvalue()


def _cell(value: object) -> object:
    return for_spreadsheet(value) if isinstance(value, str) else value


def html_page(t: Translator, figures: PeriodFigures) -> str:
    """Return a page without scripts, fonts or pictures from elsewhere."""
    title = t("Rulewright report, {period}", period=_period(t, figures.period))
    parts = [f"<h1>{escape(title)}</h1>", _summary(t, figures), *_health(t, figures), _gains(t, figures)]
    parts += [_changes(t, figures), _spend(t, figures)]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    head += f"<style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="{t.language}"><head>{head}</head>\n<body>{body}</body></html>\n'


def _period(t: Translator, period: Period) -> str:
    if period.since is None and period.until is None:
        return t("all rounds")
    return f"{period.since or '…'} – {period.until or '…'}"


def _summary(t: Translator, figures: PeriodFigures) -> str:
    spent = figures.spent
    return _paragraph(
        t(
            "{rounds} rounds; {usd} spent on {calls} model calls.",
            rounds=t.number(len(figures.rounds)),
            usd=t.money(spent.cost_usd, 4),
            calls=t.number(spent.calls),
        )
    )


def _health(t: Translator, figures: PeriodFigures) -> list[str]:
    names = {
        "success_rate": t("task success rate"),
        "mean_turns": t("mean turns"),
        "tool_error_rate": t("tool-call error rate"),
        "compliance_rate": t("rule compliance"),
    }
    parts = [_heading(t("Health, with 95 % intervals"))]
    for metric in _NAMES:
        rows = [row for row in figures.health if row.metric == metric]
        parts.append(f"<h3>{escape(names[metric])}</h3>")
        parts.append(_chart(standing_rows(rows, figures.gains)))
        parts.append(
            _table(
                (t("Round"), t("Split"), t("Arm"), t("Value")),
                [
                    (
                        t.number(row.round),
                        t(SPLIT_NAMES.get(row.split, row.split)),
                        t(ARM_NAMES.get(row.arm, row.arm)),
                        t.interval(row.value, row.low, row.high, row.n),
                    )
                    for row in rows
                ],
                t("Nothing was measured."),
            )
        )
    return parts


def _gains(t: Translator, figures: PeriodFigures) -> str:
    rows = [
        (
            t.number(one.round),
            t.interval(one.value, one.low, one.high, one.n),
            t.number(one.repaired),
            t.number(one.regressed),
            t.number(one.noise_floor, 3),
        )
        for one in figures.gains
    ]
    columns = (t("Round"), t("Gain"), t("Repaired"), t("Regressed"), t("Noise floor"))
    return _heading(t("Gain over the empty library")) + _table(columns, rows, t("Nothing was measured."))


def _changes(t: Translator, figures: PeriodFigures) -> str:
    rows = [tuple(map(t.number, (one.round, one.created, one.edited, one.live, one.left))) for one in figures.changes]
    columns = (t("Round"), t("New"), t("Edited"), t("Went live"), t("Left"))
    return _heading(t("Rules")) + _table(columns, rows, t("Nothing changed."))


def _spend(t: Translator, figures: PeriodFigures) -> str:
    rows = [
        (
            day,
            *map(t.number, (one.calls, one.input_tokens, one.cached_tokens, one.output_tokens)),
            t.money(one.cost_usd, 4),
        )
        for day, one in figures.spend.items()
    ]
    columns = (t("Day"), t("Calls"), t("Input tokens"), t("Cached"), t("Output tokens"), t("USD"))
    return _heading(t("Spend")) + _table(columns, rows, t("No model call yet."))


def _heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> str:
    if not rows:
        return _paragraph(empty)
    head = "".join(f"<th>{escape(one)}</th>" for one in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _chart(rows: Sequence[HealthRow]) -> str:
    """Draw a line with its interval band; the table below has the figures. Nothing for fewer than two rounds."""
    if len(rows) < 2:
        return ""
    top = max(row.high for row in rows) or 1.0
    step = (_WIDTH - 2 * _EDGE) / (len(rows) - 1)

    def at(place: int, value: float) -> str:
        return f"{_EDGE + place * step:.1f},{_HEIGHT - _EDGE - value / top * (_HEIGHT - 2 * _EDGE):.1f}"

    band = [at(n, row.high) for n, row in enumerate(rows)] + [at(n, row.low) for n, row in enumerate(rows)][::-1]
    line = [at(n, row.value) for n, row in enumerate(rows)]
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" aria-hidden="true">'
        f'<polygon points="{" ".join(band)}" fill="#1b9aaa" opacity=".2"/>'
        f'<polyline points="{" ".join(line)}" fill="none" stroke="#1b9aaa" stroke-width="2"/></svg>'
    )
