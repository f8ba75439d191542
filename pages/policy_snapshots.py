"""The adapter's snapshots, the guardrail that watches them, and the log of what happened."""

from functools import partial

import streamlit as st

from core import curation
from core.errors import UserError
from core.i18n import Translator
from core.people.permissions import Action
from core.settings import Settings
from core.views.policy import (
    GuardrailState,
    PolicyEventRow,
    SnapshotChanges,
    SnapshotRow,
    guardrail_state,
    policy_log,
    snapshot_changes,
    snapshots,
)
from pages.context import Context, actor, can
from pages.labels import POLICY_EVENT_LOOKS, POLICY_EVENTS, POLICY_VERDICTS, label
from pages.widgets import address, badge, has_reason, pager, perform, plain

_ROWS = 10
_ASKED = "memory_snapshot_asked"


def show_policy(app: Context, t: Translator, settings: Settings, environment: str) -> None:
    """Show guardrail, snapshots and log."""
    with app.database.read() as session:
        total = snapshots(session, environment, limit=1).total
        rail = guardrail_state(session, environment, settings)
    if not total:
        no_policy(t)
        return
    _guardrail(t, rail)
    st.subheader(t("Snapshots"), anchor=False)
    offset = pager(t, total, _ROWS, "memory_snapshot_page")
    with app.database.read() as session:
        found = snapshots(session, environment, limit=_ROWS, offset=offset).items
        newest = snapshots(session, environment, limit=1).items[0]
    for row in found:
        _snapshot(app, t, settings, environment, row, newest.id)
    _log(app, t, environment)


def no_policy(t: Translator) -> None:
    """Say what to do where nothing has been learned yet."""
    st.info(
        t(
            "In the phase adapt, each round updates the adapter from remembered decisions and keeps it as a "
            "snapshot. The part Phases says what is still missing for that phase."
        ),
        title=t("No policy yet"),
        icon=":material/psychology:",
    )


def _guardrail(t: Translator, rail: GuardrailState) -> None:
    st.subheader(t("Guardrail"), anchor=False)
    first, second = st.columns(2)
    first.metric(
        t("Worse evaluations in a row"),
        t("{n} of {limit}", n=t.number(rail.worse), limit=t.number(rail.patience)),
        border=True,
    )
    good = "–" if rail.success is None else t.percent(rail.success)
    second.metric(t("Success of the good snapshot"), good, border=True)
    if rail.good_id is None:
        st.caption(t("No snapshot has been evaluated on held-out tasks yet, so there is none to go back to."))
        return
    told = t(
        "Compared with the good evaluation ({success} success, {turns} turns); {limit} worse ones in a row restore "
        "snapshot {id}. What was done between a snapshot and going back to it is not learned from again.",
        success=t.percent(rail.success),
        turns=t.number(rail.turns, 1),
        limit=t.number(rail.patience),
        id=rail.good_id,
    )
    st.caption(told)


def _snapshot(
    app: Context, t: Translator, settings: Settings, environment: str, row: SnapshotRow, in_force: int
) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(t("**Snapshot {id}**", id=row.id), width="content")
            if row.in_force:
                st.badge(t("In force"), icon=":material/check_circle:", color="green")
            if row.good:
                st.badge(t("Good"), icon=":material/thumb_up:", color="blue")
            st.caption(_facts(t, row), width="content")
        st.text(_evaluation(t, row))
        if row.in_force or not can(Action.RESTORE_SNAPSHOT):
            return
        if st.button(t("Show what restoring it changes"), icon=":material/preview:", key=f"memory_preview_{row.id}"):
            st.session_state[_ASKED] = (row.id, in_force)
        asked = st.session_state.get(_ASKED)
        if asked is not None and asked[0] == row.id:
            _restore(app, t, settings, environment, *asked)


