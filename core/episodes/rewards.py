"""One reward from three signals (design section 9): end state, tool feedback, the model as judge.

Only if all are high is it positive; any negative one makes it negative; what lies between is a partial success.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.episodes.grading import Grade

SUCCESS, PARTIAL, FAILURE = 1.0, 0.2, -1.0


class Verdict(StrEnum):
    """What a person can say of an episode afterwards; it beats all signals."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    TAKEN_OVER = "taken_over"  # a person had to finish the task


class Signal(StrEnum):
    """What one source says of an episode."""

    HIGH = "high"
    UNCLEAR = "unclear"
    NEGATIVE = "negative"


@dataclass(frozen=True)
class Signals:
    """What the three sources say, and whether a person had to take over.

    Attributes:
        rules: end state, errors, time-outs.
        tools: status and structure of the tools' replies.
        judge: the model; HIGH where nothing called for it, since a normal ending is a preset positive.
        taken_over: a person had to finish the task.
    """

    rules: Signal
    tools: Signal
    judge: Signal
    taken_over: bool = False


def combined(signals: Signals) -> float:
    """Return 1 (success), 0.2 (partial) or -1 (failure, or a person took over)."""
    said = (signals.rules, signals.tools, signals.judge)
    if signals.taken_over or Signal.NEGATIVE in said:
        return FAILURE
    return SUCCESS if all(one is Signal.HIGH for one in said) else PARTIAL


def said_value(verdict: Verdict) -> float:
    """Return the reward that a person's verdict stands for."""
    return {Verdict.SUCCESS: SUCCESS, Verdict.PARTIAL: PARTIAL}.get(verdict, FAILURE)


def said_outcome(value: float, reward: float, grade: str) -> tuple[float, Grade]:
    """Return the reward and the grade that an episode counts with once a person has said what it was worth.

    Where the grade says the same already, the recorded reward stays: it is finer than three values.

    Args:
        value: 1, 0.2 or -1, by the person.
        reward: as recorded, in [-1, 1].
        grade: as recorded.
    """
    grades: dict[float, Grade] = {SUCCESS: "pass", PARTIAL: "marginal", FAILURE: "fail"}
    return (reward if grades[value] == grade else value), grades[value]


def needs_judge(rules: Signal, tools: Signal, displeasure: Sequence[str]) -> bool:
    """Say whether the judge is to be asked: on an explicit failure, an error status, or signs of displeasure.

    Args:
        rules: what the end state says.
        tools: what the tools' replies say.
        displeasure: signs of it found in the user's words.
    """
    return Signal.NEGATIVE in (rules, tools) or bool(displeasure)


def can_change(rules: Signal, tools: Signal) -> bool:
    """Say whether the judge's answer can still change the reward.

    Any negative signal makes the reward -1, whatever the judge says. The design asks it on an explicit failure and
    on an error status all the same; that would cost and change nothing. So it is asked where the user's words are
    the only sign that something went wrong.
    """
    return Signal.NEGATIVE not in (rules, tools)
