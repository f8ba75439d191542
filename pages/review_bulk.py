"""Many at once: the clear cases, filtered, previewed, and decided together or not at all."""

from functools import partial

import streamlit as st

from core import curation
from core.curation.bulk import Fate, Prospect
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.review_queue import QueueFilter, queue
from pages.context import Context, actor, can, settings_now
from pages.review_queue import choose
from pages.widgets import perform, plain

_OFFERED = 50
"""Items a person looks through at a time."""

_SEEN = "review_bulk_seen"

_FATES = {
    Fate.ACTIVE: mark("Goes live at once: it is verified"),
    Fate.APPROVED: mark("Approved; goes live once it is verified"),
    Fate.REFUSED: mark("Goes to the archive"),
    Fate.OBJECTION: mark("Stays as it is"),
}


def show_bulk(app: Context, t: Translator) -> None:
    """Offer one decision for all waiting rules that fit the filters."""
    if not can(Action.BULK_APPROVE):
        st.caption(t("Your roles do not decide here."))
        return
    wanted = choose(app, t)
    low = st.number_input(t("Verified successes at least"), 0, 100, 0, key="review_bulk_verified")
    ways = {"approve": t("Approve"), "refuse": t("Refuse")}
    way = st.segmented_control(
        t("What to do with them"),
        list(ways),
        format_func=ways.__getitem__,
        default="approve",
        required=True,
        key="review_bulk_way",
    )
    prospects = _prospects(app, wanted, str(way), int(low))
    if not prospects:
        st.info(t("No waiting rule fits the filters."), icon=":material/filter_list:")
        return
    _preview(t, prospects)
    clear = {one.rule_id: one for one in prospects if one.fate is not Fate.OBJECTION}
    left_out = st.multiselect(
        t("Leave these out"), list(clear), format_func=lambda one: clear[one].name, key="review_bulk_out"
    )
    chosen = {rule_id: one.version for rule_id, one in clear.items() if rule_id not in left_out}
    _decide(app, t, str(way), chosen)


def _prospects(app: Context, wanted: QueueFilter, way: str, low: int) -> list[Prospect]:
    with app.database.read() as session:
        found = queue(session, wanted, actor=actor(), now=app.clock(), limit=_OFFERED)
    ids = [item.id for item in found.items if item.kind == "rule" and item.verified >= low]
    return curation.preview_bulk(
        app.database, decision=way, rule_ids=ids, settings=settings_now(app), actor=actor(), clock=app.clock
    )


def _preview(t: Translator, prospects: list[Prospect]) -> None:
    st.caption(
        t(
            "What would happen now to the oldest {n} that fit. Each is checked again when you decide; if one has "
            "changed by then, nothing happens to any of them.",
            n=t.number(len(prospects)),
        )
    )
    rows = [
        {
            t("Rule"): plain(one.name[:200]),
            t("What would happen"): t(_FATES[one.fate]),
            t("Why not"): plain(t.error(one.objection)) if one.objection is not None else "",
        }
        for one in prospects
    ]
    st.table(rows, hide_index=True, alt=t("What would happen to each rule"))


def _decide(app: Context, t: Translator, way: str, chosen: dict[str, int]) -> None:
    count = len(chosen)
    with st.form("review_bulk_form", border=False):
        reason = st.text_input(t("Why?"), key="review_bulk_reason") if way == "refuse" else ""
        name = (
            t.plural("Approve {n} rule", "Approve {n} rules", count)
            if way == "approve"
            else t.plural("Refuse {n} rule", "Refuse {n} rules", count)
        )
        sent = st.form_submit_button(name, type="primary", key="review_bulk_send", disabled=not count)
    # A press runs the script again, which reads the rules anew: what was on screen counts.
    before = st.session_state.get(_SEEN, {})
    st.session_state[_SEEN] = chosen
    if not sent:
        return
    if before.keys() != chosen.keys():
        st.error(t("The list has changed since you looked at it. Look again; nothing was changed."))
        return
    seen = dict(before)
    me, clock = actor(), app.clock
    if way == "approve":
        action = partial(
            curation.approve_many, app.database, versions=seen, settings=app.settings, actor=me, clock=clock
        )
        perform(t, action, t.plural("Approved: {n} rule", "Approved: {n} rules", len(seen)))
    elif not reason.strip():
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    else:
        action = partial(
            curation.refuse_many, app.database, versions=seen, reason=reason.strip(), actor=me, clock=clock
        )
        perform(t, action, t.plural("Refused: {n} rule", "Refused: {n} rules", len(seen)))
