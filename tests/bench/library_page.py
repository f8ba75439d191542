"""How long the library's page takes, with 100 rules and with 10,000: ``python -m tests.bench.library_page``.

Server side, through the page itself (AppTest): the list as board and table, a search by words and by meaning, one
rule; in processor time, since by the clock AppTest waits in steps of 0.1 s. And what the views behind it take alone.
Of 10,000 rules 5,000 wait, and they have 200,000 events.
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

from streamlit.testing.v1 import AppTest

from core.db import Database, open_database
from core.settings import EmbeddingSettings
from core.views.library import descendants, library_counts, rule_story
from core.views.library_list import LibraryFilter, board, listed_rules
from core.views.lineage import lineage
from core.views.meaning import MeaningSearch
from core.views.rule_history import persons_actions, rule_versions
from tests.bench.apart import apart
from tests.bench.big_library import fill
from tests.bench.machine import machine

SIZES = (100, 10_000)
SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"
WORDS, ABOUT = "ledger lock", "answers slowly"
PAGES: dict[str, dict[str, str]] = {
    "board": {},
    "table": {"library_form": "table"},
    "table, third page by use, active": {
        "library_form": "table", "library_state": "active", "library_order": "used"
    },
    "pinned or in conflict": {"library_form": "table", "library_conflict": "1"},
    "search by words": {"library_form": "table", "library_search": WORDS},
    "search by meaning": {"library_way": "meaning", "library_search": ABOUT},
}  # fmt: skip


def main() -> None:
    """Print the figures."""
    print(machine())
    few, many = (_measure(size) for size in SIZES)
    print(f"{'':44}{SIZES[0]:>10,} rules {SIZES[1]:>9,} rules    times")
    for name in few:
        print(f"{name:44}{few[name]:>13.1f} ms {many[name]:>12.1f} ms {many[name] / few[name]:>8.2f}")


def _measure(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bench.db"
        last = apart(partial(_filled, url), size)
        return apart(partial(_figures, url), last)


def _filled(url: str, size: int) -> str:
    database = open_database(url)
    ids = fill(database, rules=size, waiting=size // 2, events=20 * size, conflicts=size // 50, vectors=True)
    database.close()
    return ids[-1]


def _figures(url: str, rule_id: str) -> dict[str, float]:
    database = open_database(url)
    MeaningSearch(EmbeddingSettings(), database).ranking(ABOUT)
    taken = {f"view: {name}": _median(work) for name, work in _views(database, rule_id).items()}
    os.environ["DATABASE_URL"] = url
    for name, query in {**PAGES, "one rule": {"rule": rule_id}}.items():
        taken[f"page: {name}"] = _median(partial(_run, query), times=9)
    database.close()
    return taken


def _views(database: Database, rule_id: str) -> dict[str, Callable[[], object]]:
    def work(view: Callable[..., object], *arguments: object) -> Callable[[], object]:
        def run() -> None:
            with database.read() as session:
                view(session, *arguments)

        return run

    return {
        "counts": work(library_counts),
        "board": work(board, LibraryFilter()),
        "table": work(listed_rules, LibraryFilter()),
        "words": work(listed_rules, LibraryFilter(text=WORDS)),
        "in conflict": work(listed_rules, LibraryFilter(in_conflict=True)),
        "story": work(rule_story, rule_id),
        "descendants": work(descendants, rule_id),
        "lineage": work(lineage, rule_id),
        "versions": work(rule_versions, rule_id),
        "decisions": work(persons_actions, rule_id),
    }


def _run(query: dict[str, str]) -> None:
    at = AppTest.from_file(SHELL, default_timeout=120)
    at.query_params["lang"] = "en"
    at.switch_page("library.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    if at.exception:
        raise RuntimeError(str(at.exception[0].value))


def _median(work: Callable[[], object], times: int = 15) -> float:
    work()
    durations = []
    for _ in range(times):
        start = process_time()
        work()
        durations.append(1000 * (process_time() - start))
    return median(durations)


if __name__ == "__main__":
    main()
