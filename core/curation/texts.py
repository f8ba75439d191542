"""A text that a person wrote: its form, its quality, and what it contradicts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError
from sqlmodel import Session, col, select

from core.calibration import Thresholds
from core.errors import Messages, UserError
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import find_conflicts
from core.rules.library import Change
from core.rules.lifecycle import State
from core.rules.quality import Finding, check_quality
from core.rules.terms import jaccard, overlap, terms
from core.rules.wording import condition_text
from core.settings import RuleSettings, Settings
from core.tables import Rule
from core.tables.rules import RuleContent

_WORDS_ALONE = Thresholds(duplicate=2.0, same_condition=2.0, duplicate_mixed=2.0, same_condition_mixed=2.0)
"""No cosine reaches these: conflicts are then found by words alone, without the embedding model."""


def content_from(values: Mapping[str, Any]) -> RuleContent:
    """Return what a rule would say, checked for its form.

    Raises:
        UserError: a part is missing, of the wrong type or out of range; names it.
    """
    try:
        return RuleContent.model_validate(dict(values))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=problems) from error


def edited(rule: Rule, changes: Mapping[str, Any]) -> RuleContent:
    """Return what a rule would say after a change, checked for its form; raises like ``content_from``."""
    return content_from(texts(rule) | dict(changes))


def objections(draft: RuleContent, settings: RuleSettings) -> list[Finding]:
    """A person's text is held to the same standard, but for the confidence, which is a model's matter."""
    return [finding for finding in check_quality(draft, settings) if finding.detector != "confidence"]


def check_text(draft: RuleContent, settings: Settings) -> None:
    """Raise a UserError with all objections to a person's text, if there are any."""
    findings = objections(draft, settings.rules)
    if findings:
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=Messages(findings))


def check_new(session: Session, draft: RuleContent, besides: str = "") -> None:
    """Raise if a rule in use says the very same; a second click on "save" must not make a second rule.

    Args:
        session: a write session.
        draft: the text to come.
        besides: id of the rule that is being changed.

    Raises:
        UserError: names the other rule.
    """
    same = select(Rule.name).where(
        Rule.domain == draft.domain,
        Rule.state != State.ARCHIVED.value,
        Rule.condition == draft.condition,
        Rule.action == draft.action,
        Rule.exclusion == draft.exclusion,
        Rule.id != besides,
    )
    name = session.exec(same.limit(1)).first()
    if name is not None:
        raise UserError("The library has this rule already: “{name}”. Nothing was changed.", name=name)


def look_for_conflicts(session: Session, change: Change, *rules: Rule) -> None:
    """Record what changed texts contradict, by words alone; the loop's own checks use meaning too."""
    for domain in {rule.domain for rule in rules}:
        in_use = session.exec(select(Rule).where(Rule.domain == domain, col(Rule.state) != State.ARCHIVED.value)).all()
        for rule in rules:
            if rule.domain == domain:
                _record_conflicts(session, change, rule, [other for other in in_use if other.id != rule.id])


def _record_conflicts(session: Session, change: Change, rule: Rule, others: Sequence[Rule]) -> None:
    pairs: list[tuple[str, RuleContent]] = [(other.id, other) for other in others]
    found = find_conflicts(rule, pairs, np.ones(1, dtype=np.float32), _likeness(rule, others), _WORDS_ALONE)
    record_conflicts(session, rule, [finding for finding in found if finding.hard], change)


def _likeness(rule: Rule, others: Sequence[Rule]) -> np.ndarray:
    """Stand in for the cosine, since only the nearest are looked at: words in common, shape (len(others), 1)."""
    own = terms(condition_text(rule))
    shares = [(jaccard(own, theirs) + overlap(own, theirs)) / 2 for theirs in map(_condition_terms, others)]
    return np.asarray(shares, dtype=np.float32).reshape(-1, 1)


def _condition_terms(rule: Rule) -> tuple[str, ...]:
    return terms(condition_text(rule))


def texts(rule: RuleContent) -> dict[str, Any]:
    """Return what a rule says, as columns."""
    return {name: getattr(rule, name) for name in RuleContent.model_fields}
