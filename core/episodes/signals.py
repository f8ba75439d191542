"""What the rules and the tools say of an episode, and whether the judge is to be asked (design section 9).

It asks nobody and stores nothing: that is ``core.episodes.judging`` and ``core.learning.rewarding``.
"""

from dataclasses import dataclass

from core.episodes.displeasure import later_words, signs_of_displeasure
from core.episodes.rewards import Signal, can_change, needs_judge
from core.episodes.trajectory import Messages, ToolCall, steps

_FROM_GRADE = {"pass": Signal.HIGH, "marginal": Signal.UNCLEAR, "fail": Signal.NEGATIVE}


@dataclass(frozen=True)
class Findings:
    """What an episode shows without the judge.

    Attributes:
        rules: end state, error, time-out.
        tools: status of the tools' replies.
        displeasure: signs of it in the user's words after the task, as written.
    """

    rules: Signal
    tools: Signal
    displeasure: tuple[str, ...]

    @property
    def triggered(self) -> bool:
        """An explicit failure, an error status or displeasure: reasons to ask the judge."""
        return needs_judge(self.rules, self.tools, self.displeasure)

    @property
    def to_be_asked(self) -> bool:
        """The judge is triggered, and its answer can still change the reward."""
        return self.triggered and can_change(self.rules, self.tools)


def find_signals(messages: Messages, *, grade: str, status: str, error: str | None) -> Findings:
    """Read the signals off an episode.

    Args:
        messages: in OpenAI chat format.
        grade: pass, marginal or fail, of its recorded reward.
        status: done or failed.
        error: why the agent could not finish, if it could not.
    """
    failed = status != "done" or bool(error)
    words = (sign for text in later_words(messages) for sign in signs_of_displeasure(text))
    return Findings(
        rules=Signal.NEGATIVE if failed else _FROM_GRADE[grade],
        tools=tool_signal([call for step in steps(messages) for call in step.calls]),
        displeasure=tuple(dict.fromkeys(words)),
    )


def tool_signal(calls: list[ToolCall]) -> Signal:
    """Judge an episode's tool calls, in their order: the last one failed, half of them failed, or neither."""
    if calls and calls[-1].failed:
        return Signal.NEGATIVE
    failed = sum(call.failed for call in calls)
    return Signal.UNCLEAR if failed and 2 * failed >= len(calls) else Signal.HIGH
