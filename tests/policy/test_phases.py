"""When a phase is ready: hand-worked neighbourhoods, and what choosing by letter needs besides."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session

from core.db import open_database
from core.policy.phases import PHASES, missing, mixed_share, readiness
from core.policy.sampling import may_update
from core.settings import ModelSettings, Settings
from tests.learning.rows import a_memory, an_episode

NOW = datetime(2026, 3, 9, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as database, database.write() as opened:
        yield opened


def decision(session: Session, episode: str, step: int, angle: float, reward: float, **columns: object) -> None:
    """Add a decision whose state lies at an angle on a circle, so that cosines are known."""
    vector = np.array([np.cos(angle), np.sin(angle)], dtype="<f4")
    given = {"reward": reward, "vector": vector.tobytes(), "vector_model": "circle"} | columns
    session.add(a_memory(episode, step, **given))


def test_neighbourhoods_are_of_other_episodes_and_mixed_ones_are_counted(session: Session) -> None:
    """At 0 a success and at 0.1 a failure, both near each other; at 3 two successes; each decision has one neighbour.

    The two at 0 and 0.1 have one neighbour each, which is one outcome: not mixed. With two neighbours each of the
    four sees: a: b (bad), c (good): mixed; b: a, c (both good): not; c: d (good), b (bad): mixed; d: c, b: mixed.
    """
    for name in "abcd":
        session.add(an_episode(name))
    session.flush()
    for name, angle, reward in (("a", 0.0, 1.0), ("b", 0.1, -1.0), ("c", 2.9, 1.0), ("d", 3.0, 1.0)):
        decision(session, name, 1, angle, reward)
    session.flush()
    assert mixed_share(session, "desk", 1) == 0
    assert mixed_share(session, "desk", 2) == pytest.approx(3 / 4)
    decision(session, "b", 2, 0.1, 1.0)  # of its own episode, so b does not see it; a, c and d see both
    session.flush()
    assert mixed_share(session, "desk", 3) == pytest.approx(3 / 5)


def test_cold_memories_and_vectors_of_another_model_are_no_neighbours(session: Session) -> None:
    for name in "abc":
        session.add(an_episode(name))
    session.flush()
    decision(session, "a", 1, 0.0, -1.0, tier="cold")
    decision(session, "b", 1, 0.0, -1.0, vector_model="older", vector=b"\x00" * 12)
    decision(session, "c", 1, 0.0, 1.0)
    session.flush()
    assert mixed_share(session, "desk", 10) == 0
    assert mixed_share(session, "elsewhere", 10) is None


@pytest.mark.parametrize(("returns", "met"), [(99, False), (100, True)])
def test_before_recall_nobody_knows_whether_neighbours_ended_alike(session: Session, returns: int, met: bool) -> None:
    session.add(an_episode("e"))
    session.flush()
    session.add_all([a_memory("e", step, vector=None) for step in range(returns)])
    session.flush()
    check = readiness(session, "desk", SETTINGS, NOW)[1].checks[-1]
    assert "not known before recall" in check.template
    assert check.met is met


def test_letters_need_log_probabilities(session: Session) -> None:
    lettered = SETTINGS.model_copy(update={"model": ModelSettings(action_mode="letters")})
    session.add(an_episode("e"))
    session.flush()
    for step in range(4):
        session.add(a_memory("e", step, probability=0.5 if step < 1 else None))
    session.flush()

    def told(chosen: Settings) -> list[str]:
        checks = readiness(session, "desk", chosen, NOW)[2].checks
        return [check.template.format(**check.values) for check in checks]

    assert "Recent decisions with the model's log-probabilities: 25 %, needed 50 %." in told(lettered)
    assert len(told(SETTINGS)) == 2, "tools need none"


def test_a_phase_misses_what_those_before_it_miss(session: Session) -> None:
    found = readiness(session, "desk", SETTINGS, NOW)
    assert [one.phase for one in found] == list(PHASES[1:])
    assert missing(found, "static") == []
    sizes = [len(missing(found, phase)) for phase in PHASES]
    assert sizes == sorted(sizes) and sizes[-1] == sum(len(one.missing) for one in found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(hours=st.sampled_from([0.0, 23.99, 24.0, 24.01, 100.0]), needed=st.sampled_from([1, 2]))
def test_the_adapter_may_be_chosen_exactly_when_it_may_be_updated(session: Session, hours: float, needed: int) -> None:
    name = f"desk {hours} {needed}"
    chosen = SETTINGS.model_copy(update={"policy": SETTINGS.policy.model_copy(update={"cold_episodes": needed})})
    if session.get(type(an_episode("x")), name) is None:
        session.add(an_episode(name, environment=name))
        session.flush()
        session.add(a_memory(name, environment=name, created_at=NOW - timedelta(hours=hours)))
        session.flush()
    ready = not readiness(session, name, chosen, NOW)[2].missing
    assert ready == may_update(1, NOW - timedelta(hours=hours), chosen.policy, NOW)
