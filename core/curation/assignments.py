"""Giving an item to a person. A wish, no lock: others are not given it, but may still decide on it."""

from core.clock import Clock
from core.curation.desk import Desk, at_desk
from core.db import Database
from core.errors import UserError
from core.people.accounts import roles_of, sign_in_needed
from core.people.permissions import Action, may
from core.rules.lifecycle import State
from core.tables import Assignment, Proposal, Rule


def assign(database: Database, *, item_id: str, person: str | None, actor: str, clock: Clock) -> None:
    """Give a waiting rule or proposal to somebody, or (None) to nobody in particular.

    Raises:
        UserError: no such item, it does not wait, it is assigned so already, or the person cannot review.
        NotAllowedError: there is no such account, or it is deactivated.
    """
    with at_desk(database, Action.ASSIGN, actor, clock) as desk:
        desk.check(_state(desk, item_id))
        row = desk.session.get(Assignment, item_id)
        if person == (row.person if row is not None else None):
            raise UserError("This is assigned so already. Nothing was changed.")
        if person is None:
            desk.session.delete(row)
        else:
            _check_person(desk, person)
            row = row or Assignment(item_id=item_id, person=person, assigned_by=actor, assigned_at=clock())
            row.person, row.assigned_by, row.assigned_at = person, actor, clock()
            desk.session.add(row)
        desk.record(item_id, person=person)


def _state(desk: Desk, item_id: str) -> str:
    rule, proposal = desk.session.get(Rule, item_id), desk.session.get(Proposal, item_id)
    if rule is None and proposal is None:
        raise UserError("There is no rule or proposal {item_id}.", item_id=item_id)
    waits = rule is not None and rule.state == State.CANDIDATE and rule.approved_by is None
    return "waiting" if waits or (proposal is not None and proposal.status == "open") else "decided"


def _check_person(desk: Desk, person: str) -> None:
    if not sign_in_needed(desk.session):
        raise UserError("There is no sign-in here, so there is nobody to assign it to. Nothing was changed.")
    if not may(roles_of(desk.session, person), Action.APPROVE):
        raise UserError("{person} has no role that reviews rules. Nothing was changed.", person=person)
