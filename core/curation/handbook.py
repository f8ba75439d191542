"""Rules out of a handbook become candidates, after a person has looked at every one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.clock import Clock
from core.control import current_settings
from core.curation.desk import Desk, at_desk
from core.curation.texts import content_from, look_for_conflicts, objections, texts
from core.curation.writing import check_domain
from core.db import Database
from core.errors import Messages, UserError
from core.i18n import mark
from core.people.permissions import Action
from core.rules.library import create_rule
from core.settings import Settings
from core.tables import Rule
from core.tables.rules import RuleContent

_HANDBOOK = "handbook"
_READ_FROM = mark("From {file}, line {line}")


@dataclass(frozen=True)
class HandbookRule:
    """A rule that a person wants out of a handbook.

    Attributes:
        id: of the draft as it was read (``core.rules.handbook``), whatever was changed in it since.
        line: where it stands in the file, from 1.
        content: parts of the rule by name, as the person wants them.
    """

    id: str
    line: int
    content: Mapping[str, Any]


def import_handbook(
    database: Database, *, file: str, rules: Sequence[HandbookRule], settings: Settings, actor: str, clock: Clock
) -> list[str]:
    """Add rules as candidates: all that are not there yet, or none. Returns the ids of the new ones.

    A sentence that was imported before is left alone, even if the rule was edited or archived since; so a second
    import of the same file adds nothing.

    Args:
        database: where the library is.
        file: the handbook's name.
        rules: as the person wants them.
        settings: as read at the start; limits of the quality check.
        actor: who imports.
        clock: tells the time.

    Raises:
        UserError: none was chosen or all of them are there already, or one does not pass the checks; names its line.
    """
    with at_desk(database, Action.IMPORT_HANDBOOK, actor, clock) as desk:
        desk.check()
        if not rules:
            raise UserError("Choose at least one rule to import. Nothing was added.")
        limits = current_settings(desk.session, settings)
        drafts = [(one, _checked(one, limits)) for one in rules]
        known = known_rules(desk.session, [one.id for one in rules], [draft for _, draft in drafts])
        new = [_added(desk, one, draft, file) for one, draft in drafts if one.id not in known]
        if not new:
            raise UserError("The library has all of these rules already. Nothing was added.")
        look_for_conflicts(desk.session, desk.change, *new)
        ids = [rule.id for rule in new]
        desk.record(new[0].domain, file=file, rules=ids, known=sorted(known))
        return ids


def known_rules(session: Session, ids: Sequence[str], drafts: Sequence[RuleContent]) -> dict[str, str]:
    """Return which drafts the library has already: draft id -> id of the rule, archived ones included.

    Args:
        session: for reading.
        ids: of drafts.
        drafts: what they say, in the same order.
    """
    found = {rule_id: rule_id for rule_id in session.exec(select(Rule.id).where(col(Rule.id).in_(ids)))}
    said = select_columns(*(getattr(Rule, name) for name in ("domain", "condition", "action", "exclusion", "id")))
    conditions = {draft.condition for draft in drafts}
    there = {tuple(row[:4]): row[4] for row in session.execute(said.where(col(Rule.condition).in_(conditions)))}
    for draft_id, draft in zip(ids, drafts, strict=True):
        same = there.get((draft.domain, draft.condition, draft.action, draft.exclusion))
        if same is not None:
            found.setdefault(draft_id, same)
    return found


def _checked(one: HandbookRule, settings: Settings) -> RuleContent:
    draft = content_from(one.content)
    check_domain(draft)
    findings = objections(draft, settings.rules)
    if findings:
        raise UserError(
            "Nothing was added, since the rule of line {line} does not pass: {problems}",
            line=one.line,
            problems=Messages(findings),
        )
    return draft


def _added(desk: Desk, one: HandbookRule, draft: RuleContent, file: str) -> Rule:
    change = desk.change.because(_READ_FROM, file=file, line=one.line)
    return create_rule(desk.session, RuleContent(**texts(draft)), change, origin=_HANDBOOK, id=one.id)
