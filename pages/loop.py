"""Loop: is it alive, its rounds and their verdicts, its settings, its refusals (design section 12)."""

import streamlit as st

from core.i18n import Translator
from core.views.loop import RoundRow, refusals, rounds
from pages.context import Context, context, translator
from pages.labels import PHASES, ROUND_LOOKS, ROUND_STATUS, TRIGGERS, VERDICTS, label
from pages.loop_refusals import show_refusals
from pages.loop_settings import show_settings
from pages.loop_status import loop_controls, loop_status
from pages.widgets import badge, pager, plain, show_notice

_ROWS = 10


def _rounds(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        total = rounds(session, limit=1).total
        offset = pager(t, total, _ROWS, "loop_page")
        found = rounds(session, limit=_ROWS, offset=offset)
    if not found.items:
        st.info(
            t(
                "A round rolls out tasks, contrasts what passed with what failed, "
                "writes rules and tests them. "
                "Press “One round” above."
            ),
            title=t("No round yet"),
            icon=":material/autorenew:",
        )
    for row in found.items:
        with st.container(border=True):
            _round(t, row)


def _round(t: Translator, row: RoundRow) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(t("**Round {number}**", number=t.number(row.number)), width="content")
        badge(t, ROUND_STATUS, ROUND_LOOKS, row.status)
        st.caption(" · ".join(_facts(t, row)), width="content")
    if row.verdict:
        st.text(_verdict(t, row))
    if row.gain:
        st.caption(_gain(t, row))
    for note in row.notes:
        st.caption(plain(t.message(note)))
    if row.error:
        st.error(plain(t(row.error, **row.error_values)), icon=":material/error:")


def _facts(t: Translator, row: RoundRow) -> list[str]:
    facts = [plain(row.environment), label(t, TRIGGERS, row.trigger), t.moment(row.started_at)]
    if row.ended_at is None:
        facts.append(t("last finished step: {phase}", phase=label(t, PHASES, row.phase)))
    else:
        facts.append(t("took {duration}", duration=t.duration(row.ended_at - row.started_at)))
    return [fact for fact in facts if fact]


def _verdict(t: Translator, row: RoundRow) -> str:
    figures = row.verdict
    told = label(t, VERDICTS, figures.get("verdict"))
    if figures.get("value") is None:
        return told
    compared = t(
        "Reward on held-out tasks changed by {interval}; {repaired} tasks repaired, {regressed} regressed; "
        "McNemar p: {p}; noise floor {floor}",
        interval=t.interval(figures["value"], figures.get("low"), figures.get("high"), int(figures.get("n", 0)), 3),
        repaired=t.number(figures.get("repaired")),
        regressed=t.number(figures.get("regressed")),
        p=t.probability(figures.get("mcnemar_p")),
        floor=t.number(figures.get("noise_floor"), 3),
    )
    return f"{told}\n{compared}"


def _gain(t: Translator, row: RoundRow) -> str:
    figures = row.gain
    interval = t.interval(figures.get("value"), figures.get("low"), figures.get("high"), int(figures.get("n", 0)))
    return t("Gain over the empty library: {interval}", interval=interval)


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Loop"), anchor=False)
    show_notice()
    with st.container(border=True):
        loop_status()
        loop_controls(app, t, "loop")
    with app.database.read() as session:
        refused = refusals(session, limit=1).total
    history, settings, drafts = st.tabs(
        [t("Rounds"), t("Settings"), t("Refused drafts ({n})", n=t.number(refused))], key="loop_tabs"
    )
    with history:
        _rounds(app, t)
    with settings:
        show_settings(app, t)
    with drafts:
        show_refusals(app, t)


main()
