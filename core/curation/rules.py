"""What people do to rules of any state: archive, restore, pin, take a merge apart, quarantine."""

from collections.abc import Mapping

from core.clock import Clock
from core.curation.desk import at_desk
from core.curation.texts import look_for_conflicts
from core.db import Database
from core.people.permissions import Action
from core.rules.comebacks import settle_returned
from core.rules.conflict_records import reopen_conflicts
from core.rules.library import check_apart, move_rule
from core.rules.library import unmerge as take_apart
from core.rules.lifecycle import Cause, State
from core.rules.pins import pin_rule, unpin_rule


def archive(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Take a rule of any state out of use."""
    with at_desk(database, Action.ARCHIVE, actor, clock, reason) as desk:
        rule = desk.rule(rule_id, version)
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
        desk.record(rule_id, version=version, reason=reason)


def restore(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Make an archived rule a candidate again; it has to be approved anew.

    Raises:
        UserError: no such rule, or it is in use as part of a merge, or a part of it is.
        ConcurrentChangeError: it has changed since.
    """
    with at_desk(database, Action.RESTORE, actor, clock, reason) as desk:
        rule = desk.rule(rule_id, version)
        check_apart(desk.session, rule)
        move_rule(desk.session, rule, State.CANDIDATE, Cause.PERSON, desk.change, approved_by=None, merged_into=None)
        reopen_conflicts(desk.session, [rule_id])
        look_for_conflicts(desk.session, desk.change, rule)
        desk.record(rule_id, version=version, reason=reason)


def pin(database: Database, *, rule_id: str, version: int, actor: str, clock: Clock) -> None:
    """Keep a rule from being pruned, and from the archive for want of use. Harm and conflicts still demote it."""
    with at_desk(database, Action.PIN, actor, clock) as desk:
        pin_rule(desk.session, desk.rule(rule_id, version), desk.change)
        desk.record(rule_id, version=version)


def unpin(database: Database, *, rule_id: str, version: int, actor: str, clock: Clock) -> None:
    """Let a rule be pruned like any other again."""
    with at_desk(database, Action.UNPIN, actor, clock) as desk:
        unpin_rule(desk.session, desk.rule(rule_id, version), desk.change)
        desk.record(rule_id, version=version)


def unmerge(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Take a merge apart: it goes to the archive, and its parents come back as they were before it.

    Raises:
        UserError: no such rule, it is no merge, or its parents cannot come back as they were.
        ConcurrentChangeError: it has changed since.
    """
    with at_desk(database, Action.UNMERGE, actor, clock, reason) as desk:
        parents = take_apart(desk.session, desk.rule(rule_id, version), desk.change)
        for parent in parents:
            look_for_conflicts(desk.session, desk.change, parent)
        names = [parent.id for parent in parents]
        settle_returned(desk.session, names, Cause.UNMERGED, desk.change)
        desk.record(rule_id, version=version, reason=reason, parents=names)


def quarantine(
    database: Database,
    *,
    rule_id: str,
    version: int,
    descendants: Mapping[str, int],
    reason: str,
    actor: str,
    clock: Clock,
) -> None:
    """Take a harmful rule out of use together with rules that descend from it: all of them, or none.

    Args:
        database: where the rules are.
        rule_id: the rule to blame; of any state but archived, like the others.
        version: as the person has seen it.
        descendants: id -> version seen, of those of its descendants that are to go with it.
        reason: what the person typed.
        actor: who decides.
        clock: tells the time.

    Raises:
        UserError: there is no such rule, or one is archived already.
        ConcurrentChangeError: one has changed since.
    """
    with at_desk(database, Action.QUARANTINE, actor, clock, reason) as desk:
        for one, seen in {**descendants, rule_id: version}.items():
            rule = desk.rule(one, seen)
            move_rule(desk.session, rule, State.ARCHIVED, Cause.QUARANTINED, desk.change, approved_by=None)
        taken = dict(sorted(descendants.items()))
        desk.record(rule_id, version=version, reason=reason, descendants=taken)
