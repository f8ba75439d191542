"""Spend: what the model calls cost and came to, the limits, and what a run would cost (design section 8)."""

from collections.abc import Callable, Mapping
from html import escape
from typing import TypeVar

import plotly.graph_objects as go
import streamlit as st

from core.i18n import Translator
from core.views.budget import budget
from core.views.spend import Spend, Usage, spend
from core.views.unit_costs import UnitCost, unit_costs
from pages.context import Context, context, settings_now, translator
from pages.labels import PURPOSES, label
from pages.limits import forecast_line, limit_alert, limit_card
from pages.planner import show_planner
from pages.widgets import show_notice

_Key = TypeVar("_Key", bound=int | str | None)

_COLOR = "rgb(27, 154, 170)"
_ROOM_FOR = 6  # bars that fill a chart; fewer are no wider than these


def _limits(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        found = budget(session, settings_now(app).budget, now=app.clock())
    limit_alert(t, found)
    left, right = st.columns(2)
    with left:
        limit_card(t, t("Paid today"), found.day)
    with right:
        limit_card(t, t("Paid in total"), found.total)
    st.caption(forecast_line(t, found))
    st.page_link(
        "loop.py", label=t("Change the limits (Loop, Settings)"), icon=":material/tune:",
        query_params={"lang": t.language},
    )  # fmt: skip


def _ratios(app: Context, t: Translator, sums: Spend) -> None:
    with app.database.read() as session:
        units = unit_costs(session)
    cells = [*st.columns(3), *st.columns(2)]
    shown: list[tuple[str, UnitCost]] = [
        (t("Per task"), units.task),
        (t("Per success"), units.success),
        (t("Per rule that went live"), units.live_rule),
    ]
    for cell, (name, unit) in zip(cells, shown, strict=False):
        cell.metric(
            name, t.money(unit.usd, 4), help=t("All calls so far, divided by {n}", n=t.number(unit.n)), border=True
        )
    cells[3].metric(t("Retries, of calls"), t.percent(sums.retry_share, 1), border=True)
    cells[4].metric(t("Cached, of input tokens"), t.percent(sums.cache_share, 1), border=True)
    notes = []
    if sums.simulated_share:
        notes.append(t("{usd} of this was never paid: the stand-in answered.", usd=t.money(sums.simulated_usd)))
    if sums.unknown_price_calls:
        unknown = t.number(sums.unknown_price_calls)
        notes.append(t("The price of {unknown} calls is unknown: they are not in the sum.", unknown=unknown))
    if sums.retry_cost_usd:
        notes.append(t("Retries cost {usd}, which is part of the total.", usd=t.money(sums.retry_cost_usd, 4)))
    if notes:
        st.caption(" ".join(notes))


def _by(t: Translator, key: str, title: str, usages: Mapping[str, Usage]) -> None:
    st.subheader(title, anchor=False)
    figure = go.Figure(
        go.Bar(
            x=[escape(name) for name in usages],
            y=[each.cost_usd for each in usages.values()],
            width=min(0.8, len(usages) / _ROOM_FOR),
            marker={"color": _COLOR},
        )
    )
    figure.update_layout(height=240, margin={"l": 8, "r": 8, "t": 8, "b": 8})
    figure.update_xaxes(type="category")
    figure.update_yaxes(title={"text": t("USD")}, rangemode="tozero", exponentformat="none")
    st.plotly_chart(
        figure,
        key=f"spend_{key}",
        config={"displayModeBar": False},
        alt=t("{title}, in USD; the table below has the figures.", title=title),
    )
    with st.expander(t("Figures")):
        st.dataframe([_row(t, name, each) for name, each in usages.items()], hide_index=True, alt=title)


def _row(t: Translator, name: str, each: Usage) -> dict[str, str]:
    return {
        t("Of"): name,
        t("Calls"): t.number(each.calls),
        t("Requests"): t.number(each.requests),
        t("Input tokens"): t.number(each.input_tokens),
        t("Cached"): t.number(each.cached_tokens),
        t("Output tokens"): t.number(each.output_tokens),
        t("USD"): t.money(each.cost_usd, 4),
    }


def _ledger(t: Translator, sums: Spend) -> None:
    def number(value: int | None) -> str:
        return t("outside rounds") if value is None else t.number(value)

    purposes = _named(sums.by_purpose, lambda purpose: label(t, PURPOSES, purpose))
    parts = (
        ("purpose", t("By purpose"), purposes),
        ("model", t("By model"), sums.by_model),
        ("agent", t("By agent"), _named(sums.by_agent, lambda agent: agent or t("beside any episode"))),
        ("round", t("By round"), _named(sums.by_round, number)),
        ("day", t("By day (UTC)"), sums.by_day),
    )
    for place in range(0, len(parts), 2):
        row = parts[place : place + 2]
        for cell, (key, title, usages) in zip(st.columns(len(row)), row, strict=True):
            with cell.container(border=True):
                _by(t, key, title, usages)


def _named(by: Mapping[_Key, Usage], name: Callable[[_Key], str]) -> dict[str, Usage]:
    return {name(key): each for key, each in by.items()}


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Spend"), anchor=False)
    show_notice()
    _limits(app, t)
    with app.database.read() as session:
        sums = spend(session, now=app.clock())
    if sums.total.calls:
        _ratios(app, t, sums)
        _ledger(t, sums)
    else:
        st.info(t("No model call yet."), icon=":material/info:")
    st.header(t("Planner"), anchor=False)
    show_planner(t, settings_now(app))


main()
