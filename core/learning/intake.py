"""What becomes of an operation that reflection proposed: quality, duplicates, conflicts (design section 8, step 3).

What a person approved is not changed by itself: an operation on it becomes a proposal for the review queue.
All model calls and embeddings come first; then one transaction writes the effect and the outcome together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session, col, select

from core.i18n import mark
from core.ids import stable_id
from core.learning.archived_equals import archived_equals
from core.learning.bench import Bench
from core.learning.reflection import Operation
from core.learning.shortening import checked
from core.llm.client import CallContext
from core.rules.conflict_records import close_gone_conflicts, record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.judging import judge_conflicts, judge_equivalence
from core.rules.kinship import learned_from, merge_kin_in_use
from core.rules.library import VOTED, Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.merging import Behind, merge_rules
from core.rules.neighbours import Neighbours
from core.rules.quality import Finding
from core.rules.wording import rule_text
from core.tables import Proposal, Refusal, Rule, RuleEvent
from core.tables.rules import RuleContent

_TEXT = ("name", "condition", "action", "exclusion", "rationale", "tags", "priority", "confidence")
_JUDGED = mark("The model judges that they contradict each other: {reason}")
_UPVOTE, _DOWNVOTE = 0.03, -0.05

Effect = Callable[[Session], dict[str, Any]]
"""Writes into the session and returns the outcome to record."""


@dataclass(frozen=True)
class Source:
    """Where an operation comes from: its reflection, its place there, episodes and rules behind it."""

    reflection_id: str
    index: int
    evidence: Sequence[str]
    lineage: Sequence[str]


@dataclass(frozen=True)
class Intake:
    """Takes operations in, one at a time."""

    bench: Bench
    change: Change
    context: CallContext = field(default_factory=lambda: CallContext("judge"))

    def decide(self, operation: Operation, source: Source) -> Effect:
        """Decide what an operation comes to, without writing; the effect is to be run in a write session."""
        if operation.op == "ADD":
            return self._add(operation.draft(self.bench.domain), source)
        rule = self._find(operation.target)
        if rule is None:
            return _outcome("ignored", "It names a rule that was not in the request")
        if operation.op in ("UPVOTE", "DOWNVOTE"):
            return self._vote(rule, _UPVOTE if operation.op == "UPVOTE" else _DOWNVOTE)
        if operation.op == "EDIT":
            return self._edit(rule, operation.draft(self.bench.domain), source)
        second = self._find(operation.other)
        if second is None or second.id == rule.id:
            return _outcome("ignored", "It names a rule that was not in the request")
        return self._merge(rule, second, source)

    def _find(self, rule_id: str) -> Rule | None:
        with self.bench.database.read() as session:
            rule = session.get(Rule, rule_id)
            return rule if rule is not None and rule.state != State.ARCHIVED else None

    def _add(self, draft: RuleContent, source: Source) -> Effect:
        draft, findings = checked(self.bench.client, self.context, draft, self.bench.settings.rules)
        if findings:
            reasons = [{"detector": f.detector, "template": f.template, "values": f.values} for f in findings]
            return self._refuse(draft, reasons, source)
        archived = archived_equals(self.bench, draft)
        if archived.refusal is not None:
            return self._refuse(draft, [archived.refusal], source)
        near = self.bench.library.compare(draft)
        for existing in near.duplicates[:3]:
            effect = self._absorb(existing, draft, source)
            if effect is not None:
                return effect
        for rule in archived.returning:
            effect = self._bring_back(rule, draft, source)
            if effect is not None:
                return effect
        return self._create(draft, self._confirmed(draft, near), source)

    def _confirmed(self, draft: RuleContent, near: Neighbours) -> list[ConflictFinding]:
        """Keep the conflicts that are certain or that the model confirms; doubt counts as a conflict."""
        hard = [finding for finding in near.conflicts if finding.hard]
        doubtful = [finding for finding in near.conflicts if not finding.hard]
        if not doubtful:
            return hard
        pairs = [(draft, near.rules[finding.other_id]) for finding in doubtful]
        verdicts = judge_conflicts(self.bench.client, pairs, self.context)
        return hard + [
            replace(finding, detector="model", template=_JUDGED, values={"reason": verdict.reason})
            for finding, verdict in zip(doubtful, verdicts, strict=True)
            if verdict.conflict
        ]

    def _bring_back(self, archived: Rule, draft: RuleContent, source: Source) -> Effect | None:
        """Make a rule a candidate again that the loop archived and that says what a draft says; None if it does not.

        It comes back as it was, since its record is that of its own text.
        """
        if rule_text(archived) != rule_text(draft):
            judgement = judge_equivalence(self.bench.client, archived, draft, self.context)
            if judgement is None or not judgement.equivalent:
                return None
        conflicts = self._confirmed(archived, self.bench.library.compare(archived))

        def effect(session: Session) -> dict[str, Any]:
            rule = get_rule(session, archived.id, archived.version)
            if merge_kin_in_use(session, rule.id):
                return _outcome("ignored", "A merge with it came into use meanwhile", rule.id)(session)
            origins = learned_from(rule, source.evidence, source.lineage)
            why = self.change.because("Reflection came to it again")
            move_rule(
                session, rule, State.CANDIDATE, Cause.REENTERED, why, approved_by=None, merged_into=None, **origins
            )
            record_conflicts(session, rule, conflicts, self.change)
            return _entry("reentered", rule.id)

        return effect

    def _absorb(self, existing: Rule, draft: RuleContent, source: Source) -> Effect | None:
        """Merge a draft into a rule that says the same; None if the model says it does not."""
        found = self._common(existing, draft)
        if found is None:
            return None
        merged, findings, reason = found
        if findings or rule_text(merged) == rule_text(existing):
            return _outcome("duplicate", "The library has it already", existing.id)
        return self._replace([existing], merged, source, reason)

    def _unite(self, rule: Rule, draft: RuleContent, other: Rule, source: Source) -> Effect | None:
        """Merge a rule whose edit makes it say the same as another; None if it does not, or has no good text."""
        found = self._common(other, draft)
        if found is None or found[1]:
            return None
        return self._replace([other, rule], found[0], source, found[2])

    def _common(self, first: Rule, second: RuleContent) -> tuple[RuleContent, list[Finding], str] | None:
        """Return one text for both with its objections and the reason; None if they are not equivalent.

        The same words say the same: no model is asked, and none can doubt it.
        """
        if rule_text(first) == rule_text(second):
            return RuleContent(**_texts(first)), [], ""
        judgement = judge_equivalence(self.bench.client, first, second, self.context)
        if judgement is None or not judgement.equivalent:
            return None
        texts = {name: getattr(judgement, name) for name in ("name", "condition", "action", "exclusion")}
        draft = RuleContent(**{**_texts(first), **texts})
        merged, findings = checked(self.bench.client, self.context, draft, self.bench.settings.rules)
        return merged, findings, judgement.reason

    def _edit(self, rule: Rule, draft: RuleContent, source: Source) -> Effect:
        draft, findings = checked(self.bench.client, self.context, draft, self.bench.settings.rules)
        if findings:
            reasons = [{"detector": f.detector, "template": f.template, "values": f.values} for f in findings]
            return self._refuse(draft, reasons, source)
        if rule_text(draft) == rule_text(rule):
            return _outcome("ignored", "It changes nothing", rule.id)
        if self._is_peoples(rule):
            return self._propose(rule, "edit", draft, source, "")
        near = self.bench.library.compare(draft, without={rule.id})
        for other in near.duplicates[:3]:
            united = self._unite(rule, draft, other, source)
            if united is not None:
                return united
        conflicts = self._confirmed(draft, near)

        def effect(session: Session) -> dict[str, Any]:
            current = get_rule(session, rule.id, rule.version)
            changes = _texts(draft) | learned_from(current, source.evidence, source.lineage)
            edit_rule(session, current, changes, self.change.because("Reflection made it clearer"))
            record_conflicts(session, current, conflicts, self.change)
            close_gone_conflicts(session, current, conflicts, self.change)
            return _entry("edited", rule.id)

        return effect

    def _merge(self, first: Rule, second: Rule, source: Source) -> Effect:
        found = self._common(first, second)
        if found is None:
            return _outcome("ignored", "The two rules are not equivalent", first.id)
        merged, findings, reason = found
        if findings:
            return _outcome("ignored", "The merged text did not pass the quality check", first.id)
        return self._replace([first, second], merged, source, reason)

    def _replace(self, parents: list[Rule], draft: RuleContent, source: Source, reason: str) -> Effect:
        """Put a more general rule in the place of its parents, or propose it where a person approved one."""
        for parent in parents:
            if self._is_peoples(parent):
                beside = [other.id for other in parents if other.id != parent.id]
                influenced = replace(source, lineage=list(dict.fromkeys([*source.lineage, *beside])))
                return self._propose(parent, "edit", draft, influenced, reason)
        if self._taken_apart({parent.id for parent in parents}):
            return _outcome("ignored", "A person took a merge of these rules apart before", parents[0].id)
        near = self.bench.library.compare(draft, without={parent.id for parent in parents})
        conflicts = self._confirmed(draft, near)

        def effect(session: Session) -> dict[str, Any]:
            current = [get_rule(session, parent.id, parent.version) for parent in parents]
            behind = Behind(source.evidence, source.lineage)
            rule = merge_rules(session, current, draft, self.change, behind, id=self._rule_id(source))
            record_conflicts(session, rule, conflicts, self.change)
            return _entry("merged", rule.id)

        return effect

    def _taken_apart(self, parents: set[str]) -> bool:
        """Tell whether a person took back a merge of the same rules: like a dismissed conflict, that stands."""
        with self.bench.database.read() as session:
            taken = select(RuleEvent.rule_id).where(
                RuleEvent.kind == Cause.UNMERGED.value, RuleEvent.to_state == State.ARCHIVED.value
            )
            merges = select(Rule.parents).where(col(Rule.id).in_(taken), Rule.domain == self.bench.domain)
            return any(set(merged) == parents for merged in session.exec(merges))

    def _create(self, draft: RuleContent, conflicts: list[ConflictFinding], source: Source) -> Effect:
        def effect(session: Session) -> dict[str, Any]:
            rule = create_rule(
                session,
                draft,
                self.change,
                origin="reflection",
                id=self._rule_id(source),
                evidence=list(source.evidence),
                lineage=list(source.lineage),
            )
            record_conflicts(session, rule, conflicts, self.change)
            return _entry("created", rule.id)

        return effect

    def _refuse(self, draft: RuleContent, reasons: list[dict[str, Any]], source: Source) -> Effect:
        def effect(session: Session) -> dict[str, Any]:
            session.add(
                Refusal(
                    id=stable_id("refusal", source.reflection_id, source.index),
                    round_number=self.change.round_number,
                    reflection_id=source.reflection_id,
                    draft=draft.model_dump() | {"evidence": list(source.evidence), "lineage": list(source.lineage)},
                    reasons=reasons,
                    created_at=self.change.clock(),
                )
            )
            return {"result": "refused", "rule_id": None, "reasons": reasons}

        return effect

    def _propose(self, rule: Rule, kind: str, draft: RuleContent, source: Source, reason: str) -> Effect:
        def effect(session: Session) -> dict[str, Any]:
            session.add(
                Proposal(
                    id=stable_id("proposal", source.reflection_id, source.index),
                    rule_id=rule.id,
                    rule_version=rule.version,
                    kind=kind,
                    after=_texts(draft) | {"lineage": [other for other in source.lineage if other != rule.id]},
                    reason=reason or draft.rationale,
                    evidence=list(source.evidence),
                    round_number=self.change.round_number,
                    created_at=self.change.clock(),
                )
            )
            return _entry("proposed", rule.id)

        return effect

    def _vote(self, rule: Rule, step: float) -> Effect:
        def effect(session: Session) -> dict[str, Any]:
            current = get_rule(session, rule.id)
            confidence = round(min(1.0, max(0.0, current.confidence + step)), 4)
            edit_rule(session, current, {"confidence": confidence}, self.change, kind=VOTED)
            return _entry("voted", rule.id)

        return effect

    def _is_peoples(self, rule: Rule) -> bool:
        """A person approved it; or it is live and nothing here could test a change of it."""
        untestable = not self.bench.testable and rule.state == State.ACTIVE
        return rule.approved_by is not None or untestable

    def _rule_id(self, source: Source) -> str:
        return stable_id("rule", source.reflection_id, source.index)


def _texts(rule: RuleContent) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in (*_TEXT, "domain")}


def _entry(result: str, rule_id: str) -> dict[str, Any]:
    return {"result": result, "rule_id": rule_id, "reasons": []}


def _outcome(result: str, template: str, rule_id: str | None = None) -> Effect:
    reason = {"detector": result, "template": template, "values": {}}
    return lambda _session: {"result": result, "rule_id": rule_id, "reasons": [reason]}
