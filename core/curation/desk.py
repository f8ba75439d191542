"""One action of one person: role and state checked, change, event and audit entry together, or nothing at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, func, select

from core.audit import next_entry_id, record_action
from core.clock import Clock
from core.curation.recorder import Recorder
from core.db import Database
from core.people.accounts import check_an_admin_is_left, roles_of
from core.people.checks import check_role, check_state
from core.people.permissions import PERMISSIONS, STANDING, Action, Role
from core.rules.library import Change, get_rule
from core.tables import Round, Rule


@dataclass
class Desk:
    """A person at work in one transaction."""

    session: Session
    change: Change
    action: Action
    roles: frozenset[Role]
    entry_id: int
    _object_id: str | None = None
    _detail: dict[str, Any] = field(default_factory=dict)

    def check(self, state: str = STANDING) -> None:
        """Raise a UserError unless the action is possible for an object in this state."""
        check_state(self.action, state)

    def rule(self, rule_id: str, version: int) -> Rule:
        """Return the rule to act on, as the person has seen it and in a state that allows the action.

        Raises:
            UserError: no such rule, or its state forbids it.
            ConcurrentChangeError: it has changed since.
        """
        rule = get_rule(self.session, rule_id, version)
        self.check(rule.state)
        return rule

    def record(self, object_id: str, **detail: Any) -> None:
        """Say what was done to which object; it becomes the audit entry, with the rows that changed."""
        self._object_id, self._detail = object_id, detail

    def close(self, recorder: Recorder) -> None:
        """Write the audit entry."""
        if self._object_id is None:
            raise RuntimeError(f"{self.action} did not say what it acted on")
        changes = recorder.changes()
        if any(change["table"] == "person" for change in changes):
            check_an_admin_is_left(self.session)
        record_action(
            self.session,
            self.change.clock,
            actor=self.change.actor,
            action=self.action.value,
            object_kind=PERMISSIONS[self.action].kind,
            object_id=self._object_id,
            detail=self._detail,
            changes=changes,
        )


@contextmanager
def at_desk(database: Database, action: Action, actor: str, clock: Clock, reason: str = "") -> Iterator[Desk]:
    """Open a transaction for one action; whatever error leaves it, nothing has happened.

    The role is read in the same transaction, so that whoever was deactivated a moment ago is refused.

    Raises:
        NotAllowedError: the actor may not do this, or has no account (any more).
    """
    with database.write() as session:
        roles = roles_of(session, actor)
        check_role(roles, action)
        recorder = Recorder(session)
        # Terms such as "three rounds on probation" count from the round in which a person acted.
        latest = session.exec(select(func.max(Round.number))).one()
        entry_id = next_entry_id(session)
        change = Change(actor, clock, reason, round_number=latest, entry_id=entry_id)
        desk = Desk(session, change, action, roles, entry_id)
        yield desk
        desk.close(recorder)
