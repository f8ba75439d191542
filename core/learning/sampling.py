"""Which training tasks a round rolls out: 70 % current, 20 % history, 10 % edge (design section 8)."""

import random
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import case
from sqlmodel import Session, col, func, select

from core.settings import RoundSettings
from core.tables import Episode, Task


@dataclass(frozen=True)
class Sample:
    """Task ids by the reason they were taken."""

    current: tuple[str, ...]
    history: tuple[str, ...]
    edge: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, in a fixed order, each once."""
        return tuple(dict.fromkeys(self.current + self.history + self.edge))


def sample_tasks(session: Session, environment: str, settings: RoundSettings, seed: int) -> Sample:
    """Sample training tasks: the next unseen ones in time order, seen ones, and edge cases.

    Edge cases are seen tasks of rare types or with mixed outcomes. Where one kind runs short, history and
    then current fill up; never a held-out task.
    """
    generator = random.Random(seed)
    wanted = settings.tasks
    unseen = _tasks(session, environment, seen=False)
    seen = _tasks(session, environment, seen=True)
    current = [task.id for task in unseen[: round(wanted * settings.share_current)]]
    edge_count = round(wanted * (1 - settings.share_current - settings.share_history))
    edge_pool = _edge(session, environment, seen)
    edge = generator.sample(edge_pool, min(edge_count, len(edge_pool)))
    rest = [task.id for task in seen if task.id not in edge]
    history = generator.sample(rest, min(wanted - len(current) - len(edge), len(rest)))
    missing = wanted - len(current) - len(edge) - len(history)
    current += [task.id for task in unseen[len(current) : len(current) + missing]]
    return Sample(tuple(current), tuple(history), tuple(edge))


def _tasks(session: Session, environment: str, *, seen: bool) -> list[Task]:
    sampled = col(Task.times_sampled) > 0 if seen else col(Task.times_sampled) == 0
    query = select(Task).where(Task.environment == environment, Task.split == "train", sampled)
    return list(session.exec(query.order_by(col(Task.created_at), col(Task.id))))


def _edge(session: Session, environment: str, seen: list[Task]) -> list[str]:
    counts = Counter(task.type for task in seen)
    rare = {name for name, count in counts.items() if count <= min(counts.values())}
    passed = func.sum(case((col(Episode.grade) == "pass", 1), else_=0))
    rows = session.exec(
        select(Episode.task_id)
        .where(Episode.environment == environment, Episode.arm == "learn")
        .group_by(col(Episode.task_id))
        .having(passed > 0, passed < func.count())
    )
    mixed = set(rows)
    return [task.id for task in seen if task.type in rare or task.id in mixed]
