"""Writing decisions down as memories, once per episode; correcting them afterwards (design section 9)."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlmodel import Session, col, func, select

from core.episodes.actions import ActionNames
from core.episodes.agent import OWN_AGENT
from core.episodes.displeasure import signs_of_displeasure
from core.episodes.memory.decisions import Decision, decisions, returns
from core.settings_experience import MemorySettings
from core.tables import Episode, Memory, MemoryUse

_EXPECTED = "EXPECTED: "


def remember(
    session: Session,
    episode: Episode,
    reward: float,
    names: ActionNames,
    settings: MemorySettings,
    gamma: float,
    latencies: Sequence[float] = (),
) -> list[Memory]:
    """Write an episode's decisions down; if that was done before, give them the reward it has now.

    Args:
        session: of a write.
        episode: graded, of a training task; a held-out one never reaches memory.
        reward: of the episode from all three signals: 1, 0.2 or -1.
        names: names its actions.
        settings: trust in other agents.
        gamma: discount of later rewards, per step.
        latencies: milliseconds of each request for an action, in order; unless there is one for each assistant
            message it is not known which belongs to which, and none is kept.

    Raises:
        ValueError: the episode's task is held out.
    """
    if episode.split != "train":
        raise ValueError(f"episode {episode.id} is of a held-out task and must not reach memory")
    if session.exec(select(Memory.id).where(Memory.episode_id == episode.id).limit(1)).first() is not None:
        recount(session, episode.id, reward)
        return []
    found = decisions(episode.messages, names)
    values = returns([one.step_reward for one in found], reward, gamma) if found else []
    took = _by_message(episode, latencies)
    given: dict[str, Any] = {
        "environment": episode.environment,
        "episode_id": episode.id,
        "task_id": episode.task_id,
        "agent": episode.agent,
        "trust": 1.0 if episode.agent == OWN_AGENT else settings.trust_outside,
        "reward": reward,
        "gamma": gamma,
        "lesson": _lesson(episode, found),
        "created_at": episode.ended_at,
        "touched": next_tick(session, episode.environment),
    }
    memories = [
        Memory(value=value, latency_ms=took.get(one.step), **_of_decision(one), **given)
        for one, value in zip(found, values, strict=True)
    ]
    session.add_all(memories)
    return memories


def _of_decision(one: Decision) -> dict[str, Any]:
    """Return the columns that hold what was decided, and what came of it at once."""
    return {
        "step": one.step,
        "state": one.state,
        "action": one.action,
        "arguments": one.arguments,
        "result": one.result,
        "failed": one.failed,
        "closed": one.closed,
        "displeased": bool(signs_of_displeasure(one.reply)),
        "step_reward": one.step_reward,
        "candidates": dict(one.candidates),
        "probability": one.probability,
    }


def recount(session: Session, episode_id: str, reward: float) -> int:
    """Give an episode another reward: the returns of its decisions, and the Q of what it was shown, follow.

    Q is computed anew from all uses in their order, so that a correction counts once however often it is repeated.

    Args:
        session: of a write.
        episode_id: whose reward changed.
        reward: from now on: 1, 0.2 or -1.

    Returns:
        How many memories have changed.
    """
    own = session.exec(select(Memory).where(Memory.episode_id == episode_id).order_by(col(Memory.step))).all()
    credited = select(MemoryUse).where(MemoryUse.episode_id == episode_id, col(MemoryUse.credited).is_(True))
    uses = [use for use in session.exec(credited).all() if use.reward != reward]
    changed = [memory for memory in own if memory.reward != reward]
    if changed:
        values = returns([one.step_reward for one in own], reward, own[0].gamma)
        for memory, value in zip(own, values, strict=True):
            memory.reward, memory.value = reward, value
    for use in uses:
        use.reward = reward
        session.add(use)
    session.flush()
    for use in uses:
        told = session.get_one(Memory, use.memory_id)
        told.q = learned_q(_credited(session, told))
        changed.append(told)
    if changed:
        tick = next_tick(session, changed[0].environment)
        for memory in changed:
            memory.touched = tick
            session.add(memory)
    return len({memory.id for memory in changed})


def learned_q(uses: Iterable[tuple[float, float]]) -> float:
    """Return Q after these (reward, rate), starting at 0: Q <- Q + rate (r - Q) (MemRL, arXiv 2601.03192)."""
    q = 0.0
    for reward, rate in uses:
        q += rate * (reward - q)
    return q


def next_tick(session: Session, environment: str) -> int:
    """Return the number that marks this transaction's changes."""
    return (session.exec(select(func.max(Memory.touched)).where(Memory.environment == environment)).one() or 0) + 1


def credit_uses(session: Session, episode: Episode, reward: float, rate: float) -> int:
    """Move the Q of what a training episode was shown towards its reward; each use counts once.

    Returns:
        How many memories were credited.
    """
    query = select(MemoryUse).where(MemoryUse.episode_id == episode.id, col(MemoryUse.credited).is_(False))
    uses = session.exec(query.order_by(col(MemoryUse.id))).all()
    if not uses:
        return 0
    tick = next_tick(session, episode.environment)
    for use in uses:
        memory = session.get_one(Memory, use.memory_id)
        memory.q += rate * (reward - memory.q)
        memory.q_updates += 1
        memory.touched = tick
        use.credited, use.reward, use.rate = True, reward, rate
        session.add_all([memory, use])
    return len(uses)


def _credited(session: Session, memory: Memory) -> list[tuple[float, float]]:
    """Return (reward, rate) of the uses of a memory, in the order in which they were credited."""
    query = select(MemoryUse.reward, MemoryUse.rate).where(
        MemoryUse.memory_id == memory.id, col(MemoryUse.credited).is_(True)
    )
    return [(float(reward or 0.0), rate) for reward, rate in session.exec(query.order_by(col(MemoryUse.id)))]


def _by_message(episode: Episode, latencies: Sequence[float]) -> dict[int, float]:
    """Return the milliseconds of each assistant message, by its index."""
    spoken = [index for index, message in enumerate(episode.messages) if message.get("role") == "assistant"]
    return dict(zip(spoken, latencies, strict=True)) if len(spoken) == len(latencies) else {}


def _lesson(episode: Episode, found: Sequence[Decision]) -> str:
    """Say in one sentence how the episode ended, from its digest, with the decisive action by its whole name."""
    expected = next((line for line in episode.digest.splitlines() if line.startswith(_EXPECTED)), "")
    told = expected.rpartition("; got ")[2] or episode.grade
    decisive = next((one.action for one in found if one.step == episode.decisive_step), "")
    return f"{told} [{decisive}]" if decisive else told
