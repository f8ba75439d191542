"""Import of recorded episodes into the database (design sections 2 and 7).

Ids are computed from what an episode is and each chunk is one transaction, so importing again, also after a
kill, adds what is missing and nothing twice. The reading and checking is ``core.environments.recorded``'s.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlmodel import Session, col, select

from core.clock import Clock
from core.db import Database
from core.environments.protocol import Split
from core.environments.recorded import LineProblem, RecordedEpisode, iter_recorded, problem
from core.episodes.digest import extract_digest
from core.episodes.grading import grade
from core.episodes.trajectory import count_tool_calls, count_tool_errors, count_turns, first_user_text
from core.errors import UserError
from core.ids import stable_id
from core.settings import Settings
from core.tables import Episode, EpisodeReward, Task

_CHUNK = 200
_MAX_PROBLEMS = 1000

_Row = TypeVar("_Row", Episode, Task)

Progress = Callable[[int], None]
"""Called after each chunk with the number of lines handled so far."""


@dataclass
class ImportReport:
    """What became of a file.

    Attributes:
        environment: the name the episodes are filed under.
        added: episodes written.
        already_there: episodes that were in the database before, with the same content.
        tasks: different tasks among both.
        problems: lines left out, in order; the first thousand.
        problem_count: all lines left out.
    """

    environment: str
    added: int = 0
    already_there: int = 0
    tasks: int = 0
    problems: list[LineProblem] = field(default_factory=list)
    problem_count: int = 0

    def note(self, found: LineProblem) -> None:
        """Count a problem, and keep it while there is room."""
        self.problem_count += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(found)


def import_recorded(
    database: Database,
    path: str | Path,
    *,
    settings: Settings,
    clock: Clock,
    environment: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a JSONL file of recorded episodes, good lines only.

    A line without a moment gets that of the import plus its number in microseconds; one without a split,
    ``train``; one without a task type, the environment's name. Memory holds one chunk of 200 lines.

    Args:
        database: where they go, as episodes of the arm ``external``, with extracted digests.
        path: the file, plain or gzip.
        settings: for grades and digests.
        clock: gives the moment of the import.
        environment: name to file them under; None: the file's name up to the first ``-`` or ``.``.
        progress: told after each chunk.

    Raises:
        UserError: the file does not exist, is a directory, cannot be read or is empty, or the environment's
            name is not usable.
    """
    name = _environment_name(Path(path)) if environment is None else environment
    if not re.fullmatch(r"[\w.-]{1,60}", name):
        raise UserError(
            "{name} cannot be the name of an environment. Use letters, digits, dot, dash and underscore.",
            name=repr(name),
        )
    writer = _Writer(database, settings, ImportReport(name), clock())
    for items in _chunks(iter_recorded(path)):
        writer.write(items)
        if progress:
            progress(items[-1].line)
    return writer.report


def _environment_name(path: Path) -> str:
    return re.split(r"[-.]", path.name, maxsplit=1)[0] or "recorded"


