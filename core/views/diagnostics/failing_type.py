"""The same type of task keeps failing; and whether there is a rule for it, and prompts had it."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Subquery, func, select
from sqlmodel import col

from core.i18n import mark
from core.settings import RetrievalSettings
from core.statistics import wilson
from core.tables import Episode, Rule, RuleUse
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import NONE, READ, Passes, Window, training_by_type

_MISSED = mark(
    "Tasks of this type keep failing. There are {rules} rules that were learned from such tasks, but most of their "
    "prompts had none of them."
)
_UNKNOWN = mark("Tasks of this type keep failing, and no rule was ever learned from one.")
_USELESS = mark(
    "Tasks of this type keep failing although their prompts had rules learned from such tasks: these rules do not help."
)
_RETRIEVE = mark("Let more rules into a prompt. The hit list below shows which ones such tasks found so far.")
_WIDEN = mark("Learn from more of the rare and mixed tasks, and look in Review whether a rule for them waits.")
_REWRITE = mark("Look at these rules in Library, and edit or archive what misleads.")
_PASSED = mark("Passed, last rounds")
_HAD = mark("Prompts with a rule learned from this type")
_ROUNDS = 3
_PATIENCE = 6
"""Rounds that learning has before a type without any rule counts as a trouble."""
_EPISODES = 12
_TASKS = 6
"""Rollouts of one task tend to end alike: a few hard tasks are no failing type."""
_RARELY = 0.25


def detect(window: Window) -> list[Trouble]:
    """Report types of which clearly fewer than one in four passed.

    Over three rounds since there was a rule for the type; over six if there is none.
    """
    found = []
    for kind, by_round in sorted(training_by_type(window, window.newest(READ)).items()):
        if not any(_fails(by_round, sorted(by_round)[-count:]) for count in (_ROUNDS, _PATIENCE)):
            continue
        born = _rules_for(window, kind)
        since = min(born.values(), default=-1)
        rounds = sorted(number for number in by_round if number > since)
        wanted = _ROUNDS if born else _PATIENCE
        lasts = len(rounds) >= wanted and _fails(by_round, rounds[-wanted:])
        if lasts and _tasks(window, kind, rounds[-wanted:]) >= _TASKS:
            passed = Fact(_PASSED, sum((by_round[number] for number in rounds[-wanted:]), NONE).rate)
            found.append(_trouble(window, kind, rounds[-wanted:], list(born), passed))
    return found


def _fails(by_round: Mapping[int, Passes], rounds: Sequence[int]) -> bool:
    passes = sum((by_round[number] for number in rounds), NONE)
    return passes.n >= _EPISODES and (passes.rate.high or 1.0) < _RARELY


def _trouble(window: Window, kind: str, rounds: Sequence[int], rules: Sequence[str], passed: Fact) -> Trouble:
    if not rules:
        share = window.settings.round.share_current
        widen = {"round.share_current": round(max(0.0, share - 0.2), 2)}
        return Trouble(Kind.FAILING_TYPE, _UNKNOWN, (passed,), Remedy(_WIDEN, changes=widen, page="review"), kind)
    prompts, had = _prompts(window, kind, rounds, rules)
    facts = (passed, Fact(_HAD, wilson(had, prompts)))
    if had * 2 >= prompts:
        return Trouble(Kind.FAILING_TYPE, _USELESS, facts, Remedy(_REWRITE, page="library"), kind)
    usual, now = RetrievalSettings(), window.settings.retrieval
    changes = {
        "retrieval.top_k": max(usual.top_k, now.top_k + 4),
        "retrieval.max_tokens": max(usual.max_tokens, now.max_tokens),
    }
    return Trouble(Kind.FAILING_TYPE, _MISSED, facts, Remedy(_RETRIEVE, changes=changes), kind, {"rules": len(rules)})


def _rules_for(window: Window, kind: str) -> dict[str, int]:
    """Return the rules in use whose evidence has an episode of the type, with the round each was born in."""
    born = func.coalesce(col(Rule.created_round), 0)
    query = select(col(Rule.id), born, col(Rule.evidence))
    rules = window.session.execute(query.where(col(Rule.domain) == window.domain, col(Rule.state) != "archived")).all()
    cited = {episode for *_, evidence in rules for episode in evidence}
    of_type = set(
        window.session.execute(
            select(col(Episode.id)).where(col(Episode.id).in_(cited), col(Episode.task_type) == kind)
        ).scalars()
    )
    return {rule_id: born for rule_id, born, evidence in rules if of_type & set(evidence)}


def _tasks(window: Window, kind: str, rounds: Sequence[int]) -> int:
    """Count the type's tasks that were trained on."""
    of_type = _training(kind, rounds)
    return int(window.session.execute(select(func.count(func.distinct(of_type.c.task_id)))).scalar_one())


def _prompts(window: Window, kind: str, rounds: Sequence[int], rules: Sequence[str]) -> tuple[int, int]:
    """Return the type's training prompts, and how many of them had one of the rules."""
    episodes = _training(kind, rounds)
    prompts = window.session.execute(select(func.count()).select_from(episodes)).scalar_one()
    had = window.session.execute(
        select(func.count(func.distinct(col(RuleUse.episode_id)))).where(
            col(RuleUse.episode_id).in_(select(episodes.c.id)),
            col(RuleUse.rule_id).in_(rules),
            col(RuleUse.disposition) == "served",
        )
    ).scalar_one()
    return int(prompts), int(had)


def _training(kind: str, rounds: Sequence[int]) -> Subquery:
    """Select the type's training episodes with the library."""
    return (
        select(col(Episode.id).label("id"), col(Episode.task_id).label("task_id"))
        .where(
            col(Episode.round_number).in_(rounds),
            col(Episode.arm) == "learn",
            col(Episode.task_type) == kind,
            col(Episode.library_left_out).is_(False),
        )
        .subquery()
    )
