"""The check refuses held-out tasks that overlap with training."""

from datetime import UTC, datetime, timedelta

import pytest

from core.environments.protocol import Split, TaskSpec
from core.environments.splits import check_splits
from core.errors import UserError

START = datetime(2026, 3, 1, tzinfo=UTC)


def _task(name: str, kind: str, hour: int, split: Split) -> TaskSpec:
    return TaskSpec(name, kind, "?", START + timedelta(hours=hour), split)


def test_held_out_by_type_or_by_time_is_accepted():
    check_splits(
        [
            _task("a", "known", 0, "train"),
            _task("b", "unseen", 0, "held_out"),
            _task("c", "known", 5, "train"),
            _task("d", "known", 6, "held_out"),
        ]
    )


@pytest.mark.parametrize("hour", [1, 5])
def test_a_held_out_task_of_a_trained_type_that_is_not_later_is_refused(hour):
    tasks = [
        _task("a", "known", 0, "train"),
        _task("leak", "known", hour, "held_out"),
        _task("c", "other", 5, "train"),
    ]
    with pytest.raises(UserError, match="leak") as caught:
        check_splits(tasks)
    assert caught.value.values == {"task": "leak", "type": "known", "last": "c"}


def test_an_id_that_occurs_twice_is_refused():
    with pytest.raises(UserError, match="twin"):
        check_splits([_task("twin", "known", 0, "train"), _task("twin", "known", 9, "held_out")])


def test_nothing_and_held_out_alone_are_accepted():
    check_splits([])
    check_splits([_task("a", "known", 0, "held_out")])
