"""Settling a conflict as somebody who sees both rules as they are now."""

from typing import Any

from core import curation
from core.db import Database
from core.rules.library import get_rule
from core.tables import Conflict


def settle(database: Database, conflict_id: str, keep: str | None, **who: Any) -> None:
    """Keep one of the two rules, or (None) say that they do not contradict each other."""
    with database.read() as session:
        conflict = session.get_one(Conflict, conflict_id)
        versions = {rule_id: get_rule(session, rule_id).version for rule_id in (conflict.rule_a, conflict.rule_b)}
    seen = curation.SeenConflict(conflict_id, versions)
    if keep is None:
        curation.dismiss_conflict(database, seen=seen, reason="", **who)
    else:
        curation.keep_rule(database, seen=seen, keep=keep, reason="", **who)
