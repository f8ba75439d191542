"""Ossification: new rules wait, and no prompt shows one, so none can prove itself."""

from typing import Any

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.settings import RetrievalSettings
from core.statistics import Interval
from core.tables import Episode, RuleTally, RuleUse, TypeTally
from core.views.diagnostics.library_before import LibraryBefore, library_before, state_before
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window

_EXPLANATION = mark(
    "Candidates wait to be tried, but prompts show only rules that are live already. Nothing new can prove itself, "
    "so the library stays what it is."
)
_ADVICE = mark("Let each prompt carry at least one candidate, as long as there is one.")
_SHOWN = mark("Prompts that had a candidate, round {round}")
_WAITING = mark("Candidates as round {round} began")
_ROUNDS = 2
_RARELY = 0.1


def detect(window: Window) -> list[Trouble]:
    """Report if candidates were there in each of the last two rounds and hardly any prompt asked for one."""
    rounds = window.newest(_ROUNDS)
    library = library_before(window, rounds)
    waiting = {number: library[number].counts.get("candidate", 0) for number in rounds}
    if len(rounds) < _ROUNDS or not all(waiting.values()):
        return []
    shown = {number: _shown(window, number, library[number]) for number in rounds}
    whole = sum(shown.values(), Passes(0, 0))
    if (whole.rate.high or 1.0) >= _RARELY:
        return []
    facts = [Fact(_SHOWN, shown[n].rate, values={"round": n}, round=n) for n in rounds]
    facts += [Fact(_WAITING, Interval(waiting[n], None, None, 1), "number", {"round": n}, n) for n in rounds]
    usual, now = RetrievalSettings(), window.settings.retrieval
    changes = {
        "retrieval.min_candidates": max(usual.min_candidates, now.min_candidates),
        "retrieval.max_candidates": max(usual.max_candidates, now.max_candidates),
    }
    return [Trouble(Kind.OSSIFICATION, _EXPLANATION, tuple(facts), Remedy(_ADVICE, changes=changes))]


def _shown(window: Window, number: int, library: LibraryBefore) -> Passes:
    """Count the training prompts that found a candidate, whatever coin and budget did with it then."""
    episodes = func.coalesce(func.sum(col(TypeTally.episodes)), 0)
    n = window.session.execute(_of_round(select(episodes), TypeTally, number)).scalar_one()
    used = window.session.execute(_of_round(select(col(RuleTally.rule_id)).distinct(), RuleTally, number)).scalars()
    states = state_before(window, library, list(used))
    candidates = [rule for rule, state in states.items() if state == "candidate"]
    if not candidates:
        return Passes(0, int(n))
    prompts = _of_round(select(col(Episode.id)), Episode, number)
    found = window.session.execute(
        select(func.count(func.distinct(col(RuleUse.episode_id)))).where(
            col(RuleUse.episode_id).in_(prompts), col(RuleUse.rule_id).in_(candidates)
        )
    ).scalar_one()
    return Passes(int(found), int(n))


def _of_round(query: Any, rows: Any, number: int) -> Any:
    return query.where(
        col(rows.round_number) == number, col(rows.arm) == "learn", col(rows.library_left_out).is_(False)
    )
