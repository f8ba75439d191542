"""Changing the policies; which candidates they are for, and what they may not do, is core.rules.policies'."""

from collections.abc import Sequence

from sqlmodel import col, select

from core.clock import Clock
from core.curation.desk import at_desk
from core.db import Database
from core.errors import ConcurrentChangeError, UserError
from core.ids import new_id
from core.people.permissions import Action
from core.rules.policies import PolicyTerms, stored_policies
from core.tables import Policy

MOST = 30
"""Policies at most: nobody can tell any more what a longer list does."""


def set_policies(
    database: Database, *, policies: Sequence[PolicyTerms], seen: Sequence[PolicyTerms], actor: str, clock: Clock
) -> None:
    """Replace the list of policies; they count from the next round's lifecycle step on.

    Args:
        database: where they are.
        policies: the whole new list, in the order in which they are tried.
        seen: the list that the person has changed.
        actor: who changes them.
        clock: tells the time.

    Raises:
        UserError: too many, or a range of confidence the wrong way round or outside of 0 to 1.
        ConcurrentChangeError: somebody has changed the list since.
    """
    _check(policies)
    with at_desk(database, Action.SET_POLICIES, actor, clock) as desk:
        desk.check()
        if stored_policies(desk.session) != list(seen):
            raise ConcurrentChangeError(
                "Somebody has changed the policies since you opened them. Look at them again; nothing was changed."
            )
        if list(policies) == list(seen):
            raise UserError("Nothing was changed.")
        for row in desk.session.exec(select(Policy).order_by(col(Policy.place))):
            desk.session.delete(row)
        for place, one in enumerate(policies):
            row = Policy(
                id=new_id("policy"),
                place=place,
                origin=one.origin,
                domain=one.domain,
                min_confidence=one.min_confidence,
                max_confidence=one.max_confidence,
                decision=one.decision.value,
                changed_by=actor,
                changed_at=clock(),
            )
            desk.session.add(row)
        desk.record("policies", count=len(policies))


def _check(policies: Sequence[PolicyTerms]) -> None:
    if len(policies) > MOST:
        raise UserError("There can be {most} policies at most.", most=MOST)
    for one in policies:
        if not 0 <= one.min_confidence <= one.max_confidence <= 1:
            raise UserError(
                "The confidence of a policy goes from a lower to a higher figure, both between 0 and 1; "
                "not from {low} to {high}.",
                low=one.min_confidence,
                high=one.max_confidence,
            )
