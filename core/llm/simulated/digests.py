"""How the stand-in model reads a reflection request: digests and rules, by their headings."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.llm.simulated.reading import content_terms

_EPISODE = re.compile(r"^### ([PF]\d+)\n(.*?)(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
_KNOWN = re.compile(r"^\[(K\d+)\] (.+)$", re.MULTILINE)
_STEP = re.compile(r"^[-*] \[\d+\] CALL (\w+)\((.*?)\) -> (.*)$")
_ARGUMENT = re.compile(r"(\w+)=(?:\"([^\"]*)\"|'([^']*)'|([^,]*))")
_CLAUSE = re.compile(r"(?<=[.;:,])\s+|\s+(?:while|and|but|with|after|although|yet|so)\s+")
_PARTICULAR = re.compile(r"\S*\d\S*|\b[a-z]+(?:-[a-z0-9]+)+\b|(?<=[a-z,] )[A-Z]\w+|\S+@\S+|[\"'`{}\[\]()=<>|]")

_SAME_TEXT = 0.5  # share of common terms from which two texts are variants of one
_MARKS = " .,;:-…'\"!?%"
_EDGES_WORDS = "a an and are at but by for from in is it its of on or so that the then there to was with"
_EDGES = frozenset(_EDGES_WORDS.split())


@dataclass(frozen=True)
class Call:
    """A tool call in a digest."""

    tool: str
    arguments: tuple[tuple[str, str], ...]
    result: str

    @property
    def complete(self) -> bool:
        """The digest shows its arguments in full."""
        return all(value and "…" not in value for _, value in self.arguments)

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
    def findings(self) -> str:
        """What its looks showed, in one text."""
        return " . ".join(call.result for call in self.calls if not call.failed)

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
            cut = () if arguments or not match.group(2).strip() else (("", ""),)
            calls.append(Call(match.group(1), arguments or cut, match.group(3)))
    return ReadDigest(label, label.startswith("P"), task, tuple(calls), content_terms(body))


def clauses(text: str) -> list[str]:
    """Split into clauses and drop what belongs to one case only: numbers, names, ids."""
    cleaned = [_PARTICULAR.sub(" ", part) for part in _CLAUSE.split(text)]
    parts = [" ".join(part.split()).strip(" .,;:-…") for part in cleaned]
    return [part for part in parts if 3 <= len(part.split()) <= 14 and len(content_terms(part)) >= 2]


def common_phrases(texts: Sequence[str], *, shortest: int = 4) -> list[tuple[str, int]]:
    """Return word sequences that at least two texts share, with the number of texts, best first.

    A sequence is at least ``shortest`` words long and has at least two words that carry meaning. Texts that
    are nearly the same count as one: what they share may be chance.
    """
    texts = _different(texts)
    words = [_PARTICULAR.sub(" | ", text).split() for text in texts]
    found: set[str] = set()
    for a, b in itertools.combinations(range(len(words)), 2):
        matcher = SequenceMatcher(None, [w.strip(_MARKS) for w in words[a]], [w.strip(_MARKS) for w in words[b]], False)
        for block in matcher.get_matching_blocks():
            for run in " ".join(words[a][block.a : block.a + block.size]).split("|"):
                phrase = trimmed(run)
                if len(phrase.split()) >= shortest and len(content_terms(phrase)) >= 2:
                    found.add(phrase)
    plain = [f" {_plain(text)} " for text in texts]
    counted = [(phrase, sum(f" {_plain(phrase)} " in text for text in plain)) for phrase in found]
    return sorted(counted, key=lambda pair: (-pair[1], -len(pair[0]), pair[0]))


def _different(texts: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        terms = content_terms(text)
        if all(len(terms & content_terms(other)) < _SAME_TEXT * len(terms | content_terms(other)) for other in kept):
            kept.append(text)
    return kept


def trimmed(phrase: str) -> str:
    """Cut words that carry nothing from both ends, and stop at the end of a sentence."""
    words = re.split(r"(?<=[.;:])\s", phrase.strip())[0].split()
    while words and (words[0].lower().strip(_MARKS) in _EDGES or not words[0].strip(_MARKS)):
        words.pop(0)
    while words and (words[-1].lower().strip(_MARKS) in _EDGES or not words[-1].strip(_MARKS)):
        words.pop()
    return " ".join(words).strip(_MARKS)


def _plain(text: str) -> str:
    return " ".join(word.strip(_MARKS) for word in text.lower().split())
