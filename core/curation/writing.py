"""Rules in a person's own words: written anew, or changed while they are in use."""

from collections.abc import Mapping
from typing import Any

from core.clock import Clock
from core.control import current_settings
from core.curation.desk import at_desk
from core.curation.texts import check_new, check_text, content_from, edited, look_for_conflicts, texts
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.rules.library import create_rule, edit_rule
from core.rules.lifecycle import State
from core.settings import Settings
from core.tables.rules import RuleContent

_HUMAN = "human"


def create(database: Database, *, content: Mapping[str, Any], settings: Settings, actor: str, clock: Clock) -> str:
    """Add a rule that a person wrote as a candidate; returns its id.

    It is checked like any other draft, and has to be approved and verified like any other candidate.

    Args:
        database: where the library is.
        content: parts of a rule by name; name, condition, action and domain at least.
        settings: as read at the start; limits of the quality check.
        actor: who wrote it.
        clock: tells the time.

    Raises:
        UserError: a part is missing or malformed, the text does not pass the quality check, or the library has
            the very same rule in use.
    """
    with at_desk(database, Action.CREATE, actor, clock) as desk:
        desk.check()
        draft = content_from(content)
        check_domain(draft)
        check_text(draft, current_settings(desk.session, settings))
        check_new(desk.session, draft)
        rule = create_rule(desk.session, draft, desk.change, origin=_HUMAN)
        look_for_conflicts(desk.session, desk.change, rule)
        desk.record(rule.domain, rule_id=rule.id, content=texts(draft))
        return rule.id


def edit(  # noqa: PLR0913
    database: Database,
    *,
    rule_id: str,
    version: int,
    content: Mapping[str, Any],
    reason: str,
    settings: Settings,
    actor: str,
    clock: Clock,
) -> None:
    """Change what a rule in use says; it keeps its state and what was counted about it.

    The editor vouches for the new text of a live rule, as whoever accepts a proposal does: it counts as
    approved by them. A candidate's approval was for the old text, so it waits for one again.

    Args:
        database: where the rule is.
        rule_id: the rule; of any state but archived.
        version: as the person has seen it.
        content: the parts that change, by name.
        reason: what the person typed.
        settings: as read at the start; limits of the quality check.
        actor: who edits.
        clock: tells the time.

    Raises:
        UserError: there is no such rule, nothing would change, the new text does not pass the quality check, or
            another rule in use says the very same.
        ConcurrentChangeError: it has changed since.
    """
    with at_desk(database, Action.EDIT, actor, clock, reason) as desk:
        rule = desk.rule(rule_id, version)
        changed = edited(rule, content)
        if texts(changed) == texts(rule):
            raise UserError("Nothing was changed: “{name}” says this already.", name=rule.name)
        check_domain(changed)
        check_text(changed, current_settings(desk.session, settings))
        check_new(desk.session, changed, besides=rule_id)
        approved_by = None if rule.state == State.CANDIDATE else actor
        edit_rule(desk.session, rule, texts(changed) | {"approved_by": approved_by}, desk.change)
        look_for_conflicts(desk.session, desk.change, rule)
        desk.record(rule_id, version=version, reason=reason, content=texts(changed))


def check_domain(draft: RuleContent) -> None:
    """Raise a UserError if the draft belongs to no domain: no agent would ever be served it."""
    if not draft.domain.strip():
        raise UserError("Say which domain the rule is for: agents are served the rules of their own domain only.")
