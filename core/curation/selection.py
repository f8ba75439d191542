"""The same done to several rules at once: to all of them, or to none, as one entry of the audit trail."""

from collections.abc import Mapping

from core.clock import Clock
from core.curation.desk import Desk, at_desk
from core.curation.texts import look_for_conflicts
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.rules.library import check_apart, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.pins import pin_rule, unpin_rule
from core.tables import Rule

Seen = Mapping[str, int]
"""Rule id -> the version that the person has seen."""


def archive_many(database: Database, *, rules: Seen, reason: str, actor: str, clock: Clock) -> None:
    """Take rules of any state out of use.

    Raises:
        UserError: none was chosen, there is no such rule, or one is archived already.
        ConcurrentChangeError: one has changed since; names it.
    """
    with at_desk(database, Action.ARCHIVE_MANY, actor, clock, reason) as desk:
        for rule in _chosen(desk, rules, reason):
            move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)


def restore_many(database: Database, *, rules: Seen, reason: str, actor: str, clock: Clock) -> None:
    """Make archived rules candidates again; each has to be approved anew.

    Raises:
        UserError: none was chosen, there is no such rule, one is not archived, or one is in use as part of a merge
            (or a part of it is).
        ConcurrentChangeError: one has changed since; names it.
    """
    with at_desk(database, Action.RESTORE_MANY, actor, clock, reason) as desk:
        chosen = _chosen(desk, rules, reason)
        for rule in chosen:
            check_apart(desk.session, rule)
            move_rule(
                desk.session, rule, State.CANDIDATE, Cause.PERSON, desk.change, approved_by=None, merged_into=None
            )
        look_for_conflicts(desk.session, desk.change, *chosen)


def pin_many(database: Database, *, rules: Seen, actor: str, clock: Clock) -> None:
    """Keep rules from being pruned; raises like ``archive_many``."""
    with at_desk(database, Action.PIN_MANY, actor, clock) as desk:
        for rule in _chosen(desk, rules):
            pin_rule(desk.session, rule, desk.change)


def unpin_many(database: Database, *, rules: Seen, actor: str, clock: Clock) -> None:
    """Let rules be pruned like any other again; raises like ``archive_many``, but for archived ones."""
    with at_desk(database, Action.UNPIN_MANY, actor, clock) as desk:
        for rule in _chosen(desk, rules):
            unpin_rule(desk.session, rule, desk.change)


def _chosen(desk: Desk, rules: Seen, reason: str = "") -> list[Rule]:
    """Return the chosen rules, all of them as the person has seen them, and say so in the audit trail."""
    if not rules:
        raise UserError("Choose at least one rule first. Nothing was changed.")
    chosen = [desk.rule(rule_id, version) for rule_id, version in sorted(rules.items())]
    detail = {"reason": reason} if reason else {}
    desk.record(" ".join(rule.id for rule in chosen), rules=dict(sorted(rules.items())), **detail)
    return chosen
