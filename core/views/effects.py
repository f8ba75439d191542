"""What a rule does to each health metric: randomised estimate beside the raw figures (design section 5).

Reads tallies; only for compliance, and among chosen episodes, the uses of the rules one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, Subquery, case, func, literal, select
from sqlmodel import Session, col

from core.effects import Effect, Sums, effect
from core.i18n import TOO_FEW
from core.statistics import Interval
from core.tables import JUDGED, Episode, Rule, RuleTally, RuleUse
from core.views.health import METRICS
from core.views.raw_figures import raw_figures

Split = Literal["round", "type"]

_SHARES = frozenset(METRICS) - {"mean_turns"}


@dataclass(frozen=True)
class MetricEffect:
    """One rule and one metric.

    Attributes:
        metric: one of ``METRICS``; compliance is that with the other rules of the same prompts.
        effect: of keeping the rule where it was retrieved, by the coin that left it out now and then.
        raw_with: the metric over learning episodes whose prompt carried it.
        raw_without: over all other learning episodes of its domain; says what goes together, not what causes it.
    """

    metric: str
    effect: Effect
    raw_with: Interval
    raw_without: Interval


def rule_effects(session: Session, rule_id: str) -> list[MetricEffect]:
    """Return a rule's effect on each metric, in the order of ``METRICS``; empty if there is no such rule.

    Below ``core.i18n.TOO_FEW`` episodes with or without the rule an effect says nothing.
    """
    rule = session.get(Rule, rule_id)
    if rule is None:
        return []
    raw = raw_figures(session, rule)
    return [
        MetricEffect(metric, effect(sums, share=metric in _SHARES, min_n=TOO_FEW), *raw[metric])
        for metric, sums in _sums(session, METRICS, [rule_id])[rule_id].items()
    ]


def effects_by_rule(
    session: Session, rule_ids: Iterable[str], *, metric: str = "success_rate", among: Sequence[str] | None = None
) -> dict[str, Effect]:
    """Return each rule's effect on one metric, over all episodes or ``among`` some, by their ids."""
    found = _sums(session, [metric], list(rule_ids), among)
    return {
        rule_id: effect(by_metric[metric], share=metric in _SHARES, min_n=TOO_FEW)
        for rule_id, by_metric in found.items()
    }


def effects_by(session: Session, rule_id: str, metric: str, split: Split) -> dict[int | str, Effect]:
    """Return a rule's effect on one metric by round or by task type, in their order."""
    found: dict[int | str, list[Sums]] = {}
    for _, side, propensity, *figures, key in session.execute(_query(metric, [rule_id], split=split)):
        found.setdefault(key, []).append(Sums(bool(side), propensity, *(float(figure) for figure in figures)))
    return {key: effect(sums, share=metric in _SHARES, min_n=TOO_FEW) for key, sums in found.items()}


def _sums(
    session: Session, metrics: Iterable[str], rule_ids: list[str], among: Sequence[str] | None = None
) -> dict[str, dict[str, list[Sums]]]:
    """Add up the learning episodes that retrieved each rule, by the coin's side and its probability.

    An episode that lost the whole library tells nothing about one rule: the others were missing too.
    """
    found: dict[str, dict[str, list[Sums]]] = {rule_id: {metric: [] for metric in metrics} for rule_id in rule_ids}
    for metric in metrics:
        query = _query(metric, rule_ids, among=among)
        for rule_id, side, propensity, *figures in session.execute(query):
            found[rule_id][metric].append(Sums(bool(side), propensity, *(float(figure) for figure in figures)))
    return found


def _query(
    metric: str, rule_ids: list[str], *, split: Split | None = None, among: Sequence[str] | None = None
) -> Select[Any]:
    """Add up by rule, side and probability, and by what it is to be split by; from the tally where it knows."""
    tallied = metric != "compliance_rate" and among is None
    query = _tallied(metric, split) if tallied else _one_by_one(metric, rule_ids, split)
    if among is not None:
        query = query.where(col(Episode.id).in_(among))
    return query.where(
        col((RuleTally if tallied else RuleUse).rule_id).in_(rule_ids),
        col((RuleTally if tallied else Episode).arm) == "learn",
        col((RuleTally if tallied else Episode).library_left_out).is_(False),
    )


def _tallied(metric: str, split: Split | None) -> Select[Any]:
    one = RuleTally
    x, d, xx, dd, xd = {
        "success_rate": (one.passed, one.uses, one.passed, one.uses, one.passed),
        "mean_turns": (one.turns, one.uses, one.turns_squared, one.uses, one.turns),
        "tool_error_rate": (
            one.tool_errors,
            one.tool_calls,
            one.tool_errors_squared,
            one.tool_calls_squared,
            one.calls_times_errors,
        ),
    }[metric]
    sums = [func.sum(column) for column in (one.uses, x, d, xx, dd, xd)]
    return _grouped(one, sums, {"round": one.round_number, "type": one.task_type}, split)


def _one_by_one(metric: str, rule_ids: list[str], split: Split | None) -> Select[Any]:
    totals = _compliance_totals(rule_ids)
    x, d = _parts(metric, totals)
    sums = [func.count(), func.sum(x), func.sum(d), func.sum(x * x), func.sum(d * d), func.sum(x * d)]
    query = _grouped(RuleUse, sums, {"round": Episode.round_number, "type": Episode.task_type}, split)
    query = query.join(Episode, col(Episode.id) == col(RuleUse.episode_id))
    return query.join(totals, totals.c.episode_id == col(Episode.id)) if metric == "compliance_rate" else query


def _grouped(
    uses: type[RuleTally | RuleUse], sums: Sequence[Any], splits: Mapping[Split, Any], split: Split | None
) -> Select[Any]:
    kept = case((col(uses.disposition) == "left_out", 0), else_=1)
    place = (col(uses.rule_id), kept, col(uses.propensity))
    by = [] if split is None else [col(splits[split])]
    return select(*place, *sums, *by).select_from(uses).group_by(*place, *by).order_by(*by)


def _parts(metric: str, totals: Subquery) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the numerator and the denominator of a metric in one episode."""
    if metric == "success_rate":
        return case((col(Episode.grade) == "pass", 1.0), else_=0.0), literal(1.0)
    if metric == "mean_turns":
        return 1.0 * col(Episode.turns), literal(1.0)
    if metric == "tool_error_rate":
        return 1.0 * col(Episode.tool_errors), 1.0 * col(Episode.tool_calls)
    own, verdict = col(RuleUse.disposition) == "served", col(RuleUse.compliance)
    complied = case((own & (verdict == "complied"), 1.0), else_=0.0)
    judged = case((own & verdict.in_(JUDGED), 1.0), else_=0.0)
    return totals.c.complied - complied, totals.c.judged - judged


def _compliance_totals(rule_ids: list[str]) -> Subquery:
    """Add up what was judged in each episode that retrieved one of the rules."""
    verdict = col(RuleUse.compliance)
    concerned = select(col(RuleUse.episode_id)).where(col(RuleUse.rule_id).in_(rule_ids))
    return (
        select(
            col(RuleUse.episode_id).label("episode_id"),
            func.sum(case((verdict == "complied", 1.0), else_=0.0)).label("complied"),
            func.sum(case((verdict.in_(JUDGED), 1.0), else_=0.0)).label("judged"),
        )
        .where(col(RuleUse.disposition) == "served", col(RuleUse.episode_id).in_(concerned))
        .group_by(col(RuleUse.episode_id))
        .subquery()
    )
