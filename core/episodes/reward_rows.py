"""An episode's reward as it is stored, made from its signals (design section 9)."""

from datetime import datetime

from core.episodes.judging import Judged
from core.episodes.rewards import Signal, Signals, combined
from core.episodes.signals import Findings, find_signals
from core.tables import Episode, EpisodeReward

_PRESET = Judged(Signal.HIGH, "preset", "")
_NOT_ASKED = Judged(Signal.UNCLEAR, "none", "")


def findings_of(episode: Episode) -> Findings:
    """Read the signals off a stored episode whose outcome is still the recorded one."""
    return find_signals(episode.messages, grade=episode.grade, status=episode.status, error=episode.error)


def unjudged(found: Findings) -> Judged:
    """Return the judge's signal where it is not asked: a normal ending is a preset positive."""
    return _NOT_ASKED if found.triggered else _PRESET


def reward_row(episode: Episode, found: Findings, judged: Judged, at: datetime, *, version: int = 1) -> EpisodeReward:
    """Combine the signals to a reward, with the episode's outcome as recorded.

    Args:
        episode: nobody has given feedback on it yet.
        found: its signals but for the judge's.
        judged: the judge's.
        at: the present moment.
        version: to start with.
    """
    return EpisodeReward(
        episode_id=episode.id,
        rules=found.rules.value,
        tools=found.tools.value,
        judge=judged.signal.value,
        judged_by=judged.by,
        judge_reason=judged.reason,
        displeasure="\n".join(found.displeasure),
        recorded_reward=episode.reward,
        recorded_grade=episode.grade,
        value=combined(Signals(found.rules, found.tools, judged.signal)),
        updated_at=at,
        version=version,
    )
