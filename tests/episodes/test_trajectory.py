"""Reading of conversations in OpenAI chat format."""

from typing import Any

import pytest

from core.episodes.trajectory import (
    ToolCall,
    count_tool_calls,
    count_tool_errors,
    count_turns,
    first_user_text,
    message_text,
    steps,
    tool_failed,
)
from tests.support.recordings import call, result, said, user


@pytest.mark.parametrize(
    ("content", "failed"),
    [
        ("Error: no such order", True),
        ("error", True),
        ("  ERROR - time-out", True),
        ('{"error": "no such order"}', True),
        ('{"code": 404, "error": {"message": "gone"}}', True),
        ('{"error": null, "status": "ok"}', False),
        ('{"error_rate": 0.4}', False),
        ("error_rate=0.4", False),
        ("No error found", False),
        ("", False),
        ("{broken", False),
    ],
)
def test_recorded_results_tell_by_their_content_whether_the_call_failed(content: str, failed: bool) -> None:
    assert tool_failed(result("c", content)) is failed


@pytest.mark.parametrize(("content", "key", "failed"), [("all fine", True, True), ("Error rate is 3 %", False, False)])
def test_the_key_of_our_own_rollouts_decides(content: str, key: bool, failed: bool) -> None:
    assert tool_failed(result("c", content, failed=key)) is failed


def test_counts_take_each_parallel_call_for_itself() -> None:
    both: dict[str, Any] = call("a", "look", place="hall")
    both["tool_calls"] += call("b", "open", door=2)["tool_calls"]
    messages = [user("Go"), both, result("b", "Error: locked"), result("a", "dark"), said("It is locked.")]
    assert (count_turns(messages), count_tool_calls(messages), count_tool_errors(messages)) == (2, 2, 1)
    first, last = steps(messages)
    assert first.calls == (
        ToolCall("look", {"place": "hall"}, "dark"),
        ToolCall("open", {"door": 2}, "Error: locked", failed=True),
    )
    assert (last.index, last.text, last.calls) == (4, "It is locked.", ())


def test_an_id_used_again_belongs_to_the_latest_call() -> None:
    messages = [user("Go"), call("x", "one"), result("x", "1"), call("x", "two"), result("x", "2")]
    assert [step.calls[0].result for step in steps(messages)] == ["1", "2"]


def test_an_unanswered_call_has_no_result_and_a_reply_without_call_is_left_out() -> None:
    (step,) = steps([user("Go"), call("x", "one"), result("y", "Error: stray")])
    assert step.calls == (ToolCall("one", {}),)


def test_an_utterance_carries_the_users_reply() -> None:
    (step,) = steps([user("Hi"), said("Which one?"), user("The red one."), user("Quick!")])
    assert (step.text, step.reply) == ("Which one?", "The red one.\nQuick!")


def test_arguments_that_are_no_json_object_stay_text() -> None:
    message = call("x", "one")
    message["tool_calls"][0]["function"]["arguments"] = '{"a": 1'
    assert steps([message])[0].calls[0].arguments == '{"a": 1'


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url"}, {"type": "text", "text": "a cat"}]
    assert message_text({"role": "user", "content": parts}) == "Look:\na cat"
    assert first_user_text([said("Hi"), {"role": "user", "content": parts}]) == "Look:\na cat"
