"""When the incidents happen: counts, phases, splits."""

from datetime import UTC, datetime

from core.environments.incidents import Incidents, solution
from core.environments.incidents_content import load_types
from core.environments.incidents_schedule import load_cases
from core.environments.splits import check_splits

TASKS = list(Incidents().tasks())
TRAINING = [task for task in TASKS if task.split == "train"]


def _of(kind: str, split: str) -> int:
    return sum(task.type == kind and task.split == split for task in TASKS)


def test_fifteen_types_have_forty_tasks_each():
    assert len(TASKS) == 600
    for kind in load_types().values():
        expected = (0, 40) if kind.phase == "held_out" else (30, 10)
        assert (_of(kind.name, "train"), _of(kind.name, "held_out")) == expected


def test_tasks_come_in_order_of_time_in_utc_with_distinct_ids_and_queries():
    moments = [task.created_at for task in TASKS]
    assert moments == sorted(moments)
    assert moments[0] == datetime(2026, 1, 5, 6, 0, tzinfo=UTC)
    assert len({task.id for task in TASKS}) == 600
    assert len({task.query for task in TASKS}) == 600


def test_ids_do_not_tell_the_type():
    assert not any(kind in task.id for task in TASKS for kind in load_types())


def test_held_out_tasks_do_not_overlap_with_training():
    check_splits(TASKS)
    last = TRAINING[-1].created_at
    later = [task for task in TASKS if task.split == "held_out" and _of(task.type, "train")]
    assert len(later) == 130
    assert all(task.created_at > last for task in later)


def test_late_types_begin_between_the_60th_and_the_110th_training_task():
    """A loop that takes 17 new tasks a round meets them first in rounds 4 to 6."""
    order = [task.type for task in TRAINING]
    firsts = [order.index(kind.name) for kind in load_types().values() if kind.phase == "late"]
    assert all(60 <= first < 110 for first in firsts)
    assert all(4 <= first // 17 + 1 <= 6 for first in firsts)


def test_early_types_all_occur_among_the_first_20_and_interleave():
    order = [task.type for task in TRAINING]
    assert set(order[:20]) == {kind.name for kind in load_types().values() if kind.phase == "early"}
    assert max(order[start : start + 10].count(kind) for start in range(380) for kind in set(order)) <= 4


def test_late_types_are_more_frequent_than_early_ones_once_they_are_there():
    order = [task.type for task in TRAINING]
    rest = order[order.index("poison_message") :]
    assert rest.count("poison_message") > rest.count("slow_query")


def test_about_two_in_five_of_each_type_and_split_are_overt():
    for kind in load_types():
        chosen = [task for task in TASKS if task.type == kind]
        for split in {task.split for task in chosen}:
            part = [solution(task.id).overt for task in chosen if task.split == split]
            assert 0.3 <= sum(part) / len(part) <= 0.45


def test_every_alert_variant_is_used_in_every_split():
    for kind in load_types():
        cases = [case for case in load_cases().values() if case.kind.name == kind]
        for split in {case.task.split for case in cases}:
            used = {case.alert.text for case in cases if case.task.split == split}
            assert used == {alert.text for alert in load_types()[kind].alerts}


def test_the_schedule_is_the_same_after_a_fresh_computation():
    before = list(load_cases().values())
    load_cases.cache_clear()
    assert list(load_cases().values()) == before
