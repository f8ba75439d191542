"""Rewards flip: the guardrail goes back to the last good snapshot after exactly three worse ones, bit for bit."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlmodel import select

from core.db import Database, open_database
from core.policy.adapter import Adapter, Decision
from core.policy.guardrail import Evaluation
from core.policy.snapshots import (
    Occasion,
    Span,
    add_snapshot,
    current_adapter,
    go_back,
    guard,
    last_good_snapshot,
    logged,
    newest_snapshot,
    set_aside,
)
from core.settings_experience import PolicySettings
from core.tables import PolicyEvent, PolicySnapshot

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = PolicySettings(hidden=16)
ACTIONS = ("a", "b", "c")
STATES = np.eye(4, 8, dtype=np.float32)
RIGHT = ("a", "b", "c", "a")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path}/policy.db")) as opened:
        yield opened


def learn(adapter: Adapter, rng: random.Random, *, flipped: bool, updates: int = 30) -> None:
    for _ in range(updates):
        batch = []
        for _ in range(16):
            state, action = rng.randrange(4), rng.choice(ACTIONS)
            good = (action == RIGHT[state]) != flipped
            batch.append(Decision(STATES[state], action, dict.fromkeys(ACTIONS, 0.0), 1 / 3, 1.0 if good else -1.0))
        adapter.update(batch)


def evaluated(adapter: Adapter) -> Evaluation:
    """Success is the share of states in which the right action is the likeliest."""
    likeliest = [max(ACTIONS, key=lambda action: adapter.bias(state, ACTIONS)[action]) for state in STATES]
    right = sum(one == right for one, right in zip(likeliest, RIGHT, strict=True))
    return Evaluation(right / len(RIGHT), 5.0)


def a_round(database: Database, adapter: Adapter, number: int, evaluation: Evaluation) -> str | None:
    occasion = Occasion("system", NOW, None)
    with database.write() as session:
        add_snapshot(session, "w", adapter, occasion)
        return guard(session, "w", evaluation, 40 + number, SETTINGS, occasion)


def test_flipped_rewards_are_taken_back_after_exactly_three_worse_evaluations(database: Database) -> None:
    rng, adapter, said = random.Random(1), Adapter(8, SETTINGS, 1), []
    learn(adapter, rng, flipped=False)
    said.append(a_round(database, adapter, 1, evaluated(adapter)))
    good = adapter.snapshot()
    for number in (2, 3, 4):
        learn(adapter, rng, flipped=True, updates=60)
        assert evaluated(adapter).success < 1.0
        said.append(a_round(database, adapter, number, evaluated(adapter)))
    assert said == ["better", "worse", "worse", "restore"]

    with database.read() as session:
        in_force = newest_snapshot(session, "w")
        assert in_force is not None
        assert in_force.state == good
        back = current_adapter(session, "w", SETTINGS)
        events = [(event.kind, event.actor) for event in session.exec(select(PolicyEvent).order_by(PolicyEvent.id))]  # type: ignore[arg-type]
        kept = len(session.exec(select(PolicySnapshot)).all())
    assert back is not None
    assert back.snapshot() == good
    assert evaluated(back).success == 1.0
    assert evaluated(adapter).success < 0.5  # what would have been without
    assert events == [("evaluated", "system")] * 4 + [("restored", "system")]
    assert kept == 5  # nothing was overwritten


def test_after_going_back_the_count_begins_anew(database: Database) -> None:
    adapter = Adapter(8, SETTINGS, 1)
    said = [a_round(database, adapter, n, Evaluation(0.8 if n == 0 else 0.5, 5.0)) for n in range(7)]
    assert said == ["better", "worse", "worse", "restore", "worse", "worse", "restore"]


def test_a_person_goes_back_to_any_snapshot_bit_for_bit(database: Database) -> None:
    adapter, rng = Adapter(8, SETTINGS, 1), random.Random(2)
    learn(adapter, rng, flipped=False, updates=3)
    occasion = Occasion("mia", NOW, None)
    with database.write() as session:
        first = add_snapshot(session, "w", adapter, occasion)
        learn(adapter, rng, flipped=True, updates=3)
        add_snapshot(session, "w", adapter, occasion)
        restored = go_back(session, first, occasion)
        assert restored.state == first.state
        assert restored.id != first.id
    with database.read() as session:
        newest = newest_snapshot(session, "w")
        assert newest is not None
        assert newest.state == first.state
        assert last_good_snapshot(session, "w") is None


def test_spans_that_were_given_up_are_set_aside_until_one_goes_back_to_before(database: Database) -> None:
    """Snapshots at 1, 2 and 3 h. At 4 h back to 1; at 6 h back to the one of 3 h, which knew of no span yet."""
    with database.write() as session:
        taken = [add_snapshot(session, "w", Adapter(8, SETTINGS, 1), at(hour)) for hour in (1, 2, 3)]
        assert set_aside(session, "w") == []
        go_back(session, taken[0], at(4))
        assert set_aside(session, "w") == [span(1, 4)]
        later = add_snapshot(session, "w", Adapter(8, SETTINGS, 1), at(5))
        go_back(session, taken[2], at(6))
        assert set_aside(session, "w") == [span(3, 6)]
        go_back(session, later, at(7))
        assert set_aside(session, "w") == [span(1, 4), span(5, 7)]
        assert set_aside(session, "elsewhere") == []


def at(hour: int) -> Occasion:
    return Occasion("mia", NOW + timedelta(hours=hour))


def span(start: int, end: int) -> Span:
    return Span(NOW + timedelta(hours=start), NOW + timedelta(hours=end))


def test_without_a_policy_there_is_nothing_to_guard(database: Database) -> None:
    with database.write() as session:
        assert guard(session, "w", Evaluation(0.5, 5.0), 40, SETTINGS, Occasion("system", NOW)) is None
        assert not logged(session, "w", "evaluated", 1)
