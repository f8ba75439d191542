"""Review of one proposed change to a rule that a person had approved."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from core import curation
from core.curation.review import Outcome
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.review import ProposalItem
from core.views.review_queue import QueueItem
from core.views.review_work import standing
from pages.context import Context, actor, can, settings_now
from pages.labels import FIELDS, label
from pages.review_decide import approvals_told, open_form
from pages.widgets import digest_card, perform, plain, rule_badges, rule_figures, rule_link

_KINDS = {
    "edit": mark("Proposed change"),
    "merge": mark("Proposed merge"),
    "archive": mark("Proposed removal"),
}


def show_proposal(app: Context, t: Translator, item: ProposalItem, waiting: QueueItem) -> None:
    """Show a proposal with its diff and offer accept and refuse."""
    with st.container(border=True):
        rule_badges(t, item.rule)
        kind = label(t, _KINDS, item.kind)
        st.subheader(t("{kind}: {name}", kind=kind, name=plain(item.rule.name)), anchor=False)
        _texts(t, item)
        if item.reason:
            st.caption(t("Reason: {reason}", reason=plain(item.reason)))
        st.caption(rule_figures(t, item.rule))
        if item.moved:
            st.warning(
                t("The rule has changed since this was proposed; look at both texts again."),
                icon=":material/sync_problem:",
            )
        if item.hidden:
            st.warning(
                t(
                    "The text holds characters that you cannot see: {names}",
                    names=plain(", ".join(item.hidden)),
                ),
                icon=":material/visibility_off:",
            )
        _standing(app, t, item, waiting)
        if can(Action.ACCEPT_PROPOSAL):
            _decide(app, t, item)
        else:
            st.caption(t("Your roles do not decide here."))
    if item.changed:
        st.subheader(t("What changes"), anchor=False)
        rows = [
            {
                t("Field"): label(t, FIELDS, field),
                t("Now"): plain(str(before)),
                t("Proposed"): plain(str(after)),
            }
            for field, (before, after) in item.changed.items()
        ]
        st.table(rows, hide_index=True)
    rule_link(t, item.rule.id, item.rule.name)
    for card in item.evidence:
        digest_card(t, card)


def _texts(t: Translator, item: ProposalItem) -> None:
    left, right = st.columns(2)
    left.caption(t("Now"))
    left.code(item.rule.text, language=None, wrap_lines=True)
    right.caption(t("Proposed"))
    if item.text_after:
        right.code(item.text_after, language=None, wrap_lines=True)
    else:
        right.text(t("The rule is archived."))


def _standing(app: Context, t: Translator, item: ProposalItem, waiting: QueueItem) -> None:
    with app.database.read() as session:
        stands = standing(session, item.id, item.text_after, settings_now(app))
    if stands is not None and stands.needed > 1:
        approvals_told(t, stands)
    if waiting.claimed_by not in (None, actor()):
        st.warning(t("{name} has this item before them.", name=plain(waiting.claimed_by)), icon=":material/lock:")


def _decide(app: Context, t: Translator, item: ProposalItem) -> None:
    key = f"review_{item.id}"
    with st.container(horizontal=True, gap="small"):
        accept = st.button(t("Accept"), type="primary", icon=":material/check:", key=f"{key}_accept", shortcut="a")
        st.button(
            t("Refuse"), icon=":material/block:", key=f"{key}_refuse", shortcut="x", on_click=open_form,
            args=(key, "refuse"),
        )  # fmt: skip
    if accept:
        action = partial(
            curation.accept_proposal,
            app.database,
            proposal_id=item.id,
            settings=app.settings,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, _told(t, item.rule.name))
    if st.session_state.get(f"{key}_way") == "refuse":
        _refuse(app, t, item, key)


def _told(t: Translator, name: str) -> Callable[[object], str]:
    def told(outcome: object) -> str:
        if outcome is Outcome.RECORDED:
            return t("Your approval is recorded; others have to approve too: {name}", name=plain(name))
        return t("Accepted: {name}", name=plain(name))

    return told


def _refuse(app: Context, t: Translator, item: ProposalItem, key: str) -> None:
    with st.form(f"{key}_refusal", border=False):
        reason = st.text_input(t("Why?"), key=f"{key}_reason", help=t("Kept with the rule, so that others see why."))
        sent = st.form_submit_button(t("Refuse"), type="primary", icon=":material/block:", key=f"{key}_refuse_send")
    if sent and not reason:
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif sent:
        action = partial(
            curation.refuse_proposal,
            app.database,
            proposal_id=item.id,
            reason=reason,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Refused: {name}", name=plain(item.rule.name)))
