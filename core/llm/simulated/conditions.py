"""Conditions as the stand-in model writes them: alternatives of symptoms, and a finding that confirms them."""

import re
from dataclasses import dataclass, replace

from core.llm.simulated.reading import content_terms

_FINDING = re.compile(r",? and (\w+ on the \w+ shows .+)$")
_MOST_ALTERNATIVES = 3


@dataclass(frozen=True)
class ReadCondition:
    """A condition taken apart.

    ``finding`` is '' or "tool on the place shows something"; ``confirmed``: its symptoms were seen in
    different cases.
    """

    alternatives: tuple[str, ...]
    finding: str = ""
    confirmed: bool = False

    @classmethod
    def parse(cls, text: str) -> "ReadCondition":
        """Read a condition."""
        match = _FINDING.search(text)
        head = text[: match.start()] if match else text
        alternatives = tuple(part.strip() for part in re.split(r",? or ", head) if part.strip())
        return cls(alternatives, match.group(1) if match else "")

    @property
    def text(self) -> str:
        """The condition in words."""
        head = " or ".join(self.alternatives)
        return f"{head}, and {self.finding}" if self.finding else head

    def joined(self, other: "ReadCondition") -> "ReadCondition":
        """Cover the other's cases too, as far as there is room; near-equal alternatives count once.

        Symptoms that were seen in different cases come first: they are the ones that will be seen again.
        """
        first, second = (other, self) if other.confirmed else (self, other)
        kept: list[str] = []
        for text in (*first.alternatives, *second.alternatives):
            if not any(_alike(text, known) for known in kept):
                kept.append(text)
        finding = first.finding or second.finding
        return ReadCondition(tuple(kept[: _MOST_ALTERNATIVES - bool(finding)]), finding, first.confirmed)

    def shortened(self) -> "ReadCondition":
        """Drop alternatives until two are left."""
        return replace(self, alternatives=self.alternatives[:2])


def _alike(a: str, b: str) -> bool:
    first, second = content_terms(a), content_terms(b)
    return len(first & second) >= 0.7 * min(len(first), len(second))
