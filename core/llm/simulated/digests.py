"""How the stand-in model reads a reflection request: digests and rules, by their headings."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.llm.simulated.reading import content_terms

_EPISODE = re.compile(r"^### ([PF]\d+)\n(.*?)(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
_KNOWN = re.compile(r"^\[(K\d+)\] (.+)$", re.MULTILINE)
_STEP = re.compile(r"^[-*] \[\d+\] CALL (\w+)\((.*?)\) -> (.*)$")
_ARGUMENT = re.compile(r"(\w+)=(?:\"([^\"]*)\"|'([^']*)'|([^,]*))")
_CLAUSE = re.compile(r"(?<=[.;:,])\s+|\s+(?:while|and|but|with|after|although|yet|so)\s+")
_PARTICULAR = re.compile(r"\S*\d\S*|\b[a-z]+(?:-[a-z0-9]+)+\b|(?<=[a-z,] )[A-Z]\w+|\S+@\S+|[\"'`{}\[\]()=<>|]")


@dataclass(frozen=True)
class Call:
    """A tool call in a digest."""

    tool: str
    arguments: tuple[tuple[str, str], ...]
    result: str

    @property
    def failed(self) -> bool:
        """The call came back with an error."""
        return self.result.startswith("ERROR")


@dataclass(frozen=True)
class ReadDigest:
    """A digest taken apart."""

    label: str
    passing: bool
    task: str
    calls: tuple[Call, ...]
    terms: frozenset[str]

    @property
    def key_call(self) -> Call | None:
        """The last call that worked: what settled the episode."""
        working = [call for call in self.calls if not call.failed]
        return working[-1] if working else None


def read_digests(text: str) -> list[ReadDigest]:
    """Return all digests of a request."""
    return [_read_digest(match.group(1), match.group(2)) for match in _EPISODE.finditer(text)]


def read_known(text: str) -> dict[str, str]:
    """Return the rules the request lists, by label."""
    return {match.group(1): match.group(2) for match in _KNOWN.finditer(text)}


def _read_digest(label: str, body: str) -> ReadDigest:
    task = next((line[6:] for line in body.splitlines() if line.startswith("TASK: ")), "")
    calls = []
    for line in body.splitlines():
        match = _STEP.match(line)
        if match:
            arguments = tuple(
                (m.group(1), next(g for g in m.groups()[1:] if g is not None).strip())
                for m in _ARGUMENT.finditer(match.group(2))
            )
            calls.append(Call(match.group(1), arguments, match.group(3)))
    return ReadDigest(label, label.startswith("P"), task, tuple(calls), content_terms(body))


def clauses(text: str) -> list[str]:
    """Split into clauses and drop what belongs to one case only: numbers, names, ids."""
    cleaned = [_PARTICULAR.sub(" ", part) for part in _CLAUSE.split(text)]
    parts = [" ".join(part.split()).strip(" .,;:-…") for part in cleaned]
    return [part for part in parts if 3 <= len(part.split()) <= 14 and len(content_terms(part)) >= 2]


def common_clauses(texts: Iterable[str], *, at_least: float = 0.75) -> list[tuple[str, int]]:
    """Return the clauses of the first text with the number of texts that say (nearly) the same, most first."""
    texts = list(texts)
    seen = [[content_terms(clause) for clause in clauses(text)] for text in texts]
    ranked = []
    for clause in dict.fromkeys(clauses(texts[0])):
        terms = content_terms(clause)
        support = sum(
            any(len(terms & other) >= at_least * len(terms | other) for other in others) for others in seen
        )
        ranked.append((clause, support))
    return sorted(ranked, key=lambda pair: -pair[1])
