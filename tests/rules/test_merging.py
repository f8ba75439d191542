"""The first text for one rule in the place of two, and where words of two texts differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.differences import word_differences
from core.rules.merging import draft_merge
from core.tables.rules import RuleContent


def rule(condition: str, action: str, **more: str) -> RuleContent:
    return RuleContent(name=condition[:10], condition=condition, action=action, **more)


WIDE = rule("When a queue grows", "Drain it.", exclusion="during a deploy")
NARROW = rule("a queue grows at night", "Wait until morning.")


@pytest.mark.parametrize(("kept", "other"), [(WIDE, NARROW), (NARROW, WIDE)])
def test_the_wider_rule_gets_the_narrower_one_as_its_exception(kept: RuleContent, other: RuleContent) -> None:
    draft = draft_merge(kept, other)
    assert (draft.condition, draft.exclusion, draft.name) == (WIDE.condition, WIDE.exclusion, kept.name)
    assert draft.action == "Drain it; if a queue grows at night, wait until morning"


def test_chinese_is_joined_as_chinese() -> None:
    draft = draft_merge(rule("队列增长", "清空队列"), rule("夜间队列增长且磁盘已满", "等到早上"))
    assert draft.action == "清空队列；若夜间队列增长且磁盘已满，则等到早上"


def test_the_same_condition_leaves_the_kept_text() -> None:
    kept = rule("if a queue grows", "drain it")
    assert draft_merge(kept, rule("A queue grows", "wait")) == kept


def test_differences_are_words_and_in_chinese_characters() -> None:
    left, right = word_differences("Drain the queue first.", "Drain no queue first.")
    assert [(piece.text, piece.differs) for piece in left] == [
        ("Drain", False), (" the", True), (" queue first.", False)
    ]  # fmt: skip
    assert [piece.text for piece in right if piece.differs] == [" no"]
    left, _ = word_differences("先清空队列", "不清空队列")
    assert [(piece.text, piece.differs) for piece in left] == [("先", True), ("清空队列", False)]


@given(st.text(), st.text())
def test_pieces_joined_are_the_texts_and_equal_pieces_are_shared(first: str, second: str) -> None:
    left, right = word_differences(first, second)
    assert ("".join(piece.text for piece in left), "".join(piece.text for piece in right)) == (first, second)
    shared = [[word for piece in side if not piece.differs for word in piece.text.split()] for side in (left, right)]
    assert "".join(shared[0]) == "".join(shared[1])
    assert not any(piece.differs for piece in left) or first.split() != second.split()
