"""What the adapter prefers now, where, and since which episodes, in a form that people can read (design section 10).

States are grouped by their vectors; a group is named by the words that are commonest in it and rare elsewhere. For
each group the actions are told whose bias has moved most since the snapshot before, with the decisions behind it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.cluster.vq import kmeans2

from core.episodes.trajectory import parts_of_state
from core.policy.adapter import Adapter
from core.text import search_terms

_WORDS = 3
_EPISODES = 5
_LEAST_MOVE = 0.25
"""Change of a bias, in logits, that is worth telling: it changes the odds of an action by a quarter or more."""
_LEAST_STATES = 5
"""Decisions that a group needs before anything is said of it."""


@dataclass(frozen=True)
class Learned:
    """A remembered decision as an explanation needs it; ``vector`` of shape (dim,)."""

    episode_id: str
    state: str
    action: str
    value: float
    vector: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """One preference that has changed.

    Attributes:
        words: the group's commonest words, telling first.
        action: whose bias moved.
        before: mean bias in the group's states at the snapshot before, in logits; 0 if there was none.
        after: now.
        n: decisions of the group in which the action was taken.
        mean_return: of those.
        episodes: theirs, with the largest returns in the direction of the change first.
        example: a state in the middle of the group.
    """

    words: tuple[str, ...]
    action: str
    before: float
    after: float
    n: int
    mean_return: float
    episodes: tuple[str, ...]
    example: str

    def as_json(self) -> dict[str, object]:
        """Return it for the log."""
        return asdict(self)


def explain(
    adapter: Adapter, before: Adapter | None, decisions: Sequence[Learned], *, groups: int, seed: int
) -> list[Explanation]:
    """Say what has changed since the snapshot before, the largest change first; at most one for a group.

    Args:
        adapter: as it is now.
        before: at the snapshot before; None for the first.
        decisions: those it learned from.
        groups: of states, at most.
        seed: of the grouping.
    """
    if len(decisions) < _LEAST_STATES:
        return []
    vectors = np.stack([one.vector for one in decisions]).astype(np.float64)
    count = max(1, min(groups, len(decisions) // _LEAST_STATES))
    centres, places = kmeans2(vectors, count, minit="++", rng=np.random.default_rng(seed))
    everywhere = Counter(word for one in decisions for word in _words(one))
    found = []
    for group, centre in enumerate(centres):
        members = [one for one, place in zip(decisions, places, strict=True) if place == group]
        told = _told(adapter, before, members, centre, everywhere) if len(members) >= _LEAST_STATES else None
        if told is not None:
            found.append(told)
    return sorted(found, key=lambda one: (-abs(one.after - one.before), one.words))


def _told(
    adapter: Adapter,
    before: Adapter | None,
    members: Sequence[Learned],
    centre: np.ndarray,
    everywhere: Mapping[str, int],
) -> Explanation | None:
    actions = sorted({one.action for one in members})
    now = _mean_bias(adapter, members, actions)
    then = _mean_bias(before, members, actions) if before is not None else dict.fromkeys(actions, 0.0)
    action = max(actions, key=lambda one: (abs(now[one] - then[one]), one))
    if abs(now[action] - then[action]) < _LEAST_MOVE:
        return None
    up = 1.0 if now[action] > then[action] else -1.0
    taken = sorted((one for one in members if one.action == action), key=lambda one: -up * one.value)
    middle = min(members, key=lambda one: float(np.linalg.norm(one.vector - centre)))
    return Explanation(
        words=_name(members, everywhere),
        action=action,
        before=then[action],
        after=now[action],
        n=len(taken),
        mean_return=sum(one.value for one in taken) / len(taken),
        episodes=tuple(dict.fromkeys(one.episode_id for one in taken))[:_EPISODES],
        example=middle.state,
    )


def _mean_bias(adapter: Adapter, members: Sequence[Learned], actions: Sequence[str]) -> dict[str, float]:
    biases = [adapter.bias(one.vector, actions) for one in members]
    return {action: float(np.mean([bias[action] for bias in biases])) for action in actions}


def _words(learned: Learned) -> set[str]:
    """Return the words of a state's task, each once; figures say nothing of a kind of state."""
    task, _ = parts_of_state(learned.state)
    return {word for word in search_terms(task) if not word.isdigit() and len(word) > 1}


def _name(members: Sequence[Learned], everywhere: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words that are common here and rare elsewhere."""
    here = Counter(word for one in members for word in _words(one))
    telling = {word: count * count / everywhere[word] for word, count in here.items()}
    return tuple(sorted(telling, key=lambda word: (-telling[word], word))[:_WORDS])
