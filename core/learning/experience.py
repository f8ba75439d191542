"""What an arm's agent is told and swayed by besides rules: memories, advantages, the adapter (sections 9, 10).

Assembled once for a phase, so that all its rollouts meet the same experience; each episode then has its own
``Adviser``, which keeps what it was shown.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.embeddings import Embedder
from core.episodes.agent import Trace
from core.episodes.memory.index import MemoryIndex, Near
from core.episodes.memory.recall import Recalled, reach, recall
from core.episodes.memory.wording import memory_lines
from core.episodes.trajectory import count_turns, state_at_hand
from core.ids import derive_seed
from core.learning.step_rules import StepRules
from core.policy.adapter import Adapter
from core.policy.advantage import Tried
from core.policy.phases import PHASES
from core.policy.preferences import Preferences, hint
from core.settings import Settings


@dataclass(frozen=True)
class Sources:
    """Which systems an arm uses besides rules.

    Attributes:
        recall: memories in the prompt.
        advantage: advantages from remembered returns.
        adapter: the adapter's biases.
    """

    recall: bool = False
    advantage: bool = False
    adapter: bool = False

    @property
    def any(self) -> bool:
        """Whether experience reaches the agent at all."""
        return self.recall or self.advantage or self.adapter


def sources_of(settings: Settings) -> Sources:
    """Return what the phase that people unlocked allows."""
    reached = PHASES.index(settings.policy.phase)
    return Sources(recall=reached >= 1, advantage=reached >= 2 and settings.policy.advantage, adapter=reached >= 3)


@dataclass(frozen=True)
class Experience:
    """The memories and the policy of one phase.

    Attributes:
        index: memories, followed up to then.
        sources: what the arm uses.
        preferences: advantages and biases.
        settings: how.
        floor: least cosine of candidates in two phases.
        familiar: cosine that the nearest memory needs, or nothing is said: what was learned elsewhere is a guess here.
    """

    index: MemoryIndex
    sources: Sources
    preferences: Preferences
    settings: Settings
    floor: float
    familiar: float

    @property
    def reach(self) -> int:
        """How many of the nearest memories a decision asks for; one tells whether the state is familiar."""
        recalled = reach(self.settings.memory) if self.sources.recall else 0
        return max(1, recalled, self.settings.policy.neighbours if self.sources.advantage else 0)

    def adviser(self, task_id: str, seed: int, steps: StepRules | None, *, learning: bool) -> "Adviser":
        """Return who advises one episode.

        Args:
            task_id: of its task, whose own memories are never shown when evaluating.
            seed: of the episode.
            steps: who adds rules at every step.
            learning: a training episode.
        """
        return Adviser(self, "" if learning else task_id, seed, steps)


def candidate_floor(embedder: Embedder) -> float:
    """Return the cosine that a candidate of two phases has to exceed, in the embedding model's own scale.

    The MemRL paper's 0.38 belongs to its embedding model. Here it is the most lenient of the measured thresholds at
    which two texts may say the same: that across languages.
    """
    return embedder.thresholds().duplicate_mixed


def make_experience(
    index: MemoryIndex, sources: Sources, adapter: Adapter | None, settings: Settings, floor: float
) -> Experience:
    """Put an arm's experience together.

    Args:
        index: memories, followed up to now.
        sources: what the arm uses.
        adapter: as it is now; used only if the sources say so.
        settings: how.
        floor: least cosine of candidates in two phases: the embedding model's own.
    """
    used = adapter if sources.adapter else None
    preferences = Preferences(settings.policy, advantage=sources.advantage, adapter=used)
    familiar = index.usual_nearness(settings.policy.strange_share) if sources.any else -1.0
    return Experience(index, sources, preferences, settings, floor, familiar)


def is_familiar(near: Sequence[Near], least: float) -> bool:
    """Say whether a state is near enough to a memory for experience to speak.

    Args:
        near: the memories nearest to it.
        least: cosine that one of them needs; see ``MemoryIndex.usual_nearness``.
    """
    return max((one.similarity for one in near), default=-1.0) >= least


@dataclass(frozen=True)
class _Place:
    """A state, its vector (dim,), the memories nearest to it, best first, and whether they are near enough."""

    state: str
    vector: np.ndarray
    near: Sequence[Near]
    familiar: bool


class Adviser:
    """Advises one episode: says memories and hints before a decision, or bends log-probabilities."""

    def __init__(self, experience: Experience, without_task: str, seed: int, steps: StepRules | None) -> None:
        self._experience = experience
        self._without = without_task
        self._seed = seed
        self._steps = steps
        self._place: _Place | None = None
        self.shown: list[tuple[int, Recalled]] = []

    def __call__(self, trace: Trace) -> str:
        """Return what to say before the next decision: further rules, memories not shown yet, a hint."""
        turn = count_turns(trace.messages)
        parts = [self._steps(trace)] if self._steps is not None else []
        sources = self._experience.sources
        if sources.any and self._at(trace).familiar:
            parts.append(self._memories(trace, turn) if sources.recall else "")
            parts.append(self._hint(trace, turn) if self._experience.settings.policy.way == "hint" else "")
        return "\n\n".join(part for part in parts if part)

    def bend(self, trace: Trace, logits: Mapping[str, float]) -> Mapping[str, float]:
        """Add what experience says to the log-probabilities of the actions at hand; nothing in a strange state."""
        place = self._at(trace)
        if not place.familiar:
            return logits
        rng = self._rng(count_turns(trace.messages))
        preferences = self._experience.preferences
        return preferences.bent(logits, preferences.of(place.vector, self._tried(place), list(logits), rng))

    @property
    def bends(self) -> bool:
        """Whether log-probabilities are to be bent."""
        sources = self._experience.sources
        return self._experience.settings.policy.way == "logit" and (sources.advantage or sources.adapter)

    def _memories(self, trace: Trace, turn: int) -> str:
        memory = self._experience.settings.memory
        found = recall(self._at(trace).near, memory, self._experience.floor)
        known = {one.memory.id for _, one in self.shown}
        fresh = [one for one in found if one.memory.id not in known][: memory.shown]
        text, told = memory_lines(fresh, len(self.shown), memory.max_tokens)
        self.shown += [(turn, one) for one in told]
        return text

    def _hint(self, trace: Trace, turn: int) -> str:
        sources = self._experience.sources
        if not (sources.advantage or sources.adapter):
            return ""
        place = self._at(trace)
        tried = self._tried(place)
        preferences = self._experience.preferences
        candidates = preferences.known_actions(tried)
        return hint(preferences.of(place.vector, tried, candidates, self._rng(turn)), self._experience.settings.policy)

    def _tried(self, place: "_Place") -> list[Tried]:
        near = place.near[: self._experience.settings.policy.neighbours]
        return [Tried(one.memory.action, one.memory.value) for one in near]

    def _at(self, trace: Trace) -> "_Place":
        """Return where the state at hand lies, looked up once for memories and preferences alike."""
        state = state_at_hand(trace.messages)
        if self._place is None or self._place.state != state:
            index = self._experience.index
            vector = index.encode([state])[0]
            near = index.near(vector, self._experience.reach, without_task=self._without)
            self._place = _Place(state, vector, near, is_familiar(near, self._experience.familiar))
        return self._place

    def _rng(self, turn: int) -> random.Random:
        return random.Random(derive_seed(self._seed, "untried", turn))
