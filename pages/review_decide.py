"""The decisions on one candidate: approve, edit and approve, refuse, merge, ask for more evidence."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from core import curation
from core.curation.evidence import MOST
from core.curation.review import Outcome
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.review import RuleItem
from core.views.review_queue import QueueItem
from core.views.review_work import OtherRule, Standing
from pages.context import Context, actor, can
from pages.review_draft import edit_form
from pages.review_keys import FIELD
from pages.review_merge import merge_form
from pages.widgets import perform, plain

REASONS = (
    mark("It is wrong."),
    mark("It is too vague to follow."),
    mark("Another rule says it already."),
    mark("It could do harm."),
    mark("It holds for one case only."),
)
_OUTCOMES = {
    Outcome.RECORDED: mark("Your approval is recorded; others have to approve too: {name}"),
    Outcome.APPROVED: mark("Approved: {name}"),
    Outcome.ACTIVE: mark("Approved and active: {name}"),
}
_CURSOR = {"edit": "_action", "merge": "_merge_search", "evidence": "_count"}


def show_decisions(
    app: Context, t: Translator, item: RuleItem, waiting: QueueItem, version: int, neighbours: tuple[OtherRule, ...]
) -> None:
    """Offer every decision; what needs words opens below the buttons."""
    if not can(Action.APPROVE):
        st.caption(t("Your roles do not decide here."))
        return
    if waiting.claimed_by not in (None, actor()):
        st.warning(t("{name} has this item before them.", name=plain(waiting.claimed_by)), icon=":material/lock:")
    key = f"review_{item.row.id}"
    with st.container(horizontal=True, gap="small"):
        approve = st.button(
            t("Approve"), type="primary", icon=":material/check:", key=f"{key}_approve", shortcut="a"
        )  # fmt: skip
        at_once = st.button(
            t("Approve, live at once"),
            icon=":material/bolt:",
            key=f"{key}_at_once",
            shortcut="l",
            help=t("Otherwise it goes live by itself after enough verified successes."),
        )
        for way, name, icon, shortcut in (
            ("edit", t("Edit and approve"), ":material/edit:", "e"),
            ("refuse", t("Refuse"), ":material/block:", "x"),
            ("merge", t("Merge"), ":material/merge:", "m"),
            ("evidence", t("More evidence"), ":material/hourglass:", "w"),
        ):
            st.button(name, icon=icon, key=f"{key}_{way}", shortcut=shortcut, on_click=open_form, args=(key, way))
    if approve or at_once:
        _approve(app, t, item, version, at_once)
    _opened(app, t, item, version, neighbours)


def _opened(app: Context, t: Translator, item: RuleItem, version: int, neighbours: tuple[OtherRule, ...]) -> None:
    key = f"review_{item.row.id}"
    way = st.session_state.get(f"{key}_way", "")
    if not way:
        return
    with st.container(border=True):
        if way == "edit":
            edit_form(app, t, item, version)
        elif way == "refuse":
            _refuse(app, t, item, version)
        elif way == "merge":
            merge_form(app, t, item, version, neighbours)
        else:
            _ask(app, t, item, version)
        st.button(
            t("Close"),
            icon=":material/close:",
            key=f"{key}_close",
            shortcut="escape",
            on_click=open_form,
            args=(key, ""),
        )


def open_form(key: str, way: str) -> None:
    """Open what a decision needs, with the cursor in its field."""
    st.session_state[f"{key}_way"] = way
    _, turn = st.session_state.get(FIELD, ("", "0"))
    # Refusing begins with a number, which a field with the cursor would swallow.
    st.session_state[FIELD] = (key + _CURSOR[way] if way in _CURSOR else "", str(int(turn) + 1))


def _put_cursor(field: str) -> None:
    _, turn = st.session_state.get(FIELD, ("", "0"))
    st.session_state[FIELD] = (field, str(int(turn) + 1))


def approvals_told(t: Translator, stands: Standing) -> None:
    """Say which of several approvals are given."""
    st.info(
        t(
            "{given} of {needed} approvals are given: {names}",
            given=t.number(len(stands.given)),
            needed=t.number(stands.needed),
            names=", ".join(plain(one.actor) for one in stands.given) or "–",
        ),
        icon=":material/group:",
    )


def _approve(app: Context, t: Translator, item: RuleItem, version: int, at_once: bool) -> None:
    action = partial(
        curation.approve,
        app.database,
        settings=app.settings,
        rule_id=item.row.id,
        version=version,
        actor=actor(),
        clock=app.clock,
        activate=at_once,
    )
    perform(t, action, outcome_told(t, item.row.name))


def outcome_told(t: Translator, name: str) -> Callable[[object], str]:
    """Return what says what an approval came to."""

    def told(outcome: object) -> str:
        result = outcome if isinstance(outcome, Outcome) else Outcome.APPROVED
        return t(_OUTCOMES[result], name=plain(name))

    return told


def _refuse(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    chosen = ""
    with st.container(horizontal=True, gap="small"):
        for number, reason in enumerate(REASONS, 1):
            if st.button(t(reason), key=f"{key}_reason_{number}", shortcut=str(number)):
                chosen = t(reason)
        st.button(
            t("Another reason"),
            key=f"{key}_other_reason",
            shortcut=str(len(REASONS) + 1),
            on_click=_put_cursor,
            args=(f"{key}_reason",),
        )
    with st.form(f"{key}_refusal", border=False):
        typed = st.text_input(t("Why?"), key=f"{key}_reason", help=t("Kept with the rule, so that others see why."))
        sent = st.form_submit_button(t("Refuse"), type="primary", icon=":material/block:", key=f"{key}_refuse_send")
    reason = chosen or (typed.strip() if sent else "")
    if reason:
        action = partial(
            curation.refuse,
            app.database,
            rule_id=item.row.id,
            version=version,
            reason=reason,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Refused: {name}", name=plain(item.row.name)))
    elif sent:
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")


def _ask(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    units = {"verified": t("verified successes more"), "rounds": t("rounds more")}
    with st.form(f"{key}_evidence_form", border=False):
        count = st.number_input(t("How many?"), 1, MOST, 3, key=f"{key}_count")
        unit = st.segmented_control(
            t("Of what?"),
            list(units),
            format_func=units.__getitem__,
            default="verified",
            required=True,
            key=f"{key}_unit",
        )
        st.caption(
            t("It stays a candidate and leaves the queue until then. Harm or disuse still send it to the archive.")
        )
        sent = st.form_submit_button(
            t("Ask for more evidence"), type="primary", icon=":material/hourglass:", key=f"{key}_evidence_send"
        )
    if sent:
        action = partial(
            curation.ask_for_evidence,
            app.database,
            rule_id=item.row.id,
            version=version,
            unit=unit or "verified",
            count=int(count),
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Waits for more evidence: {name}", name=plain(item.row.name)))
