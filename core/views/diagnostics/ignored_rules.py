"""Rules are not followed: they are in the prompt, and the agent does otherwise."""

from collections import Counter

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.settings import RetrievalSettings
from core.tables import JUDGED, ComplianceTally, Episode, RuleUse
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window

_EXPLANATION = mark(
    "In the last rounds the agent followed {share} % of the rules that applied. Rules that are not followed can "
    "neither help nor be told good from bad. Models read the middle of a prompt less than its ends."
)
_DOUBLE = mark("Show the best rules at the start and again at the end of the prompt.")
_FEWER = mark(
    "Put fewer rules into a prompt, so that more of them stand at its ends. Whether position matters to this model, "
    "the position check below measures."
)
_ALL = mark("Rules followed, of all judged")
_ENDS = mark("Of these at the start or the end")
_MIDDLE = mark("Of these in the middle")
_JUDGED = 20
_TOO_RARELY = 0.5


def detect(window: Window) -> list[Trouble]:
    """Report if the share followed is clearly below half."""
    whole = _judged(window)
    if whole.n < _JUDGED or (whole.rate.high or 1.0) >= _TOO_RARELY:
        return []
    by_place = _by_place(window)
    ends, middle = by_place["ends"], by_place["middle"]
    retrieval = window.settings.retrieval
    usual = RetrievalSettings().doubled
    if retrieval.doubled < usual:
        remedy = Remedy(_DOUBLE, changes={"retrieval.doubled": usual})
    else:
        remedy = Remedy(_FEWER, changes={"retrieval.top_k": max(1, min(2 * usual, retrieval.top_k // 2))})
    return [
        Trouble(
            Kind.IGNORED_RULES,
            _EXPLANATION,
            (Fact(_ALL, whole.rate), Fact(_ENDS, ends.rate), Fact(_MIDDLE, middle.rate)),
            remedy,
            values={"share": round(100 * whole.passed / whole.n)},
        )
    ]


def _judged(window: Window) -> Passes:
    """Count rules followed out of those judged."""
    verdict = col(ComplianceTally.compliance)
    rows = window.session.execute(
        select(verdict, func.sum(col(ComplianceTally.uses)))
        .where(
            col(ComplianceTally.round_number).in_(window.newest()),
            col(ComplianceTally.environment) == window.domain,
            verdict.in_(JUDGED),
        )
        .group_by(verdict)
    )
    counts = {told: int(n) for told, n in rows}
    return Passes(counts.get("complied", 0), sum(counts.values()))


def _by_place(window: Window) -> dict[str, Passes]:
    """Count rules followed out of those judged, by where they stood."""
    sizes = (
        select(col(RuleUse.episode_id).label("episode_id"), func.count().label("size"))
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(
            col(Episode.round_number).in_(window.newest()),
            col(RuleUse.disposition) == "served",
        )
        .group_by(col(RuleUse.episode_id))
        .subquery()
    )
    place = (col(RuleUse.position), sizes.c.size, col(RuleUse.compliance))
    rows = window.session.execute(
        select(*place, func.count())
        .join(sizes, sizes.c.episode_id == col(RuleUse.episode_id))
        .where(col(RuleUse.disposition) == "served", col(RuleUse.compliance).in_(JUDGED))
        .group_by(*place)
    )
    doubled = window.rounds[-1].settings.get("retrieval", {}).get("doubled", 0) if window.rounds else 0
    counts: Counter[tuple[str, str]] = Counter()
    for position, size, verdict, n in rows:
        at_an_end = position == 0 or position == size - 1 or position < doubled
        counts["ends" if at_an_end else "middle", verdict] += n
    return {
        name: Passes(counts[name, "complied"], counts[name, "complied"] + counts[name, "violated"])
        for name in ("ends", "middle")
    }
