"""The reward of an incident: evidence seen, remedies tried, harm done (design section 2)."""

from dataclasses import dataclass
from typing import Literal

Effect = Literal["right", "harmless", "harmful"]

_EVIDENCE = 2
_MAX_WRONG = 3
_MAX_HARMFUL = 2


@dataclass
class Score:
    """Running total of one episode, in [0, 1].

    Kept in tenths, so that no rounding error adds up. Each method returns the step's reward, which is the
    change of the total; ``done`` tells whether the episode is over.
    """

    tenths: int = 0
    evidence_seen: bool = False
    harmless: int = 0
    harmful: int = 0
    done: bool = False

    @property
    def total(self) -> float:
        """The sum of all rewards so far."""
        return self.tenths / 10

    @property
    def wrong(self) -> int:
        """How many wrong remedies were tried, harmless or harmful."""
        return self.harmless + self.harmful

    def see_evidence(self) -> float:
        """Count decisive evidence: worth 0.2 the first time, nothing later."""
        gain = 0 if self.evidence_seen else _EVIDENCE
        self.evidence_seen = True
        return self._move_to(self.tenths + gain)

    def apply(self, effect: Effect) -> float:
        """Count a remedy by its effect.

        Returns:
            The reward: up to 1.0, 0.9, 0.6 or 0.4 for the right remedy; minus the total for a harmful one; 0
            for one without effect. The right one, the second harmful or the third wrong one ends the episode.
        """
        if effect == "right":
            self.done = True
            return self._move_to(self._completed())
        if effect == "harmful":
            self.harmful += 1
        else:
            self.harmless += 1
        self.done = self.harmful >= _MAX_HARMFUL or self.wrong >= _MAX_WRONG
        return self._move_to(0 if effect == "harmful" else self.tenths)

    def _completed(self) -> int:
        if self.harmful:
            return 4
        if self.harmless:
            return 6
        return 10 if self.evidence_seen else 9

    def _move_to(self, tenths: int) -> float:
        change, self.tenths = tenths - self.tenths, tenths
        return change / 10
