"""Updates of the adapter in a round's gaps, and its guardrail (design section 10).

Held-out tasks never reach it: it learns from memories, and those are of training tasks alone.
"""

import random
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import or_
from sqlmodel import col, select

from core.episodes.memory.index import MemoryIndex
from core.ids import derive_seed
from core.learning.bench import Bench
from core.policy.adapter import Adapter, Decision
from core.policy.explaining import Learned, explain
from core.policy.guardrail import Evaluation, Verdict
from core.policy.phases import known_of
from core.policy.sampling import Remembered, draw_batch, may_update
from core.policy.snapshots import SYSTEM, Occasion, add_snapshot, current_adapter, guard, log, logged, set_aside
from core.tables import Episode, Memory

_LATEST = 2_000
"""Decisions an update looks at besides the best ever; older ones have had their turn."""
_NEIGHBOURS = 6
_EXPLAINED, _GROUPS, _TOLD = 500, 12, 5
"""Latest decisions that an update is explained by, kinds of states told apart, and changes told at most."""


def update_adapter(bench: Bench, index: MemoryIndex, number: int, fresh: int) -> int:
    """Update the adapter from memories, and keep it as a snapshot.

    Args:
        bench: settings, database, clock.
        index: memories, followed up to now.
        number: of the round.
        fresh: episodes that came since the last time.

    Returns:
        Updates made; 0 during the cold start, or where nothing is new.
    """
    settings = bench.settings.policy
    with bench.database.read() as session:
        done = logged(session, bench.domain, "updated", number)
        known = known_of(session, bench.domain)
        adapter = current_adapter(session, bench.domain, settings)
    now = bench.clock()
    if done or not fresh or known.since is None or not may_update(known.episodes, known.since, settings, now):
        return 0
    latest, best = _memories(bench, index)
    if not latest:
        return 0
    remembered = _remembered(bench, index, {memory.id: memory for memory in (*latest, *best)})
    seed = derive_seed(bench.settings.loop.seed, "adapter", number)
    dim = len(remembered[0].decision.state)
    if adapter is not None and adapter.dim != dim:
        adapter = None  # states are encoded in another way now: begin anew
    before = adapter and Adapter.restored(adapter.snapshot(), settings)
    if adapter is None:
        adapter = Adapter(dim, settings, seed)
    rng = random.Random(seed)
    times = min(settings.most_updates, settings.updates_per_episode * fresh)
    for _ in range(times):
        adapter.update(draw_batch(remembered, settings, now, rng))
    told = explain(adapter, before, [_learned(row) for row in latest[:_EXPLAINED]], groups=_GROUPS, seed=seed)
    occasion = Occasion(SYSTEM, now, number)
    with bench.database.write() as session:
        snapshot = add_snapshot(session, bench.domain, adapter, occasion)
        log(session, snapshot, "updated", occasion, {"updates": times, "episodes": fresh, "decisions": len(remembered)})
        for one in told[:_TOLD]:
            log(session, snapshot, "explained", occasion, one.as_json())
    return times


def evaluate_policy(bench: Bench, number: int, arm: str) -> Verdict | None:
    """Let the guardrail judge the adapter by the round's held-out episodes of the arm that stands.

    Returns:
        The verdict; None where there is no adapter or no held-out episode, or the round was judged before.
    """
    with bench.database.write() as session:
        if logged(session, bench.domain, "evaluated", number):
            return None
        rows = session.exec(
            select(Episode.grade, Episode.turns).where(
                Episode.round_number == number,
                Episode.environment == bench.domain,
                Episode.arm == arm,
                Episode.split == "held_out",
                Episode.status == "done",
            )
        ).all()
        if not rows:
            return None
        passed = sum(grade == "pass" for grade, _ in rows) / len(rows)
        evaluation = Evaluation(passed, sum(turns for _, turns in rows) / len(rows))
        occasion = Occasion(SYSTEM, bench.clock(), number)
        return guard(session, bench.domain, evaluation, len(rows), bench.settings.policy, occasion)


def _memories(bench: Bench, index: MemoryIndex) -> tuple[Sequence[Memory], Sequence[Memory]]:
    """Read what can be learned from: the latest decisions, newest first, and the best ever, which keep old skills.

    What a restored snapshot gave up is not in it.
    """
    whole = select(Memory).where(Memory.environment == bench.domain, Memory.vector_model == index.encoding)
    with bench.database.read() as session:
        for span in set_aside(session, bench.domain):
            made = col(Memory.created_at)
            whole = whole.where(or_(made <= span.start, made > span.end))
        best = whole.where(Memory.value > 0).order_by(col(Memory.value).desc(), col(Memory.id))
        latest = session.exec(whole.order_by(col(Memory.id).desc()).limit(_LATEST)).all()
        return latest, session.exec(best.limit(bench.settings.policy.replay)).all()


def _learned(row: Memory) -> Learned:
    return Learned(row.episode_id, row.state, row.action, row.value, _vector(row))


def _vector(row: Memory) -> np.ndarray:
    return np.frombuffer(row.vector or b"", dtype="<f4")


def _remembered(bench: Bench, index: MemoryIndex, rows: Mapping[int | None, Memory]) -> list[Remembered]:
    """Return decisions as an update draws them, in order of their ids."""
    with bench.database.read() as session:
        actions = session.exec(select(Memory.action).where(Memory.environment == bench.domain).distinct()).all()
    everything = dict.fromkeys(sorted(actions), 0.0)
    return [_one_remembered(memory, index, everything) for _, memory in sorted(rows.items())]


def _one_remembered(memory: Memory, index: MemoryIndex, everything: Mapping[str, float]) -> Remembered:
    vector = _vector(memory)
    candidates = memory.candidates or everything
    probability = memory.probability if memory.probability is not None else 1.0 / len(candidates)
    return Remembered(
        Decision(vector, memory.action, candidates, probability, memory.value),
        memory.created_at,
        _is_hard(index, memory, vector),
        random.Random(derive_seed(0, "lot", memory.id)).random(),
    )


def _is_hard(index: MemoryIndex, memory: Memory, vector: np.ndarray) -> bool:
    """Say whether similar states led to different outcomes; those of the same episode ended alike."""
    found = index.near(vector, _NEIGHBOURS)
    near: Sequence[bool] = [one.memory.reward > 0 for one in found if one.memory.episode_id != memory.episode_id]
    return any(near) and not all(near)
