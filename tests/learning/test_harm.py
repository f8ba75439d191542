"""Is a rule worse than doing without? Against results computed in another way (design section 4)."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from core.db import Database, open_database
from core.learning.credit import Baseline
from core.learning.harm import Record, records
from core.learning.transitions import is_harmful
from core.settings import LifecycleSettings
from tests.learning.rows import DOMAIN, a_rule, a_use, an_episode

SETTINGS = LifecycleSettings()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def lived(database: Database, kind: str, passes: int, fails: int, *, compliance: str = "complied") -> None:
    """Store credited episodes of a task type with rule r in the prompt."""
    with database.write() as session:
        session.merge(a_rule("r"))
        session.flush()
        for number in range(passes + fails):
            grade = "pass" if number < passes else "fail"
            name = f"{kind}{compliance}{number}"
            session.add(an_episode(name, task_type=kind, grade=grade, credited=True))
            session.flush()
            session.add(a_use(name, "r", compliance=compliance))


def record(database: Database, base: dict[str, Baseline]) -> Record | None:
    with database.read() as session:
        return records(session, DOMAIN, base).get("r")


def on_a_grid(passes: int, fails: int, base_passes: int, base_fails: int) -> float:
    """P(rate with the rule < baseline): the posteriors multiplied out over a fine grid."""
    grid = np.linspace(0, 1, 20_001)
    ours = stats.beta.pdf(grid, 1 + passes, 1 + fails)
    theirs = stats.beta.sf(grid, 1 + base_passes, 1 + base_fails)
    return float(np.sum((ours * theirs)[1:] + (ours * theirs)[:-1]) / 2 * (grid[1] - grid[0]))


@pytest.mark.parametrize(
    ("passes", "fails", "base_passes", "base_fails", "harmful"),
    [
        (4, 16, 12, 8, True),  # P = 0.994
        (8, 12, 12, 8, False),  # P = 0.90
        (7, 13, 60, 40, True),  # P = 0.979
        (10, 10, 10, 10, False),  # P = 0.5
        (20, 0, 10, 10, False),
        (0, 20, 5, 15, True),
    ],
)
def test_harmful_is_a_probability_of_095_or_more(
    passes: int, fails: int, base_passes: int, base_fails: int, harmful: bool
) -> None:
    figures = Record(passes, fails, base_passes, base_fails)
    expected = on_a_grid(passes, fails, base_passes, base_fails)
    assert figures.probability_worse == pytest.approx(expected, abs=1e-4)
    assert is_harmful(figures, SETTINGS) is harmful is (expected >= 0.95)


def test_no_rule_is_harmful_before_its_twentieth_use() -> None:
    assert not is_harmful(Record(0, 19, 1000, 0), SETTINGS)
    assert is_harmful(Record(0, 20, 1000, 0), SETTINGS)
    assert not is_harmful(None, SETTINGS)


def test_a_rule_for_hard_tasks_is_compared_with_hard_tasks(database: Database) -> None:
    lived(database, "hard", 3, 7)
    base = {"hard": Baseline(0.3, 3, 10), "easy": Baseline(0.9, 90, 100)}
    assert record(database, base) == Record(3, 7, 3, 7)


def test_baselines_are_weighted_by_where_the_rule_was_used(database: Database) -> None:
    lived(database, "hard", 3, 12)
    lived(database, "easy", 4, 1)
    # 15 uses at 0.2 and 5 at 0.8: a rate of 0.35 over 40 baseline episodes.
    base = {"hard": Baseline(0.2, 4, 20), "easy": Baseline(0.8, 16, 20)}
    assert record(database, base) == Record(7, 13, 14, 26)


def test_episodes_to_which_the_rule_did_not_apply_say_nothing_about_it(database: Database) -> None:
    lived(database, "hard", 2, 1)
    lived(database, "hard", 0, 9, compliance="not_applicable")
    assert record(database, {"hard": Baseline(0.5, 5, 10)}) == Record(2, 1, 5, 5)


def test_without_any_baseline_nothing_is_assumed(database: Database) -> None:
    lived(database, "hard", 2, 1)
    assert record(database, {}) == Record(2, 1, 0, 0)


def test_uncounted_episodes_and_evaluations_are_left_out(database: Database) -> None:
    lived(database, "hard", 1, 0)
    with database.write() as session:
        for name, columns in (("new", {"credited": False}), ("eval", {"arm": "after", "credited": True})):
            session.add(an_episode(name, task_type="hard", grade="fail", **columns))
            session.flush()
            session.add(a_use(name, "r"))
    assert record(database, {"hard": Baseline(0.5, 5, 10)}) == Record(1, 0, 5, 5)
