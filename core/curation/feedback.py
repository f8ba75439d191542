"""What people say of an episode afterwards: a person took over, or how it ended after all (design section 9)."""

from core.clock import Clock
from core.curation.corrections import NO_FEEDBACK, carry_over
from core.curation.desk import Desk, at_desk
from core.db import Database
from core.episodes.reward_rows import findings_of, reward_row, unjudged
from core.episodes.rewards import Verdict, said_value
from core.errors import ConcurrentChangeError, UserError
from core.people.permissions import Action
from core.tables import ArmName, Episode, EpisodeReward

_LEARNING = (ArmName.LEARN, ArmName.EXTERNAL)


def give_feedback(
    database: Database, *, episode_id: str, version: int, verdict: str, reason: str, actor: str, clock: Clock
) -> None:
    """Say how a training or external episode ended; it changes its outcome and all that was counted from it, once.

    The latest word holds. What was recorded is kept with the reward, and comes back when all feedback is undone.

    Args:
        database: where the episode is.
        episode_id: which one.
        version: of its reward, as the person has seen it; 0 if there was none yet.
        verdict: a value of ``Verdict``.
        reason: what the person typed.
        actor: who says so.
        clock: tells the time.

    Raises:
        UserError: no such episode or verdict, or it was an evaluation.
        ConcurrentChangeError: somebody else said something since.
    """
    with at_desk(database, Action.GIVE_FEEDBACK, actor, clock, reason) as desk:
        said = _checked(verdict)
        episode = _episode(desk, episode_id)
        row = _seen(desk, episode, version)
        before = {"grade_before": episode.grade, "reward_before": episode.reward}
        row.taken_over = said is Verdict.TAKEN_OVER
        row.feedback = NO_FEEDBACK if row.taken_over else said.value
        row.feedback_reason, row.feedback_by, row.feedback_at = reason, actor, clock()
        row.value, row.updated_at = said_value(said), clock()
        desk.session.add(row)
        carry_over(desk.session, row)
        after = {"grade_after": episode.grade, "reward_after": episode.reward}
        desk.record(episode_id, verdict=said.value, reason=reason, **before, **after)


def _checked(verdict: str) -> Verdict:
    if verdict not in set(Verdict):
        raise UserError(
            "Nobody can say of an episode that it was {verdict}. Choose from: {verdicts}.",
            verdict=repr(verdict),
            verdicts=", ".join(Verdict),
        )
    return Verdict(verdict)


def _episode(desk: Desk, episode_id: str) -> Episode:
    episode = desk.session.get(Episode, episode_id)
    if episode is None:
        raise UserError("There is no episode {id}.", id=episode_id)
    desk.check("learning" if episode.arm in _LEARNING else "evaluation")
    return episode


def _seen(desk: Desk, episode: Episode, version: int) -> EpisodeReward:
    """Return the reward to change, as the person has seen it; its version grows."""
    row = desk.session.get(EpisodeReward, episode.id)
    if (0 if row is None else row.version) != version:
        raise ConcurrentChangeError(
            "The reward of this episode has changed since you opened it. Look at it again; nothing was changed."
        )
    if row is not None:
        row.version += 1
        return row
    # With a person's word nobody needs the judge's. Entries of the trail only grow, so that a reward which comes
    # after one that was taken back has no version of that one.
    found = findings_of(episode)
    return reward_row(episode, found, unjudged(found), desk.change.clock(), version=desk.entry_id)
