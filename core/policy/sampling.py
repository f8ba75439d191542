"""Which remembered decisions an update learns from: recent ones, successes, hard cases (design section 10).

Successes are those of the past week, and the best ever, which keep old skills alive (replay).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core.policy.adapter import Decision
from core.settings_experience import PolicySettings

_RECENT = timedelta(hours=24)
_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Remembered:
    """A decision with what decides whether it is learned from.

    Attributes:
        decision: as the adapter takes it.
        at: when it was made, UTC.
        hard: similar states led to different outcomes.
        lot: a draw in [0, 1) that orders equals in the replay, fixed for each decision.
    """

    decision: Decision
    at: datetime
    hard: bool
    lot: float


def draw_batch(
    remembered: Sequence[Remembered], settings: PolicySettings, now: datetime, rng: random.Random
) -> list[Decision]:
    """Draw one batch, with replacement; a share whose pool is empty goes to all remembered decisions.

    Args:
        remembered: everything there is, at least one.
        settings: batch size, shares, size of the replay.
        now: UTC.
        rng: of the draws; successes are drawn by how good they were.
    """
    recent = [one for one in remembered if now - one.at <= _RECENT]
    successes = [one for one in remembered if one.decision.value > 0]
    week = [one for one in successes if now - one.at <= _WEEK]
    kept = best(successes, settings.replay)
    hard = [one for one in remembered if one.hard and now - one.at <= _WEEK]
    n_recent = round(settings.batch * settings.recent_share)
    n_successes = round(settings.batch * settings.positive_share)
    n_replayed = n_successes // 2 if kept else 0  # as many of the best ever as of the past week
    drawn = [
        *_draw(recent or remembered, n_recent, rng),
        *_draw(week or remembered, n_successes - n_replayed, rng, by_value=bool(week)),
        *_draw(hard or remembered, settings.batch - n_recent - n_successes, rng),
    ]
    again = [replace(one.decision, replayed=True) for one in _draw(kept, n_replayed, rng, by_value=True)]
    return [*(one.decision for one in drawn), *again]


def best(successes: Sequence[Remembered], size: int) -> list[Remembered]:
    """Return the best decisions ever; among equals lots decide, so that no period crowds out another."""
    return sorted(successes, key=lambda one: (-one.decision.value, one.lot))[:size]


def may_update(episodes: int, since: datetime, settings: PolicySettings, now: datetime) -> bool:
    """Say whether the cold start is over: enough episodes, and enough time since the first."""
    return episodes >= settings.cold_episodes and now - since >= timedelta(hours=settings.cold_hours)


def _draw(pool: Sequence[Remembered], n: int, rng: random.Random, *, by_value: bool = False) -> list[Remembered]:
    if not n:
        return []
    weights = [one.decision.value for one in pool] if by_value else None
    return rng.choices(pool, weights, k=n)
