"""Where two episodes of the same task part: the step up to which they did the same, and what each did then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.tables import Episode
from core.views.episodes import Message, messages_of


@dataclass(frozen=True)
class Step:
    """What an agent did in one message, with what came back; texts as they were written."""

    index: int
    said: str
    calls: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Parting:
    """Two episodes at the step where they part.

    Attributes:
        passing_id: the episode that passed.
        failing_id: the other one.
        common: steps they have in common before it.
        passing: the step of the one that passed; None if it had ended by then.
        failing: likewise.
        same_task: both are about the same task.
    """

    passing_id: str
    failing_id: str
    common: int
    passing: Step | None
    failing: Step | None
    same_task: bool


def parting(session: Session, passing: Sequence[str], failing: Sequence[str]) -> Parting | None:
    """Set a passing episode beside a failing one, of the same task if there are such; None if one side is empty.

    Args:
        session: for reading.
        passing: ids of episodes that passed.
        failing: ids of others.
    """
    tasks = dict(
        session.exec(select(Episode.id, Episode.task_id).where(col(Episode.id).in_([*passing, *failing]))).all()
    )
    pairs = [(a, b) for a in passing for b in failing if a in tasks and b in tasks]
    if not pairs:
        return None
    pair = next((pair for pair in pairs if tasks[pair[0]] == tasks[pair[1]]), pairs[0])
    first, second = (session.get_one(Episode, one) for one in pair)
    left, right = _steps(first.messages), _steps(second.messages)
    common = 0
    while common < min(len(left), len(right)) and _same(left[common], right[common]):
        common += 1
    return Parting(
        passing_id=first.id,
        failing_id=second.id,
        common=common,
        passing=left[common] if common < len(left) else None,
        failing=right[common] if common < len(right) else None,
        same_task=first.task_id == second.task_id,
    )


def _same(one: Step, other: Step) -> bool:
    """Compare what was done; what was said beside a call is no act."""
    return one.calls == other.calls if one.calls or other.calls else one.said == other.said


def _steps(messages: list[dict[str, Any]]) -> list[Step]:
    steps: list[Step] = []
    for message in messages_of(messages):
        if message.role == "assistant":
            calls = tuple(f"{call.name}({call.arguments})" for call in message.calls)
            steps.append(Step(message.index, message.text, calls, ()))
        elif message.role == "tool" and steps:
            steps[-1] = _with_result(steps[-1], message)
    return steps


def _with_result(step: Step, message: Message) -> Step:
    return Step(step.index, step.said, step.calls, (*step.results, message.text))
