"""The adapter's snapshots in the database, and the log of what happened to the policy (design section 10).

The newest snapshot is the policy in force. Going back to an older one adds it again as the newest, bit for bit, so
that nothing is ever overwritten.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from core.policy.adapter import Adapter
from core.policy.guardrail import Evaluation, Guardrail, Verdict
from core.settings_experience import PolicySettings
from core.tables import PolicyEvent, PolicySnapshot

SYSTEM = "system"
_JUDGING = ("evaluated", "restored")


@dataclass(frozen=True)
class Occasion:
    """Who writes, when, and in which round."""

    actor: str
    now: datetime
    round_number: int | None = None


@dataclass(frozen=True)
class Span:
    """A span of time, without its start, with its end; UTC."""

    start: datetime
    end: datetime


def newest_snapshot(session: Session, environment: str, *, before: int | None = None) -> PolicySnapshot | None:
    """Return the policy in force, or the one in force before a snapshot was added; None before the first update."""
    query = select(PolicySnapshot).where(PolicySnapshot.environment == environment)
    if before is not None:
        query = query.where(col(PolicySnapshot.id) < before)
    return session.exec(query.order_by(col(PolicySnapshot.id).desc()).limit(1)).first()


def last_good_snapshot(session: Session, environment: str) -> PolicySnapshot | None:
    """Return the one the guardrail goes back to."""
    query = select(PolicySnapshot).where(PolicySnapshot.environment == environment, col(PolicySnapshot.good).is_(True))
    return session.exec(query.order_by(col(PolicySnapshot.id).desc()).limit(1)).first()


def current_adapter(session: Session, environment: str, settings: PolicySettings) -> Adapter | None:
    """Return the adapter in force; None before the first update."""
    newest = newest_snapshot(session, environment)
    return None if newest is None else Adapter.restored(newest.state, settings)


def add_snapshot(session: Session, environment: str, adapter: Adapter, occasion: Occasion) -> PolicySnapshot:
    """Keep an adapter; it is in force from now on."""
    row = PolicySnapshot(
        environment=environment,
        round_number=occasion.round_number,
        updates=adapter.updates,
        state=adapter.snapshot(),
        created_at=occasion.now,
    )
    session.add(row)
    session.flush()
    return row


def go_back(session: Session, snapshot: PolicySnapshot, occasion: Occasion) -> PolicySnapshot:
    """Put an older snapshot in force again, and log it; the guardrail begins to count anew.

    If it was judged good once, later evaluations are compared with that one from now on: a person who goes back to it
    would else see their word overruled by the memory of a better policy.
    """
    good = _judged_good(session, snapshot) or guardrail(session, snapshot.environment).good
    fields = ("environment", "updates", "success", "turns", "tasks", "good", "state")
    row = PolicySnapshot(
        **{name: getattr(snapshot, name) for name in fields},
        round_number=occasion.round_number,
        created_at=occasion.now,
    )
    session.add(row)
    session.flush()
    details = {"from": snapshot.id, "worse": 0, "good": None if good is None else asdict(good)}
    log(session, row, "restored", occasion, details)
    return row


def set_aside(session: Session, environment: str) -> list[Span]:
    """Return when decisions were made that the adapter no longer learns from.

    Those between a snapshot and going back to it led to what was given up; learned from again, they would lead there
    again with the next update. Going back to a snapshot from before a restoration takes that restoration's span back.
    """
    query = select(PolicyEvent).where(PolicyEvent.environment == environment, PolicyEvent.kind == "restored")
    moments = select(PolicySnapshot.id, PolicySnapshot.created_at).where(PolicySnapshot.environment == environment)
    taken_at = dict(session.exec(moments).all())
    known: list[tuple[datetime, list[Span]]] = []
    for event in session.exec(query.order_by(col(PolicyEvent.id))):
        taken = taken_at[event.details["from"]]
        then: list[Span] = next((spans for since, spans in reversed(known) if since <= taken), [])
        known.append((event.created_at, [*then, Span(taken, event.created_at)]))
    return known[-1][1] if known else []


def guard(
    session: Session, environment: str, evaluation: Evaluation, tasks: int, settings: PolicySettings, occasion: Occasion
) -> Verdict | None:
    """Judge the policy in force by its newest evaluation, and act on it: mark it good, wait, or go back.

    Args:
        session: of a write.
        environment: whose policy.
        evaluation: on held-out tasks.
        tasks: how many.
        settings: patience.
        occasion: of the evaluation.

    Returns:
        The verdict; None where there is no policy yet.
    """
    snapshot = newest_snapshot(session, environment)
    if snapshot is None:
        return None
    snapshot.success, snapshot.turns, snapshot.tasks = evaluation.success, evaluation.turns, tasks
    verdict, rail = guardrail(session, environment).judge(evaluation, settings.guardrail_evaluations)
    if verdict == "better":
        snapshot.good = True
    session.add(snapshot)
    details = {"evaluation": asdict(evaluation), "tasks": tasks, "verdict": verdict, "worse": rail.worse}
    details["good"] = asdict(rail.good) if rail.good is not None else None
    log(session, snapshot, "evaluated", occasion, details)
    good = last_good_snapshot(session, environment)
    if verdict == "restore" and good is not None:
        go_back(session, good, occasion)
    return verdict


def guardrail(session: Session, environment: str) -> Guardrail:
    """Return what the guardrail remembers, from the log."""
    query = select(PolicyEvent).where(PolicyEvent.environment == environment, col(PolicyEvent.kind).in_(_JUDGING))
    last = session.exec(query.order_by(col(PolicyEvent.id).desc()).limit(1)).first()
    if last is None or last.details.get("good") is None:
        return Guardrail()
    return Guardrail(Evaluation(**last.details["good"]), int(last.details["worse"]))


def _judged_good(session: Session, snapshot: PolicySnapshot) -> Evaluation | None:
    """Return the evaluation by which a good snapshot became the good one; None for others."""
    if not snapshot.good:
        return None
    query = select(PolicyEvent).where(PolicyEvent.snapshot_id == snapshot.id, col(PolicyEvent.kind).in_(_JUDGING))
    for event in session.exec(query.order_by(col(PolicyEvent.id).desc())):
        good = event.details["good"]
        if good is not None and (event.kind == "restored" or event.details["verdict"] == "better"):
            return Evaluation(**good)
    return None


def logged(session: Session, environment: str, kind: str, round_number: int) -> bool:
    """Say whether something of a kind has been logged for a round, which a resumed round does not do again."""
    query = select(PolicyEvent.id).where(
        PolicyEvent.environment == environment, PolicyEvent.kind == kind, PolicyEvent.round_number == round_number
    )
    return session.exec(query.limit(1)).first() is not None


def log(
    session: Session, snapshot: PolicySnapshot, kind: str, occasion: Occasion, details: dict[str, Any]
) -> PolicyEvent:
    """Append to the policy's log."""
    row = PolicyEvent(
        environment=snapshot.environment,
        kind=kind,
        actor=occasion.actor,
        round_number=occasion.round_number,
        snapshot_id=snapshot.id,
        details=details,
        created_at=occasion.now,
    )
    session.add(row)
    return row
