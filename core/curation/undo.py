"""Taking an action back: every row it changed is as it was before, or nothing happens."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Mapper
from sqlmodel import Session, SQLModel

from core.clock import Clock
from core.curation.corrections import carry_over, forget
from core.curation.desk import Desk, at_desk
from core.curation.experience import take_snapshot_back
from core.curation.recorder import state_of
from core.db import Database
from core.episodes.memory.tiers import put_back
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.i18n import mark
from core.people.checks import check_role
from core.people.permissions import Action, Role
from core.rules.comebacks import contradicted
from core.rules.conflict_records import reopen_conflicts
from core.rules.library import CONTENT_FIELDS, restore_content
from core.rules.lifecycle import Cause, State
from core.tables import AuditEntry, EpisodeReward, Memory, PolicySnapshot, Rule, Undone

TABLE_NAMES = {
    "rule": mark("Rule"),
    "proposal": mark("Proposal"),
    "refusal": mark("Refused draft"),
    "conflict": mark("Conflict"),
    "approval": mark("Approval"),
    "assignment": mark("Assignment"),
    "evidence_wish": mark("Wish for evidence"),
    "policy": mark("Policy"),
    "loop_control": mark("Loop"),
    "setting_override": mark("Setting"),
    "person": mark("Person"),
    "rule_pin": mark("Pin"),
    "saved_view": mark("Saved view"),
    "episode_reward": mark("Reward of an episode"),
    "memory": mark("Memory"),
    "policy_snapshot": mark("Snapshot"),
    "undone": mark("Action"),
}
"""What a row of each table is called for people."""


def undo(database: Database, *, entry_id: int, actor: str, clock: Clock) -> None:
    """Take back what an entry of the audit trail says; the undo is an entry of its own and can be undone too.

    A rule that the action created goes to the archive: its history stays. Everything else is exactly as before.

    Args:
        database: where the trail is.
        entry_id: the action to take back.
        actor: who undoes; whoever did it, or an administrator.
        clock: tells the time.

    Raises:
        UserError: no such action, it is undone already, it is too old to be taken back, or a rule would come back
            live against one that it contradicts and that went live meanwhile.
        NotAllowedError: it was somebody else's, or the actor could not do it today.
        ConcurrentChangeError: something it changed has changed again since; names it.
    """
    with at_desk(database, Action.UNDO, actor, clock) as desk:
        entry = desk.session.get(AuditEntry, entry_id)
        if entry is None:
            raise UserError("There is no action {entry_id} in the audit trail.", entry_id=entry_id)
        desk.check("undone" if desk.session.get(Undone, entry_id) else "done")
        _check_whose(desk, entry)
        if entry.changes is None:
            raise UserError("This action is from before actions could be undone. Nothing was changed.")
        for change in entry.changes:
            _check_untouched(desk.session, change)
        _take_back(desk, entry.changes)
        _check_conflicts(desk, [change["key"] for change in entry.changes if change["table"] == "rule"])
        desk.session.add(Undone(entry_id=entry_id, by_entry_id=desk.entry_id))
        desk.record(str(entry_id), undone=entry.action, kind=entry.object_kind, of=entry.object_id)


def _check_whose(desk: Desk, entry: AuditEntry) -> None:
    if entry.actor != desk.change.actor and Role.ADMIN not in desk.roles:
        raise NotAllowedError(
            "This was done by {actor}. Only they or an administrator can undo it. Nothing was changed.",
            actor=entry.actor,
        )
    if Action(entry.action) is not Action.UNDO:
        check_role(desk.roles, Action(entry.action))


def _check_untouched(session: Session, change: Mapping[str, Any]) -> None:
    row, after = session.get(_table(change), change["key"]), change["after"]
    now = None if row is None else state_of(row)
    if now is not None and after is not None:
        now = {name: now.get(name) for name in after}  # a column that came with a later version of the product is new
    if now != after:
        raise ConcurrentChangeError(
            "{what} {key} has changed since, so the action cannot be undone: that would overwrite what came later. "
            "Undo the later change first; nothing was changed.",
            what=TABLE_NAMES.get(change["table"], change["table"]),
            key=change["key"],
        )


def _check_conflicts(desk: Desk, rule_ids: Sequence[str]) -> None:
    reopen_conflicts(desk.session, rule_ids)
    for rule, other in contradicted(desk.session, rule_ids):
        raise UserError(
            "This would bring “{rule}” back into prompts, but it contradicts “{other}”, which went live meanwhile. "
            "Restore “{rule}” as a candidate and resolve the conflict; nothing was changed.",
            rule=rule.name,
            other=other.name,
        )


def _take_back(desk: Desk, changes: Sequence[Mapping[str, Any]]) -> None:
    # Backwards: what was created last may depend on what came before it.
    for change in reversed(changes):
        table, before = _table(change), change["before"]
        row = desk.session.get(table, change["key"])
        if isinstance(row, Rule):
            _restore_rule(desk, row, before)
        elif isinstance(row, PolicySnapshot):
            take_snapshot_back(desk, row)
        elif isinstance(row, Memory) and before is not None:
            put_back(desk.session, row, before)
        elif before is None:
            if isinstance(row, EpisodeReward):
                forget(desk.session, row)
            desk.session.delete(row)
        elif row is None:
            row = table.model_validate(before)
            desk.session.add(row)
        else:
            known = table.model_validate(before)
            for name in before:
                # Whoever saw a version must never take a later state for it, so versions only grow.
                setattr(row, name, getattr(row, name) + 1 if name == "version" else getattr(known, name))
            desk.session.add(row)
        desk.session.flush()
        if before is not None and isinstance(row, EpisodeReward):
            carry_over(desk.session, row)


def _restore_rule(desk: Desk, rule: Rule, before: Mapping[str, Any] | None) -> None:
    content = {name: getattr(rule, name) for name in CONTENT_FIELDS}
    content |= {name: before[name] for name in CONTENT_FIELDS} if before else {"state": State.ARCHIVED.value}
    restore_content(desk.session, rule, content, Cause.UNDONE, desk.change)


def _table(change: Mapping[str, Any]) -> type[SQLModel]:
    mappers: list[Mapper[Any]] = list(SQLModel._sa_registry.mappers)
    return next(mapper.class_ for mapper in mappers if mapper.class_.__tablename__ == change["table"])
