"""Which step an action wants first."""

import pytest

from core.rules.order import orders_agree, orders_oppose

TEST_FIRST = [
    "run the tests before committing the change",
    "first run the tests, then commit the change",
    "do not commit the change until the tests ran",
    "commit the change only after running the tests",
    "after running the tests, commit the change",
]
CHINESE_TEST_FIRST = ["先测试，再提交", "测试之后再提交", "提交之前先测试", "不要在测试之前提交", "没有测试就不要提交"]


@pytest.mark.parametrize("text", TEST_FIRST[1:])
def test_the_same_order_in_other_words(text: str) -> None:
    assert orders_agree(TEST_FIRST[0], text)
    assert orders_oppose(text, "commit the change, then run the tests")


@pytest.mark.parametrize("text", CHINESE_TEST_FIRST)
def test_the_same_order_in_chinese_and_across_languages(text: str) -> None:
    assert orders_agree(text, "test before committing")
    assert orders_oppose(text, "先提交，后测试")


def test_listed_steps_have_no_order() -> None:
    assert not orders_oppose("run the tests and commit", "commit and run the tests")
    assert not orders_agree("run the tests and commit", "run the tests and commit")
