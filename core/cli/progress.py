"""Progress of a run: bars on a terminal, plain lines at each phase's begin and end elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from core.learning.bench import ProgressEvent


@contextmanager
def shown_progress(rounds: int) -> Iterator[Callable[["ProgressEvent"], None]]:
    """Give a function that shows progress for as long as the context lasts.

    Args:
        rounds: how many are going to run.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        yield _Bars(bars, rounds)


@contextmanager
def counted_lines(label: str) -> Iterator[Callable[[int], None]]:
    """Give a function that shows how many lines have been read; silent where there is no terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}: {task.completed}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        task = bars.add_task(label, total=None)
        yield lambda lines: bars.update(task, completed=lines)


class _Bars:
    def __init__(self, bars: Progress, rounds: int) -> None:
        self._bars = bars
        self._all = bars.add_task("rounds", total=rounds)
        self._phases: dict[tuple[int, str], TaskID] = {}

    def __call__(self, event: "ProgressEvent") -> None:
        key = (event.round_number, event.phase)
        if key not in self._phases:
            self._begin(key)
        self._bars.update(self._phases[key], completed=event.done, total=event.total or None)

    def _begin(self, key: tuple[int, str]) -> None:
        seen = {number for number, _ in self._phases}
        if key[0] not in seen:
            for task in self._phases.values():
                self._bars.update(task, visible=False)
            self._bars.update(self._all, completed=len(seen))
        self._phases[key] = self._bars.add_task(f"  {key[0]}: {key[1]}", total=None)


class _PlainLines:
    def __init__(self) -> None:
        self._last: tuple[int, str] | None = None

    def __call__(self, event: "ProgressEvent") -> None:
        key = (event.round_number, event.phase)
        if key == self._last and event.done < event.total:
            return
        self._last = key
        counted = f" {event.done}/{event.total}" if event.total else ""
        typer.echo(f"round {event.round_number}: {event.phase}{counted}", err=True)
