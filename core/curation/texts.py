"""A text that a person wrote: its form, its quality, and what it contradicts."""

from collections.abc import Mapping
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
from core.rules.quality import check_quality
from core.settings import Settings
from core.tables import Rule
from core.tables.rules import RuleContent

_WORDS_ALONE = Thresholds(duplicate=2.0, same_condition=2.0, duplicate_mixed=2.0, same_condition_mixed=2.0)
"""No cosine reaches these: conflicts are then found by words alone, without the embedding model."""


def edited(rule: Rule, changes: Mapping[str, Any]) -> RuleContent:
    """Return what a rule would say after a change, checked for its form.

    Raises:
        UserError: a part is of the wrong type or out of range; names it.
    """
    try:
        return RuleContent.model_validate(texts(rule) | dict(changes))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=problems) from error


def check_text(draft: RuleContent, settings: Settings) -> None:
    """A person's text is held to the same standard, but for the confidence, which is a model's matter."""
    findings = [f for f in check_quality(draft, settings.rules) if f.detector != "confidence"]
    if findings:
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=Messages(findings))


def look_for_conflicts(session: Session, change: Change, rule: Rule) -> None:
    """Record what a changed text contradicts, by words alone; the loop's own checks use meaning too."""
    others = session.exec(
        select(Rule).where(Rule.domain == rule.domain, Rule.state != State.ARCHIVED.value, col(Rule.id) != rule.id)
    ).all()
    pairs: list[tuple[str, RuleContent]] = [(other.id, other) for other in others]
    nothing = np.zeros((len(pairs), 1), dtype=np.float32)
    found = find_conflicts(rule, pairs, np.zeros(1, dtype=np.float32), nothing, _WORDS_ALONE)
    record_conflicts(session, rule, [finding for finding in found if finding.hard], change)


def texts(rule: RuleContent) -> dict[str, Any]:
    """Return what a rule says, as columns."""
    return {name: getattr(rule, name) for name in RuleContent.model_fields}
