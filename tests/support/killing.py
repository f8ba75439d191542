"""Runs of the command line in processes that can be killed in an instant and started again in an instant.

A fork server has everything imported, so that twenty starts do not cost twenty times the import of torch.
"""

import multiprocessing
import os
import random
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["core.learning.service", "core.packaged_e5", "core.cli.main", __name__])

_POLL_S = 0.002
_LONGEST_S = 120


def start(arguments: list[str], environment: Mapping[str, str]) -> BaseProcess:
    """Start ``python -m core`` with these arguments in a process of its own."""
    process = _CONTEXT.Process(target=_run, args=(arguments, dict(environment)), daemon=True)
    process.start()
    return process


def _run(arguments: list[str], environment: dict[str, str]) -> None:
    from core.cli.main import main

    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        del os.environ[name]
    os.environ.update(environment)
    with Path(os.devnull).open("w") as nowhere:
        sys.stderr = sys.stdout = nowhere
        main(arguments)


@dataclass(frozen=True)
class Moment:
    """When to kill: ``kind`` is calls (so many further model calls), episodes (likewise) or phase (the next one)."""

    kind: str
    further: int = 1


def moments(seed: int, count: int) -> Iterator[Moment]:
    """Draw moments all over a run."""
    generator = random.Random(seed)
    for _ in range(count):
        kind = generator.choice(("calls", "calls", "episodes", "phase"))
        yield Moment(kind, generator.randint(1, {"calls": 60, "episodes": 14, "phase": 1}[kind]))


_COUNTS = {
    "calls": "SELECT count(*) FROM ledger_entry",
    "episodes": "SELECT count(*) FROM episode",
    "phase": "SELECT coalesce(sum(CASE phase WHEN 'planned' THEN 1 WHEN 'rolled_out' THEN 2 WHEN 'reflected' THEN 3 "
    "WHEN 'judged' THEN 4 WHEN 'settled' THEN 5 WHEN 'gated' THEN 6 WHEN 'measured' THEN 7 ELSE 8 END), 0) FROM round",
}


def progress(database: Path, kind: str) -> int:
    """Count calls, episodes or phases in a database that may not have its tables yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as connection:
            return int(connection.execute(_COUNTS[kind]).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def kill_at(process: BaseProcess, database: Path, moment: Moment) -> bool:
    """Kill a run with SIGKILL at a moment; False if it ended before."""
    wanted = progress(database, moment.kind) + moment.further
    while process.is_alive():
        if progress(database, moment.kind) >= wanted:
            process.kill()
            process.join()
            return True
        process.join(_POLL_S)
    return False


def finish(process: BaseProcess) -> int | None:
    """Wait for a run to end; returns its exit code, None if it hangs."""
    process.join(_LONGEST_S)
    if process.is_alive():
        process.kill()
    return process.exitcode
