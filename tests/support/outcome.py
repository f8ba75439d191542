"""What a run left in the database, in a form in which two runs of the same seed must be equal.

Left out is what differs between any two runs: moments, row numbers in the order of writing, and the ledger.
"""

import hashlib
import json
from collections import Counter, defaultdict
from typing import Any

from sqlmodel import Session, SQLModel, select

from core.tables import (
    Conflict,
    Episode,
    EpisodeReward,
    Proposal,
    Reflection,
    Refusal,
    Round,
    Rule,
    RuleEvent,
    RuleUse,
    Task,
)

_MOMENTS = ("created_at", "started_at", "ended_at", "last_verified_at", "resolved_at", "changed_at", "updated_at")
_TABLES: tuple[type[SQLModel], ...] = (
    Round, Episode, EpisodeReward, RuleUse, Rule, Reflection, Refusal, Conflict, Proposal, Task,
)  # fmt: skip


def outcome(session: Session) -> dict[str, list[str]]:
    """Return every table's rows as sorted lines, and the events of each rule in their order."""
    found = {table.__name__: sorted(_line(row) for row in session.exec(select(table))) for table in _TABLES}
    events = session.exec(select(RuleEvent).order_by(RuleEvent.id)).all()
    found["RuleEvent"] = [_line(event) for event in events]
    return found


def counts(session: Session) -> dict[str, Counter[Any]]:
    """Return the figures of a run that a person would compare."""
    return {
        "episodes by round and arm": Counter((e.round_number, e.arm) for e in session.exec(select(Episode))),
        "rules by state": Counter(rule.state for rule in session.exec(select(Rule))),
        "events by kind": Counter(event.kind for event in session.exec(select(RuleEvent))),
        "uses by disposition": Counter(use.disposition for use in session.exec(select(RuleUse))),
        "rounds by status": Counter(row.status for row in session.exec(select(Round))),
    }


def miscounted(session: Session) -> list[str]:
    """Name the rules whose statistics differ from what their uses in credited episodes add up to.

    A merged rule starts with the statistics of its parents, which are subtracted first.
    """
    episodes = {episode.id: episode for episode in session.exec(select(Episode))}
    used: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    for use in session.exec(select(RuleUse).where(RuleUse.disposition == "served")):
        episode = episodes[use.episode_id]
        if episode.arm not in ("learn", "external") or episode.status != "done" or not episode.credited:
            continue
        used[use.rule_id] += 1
        passed[use.rule_id] += episode.grade == "pass"
        verified[use.rule_id] += episode.grade == "pass" and use.verified
    inherited = _inherited(session, used, passed, verified)
    return [
        f"{rule.id}: {(rule.n_used, rule.n_success, rule.verified)} != {inherited[rule.id]}"
        for rule in session.exec(select(Rule))
        if (rule.n_used, rule.n_success, rule.verified) != inherited[rule.id]
    ]


def _inherited(
    session: Session, used: Counter[str], passed: Counter[str], verified: Counter[str]
) -> dict[str, tuple[int, int, int]]:
    """Add to each rule's own uses those its parents had; a parent is older than what it was merged into."""
    totals: dict[str, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for rule in session.exec(select(Rule).order_by(Rule.created_at, Rule.id)):  # type: ignore[arg-type]
        own = (used[rule.id], passed[rule.id], verified[rule.id])
        parents = [totals[parent] for parent in rule.parents]
        totals[rule.id] = tuple(sum(parts) for parts in zip(own, *parents, strict=True))  # type: ignore[assignment]
    return totals


def _line(row: SQLModel) -> str:
    values = row.model_dump()
    for name in _MOMENTS:
        values.pop(name, None)
    if isinstance(values.get("id"), int):
        del values["id"]
    if "messages" in values:
        values["messages"] = hashlib.sha256(json.dumps(values["messages"]).encode()).hexdigest()
    return json.dumps(values, sort_keys=True, ensure_ascii=False, default=str)
