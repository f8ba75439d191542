"""What experience says of a typed state, and what an agent would be told of it (design sections 9, 10)."""

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.db import Database
from core.embeddings import Embedder
from core.episodes.agent import Trace
from core.episodes.memory.index import MemoryIndex, Near
from core.episodes.memory.recall import Recalled
from core.errors import UserError
from core.learning.experience import candidate_floor, is_familiar, make_experience, sources_of
from core.policy.adapter import Adapter
from core.policy.advantage import Tried, estimate
from core.policy.preferences import Preferences
from core.policy.snapshots import current_adapter
from core.settings import Settings

_ACTIONS = 20


@dataclass(frozen=True)
class ActionView:
    """What experience says of one action in a state.

    Attributes:
        action: its name.
        q: mean return of the neighbours that took it; None if none did.
        advantage: ``q`` less the state's value; None if none did.
        tried: neighbours that took it.
        bias: of the adapter, in logits; None without one.
        logit: what both together add to the model's log-probability.
    """

    action: str
    q: float | None
    advantage: float | None
    tried: int
    bias: float | None
    logit: float


@dataclass(frozen=True)
class StateView:
    """What experience says of a state.

    Attributes:
        near: the nearest memories, best first.
        value: V(s), their mean return; None where there are none.
        actions: all that were tried near it, then others that the adapter knows, ``_ACTIONS`` in all at most unless
            more were tried; within both, what speaks most for or against first.
        updates: of the adapter in force; None if there is none that fits.
        familiar: memories are near enough; else an agent would be told nothing of all this.
    """

    near: tuple[Near, ...]
    value: float | None
    actions: tuple[ActionView, ...]
    updates: int | None
    familiar: bool


@dataclass(frozen=True)
class Advice:
    """What an agent would be told of its task before its first decision, besides rules.

    Attributes:
        text: memories and hint as the conversation carries them; '' for none.
        told: the memories in it, best first.
        bends: preferences are added to log-probabilities instead of said.
    """

    text: str
    told: tuple[Recalled, ...]
    bends: bool


class ExperienceReader:
    """Looks states up in memory, for people; keeps each environment's index, and asks it one at a time.

    Args:
        database: holds memories and policy.
        embedder: encodes states.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._indexes: dict[str, MemoryIndex] = {}
        self._lock = threading.Lock()

    def look(self, settings: Settings, environment: str, state: str) -> StateView:
        """Return what experience says of a state, whatever the phase in force lets agents know of it.

        Actions that nobody tried near it get no bonus here, as that is drawn anew for each decision.

        Raises:
            UserError: the state is empty.
        """
        if not state.strip():
            raise UserError("Type a state first: a task, and what was seen last.")
        with self._lock:
            index = self._followed(settings, environment)
            vector = index.encode([state])[0]
            near = index.near(vector, settings.policy.neighbours)
            least = index.usual_nearness(settings.policy.strange_share)
        adapter = self._adapter(settings, environment, vector)
        actions, value = _actions(settings, vector, near, adapter)
        updates = None if adapter is None else adapter.updates
        return StateView(tuple(near), value, actions, updates, is_familiar(near, least))

    def advice(self, settings: Settings, environment: str, task: str) -> Advice | None:
        """Return what a training episode of a typed task would be told first; None in the phase static."""
        sources = sources_of(settings)
        if not sources.any:
            return None
        with self._lock:
            index = self._followed(settings, environment)
            vector = index.encode([task])[0]
            adapter = self._adapter(settings, environment, vector) if sources.adapter else None
            floor = candidate_floor(self._embedder)
            experience = make_experience(index, sources, adapter, settings, floor)
            adviser = experience.adviser("", 0, None, learning=True)
            text = adviser(Trace([{"role": "user", "content": task}]))
        return Advice(text, tuple(recalled for _, recalled in adviser.shown), adviser.bends)

    def _followed(self, settings: Settings, environment: str) -> MemoryIndex:
        if environment not in self._indexes:
            self._indexes[environment] = MemoryIndex(self._database, self._embedder, environment, settings.memory)
        index = self._indexes[environment]
        index.follow()
        return index

    def _adapter(self, settings: Settings, environment: str, vector: np.ndarray) -> Adapter | None:
        with self._database.read() as session:
            adapter = current_adapter(session, environment, settings.policy)
        # One of another embedding model says nothing of these vectors.
        return adapter if adapter is not None and adapter.dim == len(vector) else None


def _actions(
    settings: Settings, vector: np.ndarray, near: Sequence[Near], adapter: Adapter | None
) -> tuple[tuple[ActionView, ...], float | None]:
    policy = settings.policy.model_copy(update={"untried_chance": 0.0})
    tried = [Tried(one.memory.action, one.memory.value) for one in near]
    preferences = Preferences(policy, advantage=True, adapter=adapter)
    candidates = preferences.known_actions(tried)
    found = estimate(tried, candidates, policy, random.Random(0))
    views = [
        ActionView(
            action=one.action,
            q=found.q[one.action] if one.tried else None,
            advantage=one.advantage if one.tried else None,
            tried=one.tried,
            bias=None if adapter is None else one.bias,
            logit=one.logit,
        )
        for one in preferences.of(vector, tried, candidates, random.Random(0))
    ]
    views.sort(key=lambda one: (not one.tried, -abs(one.logit), one.action))
    return tuple(views[: max(_ACTIONS, len({one.action for one in tried}))]), found.value
