"""Handbooks are read sentence by sentence, and nothing in them is lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.rules.handbook import decode_handbook, read_handbook
from core.rules.handbook_sentences import Statement, read_sentence

BOOK = """\
# Operations

Welcome to the team!

- When the replica lag exceeds a minute, switch readers to the primary and
  page the owner, unless a migration is running.
- If the disk is nearly full:
  - rotate the logs
  - do not restart the database
- Restart the pooler if connections stay at the limit.

## When a deploy went wrong

1. Roll back the newest change.

This does not apply if a migration ran. What else?

| When | Do |
|---|---|
| the queue lags | add a consumer |

```sh
if [ x ]; then y; fi
```
"""


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("When the cache is cold, warm it.", ("the cache is cold", "warm it", "")),
        ("If the lag grows, then add a worker, except for reports.", ("the lag grows", "add a worker", "for reports")),
        ("Warm the cache whenever it is cold, unless it is night", ("it is cold", "Warm the cache", "if it is night")),
        ("Before restarting a node, drain it.", ("the next step is restarting a node", "drain it", "")),
        ("Before you restart a node, drain it.", ("you are about to restart a node", "drain it", "")),
        ("After restarting a node, read its log.", ("you have just finished restarting a node", "read its log", "")),
        ("When CPU, memory, or disk is short, add a node", ("CPU, memory, or disk is short", "add a node", "")),
        ("当缓存未预热时，先预热再切流量。", ("缓存未预热", "先预热再切流量", "")),
        ("如果证书即将过期，则立即续签，除非域名已下线。", ("证书即将过期", "立即续签", "域名已下线")),
        ("请求超时时，先检查连接池", ("请求超时", "先检查连接池", "")),
        ("重启节点前，先切走流量。", ("准备重启节点", "先切走流量", "")),
        ("在发布完成之后，观察十分钟。", ("发布完成", "观察十分钟", "")),
        ("若队列积压，扩容消费者（结算期除外）。", ("队列积压", "扩容消费者", "结算期")),
    ],
)
def test_a_sentence_says_when_what_and_when_not(sentence: str, expected: tuple[str, str, str]) -> None:
    found = read_sentence(sentence)
    assert (found.condition, found.action, found.exclusion, found.problem) == (*expected, "")


@pytest.mark.parametrize(
    "sentence", ["Always be careful.", "Check if the disk is full.", "Is it cold?", "保持谨慎。", "When it is cold", ""]
)
def test_what_is_no_rule_is_not_guessed_at(sentence: str) -> None:
    assert read_sentence(sentence).problem


def test_a_line_with_a_colon_leads_to_what_follows() -> None:
    assert read_sentence("If the disk is full:") == Statement(condition="the disk is full")
    assert read_sentence("rotate the logs", "the disk is full") == Statement("the disk is full", "rotate the logs")


def test_a_book_is_read_with_its_headings_lists_and_tables() -> None:
    drafts = read_handbook(BOOK, "ops").drafts
    assert [(one.draft.condition, one.draft.action, one.draft.exclusion) for one in drafts] == [
        (
            "the replica lag exceeds a minute",
            "switch readers to the primary and page the owner",
            "if a migration is running",
        ),
        ("the disk is nearly full", "rotate the logs", ""),
        ("the disk is nearly full", "do not restart the database", ""),
        ("connections stay at the limit", "Restart the pooler", ""),
        ("a deploy went wrong", "Roll back the newest change", "if a migration ran"),
        ("the queue lags", "add a consumer", ""),
    ]
    assert [one.lines for one in drafts][:2] == [(1, 5, 6), (1, 7, 8)]
    assert {one.draft.domain for one in drafts} == {"ops"}
    assert drafts[-1].draft.tags == ["When a deploy went wrong"]


def test_what_was_not_read_is_listed_with_its_line_and_why() -> None:
    unread = {one.lines[0]: (one.text, one.reason) for one in read_handbook(BOOK, "ops").unread}
    assert unread[3][0] == "Welcome to the team!"
    assert unread[16] == ("What else?", "It is a question.")
    assert unread[23][0] == "if [ x ]; then y; fi"
    assert 12 not in unread  # the heading went into the rules below it


def test_the_same_sentence_has_the_same_id_in_every_reading() -> None:
    once, moved = read_handbook(BOOK, "ops"), read_handbook("A preface.\n\n" + BOOK, "ops")
    assert [one.id for one in once.drafts] == [one.id for one in moved.drafts]
    assert {one.id for one in once.drafts}.isdisjoint(one.id for one in read_handbook(BOOK, "shop").drafts)


def test_what_is_said_twice_is_one_rule_from_both_places() -> None:
    line = "When the cache is cold, warm it.\n"
    (draft,) = read_handbook(f"{line}\n{line}", "ops").drafts
    assert draft.lines == (1, 3)


def test_markup_is_not_part_of_a_rule() -> None:
    text = "When the **cache** is _cold_, run [`warm`](http://evil.example) <b>now</b>."
    (one,) = read_handbook(text, "ops").drafts
    assert (one.draft.condition, one.draft.action) == ("the cache is cold", "run warm <b>now</b>")


_PIECES = st.sampled_from(
    [
        *("# Title", "## When it is cold", "---", "===", "```", "> quoted if cold, warm it", "[x]: http://a"),
        *("| a | b |", "`a", "b` c", "<div>", "1. Then stop.", "Except"),
        *("|---|---|", "| When | Do |", "When cold, warm it.", "- If full:", "  - rotate the logs",),
        *("当磁盘满时，", "清理日志。", "一、如果慢，扩容", "Unless it is night.", "    indented", "\tx"),
        *("", " ", "\u200b", "\u202ewhen x, y", "\x0b", "\x1c", "\u2028", "&amp; &#0;", "* * *", "\\", "![a](b"),
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=30)), max_size=14), st.sampled_from(["\n", "\r\n", "\r"]))
def test_no_line_is_ever_lost(pieces: list[str], end: str) -> None:
    text = end.join(pieces)
    reading = read_handbook(text, "ops")
    kept = {number for one in (*reading.drafts, *reading.unread) for number in one.lines}
    lines = re.split("\r\n|\r|\n", text)
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= kept
    assert kept <= set(range(1, len(lines) + 1))
    assert all(one.draft.action and one.draft.condition for one in reading.drafts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([f"When pool {n} is full, drain queue {n}." for n in range(20)]), unique=True))
def test_every_plain_rule_of_a_list_is_drafted(sentences: list[str]) -> None:
    reading = read_handbook("\n".join(f"- {one}" for one in sentences), "ops")
    assert [f"When {one.draft.condition}, {one.draft.action}." for one in reading.drafts] == sentences
    assert not reading.unread


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_a_file_is_decoded(encoding: str) -> None:
    assert decode_handbook("当磁盘满时，清理日志。".encode(encoding)) == "当磁盘满时，清理日志。"


def test_what_is_no_text_is_refused() -> None:
    for data in (b"PK\x03\x04\x00\x00\x08", b"\xff\xfe\x00"):
        with pytest.raises(UserError, match="no text"):
            decode_handbook(data)
    with pytest.raises(UserError, match="1000 kB"):
        decode_handbook(b"x" * 1_000_001)
