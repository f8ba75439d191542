"""Recorded episodes: JSONL in OpenAI chat format with a reward (design section 2).

One line is one conversation::

    {"id": "...", "task_id": "...", "reward": 0.0, "messages": [...],
     "trial": 0, "task_type": "...", "created_at": "2026-05-01T09:00:00Z", "split": "train",
     "agent": "...", "model": "..."}

The second row is optional. A line that cannot be used becomes a ``LineProblem`` and the others are kept; only
a file that cannot be read at all is an error. Files are streamed, plain or gzip (told apart by the first
bytes, not by the name). What is done with the episodes is ``core.episodes.importing``'s matter.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from core.environments.chat_format import UnusableLineError
from core.environments.recorded_line import RecordedEpisode, parse_line
from core.errors import UserError

_GZIP_MAGIC = b"\x1f\x8b"
_MAX_LINE_BYTES = 8 * 2**20


@dataclass(frozen=True)
class LineProblem:
    """Why a line was left out, and what to do.

    Attributes:
        line: from 1.
        field: what is wrong, e.g. ``reward`` or ``messages[3].role``; ``line`` or ``file`` for all of it.
        template: English text with ``{name}`` places, key of its translation.
        values: what goes into the places, ``line`` and ``field`` among them.
    """

    line: int
    field: str
    template: str
    values: dict[str, object]

    def __str__(self) -> str:
        return self.template.format(**self.values)


@dataclass(frozen=True)
class ReadResult:
    """All of a file: its good lines and the problems of the others, both in order."""

    episodes: list[RecordedEpisode] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)


def read_recorded(path: str | Path) -> ReadResult:
    """Read a whole file; for large ones see ``iter_recorded``.

    Raises:
        UserError: the file does not exist, is a directory, cannot be read or is empty.
    """
    result = ReadResult()
    for item in iter_recorded(path):
        if isinstance(item, LineProblem):
            result.problems.append(item)
        else:
            result.episodes.append(item)
    return result


def iter_recorded(path: str | Path) -> Iterator[RecordedEpisode | LineProblem]:
    """Yield a file's lines one by one, good and bad, in order; blank lines are passed over.

    Memory holds one line (8 MB at most) and the ids seen so far.

    Raises:
        UserError: the file does not exist, is a directory, cannot be read or is empty.
    """
    seen: dict[str, int] = {}
    empty = True
    for number, item in _lines(Path(path)):
        empty = False
        try:
            if isinstance(item, UnusableLineError):
                raise item
            episode = parse_line(number, item)
            if episode.id in seen:
                raise UnusableLineError(
                    "id",
                    "Line {line}: {field} {id} was used in line {first} already. Give each episode its own.",
                    id=episode.id,
                    first=seen[episode.id],
                )
        except UnusableLineError as error:
            yield problem(number, error.field, error.template, **error.values)
            continue
        seen[episode.id] = number
        yield episode
    if empty:
        raise UserError("The file {path} is empty. Give a JSONL file with one episode per line.", path=str(path))


def problem(line: int, field_name: str, template: str, **values: object) -> LineProblem:
    """Make a problem whose template may use ``{line}``, ``{field}`` and the given values."""
    return LineProblem(line, field_name, template, {"line": line, "field": field_name, **values})


def _lines(path: Path) -> Iterator[tuple[int, bytes | UnusableLineError]]:
    number = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            raw.seek(0)
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if compressed else raw
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > _MAX_LINE_BYTES:
                    _skip_line(stream, line)
                    yield number, _too_long()
                elif line.strip():
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        template = (
            "Line {line}: the compressed {field} is cut off or damaged here ({problem}). The lines before "
            "are kept; fetch the file again and import it once more for the rest."
        )
        yield number + 1, UnusableLineError("file", template, problem=str(error))
    except FileNotFoundError as error:
        raise UserError("There is no file {path}. Check the name and the folder.", path=str(path)) from error
    except IsADirectoryError as error:
        raise UserError("{path} is a directory. Name one JSONL file in it.", path=str(path)) from error
    except (OSError, ValueError) as error:
        raise UserError("The file {path} cannot be read: {problem}.", path=str(path), problem=str(error)) from error


def _skip_line(stream: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(_MAX_LINE_BYTES)


def _too_long() -> UnusableLineError:
    return UnusableLineError(
        "line",
        "Line {line}: the {field} is longer than {limit} MB. Write one episode per line.",
        limit=_MAX_LINE_BYTES // 2**20,
    )


__all__ = ["LineProblem", "ReadResult", "RecordedEpisode", "iter_recorded", "problem", "read_recorded"]
