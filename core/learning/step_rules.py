"""Rules that come up on the way: retrieval at every step, with the state at hand (design section 6).

They go behind the conversation and not into the system prompt, so that the cached prefix stays as it is.
"""

import random
from collections.abc import Sequence

from core.episodes.agent import Trace
from core.episodes.trajectory import state_at_hand
from core.ids import derive_seed
from core.learning.snapshot import LibrarySnapshot
from core.rules.prompt import Prompt, further_rules, rule_budget
from core.rules.retrieval import Hit
from core.settings import RetrievalSettings


class StepRules:
    """What one episode is told on its way; a rule is offered once.

    Args:
        library: as it is served in this phase.
        stable: the part of the prompt that all tasks share.
        prompt: the system prompt the episode starts with.
        left_out: hits that a coin took out of it; they stay out.
        settings: limits.
        holdout: chance that a rule is left out, in [0, 1); 0 when evaluating.
        seed: of that coin.
    """

    def __init__(
        self,
        library: LibrarySnapshot,
        stable: str,
        prompt: Prompt,
        left_out: Sequence[Hit],
        settings: RetrievalSettings,
        *,
        holdout: float,
        seed: int,
    ) -> None:
        self._library = library
        self._settings = settings
        self._holdout = holdout
        self._seed = seed
        self._room = rule_budget(stable, settings) - prompt.rule_tokens
        self._offered = {hit.rule.id for hit in (*prompt.served, *prompt.trimmed, *left_out)}
        self._numbered = len(prompt.served)
        self.served: list[Hit] = []
        self.left_out: list[Hit] = []
        self.trimmed: list[Hit] = []

    def __call__(self, trace: Trace) -> str:
        """Return what to add to the conversation before the next decision, '' if nothing new comes up.

        Before a tool has said anything nothing does: the system prompt's rules were looked for with the task.
        """
        if not any(message["role"] == "tool" for message in trace.messages):
            return ""
        retrieval = self._library.retrieve(state_at_hand(trace.messages), passing=True)
        fresh = [hit for hit in retrieval.hits if self._is_new(hit)]
        kept = [hit for hit in fresh[: self._settings.step_rules] if self._keeps(hit)]
        text, tokens, served = further_rules(kept, self._numbered + len(self.served), self._room)
        self._room -= tokens
        self.served += served
        self.trimmed += kept[len(served) :]
        return text

    def _is_new(self, hit: Hit) -> bool:
        return hit.rule.id not in self._offered

    def _keeps(self, hit: Hit) -> bool:
        self._offered.add(hit.rule.id)
        keeps = random.Random(derive_seed(self._seed, "step", hit.rule.id)).random() >= self._holdout
        if not keeps:
            self.left_out.append(hit)
        return keeps
