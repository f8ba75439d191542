"""A large library for benchmarks, written by bulk inserts: ``fill(database, rules=10_000, waiting=5_000)``.

``python -m tests.bench.big_library FILE`` writes one to look at. The same call gives the same rows.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from sqlalchemy import JSON, insert, literal
from sqlalchemy import inspect as sa_inspect
from sqlmodel import Session, SQLModel, col, func, select

from core.audit import entry_digest
from core.db import Database, open_database
from core.embeddings import COMPARISON, PACKAGED, _text_hash
from core.ids import stable_id
from core.rules.library import CONTENT_FIELDS
from core.rules.wording import condition_text, rule_text
from core.tables import AuditEntry, AuditHead, Conflict, Embedding, Round, Rule, RuleEvent
from core.tables.columns import UtcDateTime
from core.tables.rules import RuleContent
from tests.bench.prompts import DIMENSIONS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOMAINS = ("incidents", "billing", "shop")
ROUNDS = 40
_AT_ONCE = 5_000
_PEOPLE = ("ada@example.org", "bob@example.org", "mei@example.org")
_THINGS = (
    *("checkout service", "payment queue", "search index", "session cache", "order database", "mail relay"),
    *("image store", "ledger export", "login gateway", "price feed", "stock counter", "report builder"),
)
_SYMPTOMS = (
    *("answers slowly", "drops requests", "runs out of connections", "returns stale figures", "grows without end"),
    *("restarts in a loop", "refuses certificates", "lags behind its source", "doubles entries", "loses its lock"),
)
_STEPS = (
    "read its metrics of the past hour before anything is restarted",
    "compare the onset with the deploy log and roll back the change that fits",
    "raise the limit by a quarter and watch the waiting time",
    "drain one node, restart it, and go on only when it is healthy",
    "ask the owner of the data before entries are removed",
    "do not restart it before a heap profile is taken",
    "switch readers to the replica until the lag is below a minute",
)
_STATES = ("active", "active", "probation", "archived", "archived")
_ORIGINS = ("reflection", "reflection", "handbook", "merge", "human")


def fill(
    database: Database,
    *,
    rules: int = 10_000,
    waiting: int = 5_000,
    events: int = 200_000,
    conflicts: int = 200,
    entries: int = 0,
    rounds: int = ROUNDS,
    vectors: bool = False,
    now: datetime = NOW,
    seed: int = 1,
) -> list[str]:
    """Write a library and its history.

    Args:
        database: an empty one.
        rules: how many in all, spread over ``DOMAINS``.
        waiting: of these, candidates that nobody has approved; the rest is in every other state.
        events: of the rules' histories; at least one a rule.
        conflicts: open ones, each between two rules in use.
        entries: of the audit trail, chained like real ones; each archives one rule and names the row it changed.
        rounds: one an hour until now.
        vectors: store a random unit vector for each rule's text and condition, as if they had been encoded.
        now: when the newest thing happened.
        seed: of everything that is drawn.

    Returns:
        The rules' ids, the waiting ones first.
    """
    chance = random.Random(seed)
    rows = [_rule(number, number < waiting, rounds, now, chance) for number in range(rules)]
    with database.write() as session:
        started = (
            {**_ROUND, "number": n, "started_at": now - timedelta(hours=rounds - n)} for n in range(1, rounds + 1)
        )
        _insert(session, Round, started)
        _insert(session, Rule, rows)
        _insert(session, RuleEvent, _created(rows))
        _vote(session, events, rounds, now)
        _insert(session, Conflict, _conflicts(rows, conflicts, rounds, now))
        _insert(session, AuditEntry, _entries(session, rows, entries, now))
        if vectors:
            _insert(session, Embedding, _vectors(rows, seed))
    return [row["id"] for row in rows]


_ROUND = {
    "environment": DOMAINS[0],
    "seed": 1,
    "trigger": "schedule",
    "status": "committed",
    "phase": "finished",
    "plan": {},
    "settings": {},
    "verdict": {},
    "gain": {},
    "notes": [],
    "error_values": {},
}


def _insert(session: Session, table: type[SQLModel], rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> None:
    waiting = iter(rows)
    while part := list(islice(waiting, _AT_ONCE)):
        session.connection().execute(insert(table), part)


def _rule(number: int, waits: bool, rounds: int, now: datetime, chance: random.Random) -> dict[str, Any]:
    thing, symptom = _THINGS[number % len(_THINGS)], _SYMPTOMS[number // len(_THINGS) % len(_SYMPTOMS)]
    state = "candidate" if waits else chance.choice(_STATES)
    used = chance.randint(0, 6) if waits else chance.randint(20, 400)
    born = chance.randint(1, rounds)
    return {
        "id": f"rule_{number:016x}",
        "name": f"{thing.capitalize()} {symptom} ({number})",
        "condition": f"the {thing} {symptom} in region {number % 97} under load {number % 13}",
        "action": chance.choice(_STEPS),
        "exclusion": "a migration is running" if number % 4 == 0 else "",
        "rationale": "Episodes that did so passed, the others did not.",
        "domain": DOMAINS[number % len(DOMAINS)],
        "tags": [thing.split()[0]],
        "priority": 0.5,
        "confidence": round(chance.uniform(0.7, 1), 2),
        "origin": _ORIGINS[number % len(_ORIGINS)],
        "parents": [],
        "evidence": [],
        "lineage": [f"rule_{chance.randrange(number):016x}"] if number % 10 == 9 else [],
        "state": state,
        "version": 1 + number % 4,
        "approved_by": chance.choice(_PEOPLE) if state in ("active", "probation") else None,
        "created_at": now - timedelta(hours=rounds - born, seconds=number % 3_000),
        "created_round": born,
        "n_used": used,
        "n_success": round(used * chance.random()),
        "avg_delta": round(chance.uniform(-0.3, 0.3), 3),
        "verified": min(used, chance.randint(0, 5)),
        "last_retrieved_round": rounds,
        "probation_since": rounds - 1 if state == "probation" else None,
    }


def _created(rules: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for rule in rules:
        yield {
            "rule_id": rule["id"],
            "kind": "created",
            "from_state": None,
            "to_state": rule["state"],
            "actor": "system",
            "reason": "",
            "reason_values": {},
            "round_number": 1,
            "before": None,
            "after": {name: rule.get(name) for name in CONTENT_FIELDS},
            "created_at": rule["created_at"],
        }


def _vote(session: Session, events: int, rounds: int, now: datetime) -> None:
    """Give rules a vote each, round after round, until there are so many events; the database copies the rows."""
    columns = [column for column in sa_inspect(RuleEvent).columns if column.name != "id"]
    first = select(RuleEvent).where(RuleEvent.kind == "created").order_by(col(RuleEvent.id))
    rules = session.exec(select(func.count()).select_from(Rule)).one()
    for start in range(rules, events, rules):
        number = 1 + start * rounds // events
        new = {
            "kind": literal("voted"),
            "from_state": col(RuleEvent.to_state),
            "round_number": literal(number),
            "before": literal({"confidence": 0.7}, JSON),
            "created_at": literal(now - timedelta(hours=rounds - number), UtcDateTime()),
        }
        rows = first.limit(min(rules, events - start)).with_only_columns(
            *(new.get(column.name, column) for column in columns)
        )
        session.connection().execute(insert(RuleEvent).from_select([column.name for column in columns], rows))


def _conflicts(rules: Sequence[dict[str, Any]], count: int, rounds: int, now: datetime) -> Iterator[dict[str, Any]]:
    live = [rule["id"] for rule in rules if rule["state"] != "archived"]
    for number in range(min(count, len(live) // 2)):
        first, second = sorted((live[number], live[-1 - number]))
        yield {
            "id": stable_id("conflict", first, second),
            "rule_a": first,
            "rule_b": second,
            "detector": "polarity",
            "evidence": "In the same case they ask for opposite acts: “{new}” against “{other}”.",
            "evidence_values": {"new": _STEPS[0], "other": _STEPS[5]},
            "status": "open",
            "resolution": "",
            "suggestion": first,
            "round_number": 1 + number % rounds,
            "created_at": now - timedelta(minutes=count - number),
        }


def _entries(session: Session, rules: Sequence[dict[str, Any]], count: int, now: datetime) -> Iterator[dict[str, Any]]:
    previous = ""
    for number in range(1, count + 1):
        rule = rules[number % len(rules)]
        change = {
            "table": "rule",
            "key": rule["id"],
            "before": {"state": "active", "version": number},
            "after": {"state": "archived", "version": number + 1},
        }
        entry = AuditEntry(
            id=number,
            actor=_PEOPLE[number % len(_PEOPLE)],
            action="archive",
            object_kind="rule",
            object_id=rule["id"],
            detail={"version": number, "reason": "It does not hold any more."},
            changes=[change],
            created_at=now - timedelta(seconds=count - number),
            previous_digest=previous,
        )
        previous = entry.digest = entry_digest(entry)
        yield entry.model_dump()
    if count:
        session.merge(AuditHead(name="audit", entries=count, digest=previous))


def _vectors(rules: Sequence[dict[str, Any]], seed: int) -> Iterator[dict[str, Any]]:
    drawn = np.random.default_rng(seed)
    hashes: set[str] = set()
    read: tuple[Callable[[RuleContent], str], ...] = (rule_text, condition_text)
    for rule in rules:
        content = RuleContent(**{name: rule[name] for name in RuleContent.model_fields})
        hashes |= {_text_hash(COMPARISON, text(content)) for text in read}
    for key in sorted(hashes):
        vector = drawn.standard_normal(DIMENSIONS).astype(np.float32)
        yield {"text_hash": key, "model": PACKAGED, "vector": (vector / np.linalg.norm(vector)).tobytes()}


def main() -> None:
    """Write a database and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--rules", type=int, default=10_000)
    options = parser.parse_args()
    start = perf_counter()
    database = open_database(f"sqlite:///{options.file}")
    fill(
        database,
        rules=options.rules,
        waiting=options.rules // 2,
        events=20 * options.rules,
        entries=1_000,
        vectors=True,
    )
    database.close()
    print(f"{options.rules:,} rules in {perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
