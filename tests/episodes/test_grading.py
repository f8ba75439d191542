"""From a reward to a grade."""

import pytest

from core.episodes.grading import grade
from core.settings import AgentSettings


@pytest.mark.parametrize(
    ("reward", "expected"),
    [(1.0, "pass"), (0.8, "pass"), (0.79, "marginal"), (0.31, "marginal"), (0.3, "fail"), (-1.0, "fail")],
)
def test_thresholds_belong_to_the_outer_grades(reward: float, expected: str) -> None:
    assert grade(reward, AgentSettings()) == expected


def test_thresholds_are_settings() -> None:
    assert grade(0.5, AgentSettings(pass_reward=0.5, fail_reward=0.0)) == "pass"
