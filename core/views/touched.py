"""Which past tasks a rule would have been looked up for, told from stored vectors or from words (design section 6)."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.embeddings import Embedder
from core.rules.terms import overlap, terms
from core.rules.wording import condition_text
from core.tables import Episode, Task
from core.tables.rules import RuleContent
from core.views.nearest import RuleMap

LATEST = 200
"""Past tasks that are looked at, the newest ones."""

_ARMS = ("learn", "external")
_ENOUGH_WORDS = 0.5
"""Share of the condition's words that a task has to hold where words decide."""


@dataclass(frozen=True)
class TouchedTask:
    """A past task that the rule fits; ``passed`` of its ``episodes``, and one of them to read."""

    query: str
    likeness: float
    episodes: int
    passed: int
    episode_id: str


@dataclass(frozen=True)
class Touched:
    """What a rule would have touched.

    Attributes:
        by: meaning (nearer to the task than all but ``rivals`` of the live rules) or words (half of the
            condition's words occur in the task).
        looked_at: past tasks that were looked at.
        tasks: how many of them it would have touched.
        episodes: episodes of those tasks.
        passed: of those, how many passed.
        best: the tasks that fit best, best first.
        rivals: rules a prompt has room for.
        few_rules: fewer live rules than a prompt has room for, so that it would have been in every prompt.
    """

    by: str
    looked_at: int
    tasks: int
    episodes: int
    passed: int
    best: tuple[TouchedTask, ...]
    rivals: int
    few_rules: bool


def touched(
    session: Session, rules: RuleMap, embedder: Embedder, rule: RuleContent, *, rivals: int, best: int = 5
) -> Touched:
    """Tell which of its domain's newest past tasks a rule would have been looked up for.

    Args:
        session: for reading.
        rules: the rules in use.
        embedder: asked for stored vectors only.
        rule: what it says.
        rivals: rules a prompt has room for.
        best: tasks shown at most.
    """
    tasks = _past_tasks(session, rule.domain)
    condition = condition_text(rule)
    vectors = embedder.stored([condition, *tasks.values()])
    known = {task: vectors[query] for task, query in tasks.items() if query in vectors}
    live = rules.live_conditions(session, rule.domain)
    if condition in vectors and known:
        fits = _by_meaning(vectors[condition], known, live, rivals)
        return _told(session, "meaning", tasks, fits, len(known), (rivals, len(live) < rivals, best))
    own = terms(condition)
    shares = {task: overlap(own, terms(query)) for task, query in tasks.items()}
    fits = {task: share for task, share in shares.items() if share >= _ENOUGH_WORDS}
    return _told(session, "words", tasks, fits, len(tasks), (rivals, False, best))


def _by_meaning(condition: np.ndarray, known: dict[str, np.ndarray], live: np.ndarray, rivals: int) -> dict[str, float]:
    queries = np.stack(list(known.values()))
    own = queries @ condition
    if len(live) >= rivals:
        # The cosine that a rule has to beat to be among the nearest ones, for each task.
        bars = np.partition(queries @ live.T, len(live) - rivals, axis=1)[:, len(live) - rivals]
    else:
        bars = np.full(len(own), -1.0)
    return {task: float(cosine) for task, cosine, bar in zip(known, own, bars, strict=True) if cosine >= bar}


def _past_tasks(session: Session, domain: str) -> dict[str, str]:
    """Return id -> query of the newest tasks that agents have tried in learning or outside."""
    tried = select(Episode.id).where(Episode.task_id == Task.id, col(Episode.arm).in_(_ARMS)).exists()
    query = select(Task.id, Task.query).where(Task.environment == domain, Task.split == "train", tried)
    return dict(session.exec(query.order_by(col(Task.created_at).desc(), Task.id).limit(LATEST)).all())


def _told(
    session: Session,
    by: str,
    tasks: dict[str, str],
    fits: dict[str, float],
    looked_at: int,
    limits: tuple[int, bool, int],
) -> Touched:
    rivals, few_rules, best = limits
    counts = _episodes(session, list(fits))
    ranked = sorted(fits, key=lambda task: (-fits[task], task))[:best]
    return Touched(
        by=by,
        looked_at=looked_at,
        tasks=len(fits),
        episodes=sum(episodes for episodes, _, _ in counts.values()),
        passed=sum(passed for _, passed, _ in counts.values()),
        best=tuple(TouchedTask(tasks[task], fits[task], *counts[task]) for task in ranked),
        rivals=rivals,
        few_rules=few_rules,
    )


def _episodes(session: Session, task_ids: list[str]) -> dict[str, tuple[int, int, str]]:
    """Return, for each task, how many episodes it has, how many passed, and the id of one."""
    if not task_ids:
        return {}
    rows = session.execute(
        select_columns(col(Episode.task_id), col(Episode.grade), func.count(), func.max(Episode.id))
        .where(col(Episode.task_id).in_(task_ids), col(Episode.arm).in_(_ARMS))
        .group_by(col(Episode.task_id), col(Episode.grade))
    ).all()
    found: defaultdict[str, tuple[int, int, str]] = defaultdict(lambda: (0, 0, ""))
    for task_id, grade, count, episode_id in rows:
        episodes, passed, one = found[task_id]
        found[task_id] = episodes + count, passed + count * (grade == "pass"), max(one, episode_id)
    return found
