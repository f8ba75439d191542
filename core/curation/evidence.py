"""Asking for more evidence: a candidate stays one, and comes back to the queue when there is enough."""

from core.clock import Clock
from core.curation.desk import at_desk
from core.curation.review import open_candidate
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.tables import EvidenceWish

MOST = 100
"""Further successes or rounds that can be asked for at most."""


def ask_for_evidence(
    database: Database, *, rule_id: str, version: int, unit: str, count: int, actor: str, clock: Clock
) -> None:
    """Take a candidate out of the queue until it has so many more verified successes, or for so many rounds.

    It goes on as a candidate: prompts carry it now and then, and harm or disuse still archive it.

    Args:
        database: where the rule is.
        rule_id: the candidate.
        version: as the person has seen it.
        unit: verified (further verified successes, in different episodes) or rounds.
        count: how many, from 1 to 100.
        actor: who asks.
        clock: tells the time.

    Raises:
        UserError: unit or count is out of range, or somebody else has the rule before them.
        ConcurrentChangeError: it has changed since.
    """
    if unit not in ("verified", "rounds"):
        raise UserError("More evidence is counted in verified or in rounds, not in {unit}.", unit=unit)
    if not 1 <= count <= MOST:
        raise UserError("Between 1 and {most} can be asked for, not {count}.", most=MOST, count=count)
    with at_desk(database, Action.ASK_EVIDENCE, actor, clock) as desk:
        rule = open_candidate(desk, rule_id, version)
        wish = desk.session.get(EvidenceWish, rule_id) or EvidenceWish(
            rule_id=rule_id, asked_by=actor, asked_at=clock()
        )
        wish.until_verified = rule.verified + count if unit == "verified" else None
        wish.until_round = (desk.change.round_number or 0) + count if unit == "rounds" else None
        wish.asked_by, wish.asked_at = actor, clock()
        desk.session.add(wish)
        desk.record(rule_id, version=version, unit=unit, count=count)
