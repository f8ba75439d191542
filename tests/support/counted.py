"""What rules ought to have counted, kept in plain sets beside the product: an independent model of credit.

A *use* is a pair of an episode and a rule. A rule counts its own uses; a merge also holds those that its parents
had counted when it was made, and those that are counted while they are part of it. No use may ever be in two
rules that are in use at the same time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum

Use = tuple[str, str]
_ENOUGH = 5  # episodes without rules that make a baseline


@dataclass(frozen=True)
class Lived:
    """One training episode and the rules that were in its prompt, with what came of each."""

    id: str
    kind: str
    reward: float
    passed: bool
    done: bool
    served: dict[str, str]


@dataclass
class Counted:
    """The model."""

    episodes: list[Lived] = field(default_factory=list)
    uncounted: list[Lived] = field(default_factory=list)
    uses: dict[str, set[Use]] = field(default_factory=dict)
    delta: dict[Use, float] = field(default_factory=dict)
    passed: set[Use] = field(default_factory=set)
    verified: set[Use] = field(default_factory=set)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def live(self, episode: Lived) -> None:
        """Note an episode that waits to be counted."""
        self.episodes.append(episode)
        self.uncounted.append(episode)

    def credit(self, part_of: Mapping[str, str]) -> None:
        """Count what has not been counted; ``part_of`` says which rule is merged into which at present."""
        base = {kind: self._baseline(kind) for kind in {one.kind for one in self.uncounted if one.done}}
        for episode in self.uncounted:
            for rule_id, compliance in episode.served.items() if episode.done else ():
                use = (episode.id, rule_id)
                assert use not in self.delta
                holder: str | None = rule_id
                while holder is not None:
                    self.uses.setdefault(holder, set()).add(use)
                    holder = part_of.get(holder)
                self.delta[use] = episode.reward - base[episode.kind]
                self.passed |= {use} if episode.passed else set()
                self.verified |= {use} if episode.passed and compliance == "complied" else set()
        self.uncounted = []

    def merge(self, merged: str, parents: Iterable[str]) -> None:
        """Let a new rule hold what its parents have counted."""
        self.parents[merged] = tuple(parents)
        parts = [self.uses.get(parent, set()) for parent in self.parents[merged]]
        assert sum(map(len, parts)) == len(set().union(*parts)), "the parents held the same use"
        self.uses[merged] = set().union(*parts)

    def figures(self, rule_id: str) -> tuple[int, int, float]:
        """Return uses, successes, and the mean of reward minus baseline."""
        uses = self.uses.get(rule_id, set())
        mean = fsum(self.delta[use] for use in uses) / len(uses) if uses else 0.0
        return len(uses), len(uses & self.passed), mean

    def verified_range(self, rule_id: str) -> tuple[int, int]:
        """Return the least and the greatest number of verified successes in different episodes.

        They differ for a merge some of whose parents' successes were counted after it was made: such an
        episode is not in the merge, but may be one that adding up took for counted twice.
        """
        most = len({episode for episode, _ in self.uses.get(rule_id, set()) & self.verified})
        late = {
            episode
            for part in self._family(rule_id)
            for episode, _ in (self.uses.get(part, set()) & self.verified) - self.uses.get(rule_id, set())
        }
        return max(0, most - len(late)), most

    def _family(self, rule_id: str) -> set[str]:
        parents = self.parents.get(rule_id, ())
        return set(parents).union(*(self._family(parent) for parent in parents))

    def _baseline(self, kind: str) -> float:
        done = [one for one in self.episodes if one.kind == kind and one.done]
        without = [one.reward for one in done if not one.served]
        rewards = without if len(without) >= _ENOUGH else [one.reward for one in done]
        return fsum(rewards) / len(rewards)
