"""One rule in the place of several (design section 3): what it takes over from them, and a first text for it.

Taking a merge apart again is ``core.rules.library.unmerge``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, col, select

from core.rules.duplicates import Statistics, merged_statistics
from core.rules.kinship import merged_from
from core.rules.library import Change, create_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.pins import inherit_pin
from core.rules.terms import terms
from core.rules.wording import action_with_exception, condition_text
from core.tables import Rule, RuleUse
from core.tables.rules import RuleContent


@dataclass(frozen=True)
class Behind:
    """What a merge rests on besides its parents: episodes, and the rules in their prompts."""

    evidence: Sequence[str] = ()
    lineage: Sequence[str] = ()


def merge_rules(
    session: Session, parents: Sequence[Rule], draft: RuleContent, change: Change, behind: Behind, **extra: Any
) -> Rule:
    """Put a candidate in the place of its parents, which go to the archive as parts of it.

    Args:
        session: a write session.
        parents: rules in use, at least one.
        draft: what the merge says; checked for quality by the caller, like what it contradicts.
        change: who and why.
        behind: what the draft rests on besides.
        **extra: further columns, such as the id.
    """
    rule = create_rule(
        session,
        draft,
        change,
        origin="merge",
        parents=[parent.id for parent in parents],
        evidence=_union([*(parent.evidence for parent in parents), behind.evidence]),
        lineage=_union([*(parent.lineage for parent in parents), behind.lineage]),
        last_verified_at=max((p.last_verified_at for p in parents if p.last_verified_at), default=None),
        last_retrieved_round=max(p.last_retrieved_round or 0 for p in parents) or None,
        **added_up(session, parents).__dict__,
        **extra,
    )
    inherit_pin(session, rule, parents, change)
    for parent in parents:
        why = change.because("Merged into “{name}”", name=rule.name)
        move_rule(session, parent, State.ARCHIVED, Cause.MERGED, why, merged_into=rule.id)
    return rule


def added_up(session: Session, rules: Sequence[Rule]) -> Statistics:
    """Return the statistics of rules that become one; an episode is one verified success, whoever was in it."""
    total = Statistics(0, 0, 0.0)
    for rule in rules:
        total = merged_statistics(total, Statistics(rule.n_used, rule.n_success, rule.avg_delta, rule.verified))
    # Rules that say the same are often in one prompt, and verified successes are of different episodes.
    apart = max(total.verified - _verified_together(session, rules), *(rule.verified for rule in rules), 0)
    return replace(total, verified=apart)


def draft_merge(kept: RuleContent, other: RuleContent) -> RuleContent:
    """Write a first text for two contradicting rules as one: the more general one, with the other as its exception.

    The condition with fewer content words is the more general. Where both have the same condition, nothing can be
    an exception, and the text of ``kept`` stands alone. To be read and shortened by a person: it may be longer
    than a rule can be.

    Args:
        kept: the rule that should win where both fit; gives the name and all that is not said here.
        other: the other one.
    """
    texts = {name: getattr(kept, name) for name in RuleContent.model_fields}
    if condition_text(kept).casefold() != condition_text(other).casefold():
        kept_is_wider = len(set(terms(condition_text(kept)))) < len(set(terms(condition_text(other))))
        wide, special = (kept, other) if kept_is_wider else (other, kept)
        texts |= {"condition": wide.condition, "exclusion": wide.exclusion}
        texts |= {"action": action_with_exception(wide, special), "tags": _union([kept.tags, other.tags])}
    return RuleContent(**texts)


def _verified_together(session: Session, rules: Sequence[Rule]) -> int:
    """Return how often adding up counts an episode again in which several of the rules were verified."""
    episodes: list[set[str]] = []
    for rule in rules:
        family = {rule.id} | merged_from(session, [rule.id])
        uses = select(RuleUse.episode_id).where(col(RuleUse.rule_id).in_(family), col(RuleUse.verified).is_(True))
        episodes.append(set(session.exec(uses)))
    return sum(map(len, episodes)) - len(set().union(*episodes))


def _union(lists: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))
