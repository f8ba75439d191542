"""Two contradicting rules side by side: where their texts differ, what found it, and their record."""

from collections.abc import Iterable

import streamlit as st

from core.differences import Piece, word_differences
from core.effects import Effect, Finding
from core.i18n import Translator
from core.views.conflicts import ConflictItem, Side
from core.views.firings import Firing
from pages.labels import DETECTORS, FIELDS, GRADE_LOOKS, GRADES, label
from pages.rule_effects import effect_said
from pages.widgets import badge, episode_link, plain, rule_badges, rule_figures, rule_link

_COMPARED = ("condition", "action", "exclusion")
_SHOWN = 4


def show_found(t: Translator, item: ConflictItem) -> None:
    """Say what found the conflict and on what, and which rule is suggested and why."""
    evidence = plain(t(item.evidence, **item.evidence_values))
    when = t.moment(item.created_at)
    if item.round_number is not None:
        when += " · " + t("round {number}", number=t.number(item.round_number))
    st.markdown(
        t("**Found by:** {detector}. {evidence}", detector=label(t, DETECTORS, item.detector), evidence=evidence)
    )
    st.caption(when)
    if item.settled is None:
        values = {name: plain(str(value)) for name, value in item.suggestion.values.items()}
        kept = next(side.row for side in item.sides if side.row.id == item.suggestion.keep_id)
        st.info(
            t(item.suggestion.template, **values),
            title=t("Suggested: “{name}” goes before the other", name=plain(kept.name)),
            icon=":material/lightbulb:",
        )


def show_sides(t: Translator, item: ConflictItem) -> None:
    """Show both rules with the words marked that the other one does not have."""
    for column, side, other in zip(st.columns(2), item.sides, reversed(item.sides), strict=True):
        with column, st.container(border=True, height="stretch"):
            _side(t, side, other, suggested=item.settled is None and side.row.id == item.suggestion.keep_id)
    st.caption(t("Bold on a coloured ground: words that the other rule does not have there."))


def _side(t: Translator, side: Side, other: Side, *, suggested: bool) -> None:
    rule_badges(t, side.row)
    if suggested:
        st.badge(t("Suggested"), icon=":material/lightbulb:", color="blue")
    st.subheader(plain(side.row.name), anchor=False)
    for field in _COMPARED:
        text = getattr(side.content, field)
        if text or getattr(other.content, field):
            mine, _ = word_differences(text, getattr(other.content, field))
            st.caption(label(t, FIELDS, field))
            st.markdown(_marked(mine) or "–")
    if side.hidden:
        st.warning(
            t("The text holds characters that you cannot see: {names}", names=plain(", ".join(side.hidden))),
            icon=":material/visibility_off:",
        )
    st.caption(t("Where both fire:") + " " + _record(t, side))
    st.caption(t("Everywhere:") + " " + rule_figures(t, side.row))
    st.caption(t("Effect on the success rate:") + " " + _effect(t, side.effect))
    rule_link(t, side.row.id, side.row.name)


def _record(t: Translator, side: Side) -> str:
    rate = side.there
    success = t("success with it {rate}", rate=t.interval(rate.value, rate.low, rate.high, rate.n))
    return success + " · " + t("effect: {effect}", effect=_effect(t, side.effect_there))


def _effect(t: Translator, effect: Effect) -> str:
    said = effect_said(t, effect)
    return t("too few to tell ({counts})", counts=said) if effect.finding == Finding.TOO_FEW else said


def _marked(pieces: Iterable[Piece]) -> str:
    """Write pieces as Markdown: what differs is bold on a coloured ground, all else as it is written."""
    return "".join(_one(piece) for piece in pieces)


def _one(piece: Piece) -> str:
    # What is marked must not begin with a space; a line break would end the paragraph.
    text = " ".join(piece.text.split())
    space = " " if piece.text[:1].isspace() else ""
    if not text or not piece.differs:
        return space + plain(text)
    return f"{space}:orange-background[**{plain(text)}**]"


def show_firings(t: Translator, item: ConflictItem) -> None:
    """Show past episodes in which both rules fire, and say how that was decided."""
    st.subheader(t("Where both fire"), anchor=False)
    if not item.firings:
        st.caption(t("Among past episodes of training and from outside there is none in which both rules fire."))
        return
    st.caption(_how_decided(t, item.retrieved, len(item.firings) - item.retrieved))
    names = {side.row.id: plain(side.row.name) for side in item.sides}
    for firing in item.firings[:_SHOWN]:
        _firing(t, firing, names)
    if len(item.firings) > _SHOWN:
        st.caption(t("The newest {n} are shown.", n=t.number(_SHOWN)))


def _how_decided(t: Translator, retrieved: int, by_words: int) -> str:
    said = []
    if retrieved:
        said.append(
            t.plural(
                "{n} of the newest episodes of training and from outside retrieved both rules.",
                "{n} of the newest episodes of training and from outside retrieved both rules.",
                retrieved,
            )
        )
    if by_words:
        said.append(
            t.plural(
                "{n} episode retrieved one of them, and its task has at least half the words of each condition.",
                "{n} episodes retrieved one of them, and their tasks have at least half the words of each condition.",
                by_words,
            )
        )
    return " ".join(said)


def _firing(t: Translator, firing: Firing, names: dict[str, str]) -> None:
    served = ", ".join(names[one] for one in names if one in firing.served)
    with st.container(border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(t, GRADES, GRADE_LOOKS, firing.grade)
            st.text(firing.query)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(t("In its prompt: {names}", names=served) if served else t("Neither was in its prompt."))
            episode_link(t, firing.episode_id)
