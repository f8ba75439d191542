"""Episodes as people read them: a filtered list, and one trajectory with its prompt's rules (section 7)."""

import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.wording import rule_text
from core.tables import ArmName, Episode, EpisodeTally, Rule, RuleUse
from core.tables.tallies import OUTSIDE
from core.views.paging import PAGE_SIZE, Page

ARMS = tuple(arm.value for arm in ArmName)
GRADES = ("pass", "marginal", "fail")

_LISTED: tuple[Any, ...] = (
    Episode.id,
    Episode.environment,
    Episode.task_id,
    Episode.task_type,
    Episode.query,
    Episode.split,
    Episode.arm,
    Episode.round_number,
    Episode.rollout,
    Episode.grade,
    Episode.reward,
    Episode.turns,
    Episode.tool_calls,
    Episode.tool_errors,
    Episode.status,
    Episode.started_at,
)


@dataclass(frozen=True)
class EpisodeRow:
    """One episode in a list; fields as in the table."""

    id: str
    environment: str
    task_id: str
    task_type: str
    query: str
    split: str
    arm: str
    round_number: int | None
    rollout: int
    grade: str
    reward: float
    turns: int
    tool_calls: int
    tool_errors: int
    status: str
    started_at: datetime


@dataclass(frozen=True)
class ToolCall:
    """A call the agent made; ``arguments`` is JSON, laid out for reading where it can be parsed."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message. ``role`` is system, user, assistant or tool; ``index`` its place, from 0."""

    index: int
    role: str
    text: str
    calls: tuple[ToolCall, ...]
    tool: str


@dataclass(frozen=True)
class ServedRule:
    """What became of one retrieved rule in this episode's prompt.

    ``text`` is the rule's present text; it has changed since if ``version`` differs from ``served_version``.
    """

    rule_id: str
    name: str
    text: str
    state: str
    version: int
    served_version: int
    disposition: str
    position: int | None
    score: float
    compliance: str
    judged_by: str
    verified: bool


@dataclass(frozen=True)
class EpisodeStory:
    """One episode, whole."""

    row: EpisodeRow
    model: str
    agent: str
    temperature: float | None
    error: str | None
    messages: tuple[Message, ...]
    rules: tuple[ServedRule, ...]
    library_left_out: bool
    digest: str
    digest_source: str
    decisive_step: int | None
    duration_s: float


@dataclass(frozen=True)
class EpisodeChoices:
    """What a list of episodes can be filtered by; rounds newest first."""

    environments: tuple[str, ...]
    rounds: tuple[int, ...]


def episode_choices(session: Session) -> EpisodeChoices:
    """Tell which environments and rounds have episodes."""
    tally = (EpisodeTally.environment, EpisodeTally.round_number)
    places = session.exec(select(*tally).distinct()).all()
    numbers = {number for _, number in places} - {OUTSIDE}
    return EpisodeChoices(tuple(sorted({name for name, _ in places})), tuple(sorted(numbers, reverse=True)))


def episodes(
    session: Session,
    *,
    environment: str | None = None,
    arm: str | None = None,
    grade: str | None = None,
    round_number: int | None = None,
    limit: int = PAGE_SIZE,
    offset: int = 0,
) -> Page[EpisodeRow]:
    """List episodes, newest first; None means no filter."""
    asked = {"environment": environment, "arm": arm, "grade": grade, "round_number": round_number}
    given = {name: value for name, value in asked.items() if value is not None}
    counted = select(func.coalesce(func.sum(EpisodeTally.episodes), 0)).filter_by(**given)
    total = session.exec(counted.select_from(EpisodeTally)).one()
    if offset >= total:
        return Page((), total)
    # The messages of a page of episodes weigh megabytes, so only the listed columns are read.
    found = session.execute(
        select_columns(*_LISTED)
        .filter_by(**given)
        .order_by(col(Episode.started_at).desc(), Episode.id)
        .limit(limit)
        .offset(offset)
    ).all()
    return Page(tuple(EpisodeRow(*values) for values in found), total)


def episode_story(session: Session, episode_id: str) -> EpisodeStory | None:
    """Tell one episode's story; None if there is no such episode."""
    episode = session.get(Episode, episode_id)
    if episode is None:
        return None
    return EpisodeStory(
        row=EpisodeRow(*(getattr(episode, field.name) for field in fields(EpisodeRow))),
        model=episode.model,
        agent=episode.agent,
        temperature=episode.temperature,
        error=episode.error,
        messages=messages_of(episode.messages),
        rules=_served(session, episode_id),
        library_left_out=episode.library_left_out,
        digest=episode.digest,
        digest_source=episode.digest_source,
        decisive_step=episode.decisive_step,
        duration_s=(episode.ended_at - episode.started_at).total_seconds(),
    )


def messages_of(stored: list[dict[str, Any]]) -> tuple[Message, ...]:
    """Return an episode's messages as people read them, in order."""
    return tuple(_message(index, message) for index, message in enumerate(stored))


def _served(session: Session, episode_id: str) -> tuple[ServedRule, ...]:
    found = session.exec(
        select(RuleUse, Rule)
        .join(Rule, col(Rule.id) == col(RuleUse.rule_id))
        .where(RuleUse.episode_id == episode_id)
        .order_by(col(RuleUse.position).is_(None), col(RuleUse.position), col(RuleUse.score).desc())
    ).all()
    return tuple(
        ServedRule(
            rule_id=rule.id,
            name=rule.name,
            text=rule_text(rule),
            state=rule.state,
            version=rule.version,
            served_version=use.rule_version,
            disposition=use.disposition,
            position=use.position,
            score=use.score,
            compliance=use.compliance,
            judged_by=use.judged_by,
            verified=use.verified,
        )
        for use, rule in found
    )


def _message(index: int, message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(str(call["function"]["name"]), _laid_out(call["function"].get("arguments", "")))
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict) and isinstance(call.get("function"), dict) and "name" in call["function"]
    )
    return Message(
        index,
        str(message.get("role", "")),
        _text(message.get("content")),
        calls,
        str(message.get("name", "")),
    )


def _text(content: Any) -> str:
    """Flatten OpenAI content, a string or a list of parts, to text."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _laid_out(arguments: Any) -> str:
    try:
        parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return json.dumps(parsed, ensure_ascii=False)
