"""What each way to settle a conflict would do to the prompts of recent tasks (design section 3).

Nothing is written: the library is put together as it would be, and each task is looked up in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.db import Database
from core.embeddings import Embedder
from core.errors import UserError
from core.learning.round import next_round_number, scorer_of_round
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.preview import stable_prompt
from core.rules.conflict_records import Way, priorities
from core.rules.library import rules_in
from core.rules.lifecycle import IN_USE, State
from core.rules.merging import added_up
from core.rules.prompt import assemble
from core.settings import Settings
from core.tables import Conflict, Episode, Rule, RuleUse

MERGED = "merged"
"""Stands for the rule that a merge would make."""

_TASKS = 6
_LOOKED_AT = 60


@dataclass(frozen=True)
class Attempt:
    """A way that somebody considers.

    Attributes:
        way: KEEP, PRIORITY, NARROWED, MERGED or DISMISSED.
        rule_id: the winner of the first two.
        contents: rule id -> changed columns, for NARROWED; ``MERGED`` -> the whole content, for MERGED.
    """

    way: Way
    rule_id: str = ""
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class PromptChange:
    """One recent task: which of the rules its prompt carries now, and which it would carry. ``MERGED`` may be one."""

    query: str
    before: frozenset[str]
    after: frozenset[str]


def preview_attempt(
    database: Database, settings: Settings, embedder: Embedder, conflict_id: str, attempt: Attempt
) -> list[PromptChange]:
    """Return what a way would change in the prompts of the newest tasks that retrieved one of the two rules.

    Args:
        database: where the rules are.
        settings: in force now.
        embedder: looks the tasks up.
        conflict_id: an open conflict.
        attempt: what is considered.

    Raises:
        UserError: there is no such conflict, or the environment or the embedding model cannot be loaded.
    """
    with database.read() as session:
        conflict = session.get(Conflict, conflict_id)
        if conflict is None:
            raise UserError("There is no conflict {conflict_id}.", conflict_id=conflict_id)
        domain = session.get_one(Rule, conflict.rule_a).domain
        queries = _recent_tasks(session, (conflict.rule_a, conflict.rule_b))
        rules = rules_in(session, domain, IN_USE)
        pairs = list(session.exec(select(Conflict.rule_a, Conflict.rule_b).where(col(Conflict.status) == "open")))
        ranked = priorities(session)
        scorer = scorer_of_round(session, settings, domain, next_round_number(session))
        changed = _as_if(session, rules, conflict, attempt)
    maker = SnapshotMaker(embedder, scorer, settings.retrieval)
    pair = (conflict.rule_a, conflict.rule_b)
    new = [(attempt.rule_id, one) for one in pair if one != attempt.rule_id and attempt.rule_id in pair]
    before = maker.of(rules, pairs, ranked)
    after = maker.of(changed, [one for one in pairs if one != pair], [*ranked, *new])
    stable, limits = stable_prompt(settings, domain)

    def served(library: LibrarySnapshot, query: str) -> frozenset[str]:
        prompt = assemble(stable, library.retrieve(query).hits, limits)
        return frozenset(hit.rule.id for hit in prompt.served) & {*pair, MERGED}

    return [PromptChange(query, served(before, query), served(after, query)) for query in queries]


def _recent_tasks(session: Session, rule_ids: Sequence[str]) -> list[str]:
    newest = (
        select_columns(col(RuleUse.episode_id))
        .where(col(RuleUse.rule_id).in_(rule_ids))
        .order_by(col(RuleUse.id).desc())
        .limit(_LOOKED_AT)
    )
    found = session.execute(
        select_columns(col(Episode.query))
        .where(col(Episode.id).in_(newest), col(Episode.arm).in_(("learn", "external")))
        .order_by(col(Episode.started_at).desc())
    ).scalars()
    return list(dict.fromkeys(found))[:_TASKS]


def _as_if(session: Session, rules: Sequence[Rule], conflict: Conflict, attempt: Attempt) -> list[Rule]:
    """Return the rules as they would stand; those at hand are left as they are."""
    pair = {conflict.rule_a, conflict.rule_b}
    if attempt.way is Way.KEEP:
        return [one for one in (_as_loser(rule, pair - {attempt.rule_id}) for rule in rules) if one is not None]
    if attempt.way is Way.NARROWED:
        return [Rule(**(rule.model_dump() | dict(attempt.contents.get(rule.id, {})))) for rule in rules]
    if attempt.way is Way.MERGED:
        parents = [rule for rule in rules if rule.id in pair]
        given = parents[0].model_dump() | dict(attempt.contents[MERGED]) | added_up(session, parents).__dict__
        state = State.ACTIVE if any(one.state == State.ACTIVE for one in parents) else State.CANDIDATE
        merged = Rule(**(given | {"id": MERGED, "state": state.value}))
        return [*(rule for rule in rules if rule.id not in pair), merged]
    return list(rules)


def _as_loser(rule: Rule, losers: set[str]) -> Rule | None:
    """Return the rule as it would stand: the loser on probation if it is live, else gone."""
    if rule.id not in losers:
        return rule
    return Rule(**(rule.model_dump() | {"state": State.PROBATION.value})) if rule.state == State.ACTIVE else None
