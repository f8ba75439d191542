"""How long Review takes on the server with 100 and with 10,000 rules. ``python -m tests.bench.review``

A whole run of the page as a browser would ask for it: the queue, the item with its evidence and neighbours, all
widgets; then the same after a decision, which changes the library. Processor time, which other work on the machine
does not change.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from streamlit.testing.v1 import AppTest

from core.clock import utc_now
from core.db import open_database
from tests.bench.apart import apart
from tests.bench.big_library import fill
from tests.bench.machine import machine

SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"
SIZES = ((100, 50, 2_000), (10_000, 5_000, 200_000))
TIMES = 15


def main() -> None:
    """Print the figures."""
    print(machine())
    small, large = (_measure(size) for size in SIZES)
    for name in small:
        few, many = small[name], large[name]
        print(f"{name:24} {few:7.0f} ms with 100 rules, {many:7.0f} ms with 10,000; {many / few:.2f} times")


def _measure(size: tuple[int, int, int]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bench.db"
        apart(partial(_fill, url), size)
        return apart(_figures, url)


def _fill(url: str, size: tuple[int, int, int]) -> None:
    rules, waiting, events = size
    with closing(open_database(url)) as database:
        fill(
            database,
            rules=rules,
            waiting=waiting,
            events=events,
            conflicts=rules // 50,
            entries=1_000,
            vectors=True,
            now=utc_now(),
        )


def _figures(url: str) -> dict[str, float]:
    os.environ["DATABASE_URL"] = url
    at = AppTest.from_file(SHELL, default_timeout=120)
    at.query_params["lang"] = "en"
    at.run()
    at.switch_page("review.py")
    first = _timed(at.run)
    shown = [_timed(at.run) for _ in range(TIMES)]
    decided = [_timed(at.button(key=_approve_key(at)).click().run) for _ in range(TIMES)]
    at.button_group(key="review_way").set_value("bulk")
    bulk = [_timed(at.run) for _ in range(TIMES)]
    if at.exception or at.error:
        raise RuntimeError(f"the page failed: {[one.value for one in (*at.exception, *at.error)]}")
    return {
        "first look of a process": first,
        "one item": median(shown),
        "one item, p95": float(np.quantile(shown, 0.95)),
        "a decision and the next": median(decided),
        "many at once": median(bulk),
    }


def _approve_key(at: AppTest) -> str:
    return next(str(one.key) for one in at.button if str(one.key).endswith(("_approve", "_accept")))


def _timed(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return 1000 * (process_time() - start)


if __name__ == "__main__":
    main()
