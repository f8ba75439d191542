"""Which episodes a reflection contrasts (design section 8)."""

from typing import Any

import pytest

from core.learning.contrast import Batch, make_batches
from core.settings import RoundSettings
from core.tables import Episode
from tests.learning.rows import an_episode

SETTINGS = RoundSettings()


def episode(name: str, task: str, grade: str, **columns: Any) -> Episode:
    return an_episode(name, task_id=task, grade=grade, **columns)


def batches(*episodes: Episode, **settings: Any) -> list[Batch]:
    return make_batches(episodes, SETTINGS.model_copy(update=settings))


def ids(batch: Batch) -> tuple[list[str], list[str]]:
    return [e.id for e in batch.passing], [e.id for e in batch.failing]


@pytest.mark.parametrize("grades", [[], ["pass"], ["fail", "fail"], ["pass", "marginal"], ["marginal"]])
def test_with_an_empty_side_there_is_nothing_to_contrast(grades: list[str]) -> None:
    assert batches(*[episode(f"e{i}", f"t{i}", grade) for i, grade in enumerate(grades)]) == []


def test_pairs_of_the_same_task_come_first() -> None:
    (batch,) = batches(
        episode("p1", "a", "pass"),
        episode("f1", "b", "fail"),
        episode("p2", "c", "pass"),
        episode("f2", "c", "fail"),
    )
    assert ids(batch) == (["p2", "p1"], ["f2", "f1"])


def test_a_mixed_task_is_shown_by_its_best_and_its_worst() -> None:
    (batch,) = batches(
        episode("good", "a", "pass", reward=0.85),
        episode("best", "a", "pass", reward=1.0, turns=4),
        episode("slow", "a", "pass", reward=1.0, turns=9),
        episode("bad", "a", "fail", reward=0.2),
        episode("worst", "a", "fail", reward=-0.5),
    )
    assert (ids(batch)[0][0], ids(batch)[1][0]) == ("best", "worst")


def test_without_mixed_tasks_the_same_type_is_contrasted() -> None:
    (batch,) = batches(
        episode("p-caches", "a", "pass", task_type="caches"),
        episode("p-queues", "b", "pass", task_type="queues"),
        episode("f-queues", "c", "fail", task_type="queues"),
        digests_min=1,
    )
    assert ids(batch) == (["p-queues"], ["f-queues"])


def test_marginal_episodes_are_not_contrasted() -> None:
    (batch,) = batches(
        episode("p", "a", "pass"),
        episode("m", "a", "marginal"),
        episode("f", "a", "fail"),
        episode("n", "b", "marginal"),
    )
    assert ids(batch) == (["p"], ["f"])


def many(mixed: int, *, kinds: int = 1) -> list[Episode]:
    """Mixed tasks, two episodes each."""
    return [
        episode(f"{grade[0]}{i:02}", f"t{i:02}", grade, task_type=f"k{i % kinds}")
        for i in range(mixed)
        for grade in ("pass", "fail")
    ]


@pytest.mark.parametrize(
    ("mixed", "sizes"), [(3, [3]), (5, [5]), (10, [5]), (11, [5, 5]), (20, [5, 5]), (30, [5, 5, 5])]
)
def test_one_batch_of_five_at_most_for_every_twenty_episodes(mixed: int, sizes: list[int]) -> None:
    found = batches(*many(mixed))
    assert [len(batch.passing) for batch in found] == sizes
    assert [len(batch.failing) for batch in found] == sizes


def test_batches_do_not_share_pairs_and_each_stays_with_its_types() -> None:
    found = batches(*many(20, kinds=4))
    tasks = [{e.task_id for e in (*batch.passing, *batch.failing)} for batch in found]
    assert tasks[0].isdisjoint(tasks[1])
    assert [{e.task_type for e in batch.passing} for batch in found] == [{"k0"}, {"k1"}]


def test_a_short_side_is_filled_up_to_three_from_other_tasks_of_the_type_first() -> None:
    (batch,) = batches(
        episode("p1", "a", "pass"),
        episode("f1", "a", "fail"),
        episode("f1b", "a", "fail"),
        episode("f2", "b", "fail", task_type="caches"),
        episode("f3", "c", "fail"),
        episode("f4", "d", "fail", task_type="caches"),
    )
    assert ids(batch) == (["p1"], ["f1", "f3", "f2"])


def test_the_order_of_the_episodes_does_not_matter() -> None:
    episodes = many(7, kinds=2)
    assert batches(*episodes) == batches(*reversed(episodes))
