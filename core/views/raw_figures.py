"""The four metrics with a rule in the prompt and without: what goes together, which says nothing about causes."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from core.statistics import EMPTY, Interval, wilson
from core.tables import JUDGED, ComplianceTally, Episode, EpisodeTally, Rule, RuleTally, RuleUse, TurnsTally
from core.views.health import METRICS


def raw_figures(session: Session, rule: Rule) -> dict[str, tuple[Interval, Interval]]:
    """Return each metric over the episodes with the rule in their prompt, and over all others of its domain."""
    with_it, everywhere = _carried(session, rule), _everywhere(session, rule.domain)
    without = [whole - part for whole, part in zip(everywhere, with_it, strict=True)]
    complied, judged = _others_judged(session, rule)
    *_, all_complied, all_judged = without
    pairs = ((complied, judged), (all_complied - complied, all_judged - judged))
    return {
        metric: (_raw_interval(metric, with_it, pairs[0]), _raw_interval(metric, without, pairs[1]))
        for metric in METRICS
    }


def _raw_interval(metric: str, figures: Sequence[int], judged: tuple[int, int]) -> Interval:
    n, passed, turns, errors, calls, *_ = figures
    if metric == "mean_turns":
        return Interval(turns / n, None, None, n) if n else EMPTY
    return wilson(*{"success_rate": (passed, n), "tool_error_rate": (errors, calls)}.get(metric, judged))


def _carried(session: Session, rule: Rule) -> list[int]:
    """Add up the learning episodes with the rule: episodes, passed, turns, errors, calls, complied, judged."""
    tally = RuleTally
    columns = (tally.uses, tally.passed, tally.turns, tally.tool_errors, tally.tool_calls, tally.complied)
    sums = [func.coalesce(func.sum(column), 0) for column in (*columns, col(tally.complied) + col(tally.violated))]
    query = select(*sums).where(col(tally.rule_id) == rule.id, col(tally.disposition) == "served")
    return [int(figure) for figure in session.execute(_learning(query, tally, rule.domain)).one()]


def _everywhere(session: Session, domain: str) -> list[int]:
    """Add up all learning episodes, likewise."""
    graded, paced, judged = EpisodeTally, TurnsTally, ComplianceTally
    passed = case((col(graded.grade) == "pass", graded.episodes), else_=0)
    verdict = col(judged.compliance)
    episodes, passes, errors, calls = _figures(
        session, graded, domain, graded.episodes, passed, graded.tool_errors, graded.tool_calls
    )
    (turns,) = _figures(session, paced, domain, col(paced.turns) * col(paced.episodes))
    complied, pairs = (
        case((condition, judged.uses), else_=0) for condition in (verdict == "complied", verdict.in_(JUDGED))
    )
    return [episodes, passes, turns, errors, calls, *_figures(session, judged, domain, complied, pairs)]


def _others_judged(session: Session, rule: Rule) -> tuple[int, int]:
    """Return how many other rules were complied with in prompts that had the rule, and how many were judged."""
    own, other = aliased(RuleUse), aliased(RuleUse)
    verdict = col(other.compliance)
    # Looked up for each use: joined, the database may go through all learning episodes instead.
    learned = _learning(exists().where(col(Episode.id) == col(own.episode_id)), Episode, rule.domain)
    query = (
        select(func.coalesce(func.sum(case((verdict == "complied", 1), else_=0)), 0), func.count())
        .select_from(own)
        .join(other, (col(other.episode_id) == col(own.episode_id)) & (col(other.rule_id) != col(own.rule_id)))
        .where(
            col(own.rule_id) == rule.id,
            col(own.disposition) == "served",
            col(other.disposition) == "served",
            verdict.in_(JUDGED),
            learned,
        )
    )
    complied, judged = session.execute(query).one()
    return int(complied), int(judged)


def _figures(session: Session, tally: Any, domain: str, *columns: Any) -> list[int]:
    query = select(*(func.coalesce(func.sum(column), 0) for column in columns))
    return [int(figure) for figure in session.execute(_learning(query, tally, domain)).one()]


def _learning(query: Any, rows: Any, domain: str) -> Any:
    return query.where(col(rows.arm) == "learn", col(rows.environment) == domain)
