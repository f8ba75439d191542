"""A handbook as it would be imported: each draft with what speaks against it, before anything is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from core.curation.handbook import known_rules
from core.curation.texts import content_from, objections
from core.rules.handbook import Drafted
from core.rules.quality import Finding
from core.rules.wording import rule_text
from core.settings import RuleSettings
from core.text import hidden_characters


@dataclass(frozen=True)
class CheckedDraft:
    """A draft as it stands now. ``known``: id of the rule that the library has for it already, or ''."""

    text: str
    findings: tuple[Finding, ...]
    hidden: tuple[str, ...]
    known: str


def check_drafts(
    session: Session, drafts: Sequence[tuple[Drafted, Mapping[str, Any]]], settings: RuleSettings
) -> list[CheckedDraft]:
    """Check drafts with the changes that a person made in them, in order.

    Args:
        session: for reading.
        drafts: each as it was read, and the parts that were changed since.
        settings: limits of the quality check.
    """
    contents = [content_from(one.draft.model_dump() | dict(changes)) for one, changes in drafts]
    known = known_rules(session, [one.id for one, _ in drafts], contents)
    return [
        CheckedDraft(
            rule_text(content),
            tuple(objections(content, settings)),
            tuple(hidden_characters(rule_text(content))),
            known.get(one.id, ""),
        )
        for (one, _), content in zip(drafts, contents, strict=True)
    ]
