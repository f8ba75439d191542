"""A person makes one rule of a candidate and another rule that says nearly the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.control import current_settings
from core.curation.claims import check_claim
from core.curation.desk import Desk, at_desk
from core.curation.review import Outcome, approve_at, open_candidate
from core.curation.texts import check_text, edited, look_for_conflicts, texts
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.rules.conflict_records import live_conflicts
from core.rules.library import get_rule
from core.rules.lifecycle import State
from core.rules.merging import Behind, merge_rules
from core.settings import Settings
from core.tables import Rule


@dataclass(frozen=True)
class SeenRule:
    """A rule, in the version that a person has before them."""

    rule_id: str
    version: int


def merge_into(
    database: Database,
    *,
    candidate: SeenRule,
    other: SeenRule,
    content: Mapping[str, Any],
    settings: Settings,
    actor: str,
    clock: Clock,
) -> tuple[str, Outcome]:
    """Put one approved rule in the place of a candidate and another rule in use; both become its parents.

    It takes over what was counted about both, and is live at once if the other rule was, or if that is enough.

    Args:
        database: where the rules are.
        candidate: the rule under review.
        other: the rule it is merged into, of the same domain.
        content: what the merge says; what is left out is as in the other rule.
        settings: as read at the start.
        actor: who merges.
        clock: tells the time.

    Returns:
        The new rule's id, and what its approval came to.

    Raises:
        UserError: the text does not pass the quality check, the other rule is archived or of another domain,
            somebody else has one of them before them, or one is in an open conflict.
        ConcurrentChangeError: one of them has changed since.
    """
    with at_desk(database, Action.MERGE_INTO, actor, clock) as desk:
        rule = open_candidate(desk, candidate.rule_id, candidate.version)
        target = _target(desk, rule, other)
        _check_undisputed(desk, rule, target)
        draft = edited(target, content)
        check_text(draft, current_settings(desk.session, settings))
        was_live = target.state == State.ACTIVE
        merged = merge_rules(desk.session, [target, rule], draft, desk.change, Behind())
        look_for_conflicts(desk.session, desk.change, merged)
        outcome = approve_at(desk, merged, settings, activate=was_live)
        desk.record(rule.id, version=candidate.version, other=target.id, merged=merged.id, content=texts(draft))
    return merged.id, outcome


def _check_undisputed(desk: Desk, *rules: Rule) -> None:
    """A conflict is about the text of one rule; what becomes of it in a merge, no detector can tell."""
    names = {rule.id: rule.name for rule in rules}
    for one in live_conflicts(desk.session):
        for rule_id, other_id in ((one.rule_a, one.rule_b), (one.rule_b, one.rule_a)):
            if rule_id in names:
                raise UserError(
                    "“{name}” contradicts “{other}”. Resolve the conflict first; nothing was changed.",
                    name=names[rule_id],
                    other=get_rule(desk.session, other_id).name,
                )


def _target(desk: Desk, rule: Rule, seen: SeenRule) -> Rule:
    other = get_rule(desk.session, seen.rule_id, seen.version)
    if other.id == rule.id:
        raise UserError("A rule cannot be merged into itself.")
    if other.state == State.ARCHIVED:
        raise UserError("“{name}” is archived; merge into a rule that is in use. Nothing was changed.", name=other.name)
    if other.domain != rule.domain:
        raise UserError(
            "“{name}” is of the domain {other}, this rule of {domain}. Merge rules of one domain only.",
            name=other.name,
            other=other.domain,
            domain=rule.domain,
        )
    check_claim(desk, other.id)
    return other
