"""Which incident happens when: 40 tasks per type, placed in time from a fixed seed (design section 2).

The training period is [0, 1). Early types come up all through it; late types from a set moment on, a bit more
often, so that they too have 30 training tasks. Their held-out tasks follow in [1, 1.3). Types that are
held out as a whole come up at any time.
"""

import random
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from core.environments.incidents_content import (
    Alert,
    IncidentType,
    World,
    draw_names,
    fill,
    load_types,
    load_world,
)
from core.environments.protocol import Split, TaskSpec
from core.ids import derive_seed

_TRAIN_TASKS = 30
_HELD_OUT_TASKS = 10
_END = 1.3
_REDRAWS = 1000


@dataclass(frozen=True)
class Case:
    """A task with what the agent must not know: its incident type's content, and its flavour names."""

    task: TaskSpec
    kind: IncidentType
    alert: Alert
    names: Mapping[str, str]


@dataclass(frozen=True)
class _Slot:
    position: float
    kind: IncidentType
    split: Split
    variant: int


@lru_cache(maxsize=1)
def load_cases() -> Mapping[str, Case]:
    """Return all cases by task id, in order of time; always the same ones."""
    world, types = load_world(), load_types()
    late = [kind.name for kind in types.values() if kind.phase == "late"]
    starts = dict(zip(late, world.late_starts, strict=True))
    slots = [slot for kind in types.values() for slot in _slots(world, kind, starts.get(kind.name, 0.0))]
    slots.sort(key=lambda slot: (slot.position, slot.kind.name))
    queries: set[str] = set()
    cases = {}
    for number, slot in enumerate(slots):
        case = _case(world, slot, number, queries)
        queries.add(case.task.query)
        cases[case.task.id] = case
    return cases


def _slots(world: World, kind: IncidentType, start: float) -> Iterator[_Slot]:
    rng = random.Random(derive_seed(world.seed, "schedule", kind.name))
    if kind.phase == "held_out":
        overt = world.overt_train + world.overt_held_out
        yield from _spread(kind, "held_out", (0.0, _END), (overt, _TRAIN_TASKS + _HELD_OUT_TASKS), rng)
        return
    yield from _spread(kind, "train", (start, 1.0), (world.overt_train, _TRAIN_TASKS), rng)
    yield from _spread(kind, "held_out", (1.0, _END), (world.overt_held_out, _HELD_OUT_TASKS), rng)


def _spread(
    kind: IncidentType, split: Split, period: tuple[float, float], counts: tuple[int, int], rng: random.Random
) -> Iterator[_Slot]:
    """Spread tasks over a period; ``counts`` are the overt ones and all."""
    overt, total = counts
    step = (period[1] - period[0]) / total
    variants = _variants(kind, True, overt, rng) + _variants(kind, False, total - overt, rng)
    rng.shuffle(variants)
    late = kind.phase == "late" and split == "train"
    for place, variant in enumerate(variants):
        shift = 0.0 if late and place == 0 else rng.uniform(0.0, 0.9)
        yield _Slot(period[0] + (place + shift) * step, kind, split, variant)


def _variants(kind: IncidentType, overt: bool, count: int, rng: random.Random) -> list[int]:
    fitting = [number for number, alert in enumerate(kind.alerts) if alert.overt == overt]
    rng.shuffle(fitting)
    return [fitting[place % len(fitting)] for place in range(count)]


def _case(world: World, slot: _Slot, number: int, queries: Set[str]) -> Case:
    task_id = f"inc-{number + 1:04d}"
    rng = random.Random(derive_seed(world.seed, "alert", task_id))
    alert = slot.kind.alerts[slot.variant]
    names, query = _new_query(world, alert, rng, queries)
    task = TaskSpec(
        id=task_id,
        type=slot.kind.name,
        query=query,
        created_at=world.start + number * timedelta(minutes=world.step_minutes),
        split=slot.split,
    )
    return Case(task, slot.kind, alert, names)


def _new_query(world: World, alert: Alert, rng: random.Random, queries: Set[str]) -> tuple[Mapping[str, str], str]:
    """Draw names and numbers until the alert differs from all before; no task repeats another."""
    for _ in range(_REDRAWS):
        names = draw_names(world, rng)
        query = fill(alert.text, names, rng)
        if query not in queries:
            return names, query
    raise ValueError(f"too few names and numbers to make this alert new each time: {alert.text}")
