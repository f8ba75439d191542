"""How long the page Conflicts takes, small and large. ``python -m tests.bench.conflicts_page``

100 rules, 50 open conflicts, 2,000 events against 10,000 rules, 5,000 open conflicts, 200,000 events and as many
uses of rules in 20,000 episodes. The page is run as the server runs it, but for the browser. Times are of the
processor, so that other work on the machine does not count.
"""

import os
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import streamlit as st
from sqlalchemy import insert
from sqlmodel import Session
from streamlit.testing.v1 import AppTest

from core.db import Database, open_database
from core.environments.incidents import Incidents
from core.ids import stable_id
from core.tables import Conflict, Episode, Rule, RuleEvent, RuleUse
from core.views.conflicts import conflict_item, conflict_queue, open_count, place_of
from tests.bench.machine import machine

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"
SIZES = (100, 10_000)
_USES, _EVENTS = 20, 20


def fill(session: Session, rules: int, seed: int = 1) -> None:
    """Write so many rules, half as many open conflicts, and 20 events and uses a rule."""
    draw = random.Random(seed)
    words = sorted({word for task in Incidents().tasks() for word in task.query.split()})
    ids = [f"rule_{number:06}" for number in range(rules)]

    def write(table: type[Any], rows: list[dict[str, Any]]) -> None:
        session.execute(insert(table), rows)

    write(Rule, [_rule(rule_id, draw, words) for rule_id in ids])
    content = {"name": "n", "condition": "c", "action": "a"}
    for _ in range(_EVENTS):
        event = {"kind": "edited", "to_state": "candidate", "actor": "system", "after": content, "created_at": NOW}
        write(RuleEvent, [event | {"rule_id": rule_id} for rule_id in ids])
    episodes = [f"episode_{number:06}" for number in range(rules * _USES // 10)]
    write(Episode, [_episode(one, draw, words) for one in episodes])
    for episode in episodes:
        # Neighbours in pairs, so that the two rules of a conflict are often retrieved together.
        first = draw.randrange(max(1, rules - 10))
        write(RuleUse, [_use(episode, ids[(first + place) % rules], draw) for place in range(10)])
    write(Conflict, [_conflict(ids[n], ids[n + 1], n) for n in range(0, rules - 1, 2)])


def _rule(rule_id: str, draw: random.Random, words: list[str]) -> dict[str, Any]:
    return Rule(
        id=rule_id,
        name=" ".join(draw.choices(words, k=4)),
        condition=" ".join(draw.choices(words, k=10)),
        action=" ".join(draw.choices(words, k=10)),
        domain="incidents",
        origin="reflection",
        state="active" if draw.random() < 0.5 else "candidate",
        n_used=_USES,
        n_success=draw.randrange(_USES),
        created_at=NOW,
    ).model_dump()


def _episode(episode_id: str, draw: random.Random, words: list[str]) -> dict[str, Any]:
    return Episode(
        id=episode_id,
        environment="incidents",
        task_id="t",
        task_type="t",
        query=" ".join(draw.choices(words, k=40)),
        split="train",
        arm="learn",
        reward=1.0,
        grade=draw.choice(["pass", "fail"]),
        turns=5,
        tool_calls=5,
        tool_errors=0,
        messages=[],
        started_at=NOW,
        ended_at=NOW,
        credited=True,
    ).model_dump()


def _use(episode_id: str, rule_id: str, draw: random.Random) -> dict[str, Any]:
    kept = draw.random() < 0.95
    use = RuleUse(
        episode_id=episode_id,
        rule_id=rule_id,
        rule_version=1,
        disposition="served" if kept else "left_out",
        score=0.5,
        propensity=0.95 if kept else 0.05,
    )
    return use.model_dump(exclude={"id"})


def _conflict(first: str, second: str, number: int) -> dict[str, Any]:
    return Conflict(
        id=stable_id("conflict", first, second),
        rule_a=first,
        rule_b=second,
        detector="polarity",
        evidence="They contradict each other.",
        created_at=NOW + timedelta(seconds=number),
    ).model_dump()


def _views(database: Database, rules: int) -> None:
    with database.read() as session:
        middle = conflict_queue(session, limit=1, offset=rules // 4).items[0].id
        for name, read in (
            ("badge", lambda: open_count(session)),
            ("queue", lambda: conflict_queue(session, limit=10, offset=rules // 4)),
            ("place", lambda: place_of(session, middle)),
            ("one conflict", lambda: conflict_item(session, middle)),
        ):
            print(f"{rules:6,} rules, {name:13} median {_timed(read):7.2f} ms")


def _page(url: str) -> float:
    os.environ["DATABASE_URL"] = url
    st.cache_resource.clear()
    at = AppTest.from_file(SHELL, default_timeout=120)
    at.query_params["lang"] = "en"
    at.run()
    at.switch_page("conflicts.py").run()
    taken = _timed(at.run)
    if at.exception:
        raise RuntimeError(at.exception[0].value)
    return taken


def _timed(work: Callable[[], object], times: int = 15) -> float:
    """Return the median of the milliseconds of processor time that some work takes."""
    work()
    durations = []
    for _ in range(times):
        start = process_time()
        work()
        durations.append(1000 * (process_time() - start))
    return median(durations)


def main() -> None:
    """Print the figures."""
    print(machine())
    pages = {}
    for rules in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/b.db"
            database = open_database(url)
            with database.write() as session:
                fill(session, rules)
            _views(database, rules)
            pages[rules] = _page(url)
            database.close()
            print(f"{rules:6,} rules, whole page    median {pages[rules]:7.2f} ms")
    print(f"large / small: {pages[SIZES[1]] / pages[SIZES[0]]:.2f}")


if __name__ == "__main__":
    main()
