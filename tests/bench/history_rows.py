"""A long history for benchmarks: rounds, episodes with their rule uses, and model calls, written by bulk inserts.

Four in five episodes belong to the rounds, spread evenly over them; the rest came from other agents. The same call
gives the same rows.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update
from sqlmodel import SQLModel, col

from core.clock import utc_now
from core.db import open_database
from core.tables import Episode, LedgerEntry, Reflection, Round, Rule, RuleUse, Task
from tests.bench.big_library import DOMAINS, fill

ROUNDS, RULES = 200, 10_000
CALLS, USES = 3, 3
"""Per episode."""
TYPES = tuple(f"type_{number:02}" for number in range(12))
_AT_ONCE = 20_000
_DAYS = 60
_ARMS = ("learn", "after", "learn", "empty", "learn", "after", "learn", "before")
_HELD_OUT = ("after", "before", "empty")
_IN_USE = 300
"""Rules that prompts have: a library holds many more that wait or are archived."""
_TASKS = 480
_SYSTEM = "You keep services running. " + "Follow the rules that apply, and look before you act. " * 20
_MESSAGES = [
    {"role": "system", "content": _SYSTEM},
    {"role": "user", "content": "The checkout service answers slowly since nine o'clock. Find out why and mend it."},
    *(
        message
        for step in range(3)
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{step}", "type": "function", "function": {"name": "read_metrics", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": json.dumps({"latency_ms": [120, 950, 870] * 20})},
        )
    ),
    {"role": "assistant", "content": "The pool was too small; it has room for twice as many connections now."},
]  # fmt: skip


def history(path: Path, episodes: int) -> str:
    """Return the address of a database with so many episodes; one that is there is used again."""
    url = f"sqlite:///{path}"
    if path.exists():
        return url
    new = path.with_suffix(".new")
    for old in path.parent.glob(f"{new.name}*"):
        old.unlink()
    now = utc_now()
    database = open_database(f"sqlite:///{new}")
    rules = fill(
        database, rules=RULES, waiting=RULES // 2, events=20 * RULES, conflicts=RULES // 50, entries=1_000,
        rounds=ROUNDS, vectors=True, now=now,
    )  # fmt: skip
    with database.engine.connect().execution_options(write=True) as connection:
        _beside(connection, rules, now)
        connection.commit()
        for first in range(0, episodes, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, episodes))
            _write(connection, Episode, (_episode(number, episodes, now) for number in numbers))
            _write(connection, RuleUse, _uses(numbers, episodes, rules))
            _write(connection, LedgerEntry, _calls(numbers, episodes, now))
            connection.commit()
    database.close()
    new.rename(path)
    return url


def _write(connection: Connection, table: type[SQLModel], rows: Iterator[dict[str, Any]]) -> None:
    connection.execute(insert(table), list(rows))


def _beside(connection: Connection, rules: list[str], now: datetime) -> None:
    """Write what does not grow with the episodes: tasks, reflections, the rounds' gains, the rules' evidence."""
    gain = {"low": 0.02, "high": 0.3, "n": 60, "repaired": 9, "regressed": 2, "mcnemar_p": 0.06, "noise_floor": 0.05}
    verdict = {"verdict": "better", "value": 0.1, "low": 0.01, "high": 0.2, "n": 60}
    for number in range(1, ROUNDS + 1):
        figures = {"arm": "after", "value": 0.1 + 0.05 * (number % 3), **gain}
        connection.execute(
            update(Round).where(col(Round.number) == number).values(gain=figures, verdict=verdict, ended_at=now)
        )
    _write(connection, Task, (_task(number, now) for number in range(_TASKS)))
    _write(connection, Reflection, (_reflection(number, rules, now) for number in range(1, ROUNDS + 1)))
    for number, rule_id in enumerate(rules):
        evidence = [_id((3 * number + one) % 800) for one in range(3)]
        connection.execute(update(Rule).where(col(Rule.id) == rule_id).values(evidence=evidence))
    used = {"state": "active", "n_used": 2_000, "n_success": 1_300}
    connection.execute(update(Rule).where(col(Rule.id).in_(_in_use(rules))).values(used))


def _task(number: int, now: datetime) -> dict[str, Any]:
    return {
        "id": f"{DOMAINS[0]}/{number}", "environment": DOMAINS[0], "type": TYPES[number % len(TYPES)],
        "query": f"The service number {number} answers slowly.", "split": "train" if number % 3 else "held_out",
        "created_at": now - timedelta(days=_DAYS), "times_sampled": 1,
    }  # fmt: skip


def _reflection(number: int, rules: list[str], now: datetime) -> dict[str, Any]:
    made = rules[8 * number : 8 * number + 8]
    return {
        "id": f"reflection_{number}", "round_number": number, "batch": 0, "status": "done", "reason": "",
        "passing": [_id(number)], "failing": [_id(number + 1)], "differences": [{"decision": "a", "passing": "b"}],
        "operations": [{"op": "ADD", "name": rule} for rule in made],
        "outcomes": [{"result": "candidate", "rule_id": rule} for rule in made], "created_at": now,
    }  # fmt: skip


def _id(number: int) -> str:
    return f"ep_{number:016x}"


def _place(number: int, episodes: int) -> tuple[int | None, str]:
    """Return the round and the arm of an episode; one round comes after the other."""
    if number % 5 == 4:
        return None, "external"
    turn = number - number // 5
    return 1 + turn * ROUNDS // (episodes - episodes // 5), _ARMS[turn % len(_ARMS)]


def _moment(number: int, episodes: int, now: datetime) -> datetime:
    return now - timedelta(days=_DAYS) * (1 - (number + 1) / episodes)


def _kind(number: int) -> int:
    return number * 7 % len(TYPES)


def _episode(number: int, episodes: int, now: datetime) -> dict[str, Any]:
    round_number, arm = _place(number, episodes)
    mark = number * 2_654_435_761 % 1_000
    grade = "pass" if mark < 620 else "marginal" if mark < 700 else "fail"
    moment = _moment(number, episodes, now)
    return {
        "id": _id(number), "environment": DOMAINS[0], "task_id": f"{DOMAINS[0]}/{number % _TASKS}",
        "task_type": TYPES[_kind(number)], "query": "The checkout service answers slowly. Find out why and mend it.",
        "split": "held_out" if arm in _HELD_OUT else "train", "arm": arm, "round_number": round_number, "rollout": 0,
        "seed": number, "temperature": 0.8, "agent": _agent(number), "model": "gpt-4o-mini", "status": "done",
        "reward": 1.0 if grade == "pass" else 0.0, "grade": grade, "turns": 3 + mark % 7, "tool_calls": 2 + mark % 6,
        "tool_errors": mark % 11 == 0, "messages": _MESSAGES, "library_left_out": arm == "learn" and mark % 10 == 3,
        "library_propensity": 0.9, "prompt_hash": "", "digest": "It read the metrics before it acted. " * 8,
        "digest_source": "extracted", "started_at": moment, "ended_at": moment + timedelta(seconds=30),
        "credited": True,
    }  # fmt: skip


def _agent(number: int) -> str:
    return f"agent-{number % 3}" if number % 5 == 4 else "rulewright"


def _in_use(rules: list[str]) -> list[str]:
    """Return the rules that prompts carry, all of the episodes' domain."""
    return rules[:: len(DOMAINS)][-_IN_USE:]


