"""What the archive says to a draft: an equal of it was refused, or an equal may come back (design section 4).

Only reads, and asks no model. Whether a near rule really says the same is for the intake to find out.
"""

from typing import Any

from sqlmodel import col, select

from core.i18n import mark
from core.learning.bench import Bench
from core.rules.archive import archived_because
from core.rules.kinship import merge_kin_in_use
from core.rules.lifecycle import Cause
from core.rules.neighbours import compare_with
from core.tables import Rule
from core.tables.rules import RuleContent

_BY_PEOPLE = mark("A person refused “{name}” before, which says nearly the same.")
_REFUSING = {
    Cause.PERSON: _BY_PEOPLE,
    Cause.QUARANTINED: _BY_PEOPLE,
    Cause.HARMFUL: mark("“{name}” says nearly the same and was archived because it did harm."),
}
_RETURNING = frozenset({Cause.UNRETRIEVED, Cause.PRUNED, Cause.NO_RECOVERY})
"""What the loop sent to the archive for want of use or of results: it is given another chance, with its record."""
_MOST_ASKED = 3


def refused_equal(bench: Bench, draft: RuleContent) -> dict[str, Any] | None:
    """Return why a draft may not come in: what it nearly repeats was sent away for good. None if nothing was."""
    with bench.database.read() as session:
        causes = archived_because(session, bench.domain)
        ids = [rule_id for rule_id, cause in causes.items() if cause in _REFUSING]
        rules = {rule.id: rule for rule in session.exec(select(Rule).where(col(Rule.id).in_(ids)))}
    near = compare_with(draft, list(rules.values()), bench.embedder).duplicates
    if not near:
        return None
    rule = rules[near[0].other_id]
    values = {"name": rule.name}
    return {"detector": "refused_before", "template": _REFUSING[causes[rule.id]], "values": values}


def returning_equals(bench: Bench, draft: RuleContent) -> list[Rule]:
    """Return the archived rules that may come back for a draft that is near to them, nearest first, three at most.

    None of which a merge, or a part, is in use.
    """
    with bench.database.read() as session:
        causes = archived_because(session, bench.domain)
        ids = [rule_id for rule_id, cause in causes.items() if cause in _RETURNING]
        rules = {rule.id: rule for rule in session.exec(select(Rule).where(col(Rule.id).in_(ids)))}
    near = compare_with(draft, list(rules.values()), bench.embedder).duplicates[:_MOST_ASKED]
    with bench.database.read() as session:
        return [rules[found.other_id] for found in near if not merge_kin_in_use(session, found.other_id)]
