"""The round's reflections: each one is asked once, its operations are taken in one by one, and all is kept.

A killed run goes on with the operation after the last one whose outcome is in the database.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.episodes.digest import Digest, condense
from core.errors import ConcurrentChangeError, ModelCallError
from core.ids import stable_id
from core.learning.bench import Bench
from core.learning.contrast import Batch, make_batches
from core.learning.intake import Intake, Source
from core.learning.reflection import Labels, Operation, reflect, request_text, system_prompt
from core.llm.client import CallContext
from core.rules.library import Change
from core.rules.lifecycle import State
from core.settings import Purpose
from core.tables import Episode, Reflection, Rule, RuleUse
from core.text import estimate_tokens

_NOTHING = "Nothing to contrast: {passing} passing and {failing} failing episodes among {total} new ones"


def run_reflections(bench: Bench, change: Change) -> list[dict[str, Any]]:
    """Reflect on the round's episodes and take the operations in; returns notes for people."""
    number = change.round_number or 0
    claim_outside_episodes(bench, number)
    with bench.database.read() as session:
        episodes = _episodes(session, bench.domain, number)
    batches = make_batches(episodes, bench.settings.round)
    if not batches:
        grades = [episode.grade for episode in episodes]
        values = {"passing": grades.count("pass"), "failing": grades.count("fail"), "total": len(grades)}
        return [{"template": _NOTHING, "values": values}]
    for index, batch in enumerate(batches):
        bench.report(number, "reflected", index, len(batches))
        _Phase(bench, change, index, batch).run()
    return []


def claim_outside_episodes(bench: Bench, number: int) -> None:
    """Mark the outside episodes that no reflection has had as this round's, so that a resumed round meets the same."""
    with bench.database.write() as session:
        fresh = select(Episode).where(
            Episode.environment == bench.domain,
            Episode.arm == "external",
            Episode.split == "train",
            col(Episode.reflected_round).is_(None),
        )
        for episode in session.exec(fresh).all():
            episode.reflected_round = number
            session.add(episode)


def _episodes(session: Session, domain: str, number: int) -> list[Episode]:
    """Return the round's own training episodes and the claimed outside ones; never held-out ones."""
    own = (col(Episode.arm) == "learn") & (col(Episode.round_number) == number)
    outside = (col(Episode.arm) == "external") & (col(Episode.reflected_round) == number)
    query = select(Episode).where(
        Episode.environment == domain, Episode.split == "train", Episode.status == "done", own | outside
    )
    return list(session.exec(query.order_by(col(Episode.id))))


@dataclass(frozen=True)
class _Phase:
    """One reflection of the round."""

    bench: Bench
    change: Change
    index: int
    batch: Batch

    @property
    def id(self) -> str:
        return stable_id("reflection", self.bench.domain, self.change.round_number, self.index)

    def _context(self, purpose: Purpose) -> CallContext:
        return CallContext(purpose, round_number=self.change.round_number, reflection_id=self.id)

    def run(self) -> None:
        with self.bench.database.read() as session:
            row = session.get(Reflection, self.id)
        if row is None:
            row = self._ask(self._rules())
            with self.bench.database.write() as session:
                session.add(row)
        intake = Intake(self.bench, self.change, self._context("judge"))
        lineage = [rule.id for rule in self._rules()] if row.operations else []
        for place in range(len(row.outcomes), len(row.operations)):
            self._take_in(intake, Operation.model_validate(row.operations[place]), place, lineage)

    def _rules(self) -> list[Rule]:
        """Return the rules that were in the batch's prompts, archived ones too."""
        ids = [episode.id for episode in (*self.batch.passing, *self.batch.failing)]
        with self.bench.database.read() as session:
            served = select(RuleUse.rule_id).where(col(RuleUse.episode_id).in_(ids), RuleUse.disposition == "served")
            query = select(Rule).where(col(Rule.id).in_(served))
            return list(session.exec(query.order_by(col(Rule.created_at), col(Rule.id))))

    def _ask(self, rules: Sequence[Rule]) -> Reflection:
        settings = self.bench.settings
        known = [rule for rule in rules if rule.state != State.ARCHIVED]
        labels = Labels(self.batch, known)
        row = Reflection(
            id=self.id,
            round_number=self.change.round_number or 0,
            batch=self.index,
            status="done",
            passing=[episode.id for episode in self.batch.passing],
            failing=[episode.id for episode in self.batch.failing],
            created_at=self.bench.clock(),
        )
        scoring = self.bench.make_environment().scoring if self.bench.make_environment else ""
        try:
            answer = reflect(
                self.bench.client,
                self._context("reflect"),
                request_text(self.batch, known, self._digests()),
                system=system_prompt(scoring, settings.round.max_operations, settings.rules.max_units),
                max_operations=settings.round.max_operations,
            )
        except ModelCallError as error:
            row.status, row.reason = "failed", str(error)
            return row
        row.differences = [difference.model_dump() for difference in answer.differences]
        row.operations = [labels.resolve(operation).model_dump() for operation in answer.operations]
        return row

    def _digests(self) -> dict[str, str]:
        """Return the batch's digests, condensing those that have not been yet."""
        episodes = [*self.batch.passing, *self.batch.failing]
        if not self.bench.settings.digest.condense:
            return {episode.id: episode.digest for episode in episodes}
        with ThreadPoolExecutor(self.bench.settings.model.concurrency) as pool:
            return dict(pool.map(self._condensed, episodes))

    def _condensed(self, episode: Episode) -> tuple[str, str]:
        if episode.digest_source != "extracted":
            return episode.id, episode.digest
        extracted = Digest(episode.digest, estimate_tokens(episode.digest), episode.decisive_step)
        context = CallContext(
            "digest", episode_id=episode.id, round_number=self.change.round_number, agent=episode.agent
        )
        digest = condense(self.bench.client, extracted, context, self.bench.settings.digest)
        if digest.source == "condensed":
            with self.bench.database.write() as session:
                row = session.get_one(Episode, episode.id)
                row.digest, row.digest_source = digest.text, digest.source
                session.add(row)
        return episode.id, digest.text

    def _take_in(self, intake: Intake, operation: Operation, place: int, lineage: Sequence[str]) -> None:
        source = Source(self.id, place, operation.evidence, lineage)
        effect = intake.decide(operation, source)
        try:
            with self.bench.database.write() as session:
                self._record(session, effect(session))
        except ConcurrentChangeError as error:
            reason = {"detector": "changed_meanwhile", "template": error.template, "values": error.values}
            with self.bench.database.write() as session:
                self._record(session, {"result": "ignored", "rule_id": None, "reasons": [reason]})

    def _record(self, session: Session, outcome: dict[str, Any]) -> None:
        row = session.get_one(Reflection, self.id)
        row.outcomes = [*row.outcomes, outcome]
        session.add(row)
