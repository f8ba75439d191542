"""One waiting item with all that a decision needs (design section 12)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import String, cast, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.wording import rule_text
from core.tables import Conflict, Episode, Proposal, Reflection, Rule
from core.tables.rules import RuleContent
from core.text import hidden_characters
from core.views.library import RuleRow, content_changes, rule_row
from core.views.paging import PAGE_SIZE

_CARD: tuple[Any, ...] = (
    Episode.id,
    Episode.task_type,
    Episode.query,
    Episode.grade,
    Episode.reward,
    Episode.turns,
    Episode.digest,
)


@dataclass(frozen=True)
class DigestCard:
    """A digest with its episode's outcome."""

    episode_id: str
    task_type: str
    query: str
    grade: str
    reward: float
    turns: int
    digest: str


@dataclass(frozen=True)
class Contrast:
    """What the reflection that wrote a rule had before it, and the differences it found."""

    reflection_id: str
    round_number: int
    passing: tuple[DigestCard, ...]
    failing: tuple[DigestCard, ...]
    differences: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class ConflictCard:
    """An open conflict of the rule at hand with another one.

    ``evidence`` is a template that ``evidence_values`` go into; ``suggestion`` the id of the rule to keep.
    """

    id: str
    other: RuleRow
    detector: str
    evidence: str
    evidence_values: dict[str, Any]
    suggestion: str


@dataclass(frozen=True)
class RuleItem:
    """A candidate under review. ``hidden`` names characters in its texts that a reader cannot see."""

    row: RuleRow
    content: RuleContent
    hidden: tuple[str, ...]
    contrast: Contrast | None
    evidence: tuple[DigestCard, ...]
    conflicts: tuple[ConflictCard, ...]


@dataclass(frozen=True)
class ProposalItem:
    """A proposed change under review. ``moved``: the rule has changed since it was proposed."""

    id: str
    kind: str
    reason: str
    rule: RuleRow
    text_after: str
    changed: dict[str, tuple[Any, Any]]
    moved: bool
    hidden: tuple[str, ...]
    evidence: tuple[DigestCard, ...]
    round_number: int | None
    created_at: datetime


def rule_item(session: Session, rule_id: str, *, evidence: int = 6) -> RuleItem | None:
    """Read a candidate with its evidence; None if it does not wait any more.

    Args:
        session: for reading.
        rule_id: the rule.
        evidence: digests of evidence episodes at most.
    """
    rule = session.get(Rule, rule_id)
    if rule is None or rule.state != "candidate" or rule.approved_by is not None:
        return None
    content = RuleContent.model_validate(rule.model_dump(include=set(RuleContent.model_fields)))
    return RuleItem(
        row=rule_row(rule),
        content=content,
        hidden=hidden_in(content),
        contrast=_contrast(session, rule),
        evidence=_cards(session, rule.evidence[:evidence]),
        conflicts=_conflicts(session, rule_id),
    )


def proposal_item(session: Session, proposal_id: str, *, evidence: int = 6) -> ProposalItem | None:
    """Read an open proposal with its diff; None if it does not wait any more."""
    proposal = session.get(Proposal, proposal_id)
    rule = session.get(Rule, proposal.rule_id) if proposal is not None else None
    if proposal is None or rule is None or proposal.status != "open":
        return None
    before = rule.model_dump(include=set(RuleContent.model_fields))
    after = RuleContent.model_validate(before | proposal.after)
    return ProposalItem(
        id=proposal.id,
        kind=proposal.kind,
        reason=proposal.reason,
        rule=rule_row(rule),
        text_after="" if proposal.kind == "archive" else rule_text(after),
        changed=content_changes(before, proposal.after),
        moved=rule.version != proposal.rule_version,
        hidden=hidden_in(after),
        evidence=_cards(session, proposal.evidence[:evidence]),
        round_number=proposal.round_number,
        created_at=proposal.created_at,
    )


def hidden_in(content: RuleContent) -> tuple[str, ...]:
    """Name the characters in a rule's texts that a reader cannot see, each once."""
    texts = (
        content.name,
        content.condition,
        content.action,
        content.exclusion,
        content.rationale,
        *content.tags,
    )
    return tuple(dict.fromkeys(name for text in texts for name in hidden_characters(text)))


def _contrast(session: Session, rule: Rule) -> Contrast | None:
    named = cast(Reflection.outcomes, String).contains(f'"{rule.id}"', autoescape=True)
    statement = select(Reflection).where(named).order_by(col(Reflection.created_at)).limit(1)
    if rule.created_round is not None:
        statement = statement.where(Reflection.round_number == rule.created_round)
    reflection = session.exec(statement).first()
    if reflection is None:
        return None
    cards = {card.episode_id: card for card in _cards(session, [*reflection.passing, *reflection.failing])}
    return Contrast(
        reflection_id=reflection.id,
        round_number=reflection.round_number,
        passing=tuple(cards[one] for one in reflection.passing if one in cards),
        failing=tuple(cards[one] for one in reflection.failing if one in cards),
        differences=tuple(reflection.differences),
    )


def _cards(session: Session, episode_ids: list[str]) -> tuple[DigestCard, ...]:
    found = session.execute(select_columns(*_CARD).where(col(Episode.id).in_(episode_ids))).all()
    cards = {row[0]: DigestCard(*row) for row in found}
    return tuple(cards[one] for one in episode_ids if one in cards)


def _conflicts(session: Session, rule_id: str) -> tuple[ConflictCard, ...]:
    found = session.exec(
        select(Conflict, Rule)
        .join(
            Rule,
            (col(Rule.id) != rule_id) & or_(col(Rule.id) == Conflict.rule_a, col(Rule.id) == Conflict.rule_b),
        )
        .where(Conflict.status == "open", or_(col(Conflict.rule_a) == rule_id, col(Conflict.rule_b) == rule_id))
        .order_by(col(Conflict.created_at))
        .limit(PAGE_SIZE)
    ).all()
    return tuple(
        ConflictCard(
            id=conflict.id,
            other=rule_row(other),
            detector=conflict.detector,
            evidence=conflict.evidence,
            evidence_values=conflict.evidence_values,
            suggestion=conflict.suggestion,
        )
        for conflict, other in found
    )
