"""Small environments for the loop's tests; also given by name, as ``tests.support.worlds:Class``."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

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
