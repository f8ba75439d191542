"""The parser of recorded episodes."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.environments.recorded import LineProblem, iter_recorded, read_recorded
from core.errors import UserError
from tests.support.recordings import LIBRARY_DESK, airline_file, call, line, result, said, user, write_lines

NAN = json.loads("NaN")


def test_the_real_recordings_are_read_without_a_problem() -> None:
    read = read_recorded(airline_file())
    assert (len(read.episodes), read.problems) == (105, [])
    assert len({episode.task_id for episode in read.episodes}) == 35
    assert sum(episode.reward for episode in read.episodes) == 32


def test_all_fields_are_read() -> None:
    read = read_recorded(LIBRARY_DESK)
    assert (len(read.episodes), read.problems) == (6, [])
    hours = read.episodes[4]
    assert (hours.id, hours.task_id, hours.trial, hours.line) == ("desk-hours-0", "desk-hours", 0, 5)
    assert (hours.task_type, hours.split, hours.agent, hours.model) == (
        "information",
        "held_out",
        "desk-bot",
        "small-1",
    )
    assert hours.created_at == datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
    assert read.episodes[0].created_at is None and read.episodes[0].split is None


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    packed = tmp_path / "desk.jsonl"
    packed.write_bytes(gzip.compress(LIBRARY_DESK.read_bytes()))
    plain = tmp_path / "desk.jsonl.gz"
    plain.write_bytes(LIBRARY_DESK.read_bytes())
    assert read_recorded(packed) == read_recorded(plain) == read_recorded(LIBRARY_DESK)


REPLY_FIRST = [user("Go"), result("c1", "done"), call("c1", "act")]
BAD_LINES: list[tuple[Any, str, str]] = [
    ("this is not JSON", "line", "is not JSON"),
    ("[1, 2]", "line", "a list"),
    ("[" * 5000, "line", "is not JSON"),
    (line(id=...), "id", "missing"),
    (line(id=""), "id", "missing"),
    (line(task_id=None), "task_id", "missing"),
    (line(reward=...), "reward", "missing"),
    (line(reward="high"), "reward", "a text"),
    (line(reward=True), "reward", "true or false"),
    (line(reward=NAN), "reward", "not a number"),
    (line(reward=1.5), "reward", "outside -1 to 1"),
    (line(reward=-(10**400)), "reward", "outside -1 to 1"),
    (line(messages=...), "messages", "missing"),
    (line(messages=[]), "messages", "empty"),
    (line(messages=["Hello"]), "messages[0]", "object"),
    (line(messages=[user("Go"), {"role": "wizard", "content": "x"}]), "messages[1].role", "'wizard'"),
    (line(messages=[user("Go"), {"content": "x"}]), "messages[1].role", "None"),
    (line(messages=[user("Go"), {"role": "assistant", "content": 5}]), "messages[1].content", "neither"),
    (line(messages=REPLY_FIRST), "messages[1].tool_call_id", "c1 answers no call"),
    (line(messages=[user("Go"), {"role": "tool", "content": "x"}]), "messages[1].tool_call_id", "missing"),
    (line(messages=[said("Hi")]), "messages", "no task"),
    (line(messages=[user(" ")]), "messages[0].content", "no task"),
    (
        line(messages=[user("Go"), {"role": "assistant", "tool_calls": [{}]}]),
        "messages[1].tool_calls[0].id",
        "id",
    ),
    (line(created_at="yesterday"), "created_at", "ISO 8601"),
    (line(created_at="0001-01-01T00:00:00+05:00"), "created_at", "ISO 8601"),
    (line(split="test"), "split", "train nor held_out"),
    (line(trial=-1), "trial", "whole number"),
    (line(agent=7), "agent", "text"),
    (line(id="good-1"), "id", "line 1 already"),
]


@pytest.mark.parametrize(("bad", "field", "words"), BAD_LINES)
def test_a_bad_line_is_named_and_the_good_ones_are_kept(tmp_path: Path, bad: Any, field: str, words: str) -> None:
    read = read_recorded(write_lines(tmp_path / "x.jsonl", line(id="good-1"), bad, line(id="good-2")))
    assert [episode.id for episode in read.episodes] == ["good-1", "good-2"]
    (problem,) = read.problems
    assert (problem.line, problem.field) == (2, field)
    assert str(problem).startswith("Line 2") and words in str(problem)


def test_a_reused_call_id_is_fine(tmp_path: Path) -> None:
    messages = [user("Go"), call("c", "a"), result("c", "1"), call("c", "b"), result("c", "2"), said("Done")]
    assert read_recorded(write_lines(tmp_path / "x.jsonl", line(messages=messages))).problems == []


def test_lines_before_the_cut_of_a_gzip_file_are_kept(tmp_path: Path) -> None:
    whole = airline_file().read_bytes()
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    read = read_recorded(cut)
    assert 20 < len(read.episodes) < 105
    (problem,) = read.problems
    assert (problem.field, problem.line) == ("file", len(read.episodes) + 1)
    assert "cut off" in str(problem) and "again" in str(problem)


def test_lines_before_the_cut_of_a_plain_file_are_kept(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(LIBRARY_DESK.read_bytes()[:-200])
    read = read_recorded(cut)
    assert [episode.line for episode in read.episodes] == [1, 2, 3, 4, 5]
    assert [(problem.line, problem.field) for problem in read.problems] == [(6, "line")]
    assert "cut off" in str(read.problems[0])


def test_characters_that_no_database_stores_are_replaced(tmp_path: Path) -> None:
    odd = line(messages=[user("a\0b\ud800c")])
    (episode,) = read_recorded(write_lines(tmp_path / "x.jsonl", odd)).episodes
    assert episode.messages[0]["content"].encode().decode() == episode.messages[0]["content"]
    assert "\x00" not in episode.messages[0]["content"]


def test_an_overlong_line_is_passed_over(tmp_path: Path) -> None:
    huge = line(id="huge", messages=[user("x" * 9_000_000)])
    read = read_recorded(write_lines(tmp_path / "x.jsonl", line(id="a"), huge, line(id="b")))
    assert [episode.id for episode in read.episodes] == ["a", "b"]
    assert [(problem.line, problem.field) for problem in read.problems] == [(2, "line")]


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match="is empty"):
        read_recorded(path)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        read_recorded(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="is a directory"):
        read_recorded(tmp_path)


@given(noise=st.one_of(st.binary(max_size=400), st.binary(max_size=200).map(lambda tail: b"\x1f\x8b\x08\x00" + tail)))
@settings(max_examples=150, deadline=None)
def test_random_bytes_give_problems_and_never_crash(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "x.jsonl"
    path.write_bytes(noise)
    try:
        found = list(iter_recorded(path))
    except UserError as error:
        assert "is empty" in str(error)
    else:
        assert found and all(isinstance(item, LineProblem) and str(item) for item in found)


@given(where=st.integers(0, LIBRARY_DESK.stat().st_size - 1), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_damaged_byte_costs_two_lines_at_most(
    tmp_path_factory: pytest.TempPathFactory, where: int, byte: int
) -> None:
    content = bytearray(LIBRARY_DESK.read_bytes())
    content[where] = byte
    path = tmp_path_factory.mktemp("damaged") / "x.jsonl"
    path.write_bytes(bytes(content))
    assert len(read_recorded(path).episodes) >= 4
