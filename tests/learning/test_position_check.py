"""The same rules at both ends of the prompt and in its middle (design section 8)."""

import random
from pathlib import Path

import pytest

from core.clock import utc_now
from core.db import open_database
from core.environments.incidents import Incidents
from core.errors import UserError
from core.learning.bench import Bench
from core.learning.benching import BenchMaker
from core.learning.position_check import best_in_the_middle, check_positions, check_standing_library
from core.learning.snapshot import SnapshotMaker
from core.rules.utility import Ucb
from core.settings import load_settings
from tests.learning.rows import a_rule
from tests.support.embedding import packaged_embedder
from tests.support.right_rules import right_rules

TASKS = 70


def bench_for(tmp_path: Path, **simulation: float) -> Bench:
    faultless = {"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0}
    settings = load_settings(simulation=faultless | simulation)
    maker = BenchMaker(
        settings, open_database(f"sqlite:///{tmp_path}/t.db"), utc_now, "test", _embedder=packaged_embedder()
    )
    return maker.make(maker.own_domain())


def difference(bench: Bench) -> tuple[float, float, float, int]:
    rules = []
    for kind, text in right_rules().items():
        condition, _, action = text.removeprefix("When ").partition(", apply ")
        rules.append(
            a_rule(kind, condition=condition, action=f"apply {action.partition(', not ')[0]}", domain="incidents",
                   state="active", n_used=50, n_success=40)
        )  # fmt: skip
    maker = SnapshotMaker(bench.embedder, Ucb(bench.settings.utility, 1.2), bench.settings.retrieval)
    tasks = random.Random(1).sample(list(Incidents().tasks()), TASKS)
    found = check_positions(bench, Incidents, maker.of(rules, []), tasks)
    gap = found.difference
    assert gap.value is not None
    assert gap.low is not None
    assert gap.high is not None
    assert found.ends.n == found.middle.n == gap.n
    return gap.value, gap.low, gap.high, gap.n


def test_a_model_that_reads_the_ends_more_is_found_out(tmp_path: Path) -> None:
    value, low, high, n = difference(bench_for(tmp_path))
    assert n >= 60
    assert low > 0, f"{value:+.2f} ({low:.2f} to {high:.2f}, n = {n})"


def test_one_that_reads_all_places_alike_is_not(tmp_path: Path) -> None:
    value, low, high, n = difference(bench_for(tmp_path, follow_ends=0.8, follow_middle=0.8))
    assert low <= 0 <= high, f"{value:+.2f} ({low:.2f} to {high:.2f}, n = {n})"


def test_the_best_go_to_the_middle_and_nothing_is_lost() -> None:
    assert best_in_the_middle(list("abcdefgh"), 3) == list("deabcfgh")  # type: ignore[arg-type]


def test_with_few_rules_in_a_prompt_places_tell_nothing(tmp_path: Path) -> None:
    found = check_standing_library(bench_for(tmp_path), 10)
    assert (found.ends.n, found.difference.value) == (0, None)


def test_recorded_episodes_cannot_be_run_again(tmp_path: Path) -> None:
    settings = load_settings(environment={"name": "recorded:airline"})
    maker = BenchMaker(settings, open_database(f"sqlite:///{tmp_path}/t.db"), utc_now, "test")
    with pytest.raises(UserError, match="cannot be run again"):
        check_standing_library(maker.make("airline"), 10)
