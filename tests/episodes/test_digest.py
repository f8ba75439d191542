"""Digests: format, length, the decisive step with its neighbours, and condensing."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.environments.recorded import RecordedEpisode, read_recorded
from core.episodes.digest import Digest, extract_digest
from core.episodes.grading import Grade, grade
from core.episodes.keyfields import argument_texts, result_text
from core.episodes.trajectory import ToolCall, first_user_text, steps
from core.settings import AgentSettings, DigestSettings
from core.text import estimate_tokens
from tests.support.recordings import LIBRARY_DESK, airline_file, call, result, said, user

SETTINGS = DigestSettings()
STEP = re.compile(r"([-*]) \[(\d+)\] (CALL ([^\s(]+)\(.*|SAY .*)")


def digest_of(episode: RecordedEpisode, settings: DigestSettings = SETTINGS) -> Digest:
    query = first_user_text(episode.messages)
    return extract_digest(episode.messages, query, episode.reward, grade(episode.reward, AgentSettings()), settings)


def step_lines(text: str) -> list[re.Match[str]]:
    lines = text.splitlines()
    inner = lines[lines.index("STEPS:") + 1 : -1]
    matches = [STEP.fullmatch(line) for line in inner]
    assert all(matches), text
    return [match for match in matches if match]


def assert_window(episode: RecordedEpisode, digest: Digest) -> None:
    """Check against the conversation that the decisive step and two on either side are there."""
    expected = [(step.index, step.calls[0].name if step.calls else None) for step in steps(episode.messages)]
    position = [index for index, _ in expected].index(digest.decisive_step or -1)
    shown = [(int(match[2]), match[4]) for match in step_lines(digest.text)]
    assert [int(match[2]) for match in step_lines(digest.text) if match[1] == "*"] == [digest.decisive_step]
    for neighbour in expected[max(0, position - 2) : position + 3]:
        assert neighbour in shown


def test_real_episodes_have_200_to_300_tokens_and_the_decisive_window() -> None:
    for episode in read_recorded(airline_file()).episodes:
        digest = digest_of(episode)
        assert 200 <= digest.tokens == estimate_tokens(digest.text) <= 300
        assert_window(episode, digest)


def test_the_failing_step_of_a_real_episode_is_the_last_error_word_for_word() -> None:
    episode = read_recorded(airline_file()).episodes[0]
    digest = digest_of(episode)
    (decisive,) = [line for line in digest.text.splitlines() if line.startswith("* ")]
    assert digest.decisive_step == 20
    assert decisive.startswith("* [20] CALL book_reservation(")
    assert decisive.endswith("-> ERROR payment amount does not add up, total price is 305, but paid 255")


def test_the_format_has_its_headings_in_order_each_on_its_line() -> None:
    text = digest_of(read_recorded(LIBRARY_DESK).episodes[0]).text
    lines = text.splitlines()
    assert lines[0].startswith("TASK: My loan of The Sea Atlas is due tomorrow")
    assert lines[1] == "OUTCOME: fail reward=0.00 turns=7 tool_errors=2"
    assert lines[2] == "STEPS:"
    assert "- [2] CALL get_member(card=4471) -> " in text
    assert "* [8] CALL renew_loan(copy=SA-2, days=14) -> ERROR renewals are blocked while fees" in text
    assert "- [4] SAY I can renew The Sea Atlas until 25 March. Shall I do it? | USER: Yes, please." in text
    assert lines[-1].startswith("EXPECTED: ") and "renew_loan" in lines[-1]


def test_short_episodes_show_every_step() -> None:
    for episode in read_recorded(LIBRARY_DESK).episodes:
        shown = {int(match[2]) for match in step_lines(digest_of(episode).text)}
        assert shown == {step.index for step in steps(episode.messages)}


@pytest.mark.parametrize(
    ("position", "decisive"),
    [(0, 8), (1, 8), (2, 4), (3, 4), (4, 2), (5, 4)],
    ids=["last error", "last success", "error as JSON", "last change", "only talk", "failed parallel call"],
)
def test_the_decisive_step(position: int, decisive: int) -> None:
    assert digest_of(read_recorded(LIBRARY_DESK).episodes[position]).decisive_step == decisive


def test_each_parallel_call_has_its_line_and_only_the_failed_one_is_decisive() -> None:
    text = digest_of(read_recorded(LIBRARY_DESK).episodes[5]).text
    assert "* [4] CALL book_room(room=reading, from=18:00, to=20:00, people=12) -> ERROR reading seats 10" in text
    assert "- [4] CALL book_room(room=hall, from=18:00, to=20:00, people=12) -> status=booked, price=80" in text


def test_an_episode_in_which_nobody_answered_has_no_decisive_step() -> None:
    digest = extract_digest([user("Anyone?")], "Anyone?", 0.0, "fail", SETTINGS)
    assert digest.decisive_step is None
    assert digest.text.splitlines()[2:] == [
        "STEPS:",
        "EXPECTED: the task solved at full reward; got fail at 0.00: the assistant never answered",
    ]


def test_the_scoring_standard_is_the_expectation() -> None:
    digest = extract_digest([user("Go"), said("No")], "Go", 0.0, "fail", SETTINGS, scoring="cause removed")
    assert digest.text.splitlines()[-1].startswith("EXPECTED: cause removed; got fail at 0.00")


def test_a_long_episode_is_sampled_evenly_once_the_window_is_whole() -> None:
    messages = [user("Count to forty")]
    for number in range(40):
        messages += [call(f"c{number}", "tick", n=number), result(f"c{number}", "ok")]
    text = extract_digest(messages, "Count to forty", 1.0, "pass", SETTINGS).text
    shown = [int(match[2]) for match in step_lines(text)]
    assert shown[-3:] == [75, 77, 79] and shown[0] <= 5
    assert max(after - before for before, after in pairwise(shown)) <= 20


def opening_boxes(count: int, command: str, length: int) -> list[dict[str, Any]]:
    """An episode of so many commands; each result is one sentence, said ``length`` times."""
    messages = [user("Cook the meal")]
    for number in range(count):
        messages += [
            call(f"c{number}", "act", command=command.format(number)),
            result(f"c{number}", "You open the box and find a rope, a lamp, a book and a key in it. " * length),
        ]
    return messages


def test_in_little_room_what_was_done_comes_before_what_came_back() -> None:
    digest = extract_digest(opening_boxes(9, "open box {}", 2), "Cook the meal", 0.0, "fail", SETTINGS)
    for number in range(9):
        assert f'CALL act(command="open box {number}") -> ' in digest.text
    assert digest.tokens <= 300 and "-> \n" not in digest.text


def test_ten_steps_are_all_shown_even_where_their_arguments_do_not_fit() -> None:
    messages = opening_boxes(10, "open box {} and look and look", 3)
    text = extract_digest(messages, "Cook the meal", 0.0, "fail", SETTINGS).text
    assert [int(match[2]) for match in step_lines(text)] == [step.index for step in steps(messages)]


@pytest.mark.parametrize(
    ("call_result", "text"),
    [
        (None, "(no result)"),
        ("", "(empty)"),
        ("[]", "0 items"),
        ("255.0", "255.0"),
        ("plain\ntext", "plain text"),
        ('{"name": "pump", "rpm": 900, "status": "degraded"}', "status=degraded, rpm=900, name=pump"),
        ('{"order_id": "ord-2026-000000017", "open": true}', "open=true"),
        ('[{"room": "hall", "seats": 40}]', "1 items: 0.seats=40, 0.room=hall"),
    ],
)
def test_key_fields_of_results(call_result: str | None, text: str) -> None:
    assert result_text(ToolCall("tool", {}, call_result)) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Error: not enough seats", "ERROR not enough seats"),
        ('{"error": "locked", "code": 3}', "ERROR locked"),
        ('{"error": {"message": "gone for good"}}', "ERROR gone for good"),
        ("unknown tool foo", "ERROR unknown tool foo"),
        ("Error", "ERROR (no message)"),
    ],
)
def test_errors_are_kept_whole(content: str, text: str) -> None:
    assert result_text(ToolCall("tool", {}, content, failed=True)) == text


def test_arguments_quote_what_is_not_one_word() -> None:
    arguments = {"a": "x-1", "b": "two words", "c": [{"d": 1}], "e": None}
    assert argument_texts(arguments) == ["a=x-1", 'b="two words"', "c=[{d=1}]", "e=null"]


WORDS = st.text(st.characters(codec="utf-8"), max_size=120)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages = [user(draw(WORDS))]
    for number in range(draw(st.integers(0, 25))):
        if draw(st.booleans()):
            messages += [said(draw(WORDS)), user(draw(WORDS))]
        else:
            one = call(f"c{number}", draw(st.text(min_size=1, max_size=80)))
            one["tool_calls"][0]["function"]["arguments"] = draw(JSON.map(repr) | JSON.map(lambda v: {"v": v}))
            messages += [one, result(f"c{number}", draw(WORDS), failed=draw(st.booleans()))]
    return messages


@given(
    messages=conversations(),
    graded=st.sampled_from(["pass", "marginal", "fail"]),
    limits=st.sampled_from([(20, 50), (60, 100), (200, 300)]),
)
@hypothesis_settings(max_examples=80, deadline=None)
def test_a_digest_never_exceeds_its_limit_nor_breaks_its_format(
    messages: list[dict[str, Any]], graded: Grade, limits: tuple[int, int]
) -> None:
    settings = DigestSettings(min_tokens=limits[0], max_tokens=limits[1])
    digest = extract_digest(messages, first_user_text(messages), -0.0, graded, settings)
    assert digest.tokens == estimate_tokens(digest.text) <= limits[1]
    heads = [line.split(" ")[0] for line in digest.text.splitlines()]
    assert [heads[0], heads[1], heads[2], heads[-1]] == ["TASK:", "OUTCOME:", "STEPS:", "EXPECTED:"]
    assert set(heads[3:-1]) <= {"-", "*"} and heads[3:-1].count("*") <= 1
    assert "reward=0.00" in digest.text


@given(count=st.integers(1, 30), length=st.integers(1, 60))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_digest_reaches_its_minimum_when_the_episode_has_so_much_to_say(count: int, length: int) -> None:
    messages = [user("Say it")]
    for number in range(count):
        messages += [said(" ".join(f"w{number}" for _ in range(length))), user("On")]
    digest = extract_digest(messages, "Say it", 0.0, "fail", SETTINGS)
    assert digest.tokens >= min(200, count * length)