def _uses(numbers: range, episodes: int, rules: list[str]) -> Iterator[dict[str, Any]]:
    in_use = _in_use(rules)
    apart = _IN_USE // len(TYPES)
    for number in numbers:
        arm = _place(number, episodes)[1]
        if arm == "empty":
            continue
        for one in range(USES):
            mark = number * 40_503 + one * 977
            coin = mark % 20
            yield {
                "episode_id": _id(number),
                "rule_id": in_use[apart * _kind(number) + (number // len(TYPES) + 7 * one) % apart],
                "rule_version": 1,
                "disposition": "left_out" if coin == 0 else "trimmed" if coin == 1 else "served",
                "position": None if coin < 2 else one,
                "score": 0.5 + coin / 100,
                "propensity": 0.05 if coin == 0 else 0.95,
                "compliance": ("complied", "complied", "violated", "not_applicable")[mark % 4]
                if arm == "learn" and coin > 1
                else "unjudged",
                "judged_by": "check",
                "verified": arm == "learn" and mark % 9 == 0,
            }


def _calls(numbers: range, episodes: int, now: datetime) -> Iterator[dict[str, Any]]:
    for number in numbers:
        for one in range(CALLS):
            again = (number + one) % 25 == 0
            purpose = ("act", "act", "digest")[one]
            yield {
                "request_id": f"{number}-{one}", "attempt": 2 if again else 1, "purpose": purpose,
                "model": "gpt-4o-mini" if one else "gpt-4o", "simulated": False, "input_tokens": 3_500,
                "cached_tokens": 1_200, "output_tokens": 350, "cost_usd": 0.000_01, "latency_ms": 800.0,
                "outcome": "valid" if purpose == "digest" else "ok", "episode_id": _id(number),
                "agent": _agent(number), "round_number": _place(number, episodes)[0],
                "created_at": _moment(number, episodes, now),
            }  # fmt: skip