def _facts(t: Translator, row: SnapshotRow) -> str:
    facts = [t.moment(row.created_at), t.plural("{n} update", "{n} updates", row.updates)]
    if row.round_number is not None:
        facts.append(t("round {number}", number=t.number(row.round_number)))
    return " · ".join(facts)


def _evaluation(t: Translator, row: SnapshotRow) -> str:
    rate = row.success
    if rate.value is None:
        return t("Not evaluated on held-out tasks.")
    return t(
        "On held-out tasks: success {rate}, mean turns {turns}",
        rate=t.interval(rate.value, rate.low, rate.high, rate.n),
        turns=t.number(row.turns, 1),
    )


def _restore(app: Context, t: Translator, settings: Settings, environment: str, snapshot_id: int, seen: int) -> None:
    try:
        with app.database.read() as session:
            changes = snapshot_changes(session, environment, snapshot_id, settings)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    _changes(t, changes)
    with st.form(f"memory_restore_{snapshot_id}", border=False):
        reason = st.text_input(t("Why?"), key=f"memory_restore_reason_{snapshot_id}")
        name = t("Restore snapshot {id}", id=snapshot_id)
        sent = st.form_submit_button(name, icon=":material/history:", key=f"memory_restore_send_{snapshot_id}")
    if sent and has_reason(t, reason):
        action = partial(
            curation.restore_snapshot,
            app.database,
            snapshot_id=snapshot_id,
            in_force=seen,
            reason=reason.strip(),
            actor=actor(),
            clock=app.clock,
        )
        del st.session_state[_ASKED]
        perform(t, action, t("Snapshot {id} is in force again", id=snapshot_id))


def _changes(t: Translator, changes: SnapshotChanges) -> None:
    if changes.unknown:
        st.warning(
            t("It belongs to another embedding model: in force, it would say nothing until the next update."),
            icon=":material/warning:",
        )
        return
    if not changes.shifted:
        st.info(t("Its biases on the latest states are those of the one in force."), icon=":material/check:")
        return
    st.markdown(
        t(
            "In **{changed} of the {n} latest states** it prefers another action than the one in force.",
            changed=t.number(changes.other_choice),
            n=t.number(changes.states),
        )
    )
    rows = [
        {
            t("Action"): plain(one.action),
            t("Mean bias now"): t.signed(one.now),
            t("Mean bias after restoring"): t.signed(one.then),
        }
        for one in changes.shifted
    ]
    st.table(rows, hide_index=True)


def _log(app: Context, t: Translator, environment: str) -> None:
    st.subheader(t("Log"), anchor=False)
    with app.database.read() as session:
        total = policy_log(session, environment, limit=1).total
        offset = pager(t, total, _ROWS, "memory_log_page")
        found = policy_log(session, environment, limit=_ROWS, offset=offset).items
    if not found:
        st.caption(t("Nothing has happened yet."))
    for row in found:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(t, POLICY_EVENTS, POLICY_EVENT_LOOKS, row.kind)
            st.caption(_event(t, row), width="content")


def _event(t: Translator, row: PolicyEventRow) -> str:
    facts = [t.moment(row.created_at), address(row.actor)]
    if row.round_number is not None:
        facts.append(t("round {number}", number=t.number(row.round_number)))
    if row.snapshot_id is not None:
        facts.append(t("snapshot {id}", id=row.snapshot_id))
    return " · ".join([*facts, *_told(t, row)])


def _told(t: Translator, row: PolicyEventRow) -> list[str]:
    told = row.details
    if row.kind == "updated":
        learned = t.plural("from {n} decision", "from {n} decisions", told["decisions"])
        return [t.plural("{n} update", "{n} updates", told["updates"]), learned]
    if row.kind == "evaluated":
        success = t("{success} success", success=t.percent(told["evaluation"]["success"]))
        return [success, label(t, POLICY_VERDICTS, told["verdict"])]
    if row.kind == "restored":
        return [t("as snapshot {id} was", id=told["from"])]
    return []
