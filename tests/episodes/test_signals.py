"""What rules and tools say of an episode, and when the judge is asked (design section 9)."""

from typing import Any

import pytest

from core.episodes.rewards import Signal, Signals, can_change, combined
from core.episodes.signals import find_signals, tool_signal
from core.episodes.trajectory import ToolCall
from tests.support.recordings import call, result, said, user

HIGH, UNCLEAR, NEGATIVE = Signal.HIGH, Signal.UNCLEAR, Signal.NEGATIVE
QUIET = [user("The report is empty."), said("Look again."), user("It is there now, thanks.")]
DISPLEASED = [user("The report is empty."), said("It is not."), user("This is ridiculous.")]


@pytest.mark.parametrize(
    ("outcomes", "signal"),
    [
        ("", HIGH),
        (".", HIGH),
        ("x", NEGATIVE),
        ("x.", UNCLEAR),  # half of them
        ("x..", HIGH),
        ("..x", NEGATIVE),
        ("xx.", UNCLEAR),
        ("x.x.", UNCLEAR),
        ("xx...", HIGH),
    ],
)
def test_tools(outcomes: str, signal: Signal) -> None:
    assert tool_signal([ToolCall("look", {}, "", failed=one == "x") for one in outcomes]) is signal


@pytest.mark.parametrize(
    ("grade", "status", "error", "signal"),
    [
        ("pass", "done", None, HIGH),
        ("marginal", "done", None, UNCLEAR),
        ("fail", "done", None, NEGATIVE),
        ("pass", "failed", None, NEGATIVE),
        ("pass", "failed", "the endpoint broke down", NEGATIVE),
        ("marginal", "done", "timed out", NEGATIVE),
    ],
)
def test_rules(grade: str, status: str, error: str | None, signal: Signal) -> None:
    assert find_signals(QUIET, grade=grade, status=status, error=error).rules is signal


FAILED_LAST = [*QUIET, call("1", "look"), result("1", "Error: no such page")]
FAILED_HALF = [*DISPLEASED, call("1", "look"), result("1", "Error"), call("2", "look"), result("2", "found")]


@pytest.mark.parametrize(
    ("messages", "grade", "triggered", "asked"),
    [
        (QUIET, "pass", False, False),
        (QUIET, "marginal", False, False),
        (QUIET, "fail", True, False),
        (FAILED_LAST, "pass", True, False),
        (DISPLEASED, "pass", True, True),
        (DISPLEASED, "marginal", True, True),
        (DISPLEASED, "fail", True, False),
        (FAILED_HALF, "pass", True, True),
    ],
)
def test_the_judge_is_asked_on_a_trigger_and_where_it_matters(
    messages: list[dict[str, Any]], grade: str, triggered: bool, asked: bool
) -> None:
    found = find_signals(messages, grade=grade, status="done", error=None)
    assert (found.triggered, found.to_be_asked) == (triggered, asked)


@pytest.mark.parametrize("rules", Signal)
@pytest.mark.parametrize("tools", Signal)
def test_where_the_judge_is_not_asked_its_answer_would_change_nothing(rules: Signal, tools: Signal) -> None:
    rewards = {combined(Signals(rules, tools, judge)) for judge in Signal}
    assert can_change(rules, tools) == (len(rewards) > 1)
