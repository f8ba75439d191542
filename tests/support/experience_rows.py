"""Memories and a policy as some rounds would have left them, on a database that has episodes already.

Two states with three actions; what is good in one of them is bad in the other. Rows are written straight into the
tables, but the adapter is a real one that has learned from them.
"""

from datetime import datetime, timedelta

import numpy as np
from sqlmodel import Session, col, select

from core.db import Database
from core.episodes.memory.index import encode_states, encoding_of
from core.policy.adapter import Adapter, Decision
from core.policy.guardrail import Evaluation
from core.policy.snapshots import SYSTEM, Occasion, add_snapshot, guard, log
from core.settings_experience import PolicySettings
from core.tables import Episode, EpisodeReward, Memory, MemoryUse, PolicySnapshot, Tier
from tests.support.embedding import packaged_embedder

STATES = {
    "queue": "Orders wait in the queue and no consumer takes them\nqueue length 12,000, consumers 0",
    "deploy": "Error rates jumped right after the deploy of checkout\nhttp 500 on 30 % of requests",
}
ACTIONS = ("restart(service=checkout)", "roll_back(service=checkout)", "start_consumer(queue=orders)")
GOOD = {"queue": ACTIONS[2], "deploy": ACTIONS[1]}
_TIERS = (Tier.HOT,) * 6 + (Tier.WARM,) * 2 + (Tier.COLD,) * 2


def fill_experience(database: Database, *, now: datetime, episodes: int = 60) -> None:
    """Give the first training episodes a reward and a memory each, and an environment's policy three snapshots."""
    vectors = dict(zip(STATES, encode_states(packaged_embedder(), list(STATES.values())), strict=True))
    with database.write() as session:
        query = select(Episode).where(Episode.arm == "learn").order_by(col(Episode.id)).limit(episodes)
        rows = list(session.exec(query))
        memories = [_remembered(session, place, one, vectors, now) for place, one in enumerate(rows)]
        session.flush()
        for place, memory in enumerate(memories[:12], 1):
            session.add(
                MemoryUse(
                    episode_id=rows[-place].id, memory_id=memory.id or 0, step=0,
                    similarity=0.9, score=0.9, credited=True,
                )
            )  # fmt: skip
        _policy(session, memories, rows, now)


def _remembered(
    session: Session, place: int, episode: Episode, vectors: dict[str, np.ndarray], now: datetime
) -> Memory:
    name = tuple(STATES)[place % 2]
    action = ACTIONS[place % 3]
    reward = 1.0 if action == GOOD[name] else -1.0
    session.add(
        EpisodeReward(
            episode_id=episode.id, rules="high", tools="high", judge="high", judged_by="preset",
            recorded_reward=1.0, recorded_grade="pass", value=reward, remembered=True, updated_at=now,
        )
    )  # fmt: skip
    memory = Memory(
        environment=episode.environment,
        episode_id=episode.id,
        task_id=episode.task_id,
        agent="rulewright",
        step=2,
        state=STATES[name],
        action=action,
        arguments="checkout",
        result="no consumer is left" if reward < 0 else "back to normal",
        failed=place % 7 == 0,
        closed=True,
        step_reward=0.0,
        reward=reward,
        value=reward,
        gamma=0.95,
        lesson=f"{'incident closed' if reward > 0 else 'worse than before'} [{action}]",
        q=0.3 * reward,
        q_updates=1,
        tier=_TIERS[place % len(_TIERS)].value,
        covered_by=None,
        vector=vectors[name].astype("<f4").tobytes(),
        vector_model=encoding_of(packaged_embedder()),
        created_at=now - timedelta(hours=2 * (60 - place)),
        touched=1,
    )
    session.add(memory)
    return memory


def _policy(session: Session, memories: list[Memory], rows: list[Episode], now: datetime) -> None:
    settings = PolicySettings()
    environment = rows[0].environment
    batch = [_decision(memory) for memory in memories]
    adapter = Adapter(len(batch[0].state), settings, seed=3)
    judged = (Evaluation(18 / 30, 5.2), Evaluation(21 / 30, 4.8), Evaluation(16 / 30, 6.1))
    for number, evaluation in enumerate(judged, 6):
        occasion = Occasion(SYSTEM, now - timedelta(hours=9 - number), number)
        for _ in range(40):
            adapter.update(batch)
        snapshot = add_snapshot(session, environment, adapter, occasion)
        log(session, snapshot, "updated", occasion, {"updates": 40, "episodes": 12, "decisions": len(batch)})
        guard(session, environment, evaluation, 30, settings, occasion)
        _explained(session, snapshot, occasion, rows)


def _explained(session: Session, snapshot: PolicySnapshot, occasion: Occasion, rows: list[Episode]) -> None:
    details = {
        "words": ["queue", "consumer"],
        "action": ACTIONS[2],
        "before": 0.4,
        "after": 1.7,
        "n": 14,
        "episodes": [one.id for one in rows[2:14:6]],
        "example": STATES["queue"],
    }
    log(session, snapshot, "explained", occasion, details)


def _decision(memory: Memory) -> Decision:
    vector = np.frombuffer(memory.vector or b"", dtype="<f4")
    return Decision(vector, memory.action, dict.fromkeys(ACTIONS, 0.0), 1 / len(ACTIONS), memory.value)
