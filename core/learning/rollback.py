"""Taking back what a round did to the library, and nothing else (design section 8, step 4)."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session, col, select

from core.rules.comebacks import settle_returned
from core.rules.kinship import merged_from
from core.rules.library import SYSTEM, Change, content_of, get_rule, restore_content
from core.rules.lifecycle import Cause, State
from core.rules.pins import PINNED, UNPINNED
from core.tables import RuleEvent

_EARNED = frozenset(
    {Cause.VERIFIED, Cause.HARMFUL, Cause.RECOVERED, Cause.NO_RECOVERY, Cause.UNRETRIEVED, Cause.TRIMMED}
)
"""Moves that follow from a rule's own figures, not from what reflection proposed."""


def contents_without_round(session: Session, round_number: int) -> dict[str, dict[str, Any]]:
    """Return rule id -> content for each rule that a rollback of the round would change.

    A rule created by the round is archived, and so is one that came back from the archive in it. A rule that a
    person touched after the round did is left alone.
    Moves by what was counted about a rule (verified, harmful, recovered ...) stay, even where an edit of the
    same rule is undone: they rest on evidence of their own, and a demotion must not wait for a held-out gain.
    """
    events = session.exec(
        select(RuleEvent)
        .where(RuleEvent.round_number == round_number, RuleEvent.actor == SYSTEM)
        .order_by(col(RuleEvent.id))
    ).all()
    first: dict[str, RuleEvent] = {}
    earned: dict[str, dict[str, Any]] = {}
    tested: set[str] = set()
    for event in events:
        first.setdefault(event.rule_id, event)
        if event.kind in _EARNED:
            earned[event.rule_id] = {name: event.after[name] for name in ("state", "probation_since")}
        else:
            tested.add(event.rule_id)
    peoples = _touched_by_people(session, first)
    # What was merged into a rule that stays must not come back beside it, over however many merges.
    tested -= peoples | merged_from(session, peoples)
    contents = {}
    for rule_id in sorted(tested):
        before = first[rule_id].before
        if before is not None:
            # What came back from the archive in this round can have earned no place that outlasts its return.
            archived = before["state"] == State.ARCHIVED
            contents[rule_id] = before if archived else before | earned.get(rule_id, {})
        else:
            gone = {"state": State.ARCHIVED.value, "probation_since": None}
            contents[rule_id] = content_of(get_rule(session, rule_id)) | gone
    return {rule_id: c for rule_id, c in contents.items() if c != content_of(get_rule(session, rule_id))}


def roll_back_round(session: Session, contents: Mapping[str, Mapping[str, Any]], change: Change) -> int:
    """Restore the given contents; returns how many rules changed."""
    for rule_id, content in contents.items():
        restore_content(session, get_rule(session, rule_id), content, Cause.GATE, change)
    settle_returned(session, list(contents), Cause.GATE, change)
    return len(contents)


def _touched_by_people(session: Session, first: Mapping[str, RuleEvent]) -> set[str]:
    people = session.exec(
        select(RuleEvent.rule_id, RuleEvent.id).where(
            col(RuleEvent.rule_id).in_(list(first)),
            RuleEvent.actor != SYSTEM,
            col(RuleEvent.kind).not_in((PINNED, UNPINNED)),  # they say nothing about the text
        )
    )
    return {rule_id for rule_id, event_id in people if (event_id or 0) > (first[rule_id].id or 0)}
