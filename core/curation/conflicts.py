"""How people settle a conflict between two rules."""

from core.clock import Clock
from core.curation.desk import Desk, at_desk
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.rules.library import get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.tables import Conflict


def resolve_conflict(database: Database, *, conflict_id: str, keep: str | None, actor: str, clock: Clock) -> None:
    """Keep one of two contradicting rules, or say that they do not contradict each other.

    The loser goes on probation if it was live, else to the archive. A dismissed pair is never brought up again.

    Raises:
        UserError: no such open conflict, or ``keep`` is neither of its rules.
    """
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock) as desk:
        conflict = desk.session.get(Conflict, conflict_id)
        if conflict is None:
            raise UserError("There is no conflict {conflict_id}.", conflict_id=conflict_id)
        desk.check(conflict.status)
        if keep is not None and keep not in (conflict.rule_a, conflict.rule_b):
            raise UserError("The rule to keep is neither of the two in conflict: {rule_id}.", rule_id=keep)
        if keep is not None:
            _demote(desk, conflict.rule_b if keep == conflict.rule_a else conflict.rule_a)
        conflict.status = "dismissed" if keep is None else "resolved"
        conflict.resolution = "not_a_conflict" if keep is None else f"keep:{keep}"
        conflict.resolved_by, conflict.resolved_at = actor, clock()
        desk.session.add(conflict)
        desk.record(conflict_id, keep=keep)


def _demote(desk: Desk, rule_id: str) -> None:
    rule = get_rule(desk.session, rule_id)
    if rule.state == State.ACTIVE:
        move_rule(desk.session, rule, State.PROBATION, Cause.LOST_CONFLICT, desk.change)
    elif rule.state != State.ARCHIVED:
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
