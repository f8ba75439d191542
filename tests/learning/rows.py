"""Rows for the learning tests: what a rollout, a round or a library would have left in the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from core.rules.retrieval import Hit
from core.tables import Episode, Memory, PolicySnapshot, Round, Rule, RuleUse, Task

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DOMAIN = "desk"


def a_rule(rule_id: str, **columns: Any) -> Rule:
    given: dict[str, Any] = {
        "id": rule_id,
        "name": rule_id,
        "condition": f"the queue of {rule_id} grows without any end",
        "action": f"drain the queue of {rule_id} before anything else",
        "domain": DOMAIN,
        "origin": "reflection",
        "created_at": NOW,
        "created_round": 1,
    }
    return Rule(**given | columns)


def an_episode(episode_id: str, **columns: Any) -> Episode:
    reward = {"pass": 1.0, "marginal": 0.5, "fail": 0.0}[columns.get("grade", "pass")]
    given: dict[str, Any] = {
        "id": episode_id,
        "environment": DOMAIN,
        "task_id": f"{DOMAIN}/{episode_id}",
        "task_type": "queues",
        "query": "the queue grows",
        "split": "train",
        "arm": "learn",
        "reward": reward,
        "grade": "pass",
        "turns": 4,
        "tool_calls": 3,
        "tool_errors": 0,
        "messages": [],
        "started_at": NOW,
        "ended_at": NOW + timedelta(minutes=1),
    }
    return Episode(**given | columns)


def a_use(episode_id: str, rule_id: str, **columns: Any) -> RuleUse:
    given: dict[str, Any] = {
        "episode_id": episode_id,
        "rule_id": rule_id,
        "rule_version": 1,
        "disposition": "served",
        "score": 0.5,
    }
    return RuleUse(**given | columns)


def a_memory(episode_id: str, step: int = 2, **columns: Any) -> Memory:
    given: dict[str, Any] = {
        "environment": DOMAIN,
        "episode_id": episode_id,
        "task_id": f"{DOMAIN}/{episode_id}",
        "agent": "rulewright",
        "step": step,
        "state": "the queue grows",
        "action": "drain(queue=orders)",
        "step_reward": 0.0,
        "reward": 1.0,
        "value": 0.9,
        "gamma": 0.95,
        "created_at": NOW,
    }
    return Memory(**given | columns)


def a_snapshot(**columns: Any) -> PolicySnapshot:
    given: dict[str, Any] = {"environment": DOMAIN, "updates": 3, "state": b"\x80\xff", "created_at": NOW}
    return PolicySnapshot(**given | columns)


def a_task(number: int, **columns: Any) -> Task:
    given: dict[str, Any] = {
        "id": f"{DOMAIN}/{number:03}",
        "environment": DOMAIN,
        "type": "queues",
        "query": "the queue grows",
        "split": "train",
        "created_at": NOW + timedelta(hours=number),
    }
    return Task(**given | columns)


def a_round(number: int, **columns: Any) -> Round:
    given: dict[str, Any] = {
        "number": number,
        "environment": DOMAIN,
        "seed": number,
        "trigger": "schedule",
        "status": "committed",
        "phase": "finished",
        "started_at": NOW + timedelta(hours=number),
    }
    return Round(**given | columns)


def a_hit(rule_id: str, score: float = 0.5) -> Hit:
    return Hit(a_rule(rule_id), score, semantic=score, cosine=score, lexical=score, utility=score)
