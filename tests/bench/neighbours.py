"""How long a new candidate takes against a large library: duplicates and conflicts.

``python -m tests.bench.neighbours``. The candidate's own embedding and the model's judgements are not counted.
"At hand" is the comparison alone, "in all" what the intake does: the library in use and the archive, from a
database, with whatever has happened to them since the last candidate. The first candidate of a process pays for
reading the library and its stored vectors once.
"""

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from core.calibration import Thresholds
from core.db import Database, open_database
from core.embeddings import COMPARISON, Embedder, Kind
from core.rules.conflicts import find_conflicts
from core.rules.duplicates import propose_duplicates
from core.rules.library import Change, create_rule
from core.rules.lifecycle import IN_USE, State
from core.rules.neighbours import ComparedRules
from core.rules.wording import condition_text, rule_text
from core.settings import EmbeddingSettings
from core.tables.rules import RuleContent
from tests.bench.machine import machine, measured
from tests.bench.prompts import NOW, a_library

NEWCOMERS = 40
DOMAIN = "incidents"
CHANGE = Change("system", lambda: NOW)
LATER = Change("system", lambda: NOW + timedelta(days=1))
WORDINGS = (rule_text, condition_text)
_CLOSE = 0.1

Newcomer = tuple[RuleContent, np.ndarray]


class PreparedEmbedder(Embedder):
    """Has its vectors from here instead of from the model; stores and finds them as ever."""

    def __init__(self, database: Database, vectors: dict[str, np.ndarray]) -> None:
        super().__init__(EmbeddingSettings(), database)
        self._prepared = vectors

    def _compute(self, texts: Sequence[str], kind: Kind) -> np.ndarray:
        return np.stack([self._prepared[text] for text in texts])


def main() -> None:
    """Print the figures."""
    print(machine())
    thresholds = Embedder(EmbeddingSettings()).thresholds()
    for size in (120, 10_000):
        rules, vectors, _ = a_library(size)
        others: list[tuple[str, RuleContent]] = [(rule.id, rule) for rule in rules]
        drafts = [
            (RuleContent(**others[at][1].model_dump(include=set(RuleContent.model_fields)) | {"exclusion": "none"}),
             near(vectors[at], at))
            for at in range(0, size, max(1, size // NEWCOMERS))
        ]  # fmt: skip
        newcomers = itertools.cycle(drafts)
        print(
            f"{size:6,} rules, at hand: ",
            measured(partial(_compare, others, vectors, newcomers, thresholds), times=100),
        )
        with tempfile.TemporaryDirectory() as folder:
            _in_all(Path(folder), others, vectors, drafts)


def near(vector: np.ndarray, seed: int) -> np.ndarray:
    """Return a unit vector close to another one, like that of a reworded rule."""
    noise = np.random.default_rng(seed).standard_normal(vector.size).astype(np.float32)
    moved = vector + _CLOSE * noise / vector.size**0.5
    return np.asarray(moved / np.linalg.norm(moved))


def _compare(
    others: Sequence[tuple[str, RuleContent]],
    vectors: np.ndarray,
    newcomers: Iterator[Newcomer],
    thresholds: Thresholds,
) -> int:
    new, vector = next(newcomers)
    duplicates = propose_duplicates(new, others, vector, vectors, thresholds)
    return len(duplicates) + len(find_conflicts(new, others, vector, vectors, thresholds))


def _in_all(
    folder: Path, rules: Sequence[tuple[str, RuleContent]], vectors: np.ndarray, drafts: Sequence[Newcomer]
) -> None:
    """Put the library into a database, half as many archived rules beside it, and check the drafts one by one."""
    database = open_database(f"sqlite:///{folder}/bench.db")
    prepared = {text(rule): vector for (_, rule), vector in zip(rules, vectors, strict=True) for text in WORDINGS}
    prepared |= {text(draft): vector for draft, vector in drafts for text in WORDINGS}
    with database.write() as session:
        for number, (rule_id, rule) in enumerate(rules):
            create_rule(session, rule, CHANGE, origin="reflection", id=rule_id, state="active")
            if number % 2:
                create_rule(session, rule, CHANGE, origin="reflection", id=f"{rule_id}-old", state="archived")
    embedder = PreparedEmbedder(database, prepared)
    embedder.encode(list(prepared), COMPARISON)
    embedder = PreparedEmbedder(database, {})  # a new process: all vectors are in the table, none in memory
    library = ComparedRules(database, embedder, DOMAIN, IN_USE)
    archive = ComparedRules(database, embedder, DOMAIN, (State.ARCHIVED,))
    newcomers = itertools.cycle([draft for draft, _ in drafts])

    def check() -> None:
        draft = next(newcomers)
        archive.duplicates(draft)
        library.compare(draft)

    def change() -> None:
        with database.write() as session:
            create_rule(session, rules[next(places)][1], LATER, origin="reflection")

    places = itertools.cycle(range(len(rules)))
    start = perf_counter()
    check()
    print(f"{len(rules):6,} rules, first of a process: {perf_counter() - start:.2f} s")
    for _ in drafts:
        check()  # the drafts' own vectors are in memory from here on
    print(f"{len(rules):6,} rules, in all: ", measured(check, times=100))
    print(f"{len(rules):6,} rules, in all, the library changed since: ", measured(check, times=100, before=change))
    database.close()


if __name__ == "__main__":
    main()