def _chunks(
    items: Iterator[RecordedEpisode | LineProblem],
) -> Iterator[list[RecordedEpisode | LineProblem]]:
    chunk: list[RecordedEpisode | LineProblem] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Writer:
    """Writes chunks and keeps the report."""

    def __init__(self, database: Database, settings: Settings, report: ImportReport, imported_at: datetime) -> None:
        self.report = report
        self._database = database
        self._settings = settings
        self._imported_at = imported_at
        self._tasks: set[str] = set()

    def write(self, items: list[RecordedEpisode | LineProblem]) -> None:
        """Write one chunk in one transaction and note what was wrong with the rest."""
        episodes = [item for item in items if isinstance(item, RecordedEpisode)]
        found = [item for item in items if isinstance(item, LineProblem)]
        rows = {stable_id("ep", self.report.environment, episode.id): episode for episode in episodes}
        with self._database.write() as session:
            stored = _by_id(session, Episode, list(rows))
            recorded = _recorded_rewards(session, list(rows))
            tasks = _by_id(session, Task, list({self._task_id(episode) for episode in episodes}))
            for row_id, episode in rows.items():
                refused = self._add(session, tasks, row_id, episode, stored.get(row_id), recorded.get(row_id))
                if refused:
                    found.append(refused)
        for one in sorted(found, key=lambda one: one.line):
            self.report.note(one)
        self.report.tasks = len(self._tasks)

    def _add(
        self,
        session: Session,
        tasks: dict[str, Task],
        row_id: str,
        episode: RecordedEpisode,
        stored: Episode | None,
        recorded: float | None,
    ) -> LineProblem | None:
        task_id = self._task_id(episode)
        task = tasks.get(task_id)
        if task is not None and task.split != (episode.split or task.split):
            return _crosses(episode, task)
        if stored is not None:
            if not _same(stored, recorded, episode, task_id):
                return _differs(episode)
            self.report.already_there += 1
        else:
            if task is None:
                task = tasks[task_id] = self._new_task(episode)
                session.add(task)
            session.add(self._new_episode(row_id, episode, task))
            self.report.added += 1
        self._tasks.add(task_id)
        return None

    def _task_id(self, episode: RecordedEpisode) -> str:
        return f"{self.report.environment}/{episode.task_id}"

    def _moment(self, episode: RecordedEpisode) -> datetime:
        return episode.created_at or self._imported_at + timedelta(microseconds=episode.line)

    def _new_task(self, episode: RecordedEpisode) -> Task:
        split: Split = episode.split or "train"
        return Task(
            id=self._task_id(episode),
            environment=self.report.environment,
            type=episode.task_type or self.report.environment,
            query=first_user_text(episode.messages),
            split=split,
            created_at=self._moment(episode),
        )

    def _new_episode(self, row_id: str, episode: RecordedEpisode, task: Task) -> Episode:
        query = first_user_text(episode.messages)
        graded = grade(episode.reward, self._settings.agent)
        digest = extract_digest(episode.messages, query, episode.reward, graded, self._settings.digest)
        moment = self._moment(episode)
        return Episode(
            id=row_id,
            environment=self.report.environment,
            task_id=task.id,
            task_type=task.type,
            query=query,
            split=task.split,
            arm="external",
            rollout=episode.trial,
            agent=episode.agent,
            model=episode.model,
            reward=episode.reward,
            grade=graded,
            turns=count_turns(episode.messages),
            tool_calls=count_tool_calls(episode.messages),
            tool_errors=count_tool_errors(episode.messages),
            messages=episode.messages,
            digest=digest.text,
            digest_source=digest.source,
            decisive_step=digest.decisive_step,
            started_at=moment,
            ended_at=moment,
        )


def _by_id(session: Session, table: type[_Row], ids: list[str]) -> dict[str, _Row]:
    return {row.id: row for row in session.exec(select(table).where(col(table.id).in_(ids)))}


def _recorded_rewards(session: Session, ids: list[str]) -> dict[str, float]:
    """Return the rewards that episodes came with, where a person may have said since that they ended otherwise."""
    query = select(EpisodeReward.episode_id, EpisodeReward.recorded_reward)
    return dict(session.exec(query.where(col(EpisodeReward.episode_id).in_(ids))).all())


def _same(stored: Episode, recorded: float | None, episode: RecordedEpisode, task_id: str) -> bool:
    reward = stored.reward if recorded is None else recorded
    return (stored.task_id, reward, stored.messages) == (task_id, episode.reward, episode.messages)


def _differs(episode: RecordedEpisode) -> LineProblem:
    return problem(
        episode.line,
        "id",
        "Line {line}: an episode with the {field} {id} is stored already with another task, reward or "
        "conversation; the stored one is kept. Give the new one its own id.",
        id=episode.id,
    )


def _crosses(episode: RecordedEpisode, task: Task) -> LineProblem:
    return problem(
        episode.line,
        "split",
        "Line {line}: {field} is {split}, but its task {task} is {known} already. Keep a task in one split.",
        split=episode.split,
        task=episode.task_id,
        known=task.split,
    )
