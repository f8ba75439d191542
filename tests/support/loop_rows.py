"""Rounds as rows: what rounds of the learning loop leave in the database, without running them.

A world is healthy unless one of its ``ills`` is switched on, each of which is one of the ten troubles. Rows are
drawn at random from a seed, with the sizes of a small real run: 60 training episodes, 60 held-out tasks, one
reflection a round, a library of about twenty rules.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, select

from core.db import Database
from core.settings import ADJUSTABLE, Settings
from core.tables import Conflict, Episode, LedgerEntry, Reflection, Round, Rule, RuleEvent, RuleUse

DOMAIN = "desk"
TYPES = ("queues", "disks", "names", "clocks", "quotas", "locks")
ILLS = (
    "over_fitting", "prompt_limit", "ignored_rules", "empty_talk", "over_plan",
    "failing_type", "rules_fight", "bloat", "conflict_variance", "ossification",
)  # fmt: skip
_START = datetime(2026, 3, 1, tzinfo=UTC)
_COSTS = {"act": 0.4, "digest": 0.01, "reflect": 0.03, "judge": 0.005}
_HELD_OUT = 60
_EACH = 10


@dataclass
class World:
    """Writes round after round; ``ills`` may be changed in between."""

    database: Database
    settings: Settings
    seed: int = 1
    ills: set[str] = field(default_factory=set)
    domain: str = DOMAIN
    start: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        self.number = self.start
        self._chance = random.Random(self.seed)
        self._difficulty = [self._chance.random() for _ in range(_HELD_OUT)]

    def run(self, rounds: int) -> None:
        """Write some rounds."""
        for _ in range(rounds):
            self.number += 1
            with self.database.write() as session:
                self._round(session)

    def _round(self, session: Session) -> None:
        settings = {name: getattr(self.settings, name).model_dump() for name in ADJUSTABLE}
        session.add(
            Round(
                number=self.number, environment=self.domain, seed=self.number, trigger="schedule", status="committed",
                phase="finished", settings=settings, gain={"arm": "after", "value": 0.1}, started_at=self._now,
                ended_at=self._now + timedelta(minutes=30),
            )
        )  # fmt: skip
        session.flush()
        rules = self._rules(session)
        episodes = [self._training(kind, place) for kind in TYPES for place in range(_EACH)]
        session.execute(insert(Episode), episodes)
        uses = [
            use
            for episode in episodes
            if not episode["library_left_out"]
            for use in self._uses(episode, self._retrieved(rules, episode["task_type"]))
        ]
        if uses:
            session.execute(insert(RuleUse), uses)
        session.flush()
        self._tests(session)
        self._reflection(session)
        self._age(session)
        self._ledger(session)

    @property
    def _now(self) -> datetime:
        return _START + timedelta(hours=self.number)

    @property
    def _level(self) -> float:
        return min(0.85, 0.3 + 0.15 * (self.number - self.start))

    def _has(self, ill: str) -> bool:
        return ill in self.ills

    def _passes(self, kind: str) -> float:
        if self._has("failing_type") and kind == TYPES[0]:
            return 0.02
        if self._has("conflict_variance") and kind == TYPES[1]:
            return 0.95 if self.number % 2 else 0.05
        return self._level

    def _training(self, kind: str, place: int) -> dict[str, Any]:
        passed = self._chance.random() < self._passes(kind)
        left_out = self._chance.random() < 0.1
        return self._episode("learn", f"{kind}-{place}", kind, passed, library_left_out=left_out)

    def _retrieved(self, library: Iterable[Rule], kind: str) -> list[Rule]:
        rules = [rule for rule in library if not self._starved(rule, kind)]
        if self._has("ossification"):
            rules = [rule for rule in rules if rule.state != "candidate"]
        self._chance.shuffle(rules)
        feuding = [rule for rule in rules if "feud" in rule.tags]
        candidates = [rule for rule in rules if rule.state == "candidate" and rule not in feuding]
        first = [*feuding[:1], *candidates[:1]]
        rest = [rule for rule in rules if rule not in first and rule not in feuding]
        return [*first, *rest][:8]

    def _starved(self, rule: Rule, kind: str) -> bool:
        return self._has("failing_type") and kind == TYPES[0] and kind in rule.tags

    def _rules(self, session: Session) -> list[Rule]:
        return list(
            session.exec(select(Rule).where(Rule.state != "archived", Rule.domain == self.domain).order_by(Rule.id))
        )

    def _uses(self, episode: dict[str, Any], rules: Iterable[Rule]) -> Iterator[dict[str, Any]]:
        position = 0
        for place, rule in enumerate(rules):
            left_out = self._chance.random() < 0.05
            cut = self._has("prompt_limit") and place >= 4
            served = not left_out and not cut
            compliance = self._compliance(rule) if served else "unjudged"
            yield {
                "episode_id": episode["id"],
                "rule_id": rule.id,
                "rule_version": rule.version,
                "score": 0.5,
                "disposition": "served" if served else "left_out" if left_out else "trimmed",
                "propensity": 0.05 if left_out else 0.95,
                "position": position if served else None,
                "compliance": compliance,
                "verified": episode["grade"] == "pass" and compliance == "complied",
            }
            position += served

    def _compliance(self, rule: Rule) -> str:
        if "useless" in rule.tags or self._chance.random() < 0.5:
            return "not_applicable"
        return "complied" if self._chance.random() < (0.2 if self._has("ignored_rules") else 0.8) else "violated"

    def _tests(self, session: Session) -> None:
        level = self._level - (0.45 if self._has("over_fitting") else 0.0)
        tests = []
        for place, difficulty in enumerate(self._difficulty):
            flipped = self._chance.random() < 0.08
            passed = (difficulty < level) != flipped
            tests.append(self._episode("after", f"test-{place}", TYPES[place % len(TYPES)], passed))
        session.execute(insert(Episode), tests)

    def _episode(self, arm: str, task: str, kind: str, passed: bool, **columns: Any) -> dict[str, Any]:
        return dict(
            id=f"ep_{self.number}_{arm}_{task}", environment=self.domain, task_id=f"{self.domain}/{task}",
            task_type=kind, query=f"{kind} {task}", split="train" if arm == "learn" else "held_out", arm=arm,
            round_number=self.number, reward=float(passed), grade="pass" if passed else "fail",
            turns=self._chance.randint(3, 7), tool_calls=4, tool_errors=self._chance.random() < 0.1,
            messages=[], started_at=self._now, ended_at=self._now, credited=arm == "learn", **columns,
        )  # fmt: skip

    def _reflection(self, session: Session) -> None:
        drafts = 30 if self._has("bloat") else 4
        operations, outcomes = [], []
        useless = ["useless"] if self._has("bloat") else []
        for place in range(drafts + 1):
            operations.append({"op": "ADD"})
            slogan = self._has("empty_talk") and place < 3
            if slogan or place == drafts:
                detector = "vacuous" if slogan else "single_case"
                outcomes.append({"result": "refused", "rule_id": None, "reasons": [{"detector": detector}]})
            else:
                rule = self._create(session, f"r{self.number:03}_{place:02}", TYPES[place % len(TYPES)], *useless)
                outcomes.append({"result": "created", "rule_id": rule.id, "reasons": []})
        session.add(
            Reflection(
                id=f"reflection_{self.number}", round_number=self.number, batch=0, status="done",
                operations=operations, outcomes=outcomes, created_at=self._now,
            )
        )  # fmt: skip

    def _create(self, session: Session, rule_id: str, kind: str, *tags: str) -> Rule:
        evidence = [f"ep_{self.number}_learn_{kind}-0"]
        rule = Rule(
            id=rule_id, name=f"Rule {rule_id}", condition=f"{kind} are full", action=f"clear the {kind} first",
            domain=self.domain, origin="reflection", evidence=evidence, tags=[kind, *tags], created_at=self._now,
            created_round=self.number,
        )  # fmt: skip
        session.add(rule)
        session.flush()
        self._event(session, rule, "created", None, "candidate")
        return rule

    def _age(self, session: Session) -> None:
        """Candidates of the round before go live; but for bloat, the oldest rules leave beyond twenty."""
        rules = self._rules(session)
        for rule in rules:
            if rule.state == "candidate" and (rule.created_round or 0) < self.number and not self._has("ossification"):
                self._event(session, rule, "verified", "candidate", "active")
        live = [rule for rule in rules if "feud" not in rule.tags]
        for rule in live[: 0 if self._has("bloat") else max(0, len(live) - 20)]:
            self._event(session, rule, "pruned", rule.state, "archived")
        self._feud(session)

    def _feud(self, session: Session) -> None:
        conflict = session.get(Conflict, "feud")
        if self._has("rules_fight") and conflict is None:
            pair = [self._create(session, f"feud_{side}", TYPES[0], "feud") for side in "ab"]
            session.add(
                Conflict(
                    id="feud", rule_a=pair[0].id, rule_b=pair[1].id, detector="lexicon",
                    round_number=self.number, created_at=self._now,
                )
            )  # fmt: skip
        elif conflict is not None and not self._has("rules_fight"):
            conflict.status = "resolved"
            session.add(conflict)

    def _event(self, session: Session, rule: Rule, kind: str, before: str | None, after: str) -> None:
        rule.state = after
        session.add(rule)
        session.add(
            RuleEvent(
                rule_id=rule.id, kind=kind, from_state=before, to_state=after, actor="system",
                round_number=self.number, after={}, created_at=self._now,
            )
        )  # fmt: skip

    def _ledger(self, session: Session) -> None:
        for purpose, cost in _COSTS.items():
            leak = 3.0 if self._has("over_plan") and purpose == "act" else 1.0
            usd = cost * leak * self._chance.uniform(0.85, 1.3)
            session.add(
                LedgerEntry(
                    request_id=f"{purpose}-{self.number}", attempt=1, purpose=purpose, model="m", simulated=False,
                    input_tokens=int(usd * 1e6), cost_usd=usd, outcome="ok", round_number=self.number,
                    created_at=self._now,
                )
            )  # fmt: skip
