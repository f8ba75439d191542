"""From episodes to rules to a metric: a drawing to click through, the same by keyboard, and its figures."""

from collections.abc import Sequence

import streamlit as st

from core.i18n import Translator
from core.views.flows import RuleFlow, rule_flows
from pages.context import Context
from pages.labels import METRICS, label
from pages.provenance_rule import episode_list
from pages.rule_effects import finding_said
from pages.sankey import Column, Node, graph, sankey
from pages.widgets import plain, rule_link

_CHART = "provenance_flow"
_CHOSEN = "provenance_box"
_INKS = {"light": "#1c2526", "dark": "#e6ebea"}


def show_flow(app: Context, t: Translator, domain: str, metric: str) -> None:
    """Show the drawing, and what the box that is chosen leads to."""
    st.caption(
        t(
            "Task types of the episodes that the most used rules rest on, the rules, and what each does to the metric. "
            "The wider, the more prompts carried the rule. Click a box to see what it leads to."
        )
    )
    with app.database.read() as session:
        flows = [flow for flow in rule_flows(session, domain, metric) if flow.sources]
    if not flows:
        st.info(t("No rule that came from episodes has been in a prompt yet."))
        return
    nodes, links = graph(t, flows, metric)
    chosen = _choice(t, nodes)
    st.plotly_chart(
        sankey(nodes, links, chosen.id if chosen else None, _INKS.get(st.context.theme.type or "")),
        key=_CHART,
        on_select=_clicked,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=t("Flow from episodes by task type to rules to what they do; the table below has the figures."),
    )
    if chosen is not None:
        _leads_to(t, chosen, flows, metric)
    with st.expander(t("Figures")):
        st.table([_row(t, flow, metric) for flow in flows], hide_index=True)


def _choice(t: Translator, nodes: Sequence[Node]) -> Node | None:
    """Offer the boxes by name, for whoever does not click; a click chooses here too."""
    known = {node.id: node for node in nodes}
    if st.session_state.get(_CHOSEN) not in known:
        st.session_state.pop(_CHOSEN, None)
    kinds = {Column.TYPE: t("Task type"), Column.RULE: t("Rule"), Column.FINDING: t("Effect")}
    chosen = st.selectbox(
        t("What it leads to"),
        list(known),
        index=None,
        format_func=lambda one: f"{kinds[known[one].column]}: {known[one].name}",
        placeholder=t("Click a box, or choose it here"),
        key=_CHOSEN,
        bind="query-params",
    )
    return known[chosen] if chosen else None


def _clicked() -> None:
    points = st.session_state[_CHART].selection.points
    if points:
        st.session_state[_CHOSEN] = points[0]["customdata"][0]


def _leads_to(t: Translator, chosen: Node, flows: Sequence[RuleFlow], metric: str) -> None:
    with st.container(border=True):
        st.subheader(plain(chosen.name), anchor=False)
        if chosen.column is Column.TYPE:
            _type(t, chosen.key, [flow for flow in flows if chosen.key in flow.sources])
        elif chosen.column is Column.RULE:
            _rule(t, next(flow for flow in flows if flow.rule_id == chosen.key), metric)
        else:
            _finding(t, [flow for flow in flows if flow.finding == chosen.key], metric)


def _type(t: Translator, kind: str, flows: Sequence[RuleFlow]) -> None:
    st.caption(t("Rules that rest on episodes of this type, and those episodes:"))
    for flow in flows:
        rule_link(t, flow.rule_id, flow.name)
    episodes = dict.fromkeys(episode for flow in flows for episode in flow.sources[kind])
    episode_list(t, t("Episodes"), tuple(episodes))


def _rule(t: Translator, flow: RuleFlow, metric: str) -> None:
    st.table([_row(t, flow, metric)], hide_index=True)
    rule_link(t, flow.rule_id, flow.name)
    for kind, episodes in flow.sources.items():
        episode_list(t, plain(kind), episodes)


def _finding(t: Translator, flows: Sequence[RuleFlow], metric: str) -> None:
    st.caption(t("Rules of which the randomised comparison says so, for this metric:"))
    for flow in flows:
        rule_link(t, flow.rule_id, flow.name)
    st.page_link(
        "overview.py",
        label=t("{metric} by round", metric=label(t, METRICS, metric)),
        icon=":material/monitoring:",
        query_params={"lang": t.language},
    )


def _row(t: Translator, flow: RuleFlow, metric: str) -> dict[str, str]:
    sources = ", ".join(f"{plain(kind)} {t.number(len(episodes))}" for kind, episodes in flow.sources.items())
    return {
        t("Rule"): plain(flow.name),
        t("From episodes"): sources,
        t("Prompts with it"): t.number(flow.used),
        t("What it says"): finding_said(t, metric, flow.finding)[0],
    }
