"""How long each page takes with 1,000 and with 1,000,000 episodes: ``python -m tests.bench.big_history FOLDER``.

Both databases have 200 rounds and 10,000 rules; only the episodes, their model calls and rule uses differ. They are
made in FOLDER at the first run (minutes) and used again. A whole run of each page as a browser would ask for it, on the
server, in milliseconds of the processor's time, which other work on the machine does not change; and by the clock.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from sqlmodel import Session
from streamlit.testing.v1 import AppTest

from core.db import Database, open_database
from tests.bench.apart import apart
from tests.bench.history_rows import history
from tests.bench.machine import machine
from tests.learning.rows import a_use, an_episode

SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"
SIZES = (1_000, 1_000_000)
PAGES = ("overview", "episodes", "spend", "provenance", "diagnostics", "loop", "library", "review", "audit")
TIMES = 9
USES = 12


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", default=PAGES, help="all unless named")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    urls = []
    for size in SIZES:
        start = perf_counter()
        urls.append(history(options.folder / f"{size}.db", size))
        print(f"{size:>9,} episodes: {perf_counter() - start:.0f} s to make or find")
    small, large = (apart(partial(_pages, options.pages), url) for url in urls)
    print(f"{'processor, median of ' + str(TIMES):24}{SIZES[0]:>10,}{SIZES[1]:>12,} episodes   times   by the clock")
    for page in options.pages:
        (few, _), (many, clock) = small[page], large[page]
        print(f"{page:24}{few:>7.0f} ms{many:>9.0f} ms{many / few:>17.2f}{clock:>12.0f} ms")
    print(f"an episode with {USES} rule uses: {_inserted(options.folder / f'{SIZES[0]}.db')}")


def _pages(pages: list[str], url: str) -> dict[str, tuple[float, float]]:
    os.environ["DATABASE_URL"] = url
    taken = {}
    for page in pages:
        at = AppTest.from_file(SHELL, default_timeout=300)
        at.query_params["lang"] = "en"
        at.switch_page(f"{page}.py")
        at.run()
        taken[page] = _median(at.run)
        if at.exception or at.error:
            raise RuntimeError(f"{page} failed: {[one.value for one in (*at.exception, *at.error)]}")
    return taken


def _median(work: Callable[[], object]) -> tuple[float, float]:
    busy, taken = [], []
    for _ in range(TIMES):
        start, worked = perf_counter(), process_time()
        work()
        busy.append(1000 * (process_time() - worked))
        taken.append(1000 * (perf_counter() - start))
    return median(busy), median(taken)


def _inserted(path: Path) -> str:
    """Say what an episode costs to write, with the triggers that count it and without."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        with closing(open_database(f"sqlite:///{copy}")) as database:
            counted = _episodes_written(database, "counted")
            with database.write() as session:
                _drop_triggers(session)
            plain = _episodes_written(database, "plain")
    return f"{counted:.2f} ms with the triggers that count it, {plain:.2f} ms without (processor, commit included)"


def _episodes_written(database: Database, name: str, times: int = 200) -> float:
    taken = []
    with database.read() as session:
        rules = [row[0] for row in session.connection().exec_driver_sql(f"SELECT id FROM rule LIMIT {USES}")]
    for number in range(times):
        episode = an_episode(f"{name}-{number}", arm="learn", round_number=1)
        uses = [a_use(episode.id, rule) for rule in rules]
        start = process_time()
        with database.write() as session:
            session.add(episode)
            session.flush()
            session.add_all(uses)
        taken.append(1000 * (process_time() - start))
    return median(taken)


def _drop_triggers(session: Session) -> None:
    connection = session.connection()
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
    for name in names:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


if __name__ == "__main__":
    main()
