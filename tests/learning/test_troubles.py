"""Troubles that real rounds were made to have are seen within three of them, and gone within three of the remedy."""

from pathlib import Path

import pytest

from core.views.diagnostics.trouble import Kind
from tests.support.troubled import ILLS, fresh, take_course

FAST = (Kind.RULES_FIGHT, Kind.CONFLICT_VARIANCE)


def test_each_of_the_ten_can_be_brought_about() -> None:
    assert set(ILLS) == set(Kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAST)
def test_a_trouble_of_real_rounds_is_seen_and_goes_away(tmp_path: Path, kind: Kind) -> None:
    course = take_course(kind, ILLS[kind], fresh(tmp_path, kind), seed=1)
    assert kind not in course.before
    assert course.seen is not None
    assert course.gone is not None
