"""What a candidate is like: its nearest neighbours word by word, and the rules it contradicts."""

from collections.abc import Iterator

import streamlit as st

from core.differences import Piece, word_differences
from core.embeddings import Embedder
from core.i18n import Translator
from core.views.nearest import Nearest, RuleMap
from core.views.review import ConflictCard, RuleItem
from core.views.review_work import OtherRule
from pages.context import context
from pages.labels import DETECTORS, label
from pages.widgets import plain, rule_badges, rule_link

_COMPARED = 4000
"""Characters up to which two texts are compared word by word; longer ones are shown as they are."""


@st.cache_resource(show_spinner=False)
def stored_vectors() -> Embedder:
    """Return what reads stored vectors; the model itself is never loaded here."""
    app = context()
    return Embedder(app.settings.embedding, app.database)


@st.cache_resource(show_spinner=False)
def rule_map() -> RuleMap:
    """Return the rules in use by meaning, kept up to date for all visitors."""
    return RuleMap(stored_vectors())


def show_neighbours(t: Translator, item: RuleItem, near: Nearest, neighbours: tuple[OtherRule, ...]) -> None:
    """Show the nearest rules with what each says that the other does not."""
    st.subheader(t("Nearest rules"), anchor=False)
    if not neighbours:
        st.caption(t("No other rule in use is like it ({n} compared).", n=t.number(near.compared)))
        return
    by = t("by meaning, from stored embeddings") if near.by == "meaning" else t("by words in common")
    st.caption(
        t(
            "Found {by}, among {n} rules in use of the domain. **Bold** is what only this rule says, ~~struck out~~ "
            "what only the other one says.",
            by=by,
            n=t.number(near.compared),
        )
    )
    likeness = {one.rule_id: one.likeness for one in near.rules}
    for row in (one.row for one in neighbours):
        with st.container(border=True):
            rule_badges(t, row)
            rule_link(t, row.id, row.name)
            st.markdown(_differences(t, item.row.text, row.text))
            st.caption(t("likeness {value}", value=t.number(likeness[row.id], 2)))


def _differences(t: Translator, this: str, other: str) -> str:
    if max(len(this), len(other)) > _COMPARED:
        return plain(other[:_COMPARED]) + " … " + t("(too long to compare word by word)")
    return " ".join(_interleaved(*word_differences(this, other)))


def _interleaved(mine: tuple[Piece, ...], theirs: tuple[Piece, ...]) -> Iterator[str]:
    """Lay both texts over each other; the runs they share come in the same order in both."""
    ours, others = list(mine), list(theirs)
    while ours or others:
        while ours and ours[0].differs:
            yield _marked(ours.pop(0), "green", "**")
        while others and others[0].differs:
            yield _marked(others.pop(0), "red", "~~")
        if ours and others:
            ours.pop(0)
            yield plain(others.pop(0).text.strip())


def _marked(piece: Piece, color: str, sign: str) -> str:
    text = plain(piece.text.strip())
    return f":{color}-background[{sign}{text}{sign}]" if text else ""


def show_conflicts(t: Translator, item: RuleItem) -> None:
    """Show the rules that a candidate contradicts."""
    if not item.conflicts:
        return
    st.subheader(t("Contradicts another rule"), anchor=False)
    for card in item.conflicts:
        _conflict(t, item, card)


def _conflict(t: Translator, item: RuleItem, card: ConflictCard) -> None:
    with st.container(border=True):
        rule_badges(t, card.other)
        st.text(card.other.text)
        st.caption(f"{label(t, DETECTORS, card.detector)}: {plain(t(card.evidence, **card.evidence_values))}")
        if card.suggestion:
            kept = item.row.name if card.suggestion == item.row.id else card.other.name
            st.caption(t("Suggested: keep “{name}”", name=plain(kept)))
        rule_link(t, card.other.id, card.other.name)
        st.page_link(
            "conflicts.py",
            label=t("Settle it on the page Conflicts"),
            icon=":material/compare_arrows:",
            query_params={"conflict": card.id, "lang": t.language},
        )
