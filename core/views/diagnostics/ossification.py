"""Ossification: new rules wait, and no prompt shows one, so none can prove itself."""

from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.settings import RetrievalSettings
from core.statistics import Interval
from core.tables import Episode, RuleUse
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window, states_before

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
    states = states_before(window, rounds)
    waiting = {n: [rule for rule, state in states[n].items() if state == "candidate"] for n in rounds}
    if len(rounds) < _ROUNDS or not all(waiting.values()):
        return []
    shown = {number: _shown(window, number, waiting[number]) for number in rounds}
    whole = sum(shown.values(), Passes(0, 0))
    if (whole.rate.high or 1.0) >= _RARELY:
        return []
    facts = [Fact(_SHOWN, shown[n].rate, values={"round": n}, round=n) for n in rounds]
    facts += [Fact(_WAITING, _count(waiting, n), "number", {"round": n}, n) for n in rounds]
    usual, now = RetrievalSettings(), window.settings.retrieval
    changes = {
        "retrieval.min_candidates": max(usual.min_candidates, now.min_candidates),
        "retrieval.max_candidates": max(usual.max_candidates, now.max_candidates),
    }
    return [Trouble(Kind.OSSIFICATION, _EXPLANATION, tuple(facts), Remedy(_ADVICE, changes=changes))]


def _count(waiting: Mapping[int, Sequence[str]], number: int) -> Interval:
    return Interval(len(waiting[number]), None, None, 1)


def _shown(window: Window, number: int, candidates: Sequence[str]) -> Passes:
    """Count the training prompts that found a candidate, whatever coin and budget did with it then."""
    prompts = select(col(Episode.id)).where(
        col(Episode.round_number) == number, col(Episode.arm) == "learn", col(Episode.library_left_out).is_(False)
    )
    n = window.session.execute(select(func.count()).select_from(prompts.subquery())).scalar_one()
    found = window.session.execute(
        select(func.count(func.distinct(col(RuleUse.episode_id)))).where(
            col(RuleUse.episode_id).in_(prompts), col(RuleUse.rule_id).in_(candidates)
        )
    ).scalar_one()
    return Passes(int(found), int(n))
