"""All figures at once, ready for JSON: what ``python -m core report --json`` prints."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.tables import Conflict, EpisodeTally, Round, Rule
from core.views.health import Gain, gain, health_rows
from core.views.spend import Spend, Usage, spend

RULE_STATES = ("candidate", "active", "probation", "archived")


def report(session: Session, *, now: datetime) -> dict[str, Any]:
    """Return health, gain, spend, rules, open conflicts, episodes and rounds, in this order of keys.

    ``rounds`` counts the finished ones; ``verdicts`` lists what the gate said of each. ``gain`` is None
    until a round has measured one. Keys of ``spend.by_round`` are strings; '' stands for no round.
    """
    newest = gain(session)
    finished = session.execute(
        select(col(Round.number), col(Round.status), col(Round.verdict))
        .where(col(Round.status) != "running")
        .order_by(col(Round.number))
    ).all()
    return {
        "health": [asdict(row) for row in health_rows(session)],
        "gain": None if newest is None else _gain(newest),
        "spend": _spend(spend(session, now=now)),
        "rules": _rules(session),
        "conflicts_open": session.execute(
            select(func.count()).select_from(Conflict).where(col(Conflict.status) == "open")
        ).scalar_one(),
        "episodes": session.execute(select(func.coalesce(func.sum(col(EpisodeTally.episodes)), 0))).scalar_one(),
        "rounds": len(finished),
        "verdicts": [{"round": number, "status": status, "verdict": verdict} for number, status, verdict in finished],
    }


def _gain(newest: Gain) -> dict[str, Any]:
    return {
        "value": newest.value,
        "low": newest.low,
        "high": newest.high,
        "repaired": newest.repaired,
        "regressed": newest.regressed,
        "mcnemar_p": newest.mcnemar_p,
        "noise_floor": newest.noise_floor,
        "n": newest.n,
        "round": newest.round,
        "random_arm": newest.random_value,
    }


def _spend(sums: Spend) -> dict[str, Any]:
    return {
        "total_usd": sums.total_usd,
        "by_purpose": _usages(sums.by_purpose),
        "retry_share": sums.retry_share,
        "cache_share": sums.cache_share,
        "tokens": {
            "input": sums.total.input_tokens,
            "cached": sums.total.cached_tokens,
            "output": sums.total.output_tokens,
        },
        "today_usd": sums.today_usd,
        "by_model": _usages(sums.by_model),
        "by_agent": _usages(sums.by_agent),
        "by_round": _usages({"" if number is None else str(number): each for number, each in sums.by_round.items()}),
        "by_day": _usages(sums.by_day),
        "calls": sums.total.calls,
        "requests": sums.total.requests,
        "retry_cost_usd": sums.retry_cost_usd,
        "unknown_price_calls": sums.unknown_price_calls,
        "structured": asdict(sums.structured),
        "simulated_share": sums.simulated_share,
        "simulated_usd": sums.simulated_usd,
    }


def _usages(by: dict[str, Usage]) -> dict[str, Any]:
    return {key: asdict(each) for key, each in by.items()}


def _rules(session: Session) -> dict[str, int]:
    counted = session.execute(select(col(Rule.state), func.count()).group_by(col(Rule.state)))
    return {**dict.fromkeys(RULE_STATES, 0), **{state: n for state, n in counted}}
