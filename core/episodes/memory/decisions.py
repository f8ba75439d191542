"""From a graded episode to its decisions: state, action, result, return (design section 9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.episodes.actions import ActionNames
from core.episodes.keyfields import argument_texts, result_text
from core.episodes.trajectory import Messages, Step, state_at_hand, steps
from core.text import clip

_ARGUMENTS, _RESULT = 200, 300


@dataclass(frozen=True)
class Decision:
    """One step of an episode that acted.

    Attributes:
        step: index of the deciding message.
        state: what the decision hung on.
        action: its name (several calls in one message are one decision).
        arguments: all arguments in few words.
        result: key fields of the result.
        failed: a call of it failed.
        closed: the last decision of the episode.
        reply: what the user said after it.
        step_reward: what the environment paid for it.
        candidates: action -> the model's log-probability, where it chose among listed actions.
        probability: of the action when it was chosen, where known.
    """

    step: int
    state: str
    action: str
    arguments: str
    result: str
    failed: bool
    closed: bool
    reply: str
    step_reward: float
    candidates: Mapping[str, float] = field(default_factory=dict)
    probability: float | None = None


def decisions(messages: Messages, names: ActionNames) -> list[Decision]:
    """Read the decisions of an episode, in order; steps without a tool call are none."""
    acting = [step for step in steps(messages) if step.calls]
    paid = _paid(messages)
    return [_decision(messages, step, names, paid, closed=step is acting[-1]) for step in acting]


def returns(step_rewards: Sequence[float], reward: float, gamma: float) -> list[float]:
    """Return the return of each decision of an episode.

    The rewards add up to the episode's: what the steps were not paid for comes at the end.

    Args:
        step_rewards: of each decision, in order; at least one.
        reward: of the episode, in [-1, 1].
        gamma: discount per step, in [0, 1].
    """
    early = list(step_rewards[:-1])
    return discounted_returns([*early, reward - sum(early)], gamma)


def discounted_returns(rewards: Sequence[float], gamma: float) -> list[float]:
    """Return G_t = sum over u >= t of gamma^(u - t) r_u, for each step t (JitRL, arXiv 2601.18510).

    Args:
        rewards: of each step, in order.
        gamma: discount per step, in [0, 1].
    """
    returns: list[float] = []
    following = 0.0
    for reward in reversed(rewards):
        following = reward + gamma * following
        returns.append(following)
    return returns[::-1]


def _decision(
    messages: Messages, step: Step, names: ActionNames, paid: Mapping[int, float], *, closed: bool
) -> Decision:
    choice: Mapping[str, Any] = messages[step.index].get("choice") or {}
    return Decision(
        step=step.index,
        state=state_at_hand(messages[: step.index]),
        action=" + ".join(names.named(call.name, call.arguments) for call in step.calls),
        arguments=clip("; ".join(", ".join(argument_texts(call.arguments)) for call in step.calls), _ARGUMENTS),
        result=clip("; ".join(result_text(call) for call in step.calls), _RESULT),
        failed=any(call.failed for call in step.calls),
        closed=closed,
        reply=step.reply,
        step_reward=paid.get(step.index, 0.0),
        candidates=dict(choice.get("logprobs") or {}),
        probability=choice.get("probability"),
    )


def _paid(messages: Messages) -> dict[int, float]:
    """Return what the environment paid after each assistant message, by its index."""
    paid: dict[int, float] = {}
    speaker = -1
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            speaker = index
        elif message.get("role") == "tool" and message.get("reward"):
            paid[speaker] = paid.get(speaker, 0.0) + float(message["reward"])
    return paid
