"""Updates of the adapter in a round's gaps, and its guardrail (design section 10).

Held-out tasks never reach it: it learns from memories, and those are of training tasks alone.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import or_
from sqlmodel import col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from core.episodes.memory.index import MemoryIndex
from core.ids import derive_seed
from core.learning.bench import Bench
from core.policy.adapter import Adapter, Decision
from core.policy.explaining import Learned, explain
from core.policy.guardrail import Evaluation, Verdict
from core.policy.phases import known_of
from core.policy.sampling import Remembered, draw_batch, may_update
from core.policy.snapshots import SYSTEM, Occasion, add_snapshot, current_adapter, guard, log, logged, set_aside
from core.tables import Episode, EpisodeReward, Memory, PolicyEvent

_LATEST = 2_000
"""Decisions an update looks at besides the best ever; older ones have had their turn."""
_NEIGHBOURS = 6
_EXPLAINED, _GROUPS, _TOLD = 500, 12, 5
"""Latest decisions that an update is explained by, kinds of states told apart, and changes told at most."""


@dataclass(frozen=True)
class _Lessons:
    """Memories that an update may learn from: the latest, newest first; the best ever; and those told otherwise.

    Of the last ones a person has changed the reward since the adapter learned from them.
    """

    latest: Sequence[Memory]
    best: Sequence[Memory]
    corrected: Sequence[Memory]

    @property
    def all(self) -> list[Memory]:
        """Each memory once, in order of their ids."""
        found = {memory.id or 0: memory for memory in (*self.latest, *self.best, *self.corrected)}
        return [memory for _, memory in sorted(found.items())]


def update_adapter(bench: Bench, index: MemoryIndex, number: int, fresh: int) -> int:
    """Update the adapter from memories, and keep it as a snapshot.

    An episode whose reward a person has changed since it was learned from is as good as new, however old it is.

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
    if done or known.since is None or not may_update(known.episodes, known.since, settings, now):
        return 0
    usable = _usable(bench, index)
    corrected = _corrected(bench, usable)
    episodes = fresh + len({memory.episode_id for memory in corrected})
    if not episodes:
        return 0
    lessons = _lessons(bench, usable, corrected)
    if not lessons.latest:
        return 0
    remembered = _remembered(bench, index, lessons)
    seed = derive_seed(bench.settings.loop.seed, "adapter", number)
    dim = len(remembered[0].decision.state)
    if adapter is not None and adapter.dim != dim:
        adapter = None  # states are encoded in another way now: begin anew
    before = adapter and Adapter.restored(adapter.snapshot(), settings)
    if adapter is None:
        adapter = Adapter(dim, settings, seed)
    rng = random.Random(seed)
    times = min(settings.most_updates, settings.updates_per_episode * episodes)
    for _ in range(times):
        adapter.update(draw_batch(remembered, settings, now, rng))
    told = explain(adapter, before, [_learned(row) for row in lessons.latest[:_EXPLAINED]], groups=_GROUPS, seed=seed)
    occasion = Occasion(SYSTEM, now, number)
    learned = {"updates": times, "episodes": episodes, "decisions": len(remembered)}
    with bench.database.write() as session:
        snapshot = add_snapshot(session, bench.domain, adapter, occasion)
        log(session, snapshot, "updated", occasion, learned)
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


def _usable(bench: Bench, index: MemoryIndex) -> SelectOfScalar[Memory]:
    """Return the query for what can be learned from; what a restored snapshot gave up is not in it."""
    usable = select(Memory).where(Memory.environment == bench.domain, Memory.vector_model == index.encoding)
    with bench.database.read() as session:
        spans = set_aside(session, bench.domain)
    made = col(Memory.created_at)
    for span in spans:
        usable = usable.where(or_(made <= span.start, made > span.end))
    return usable


def _lessons(bench: Bench, usable: SelectOfScalar[Memory], corrected: Sequence[Memory]) -> _Lessons:
    with bench.database.read() as session:
        best = usable.where(Memory.value > 0).order_by(col(Memory.value).desc(), col(Memory.id))
        return _Lessons(
            session.exec(usable.order_by(col(Memory.id).desc()).limit(_LATEST)).all(),
            session.exec(best.limit(bench.settings.policy.replay)).all(),
            corrected,
        )


def _corrected(bench: Bench, usable: SelectOfScalar[Memory]) -> Sequence[Memory]:
    """Read those that the latest update could learn from, and whose reward a person has changed since."""
    updates = select(func.max(PolicyEvent.created_at)).where(
        PolicyEvent.environment == bench.domain, PolicyEvent.kind == "updated"
    )
    with bench.database.read() as session:
        updated = session.exec(updates).one()
        if updated is None:
            return []
        changed = usable.join(EpisodeReward, col(EpisodeReward.episode_id) == col(Memory.episode_id)).where(
            col(EpisodeReward.feedback_at) > updated, col(Memory.created_at) <= updated
        )
        return session.exec(changed).all()


def _learned(row: Memory) -> Learned:
    return Learned(row.episode_id, row.state, row.action, row.value, _vector(row))


def _vector(row: Memory) -> np.ndarray:
    return np.frombuffer(row.vector or b"", dtype="<f4")


def _remembered(bench: Bench, index: MemoryIndex, lessons: _Lessons) -> list[Remembered]:
    """Return decisions as an update draws them; what was told otherwise was as good as made now."""
    with bench.database.read() as session:
        actions = session.exec(select(Memory.action).where(Memory.environment == bench.domain).distinct()).all()
    everything = dict.fromkeys(sorted(actions), 0.0)
    corrected = {memory.id for memory in lessons.corrected}
    found = [(memory.id, _one_remembered(memory, index, everything)) for memory in lessons.all]
    return [replace(one, at=bench.clock()) if memory_id in corrected else one for memory_id, one in found]


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
