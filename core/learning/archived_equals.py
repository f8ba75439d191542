"""What the archive says to a draft: an equal of it was refused, or an equal may come back (design section 4).

Only reads, and asks no model. Whether a near rule really says the same is for the intake to find out.
"""

from dataclasses import dataclass
from typing import Any

from core.i18n import mark
from core.learning.bench import Bench
from core.rules.archive import archived_because
from core.rules.kinship import merge_kin_in_use
from core.rules.lifecycle import Cause
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


@dataclass(frozen=True)
class ArchivedEquals:
    """What the archive holds that is near to a draft.

    Attributes:
        refusal: why the draft may not come in, since what it nearly repeats was sent away for good.
        returning: rules that may come back for it, nearest first, three at most; of none of them a merge, or a
            part, is in use.
    """

    refusal: dict[str, Any] | None = None
    returning: tuple[Rule, ...] = ()


def archived_equals(bench: Bench, draft: RuleContent) -> ArchivedEquals:
    """Hold a draft against the archive."""
    near = bench.archive.duplicates(draft)
    if not near:
        return ArchivedEquals()
    with bench.database.read() as session:
        causes = archived_because(session, bench.domain)
        for rule in near:
            cause = causes.get(rule.id)
            if cause is not None and cause in _REFUSING:
                reason = {"detector": "refused_before", "template": _REFUSING[cause], "values": {"name": rule.name}}
                return ArchivedEquals(refusal=reason)
        loops_own = [rule for rule in near if causes.get(rule.id) in _RETURNING][:_MOST_ASKED]
        return ArchivedEquals(returning=tuple(rule for rule in loops_own if not merge_kin_in_use(session, rule.id)))
