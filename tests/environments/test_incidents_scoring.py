"""The reward table, by cases worked out by hand from the scoring standard."""

import pytest

from core.environments.incidents_scoring import Score

E, RIGHT, HARMLESS, HARMFUL = "evidence", "right", "harmless", "harmful"

CASES = [
    ([], [], 0.0, False),
    ([E], [0.2], 0.2, False),
    ([E, E], [0.2, 0.0], 0.2, False),
    ([RIGHT], [0.9], 0.9, True),
    ([E, RIGHT], [0.2, 0.8], 1.0, True),
    ([E, E, RIGHT], [0.2, 0.0, 0.8], 1.0, True),
    ([HARMLESS, RIGHT], [0.0, 0.6], 0.6, True),
    ([E, HARMLESS, RIGHT], [0.2, 0.0, 0.4], 0.6, True),
    ([HARMLESS, E, RIGHT], [0.0, 0.2, 0.4], 0.6, True),
    ([HARMLESS, HARMLESS, RIGHT], [0.0, 0.0, 0.6], 0.6, True),
    ([HARMFUL], [0.0], 0.0, False),
    ([E, HARMFUL], [0.2, -0.2], 0.0, False),
    ([HARMFUL, RIGHT], [0.0, 0.4], 0.4, True),
    ([E, HARMFUL, RIGHT], [0.2, -0.2, 0.4], 0.4, True),
    ([E, HARMFUL, E], [0.2, -0.2, 0.0], 0.0, False),
    ([HARMFUL, E, RIGHT], [0.0, 0.2, 0.2], 0.4, True),
    ([HARMLESS, HARMFUL, RIGHT], [0.0, 0.0, 0.4], 0.4, True),
    ([E, HARMFUL, HARMFUL], [0.2, -0.2, 0.0], 0.0, True),
    ([HARMFUL, E, HARMFUL], [0.0, 0.2, -0.2], 0.0, True),
    ([E, HARMLESS, HARMLESS, HARMLESS], [0.2, 0.0, 0.0, 0.0], 0.2, True),
    ([HARMFUL, HARMLESS, HARMLESS], [0.0, 0.0, 0.0], 0.0, True),
]


@pytest.mark.parametrize(("events", "rewards", "total", "done"), CASES)
def test_rewards_follow_the_scoring_standard(events, rewards, total, done):
    score = Score()
    got = [score.see_evidence() if event == E else score.apply(event) for event in events]
    assert got == rewards
    assert score.total == total
    assert score.done is done
