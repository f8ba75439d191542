"""Where a rule comes from and what came of it, as a picture with a link for each rule in it."""

import streamlit as st

from core.i18n import Translator
from core.views.library import RuleRow
from core.views.lineage import Lineage
from pages.labels import STATES, label
from pages.widgets import rule_link

_SHAPES = {"candidate": ("(", ")"), "active": ("[", "]"), "probation": ("{{", "}}"), "archived": ("[/", "/]")}
_SHOWN = 34


def show_lineage(t: Translator, found: Lineage, rule_id: str) -> None:
    """Show the graph; an arrow leads from what was there first to what came of it."""
    if not found.links:
        st.caption(t("It comes from no other rule, and none came from it."))
        return
    others = len(found.rules) - 1
    name = t.plural(
        "How the rule and {n} other one come from each other",
        "How the rule and {n} other ones come from each other",
        others,
    )
    st.mermaid_chart(_graph(t, found, rule_id), alt=name)
    st.caption(
        t("A full arrow is a merge; a broken one leads to a rule that was learned with the other in the prompt.")
    )
    if found.cut:
        st.caption(t("There are more; the nearest {n} are shown.", n=t.number(len(found.rules))))
    for title, rules in _sides(t, found, rule_id):
        st.caption(title)
        for row in rules:
            rule_link(t, row.id, row.name)


def _sides(t: Translator, found: Lineage, rule_id: str) -> list[tuple[str, list[RuleRow]]]:
    above = _reached(found, rule_id, upwards=True)
    below = _reached(found, rule_id, upwards=False)
    parts = [
        (t("Comes from"), [row for row in found.rules if row.id in above]),
        (t("Became"), [row for row in found.rules if row.id in below - above]),
    ]
    return [(title, rules) for title, rules in parts if rules]


def _reached(found: Lineage, rule_id: str, *, upwards: bool) -> set[str]:
    reached: set[str] = set()
    edge = {rule_id}
    while edge:
        pairs = ((link.child, link.parent) if upwards else (link.parent, link.child) for link in found.links)
        edge = {to for start, to in pairs if start in edge} - reached - {rule_id}
        reached |= edge
    return reached


def _graph(t: Translator, found: Lineage, rule_id: str) -> str:
    places = {row.id: f"r{at}" for at, row in enumerate(found.rules)}
    lines = ["flowchart LR"]
    for row in found.rules:
        opening, closing = _SHAPES.get(row.state, ("[", "]"))
        text = f"{_quoted(row.name)}<br>{label(t, STATES, row.state)}"
        lines.append(f'{places[row.id]}{opening}"{text}"{closing}')
    for link in found.links:
        arrow = "-->" if link.kind == "merge" else "-.->"
        lines.append(f"{places[link.parent]} {arrow} {places[link.child]}")
    lines.append(f"style {places[rule_id]} stroke-width:3px")
    return "\n".join(lines)


def _quoted(name: str) -> str:
    """Write all but letters, digits and blanks by their numbers: a name is no part of the diagram's language."""
    short = name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…"
    return "".join(char if char.isalnum() or char == " " else f"#{ord(char)};" for char in short)
