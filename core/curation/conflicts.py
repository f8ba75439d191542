"""How people settle a conflict between two rules, in one of five ways (design section 3).

Keep one; say which goes first where both fit; narrow the conditions until they do not contradict each other;
make one rule of both; or say that there is no conflict. The loop never opens again what was decided here, unless
the solution itself is gone (``core.rules.conflict_records.reopen_conflicts``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from core.clock import Clock
from core.control import current_settings
from core.curation.desk import Desk, at_desk
from core.curation.texts import check_text, edited, look_for_conflicts, texts
from core.db import Database
from core.embeddings import Embedder
from core.errors import Messages, UserError
from core.people.accounts import roles_of
from core.people.checks import check_role, check_state
from core.people.permissions import Action, may
from core.rules.conflict_records import Way, live_conflicts, record_conflicts, undecided
from core.rules.conflicts import ConflictFinding
from core.rules.library import edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.merging import Behind, merge_rules
from core.rules.neighbours import conflicts_between
from core.settings import Settings
from core.tables import Conflict, Rule
from core.tables.rules import RuleContent

NARROWED = ("condition", "exclusion")
"""What narrowing may change: when a rule applies, never what it asks for."""


@dataclass(frozen=True)
class SeenConflict:
    """A conflict as a person has it before them: its id, and the version of each of its two rules."""

    conflict_id: str
    versions: Mapping[str, int]


def keep_rule(database: Database, *, seen: SeenConflict, keep: str, reason: str, actor: str, clock: Clock) -> None:
    """Keep one of two contradicting rules. The other goes on probation if it was live, else to the archive.

    It does not come back by itself while the winner is in use.

    Raises:
        UserError: no such open conflict, ``keep`` is neither of its rules, or one of them is archived.
        ConcurrentChangeError: one of the rules has changed since.
    """
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock, reason) as desk:
        conflict, rules = _take(desk.session, seen)
        _check_one_of(rules, keep)
        (loser,) = (rule for rule_id, rule in rules.items() if rule_id != keep)
        _demote(desk, loser, rules[keep])
        _settle(desk, conflict, Way.KEEP, keep)


def set_priority(database: Database, *, seen: SeenConflict, first: str, reason: str, actor: str, clock: Clock) -> None:
    """Leave both rules in use: where both fit a task, the prompt carries ``first`` and not the other.

    Raises:
        UserError: no such open conflict, ``first`` is neither of its rules, or one of them is archived.
        ConcurrentChangeError: one of the rules has changed since.
    """
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock, reason) as desk:
        conflict, rules = _take(desk.session, seen)
        _check_one_of(rules, first)
        _settle(desk, conflict, Way.PRIORITY, first)


def narrow(  # noqa: PLR0913
    database: Database,
    *,
    seen: SeenConflict,
    changes: Mapping[str, Mapping[str, str]],
    settings: Settings,
    embedder: Embedder,
    reason: str,
    actor: str,
    clock: Clock,
) -> None:
    """Edit when two rules apply, until the detectors see no contradiction between them any more.

    Args:
        database: where the rules are.
        seen: the conflict and the versions of both rules.
        changes: rule id -> new ``condition`` and ``exclusion``, of one rule or of both.
        settings: as read at the start; say what a good text is.
        embedder: compares the conditions, outside of the transaction.
        reason: what the person typed.
        actor: who decides.
        clock: tells the time.

    Raises:
        UserError: nothing or something else than these is changed, a text does not pass the quality check, or
            the rules still contradict each other; the conflict stays open.
        ConcurrentChangeError: one of the rules has changed since.
    """
    with database.read() as session:
        check_role(roles_of(session, actor), Action.RESOLVE_CONFLICT)
        _, rules = _take(session, seen)
        drafts = _narrowed(rules, changes)
        for draft in drafts.values():
            check_text(draft, current_settings(session, settings))
    _check_apart(rules, drafts, embedder)
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock, reason) as desk:
        conflict, rules = _take(desk.session, seen)
        _settle(desk, conflict, Way.NARROWED, changes={one: dict(change) for one, change in changes.items()})
        for rule_id, draft in drafts.items():
            edit_rule(desk.session, rules[rule_id], texts(draft), desk.change)
        # Both texts are the new ones by now; what they say together was held against each other above.
        for rule_id in drafts:
            look_for_conflicts(desk.session, desk.change, rules[rule_id])


def merge_pair(
    database: Database,
    *,
    seen: SeenConflict,
    content: Mapping[str, Any],
    settings: Settings,
    reason: str,
    actor: str,
    clock: Clock,
) -> str:
    """Make one rule of both; they go to the archive as parts of it. Returns the new rule's id.

    It takes over what both have counted. Whoever may approve rules approves it with this, and it goes live if it
    is verified often enough and contradicts no other; else it waits for an expert. What its parents contradict
    besides is in the queue for it too: the detectors alone might not find it in the new words.

    Args:
        database: where the rules are.
        seen: the conflict and the versions of both rules.
        content: what the merge says, where it differs from the rule that is suggested to be kept.
        settings: as read at the start; say what a good text is, and how often a rule is to be verified.
        reason: what the person typed.
        actor: who decides.
        clock: tells the time.

    Raises:
        UserError: no such open conflict, one of its rules is archived, or the text does not pass the quality check.
        ConcurrentChangeError: one of the rules has changed since.
    """
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock, reason) as desk:
        conflict, rules = _take(desk.session, seen)
        now = current_settings(desk.session, settings)
        draft = edited(rules.get(conflict.suggestion, rules[conflict.rule_a]), content)
        check_text(draft, now)
        others = _others_of(desk.session, conflict)
        approved_by = desk.change.actor if may(desk.roles, Action.APPROVE) else None
        parents = list(rules.values())
        merged = merge_rules(desk.session, parents, draft, desk.change, Behind(), approved_by=approved_by)
        _settle(desk, conflict, Way.MERGED, merged.id, content=texts(draft))
        look_for_conflicts(desk.session, desk.change, merged)
        record_conflicts(desk.session, merged, others, desk.change)
        ready = approved_by is not None and merged.verified >= now.lifecycle.verified_successes
        if ready and not live_conflicts(desk.session, merged.id):
            move_rule(desk.session, merged, State.ACTIVE, Cause.VERIFIED, desk.change)
        return merged.id


def dismiss_conflict(database: Database, *, seen: SeenConflict, reason: str, actor: str, clock: Clock) -> None:
    """Say that two rules do not contradict each other; the pair is never brought up again.

    Raises:
        UserError: no such open conflict, or one of its rules is archived.
        ConcurrentChangeError: one of the rules has changed since.
    """
    with at_desk(database, Action.RESOLVE_CONFLICT, actor, clock, reason) as desk:
        conflict, _ = _take(desk.session, seen)
        _settle(desk, conflict, Way.DISMISSED)


def _take(session: Session, seen: SeenConflict) -> tuple[Conflict, dict[str, Rule]]:
    """Return an open conflict and its rules by id, both as the person has seen them."""
    conflict = session.get(Conflict, seen.conflict_id)
    if conflict is None:
        raise UserError("There is no conflict {conflict_id}.", conflict_id=seen.conflict_id)
    check_state(Action.RESOLVE_CONFLICT, conflict.status)
    rules = {one: get_rule(session, one, seen.versions.get(one, 0)) for one in (conflict.rule_a, conflict.rule_b)}
    for rule in rules.values():
        if rule.state == State.ARCHIVED:
            raise UserError("“{name}” is archived, so there is nothing to settle. Nothing was changed.", name=rule.name)
    return conflict, rules


def _check_one_of(rules: Mapping[str, Rule], rule_id: str) -> None:
    if rule_id not in rules:
        raise UserError("This rule is neither of the two in conflict: {rule_id}.", rule_id=rule_id)


def _demote(desk: Desk, loser: Rule, winner: Rule) -> None:
    why = desk.change if desk.change.reason else desk.change.because("“{winner}” was kept", winner=winner.name)
    if loser.state == State.ACTIVE:
        move_rule(desk.session, loser, State.PROBATION, Cause.LOST_CONFLICT, why)
    else:
        move_rule(desk.session, loser, State.ARCHIVED, Cause.PERSON, why, approved_by=None)


def _settle(desk: Desk, conflict: Conflict, way: Way, rule_id: str = "", **detail: Any) -> None:
    conflict.status = "dismissed" if way is Way.DISMISSED else "resolved"
    conflict.resolution = f"{way}:{rule_id}" if rule_id else way.value
    conflict.reason, conflict.entry_id = desk.change.reason, desk.entry_id
    conflict.resolved_by, conflict.resolved_at = desk.change.actor, desk.change.clock()
    desk.session.add(conflict)
    desk.session.flush()
    named = {"rule_id": rule_id} if rule_id else {}
    desk.record(conflict.id, way=way.value, reason=desk.change.reason, **named, **detail)


def _narrowed(rules: Mapping[str, Rule], changes: Mapping[str, Mapping[str, str]]) -> dict[str, RuleContent]:
    """Return what each rule that changes would say."""
    drafts = {}
    for rule_id, change in changes.items():
        _check_one_of(rules, rule_id)
        if not set(change) <= set(NARROWED):
            raise UserError("Narrowing changes when a rule applies and when not, never what it asks for.")
        draft = edited(rules[rule_id], change)
        if texts(draft) != texts(rules[rule_id]):
            drafts[rule_id] = draft
    if not drafts:
        raise UserError("Change the condition or the exclusion of at least one of the two rules first.")
    return drafts


def _check_apart(rules: Mapping[str, Rule], drafts: Mapping[str, RuleContent], embedder: Embedder) -> None:
    first, second = (Rule(**(rule.model_dump() | texts(drafts.get(one, rule)))) for one, rule in rules.items())
    for finding in conflicts_between(first, second, embedder):
        raise UserError(
            "The two rules still contradict each other; the conflict stays open and your text is kept. {problem} "
            "Make the conditions exclude each other, for example by naming the case of one in the exclusion of the "
            "other, or choose another way.",
            problem=Messages([finding]),
        )


def _others_of(session: Session, conflict: Conflict) -> list[ConflictFinding]:
    """Return what either rule contradicts besides the other one, as found for it."""
    pair = {conflict.rule_a, conflict.rule_b}
    return [
        ConflictFinding(other, found.detector, found.evidence, found.evidence_values, hard=True)  # type: ignore[arg-type]
        for rule_id in pair
        for found in undecided(session, rule_id)
        for other in {found.rule_a, found.rule_b} - pair
    ]
