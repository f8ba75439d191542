"""Small environments for the loop's tests; also given by name, as ``tests.support.worlds:Class``."""

import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from core.environments.protocol import Action, StepResult, TaskSpec, ToolSpec

_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


class Doors:
    """Behind one of two doors is the way out; the query says which one. ``held_out`` is the number of such tasks."""

    name = "doors"
    background = "You stand in a hall with two doors."
    scoring = "1 for the door that leads out, 0 for the other one."
    tools = (
        ToolSpec("open_left_door", "Open the door on the left."),
        ToolSpec("open_right_door", "Open the door on the right."),
    )
    task_types = ("hall",)
    held_out = 0

    def tasks(self) -> Iterable[TaskSpec]:
        for number in range(12 + self.held_out):
            side = "left" if number % 2 else "right"
            yield TaskSpec(
                id=f"t{number:03}",
                type="hall",
                query=f"Leave hall {number}. A draught comes from the {side} side.",
                created_at=_FIRST + timedelta(days=number),
                split="train" if number < 12 else "held_out",
            )

    def reset(self, task: TaskSpec, seed: int) -> str:
        self._way_out = "open_left_door" if "left side" in task.query else "open_right_door"
        return ""

    def step(self, action: Action) -> StepResult:
        won = action.tool == self._way_out
        return StepResult("You are out." if won else "A broom cupboard.", 1.0 if won else 0.0, done=True)


class FewHeldOutDoors(Doors):
    """Has held-out tasks, but fewer than a verdict takes."""

    name = "few_doors"
    held_out = 4


class BrokenDoors(Doors):
    """A person's environment with a mistake in it."""

    name = "broken_doors"

    def step(self, action: Action) -> StepResult:
        raise ZeroDivisionError("the hinge is missing")


class Cues:
    """Which of two doors leads out depends on what is perceived; nothing in the doors' names tells."""

    name = "cues"
    background = "You stand in a hall with a red and a blue door."
    scoring = "1 for the door that leads out, 0 for the other one."
    tools = (
        ToolSpec("open_red_door", "Open the red door."),
        ToolSpec("open_blue_door", "Open the blue door."),
    )
    task_types = ("bell", "draught")
    perceived: ClassVar[dict[str, str]] = {
        "bell": "A church bell rings behind the wall.",
        "draught": "A cold wind blows through the curtain.",
    }
    way_out: ClassVar[dict[str, str]] = {"bell": "open_blue_door", "draught": "open_red_door"}

    def tasks(self) -> Iterable[TaskSpec]:
        for number in range(60):
            kind = "draught" if number % 3 == 0 else "bell"
            yield TaskSpec(
                id=f"t{number:03}",
                type=kind,
                query=f"Leave hall {number}. {self.perceived[kind]}",
                created_at=_FIRST + timedelta(days=number),
                split="train" if number < 24 else "held_out",
            )

    def reset(self, task: TaskSpec, seed: int) -> str:
        self._task = task
        return ""

    def step(self, action: Action) -> StepResult:
        won = action.tool == self.way_out[self._task.type]
        return StepResult("You are out." if won else "A broom cupboard.", 1.0 if won else 0.0, done=True)


class FragileCues(Cues):
    """Its held-out tasks break down as long as ``broken`` is set, after the round has changed the library."""

    name = "fragile_cues"
    broken = True

    def step(self, action: Action) -> StepResult:
        if self.broken and self._task.split == "held_out":
            raise ZeroDivisionError("the hinge is missing")
        return super().step(action)


class Gated(Doors):
    """No episode ends while the gate is closed."""

    name = "gated"
    gate = threading.Event()

    def step(self, action: Action) -> StepResult:
        self.gate.wait()
        return super().step(action)
