"""What an environment is, in the manner of Gymnasium (design section 2)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Split = Literal["train", "held_out"]


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True)
class TaskSpec:
    """One task. ``id`` is unique within its environment; ``created_at`` is UTC."""

    id: str
    type: str
    query: str
    created_at: datetime
    split: Split


@dataclass(frozen=True)
class Action:
    """A tool call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepResult:
    """What a step led to.

    Attributes:
        observation: text for the agent.
        reward: added to the episode's reward; the sum over an episode lies in [-1, 1].
        done: the episode is over.
        failed: the tool call itself failed (unknown tool, bad arguments, an error as result). This is what
            the tool-call error rate counts; a legal action with a bad outcome has not failed.
    """

    observation: str
    reward: float = 0.0
    done: bool = False
    failed: bool = False


class Environment(Protocol):
    """A world of tasks. One instance serves one rollout at a time; make another for another thread.

    Attributes:
        name: short, also the domain of the rules learned in it.
        background: what the agent has to know, goes into the prompt's stable part.
        scoring: the scoring standard in words, for the agent and for reflection.
        tools: the tools, in a fixed order.
        task_types: all task types.
    """

    name: str
    background: str
    scoring: str
    tools: tuple[ToolSpec, ...]
    task_types: tuple[str, ...]

    def tasks(self) -> Iterable[TaskSpec]:
        """Yield all tasks, always the same ones, in order of ``created_at``.

        Held-out tasks are told apart by type or by time, never at random: each held-out task is either of
        a type with no training task, or later than every training task.
        """
        ...

    def reset(self, task: TaskSpec, seed: int) -> str:
        """Begin a task and return the first observation ('' if the query says it all).

        The same task and seed give the same episode for the same actions.
        """
        ...

    def step(self, action: Action) -> StepResult:
        """Carry out an action. Never raises for what an agent may do wrong: returns ``failed`` instead."""
        ...


class ChoosingEnvironment(Environment, Protocol):
    """An environment in which all that can be done now can be listed."""

    def choices(self) -> tuple[Action, ...]:
        """Return the actions admissible now, in a fixed order; empty when the episode is over."""
        ...


EnvironmentFactory = Callable[[], Environment]
