"""The check that held-out tasks are told apart by type or by time (design section 2)."""

from collections.abc import Iterable

from core.environments.protocol import TaskSpec
from core.errors import UserError


def check_splits(tasks: Iterable[TaskSpec]) -> None:
    """Refuse tasks whose held-out part could leak into training.

    Each held-out task must be of a type without training tasks, or later than every training task.

    Args:
        tasks: all tasks of one environment, in any order.

    Raises:
        UserError: an id occurs twice, or a held-out task overlaps with training; names the task.
    """
    listed = list(tasks)
    _check_ids(listed)
    training = [task for task in listed if task.split == "train"]
    if not training:
        return
    trained_types = {task.type for task in training}
    last = max(training, key=lambda task: task.created_at)
    for task in listed:
        if task.split == "held_out" and task.type in trained_types and task.created_at <= last.created_at:
            raise UserError(
                "Held-out task {task} overlaps with training: its type {type} has training tasks, and it is "
                "not later than training task {last}. Hold out whole types, or only what is later than all "
                "training tasks.",
                task=task.id,
                type=task.type,
                last=last.id,
            )


def _check_ids(tasks: list[TaskSpec]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UserError("Task id {task} occurs twice; ids are unique within an environment.", task=task.id)
        seen.add(task.id)
