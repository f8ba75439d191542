"""People, rounds and faults in any order: what has to hold of the library after every single step.

The machine acts through the product's own functions on a database file and keeps what it has to be compared
with by itself: the library at each moment it remembers, parents as they were before a merge, and every use of
a rule in plain sets (tests.support.counted).
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import event
from sqlmodel import Session, col, select

from core import curation
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.learning.bench import Bench
from core.learning.credit import baselines, credit_episodes, mark_retrieved
from core.learning.harm import records
from core.learning.intake import Intake, Source
from core.learning.reflection import Operation
from core.learning.rollback import contents_without_round, roll_back_round
from core.learning.snapshot import SnapshotMaker
from core.learning.transitions import apply_transitions, gather_evidence, prune
from core.rules.judging import ConflictJudgement, MergeJudgement
from core.rules.kinship import descendants, merge_kin_in_use
from core.rules.library import SYSTEM, Change, content_of, contents_at, last_event_id, rewind
from core.rules.lifecycle import RESTORING, Cause, State, check_transition
from core.rules.utility import Ucb
from core.settings import Settings
from core.tables import AuditEntry, Conflict, Proposal, Round, Rule, RuleEvent
from tests.learning.rows import DOMAIN, NOW, a_round, a_use, an_episode
from tests.support.counted import Counted, Lived
from tests.support.embedding import WordEmbedder
from tests.support.settling import settle

Contents = dict[str, dict[str, Any]]

SETTINGS = Settings(
    _env_file=None,
    lifecycle={
        "verified_successes": 2,
        "harmful_min_uses": 3,
        "harmful_probability": 0.6,
        "unretrieved_rounds": 2,
        "probation_rounds": 1,
        "capacity": 6,
        "prune_min_uses": 3,
        "prune_share": 0.2,
    },
)
SITUATIONS = (
    "a remediation is about to run",
    "the log volume is nearly full",
    "older clients fail their handshake at once",
)
STEPS = (
    "verify before running it",
    "run it at once and do not verify again",
    "rotate the logs and delete archives older than a week",
    "renew the intermediate certificate",
)
MODES = st.sampled_from(["once"] * 5 + ["fault", "stale", "twice"])
NUMBERS = st.integers(0, 60)
CHOICES = st.integers(0, 15)
LOOP = (
    *("MERGE", "live_through", "settle", "MERGE", "live_through", "settle", "live_through", "credit", "end_round"),
    *("ADD", "EDIT", "UPVOTE", "DOWNVOTE", "remember"),
)
PEOPLE = (
    *("unmerge", "approve", "quarantine", "restore", "unmerge", "resolve_conflict", "rewind", "archive"),
    *("edit_and_approve", "accept_proposal", "refuse"),
)


class Fault(Exception):
    """The machine went down in the middle of a transaction."""


class FragileDatabase(Database):
    """Goes down at the nth flush of a write, or right before its commit, if told to."""

    fails_at: int | None = None

    @contextmanager
    def write(self) -> Iterator[Session]:
        with super().write() as session:
            flushes = count(1)

            def fail(*_: object) -> None:
                if next(flushes) == self.fails_at:
                    raise Fault

            event.listen(session, "before_flush", fail)
            yield session
            if self.fails_at is not None:
                raise Fault


class Agreeing:
    """A judge that finds every pair equivalent and every doubtful pair in conflict; its texts are all different."""

    def __init__(self) -> None:
        self._asked = 0

    def structured(self, context: object, messages: object, answer: type, **_: object) -> Any:
        self._asked += 1
        if answer is ConflictJudgement:
            return ConflictJudgement(reason="because", conflict=True)
        what = STEPS[self._asked % len(STEPS)]
        return MergeJudgement(
            reason="because",
            equivalent=True,
            name=f"Wider {self._asked}",
            condition=SITUATIONS[self._asked % len(SITUATIONS)],
            action=f"{what} and take note",
        )


@cache
def empty_file() -> Path:
    path = Path(tempfile.mkdtemp()) / "empty.db"
    open_database(f"sqlite:///{path}").close()
    return path


class Library(RuleBasedStateMachine):
    """One library, its people, its loop and its accidents."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        shutil.copy(empty_file(), f"{self.folder}/t.db")
        self.database = FragileDatabase(open_database(f"sqlite:///{self.folder}/t.db").engine)
        self.bench = Bench(
            SETTINGS,
            self.database,
            Agreeing(),  # type: ignore[arg-type]
            WordEmbedder(),
            lambda: NOW,
            DOMAIN,
            None,
            "test",
        )
        self.maker = SnapshotMaker(self.bench.embedder, Ucb(SETTINGS.utility, 1.2), SETTINGS.retrieval)
        self.counted = Counted()
        self.newest: Contents = {}
        self.checked = 0
        self.moments: list[tuple[int, Contents]] = []
        self.before_merge: dict[str, Contents] = {}
        self.round_number = 0
        self.round_open = False
        self.operations = 0
        self.acts = 0
        self.names = count()

    def teardown(self) -> None:
        with self.database.read() as session:
            for event_id, then in self.moments:
                assert contents_at(session, event_id) == then
        self.database.close()
        shutil.rmtree(self.folder)

    # What the steps are made of.

    @property
    def by_loop(self) -> Change:
        return Change(SYSTEM, lambda: NOW, round_number=self.round_number)

    def stored(self, *states: State) -> list[Rule]:
        with self.database.read() as session:
            found = session.exec(select(Rule).order_by(col(Rule.id))).all()
        return [one for one in found if not states or State(one.state) in states]

    def pick(self, number: int, *states: State) -> Rule | None:
        """Choose a rule in one of the states; now and then, or if there is none, any rule."""
        fitting = self.stored(*states)
        choice = fitting if fitting and number % 7 < 6 else self.stored()
        return choice[number % len(choice)] if choice else None

    def contents(self) -> Contents:
        with self.database.read() as session:
            return {one.id: deepcopy(content_of(one)) for one in session.exec(select(Rule)).all()}

    def part_of(self) -> dict[str, str]:
        return {
            rule_id: content["merged_into"] for rule_id, content in self.contents().items() if content["merged_into"]
        }

    def everything(self) -> list[str]:
        tables = (
            "rule",
            "rule_event",
            "conflict",
            "proposal",
            "refusal",
            "audit_entry",
            "round",
            "episode",
            "rule_use",
        )
        with self.database.engine.connect() as connection:
            return [str(row) for table in tables for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]

    def do(self, act: Callable[[], object], mode: str = "once", number: int = 0) -> bool:
        """Carry out one act, or let it go wrong; what is refused or breaks down must leave no trace."""
        before = self.everything()
        self.database.fails_at = 1 + number % 6 if mode == "fault" else None
        try:
            act()
        except (UserError, Fault):
            assert self.everything() == before
            return False
        finally:
            self.database.fails_at = None
        return True

    def person(self, rule_id: str, version: int, act: Callable[[int], object], mode: str, number: int) -> bool:
        """Let a person act on a rule, seen in the given version."""
        if mode == "stale":
            before = self.everything()
            with pytest.raises(ConcurrentChangeError):
                act(version - 1)
            assert self.everything() == before
            return False
        done = self.do(lambda: act(version), mode, number)
        self.acts += done
        if done and mode == "twice":
            self.again(lambda: act(version))
        return done

    def again(self, act: Callable[[], object]) -> None:
        """Act a second time on what was seen: refused, or (an act that had nothing to change) the audit grows."""
        once, events = self.everything(), len(self.newest_events())
        if self.do(act):
            self.acts += 1
            assert len(self.newest_events()) == events
        else:
            assert self.everything() == once

    def newest_events(self) -> list[RuleEvent]:
        with self.database.read() as session:
            return list(
                session.exec(
                    select(RuleEvent).where(col(RuleEvent.id) > self.checked).order_by(col(RuleEvent.id))
                ).all()
            )

    def who(self, one: Rule) -> dict[str, Any]:
        return {"rule_id": one.id, "actor": "ada", "clock": lambda: NOW}

    # Rounds.

    @initialize()
    def first_rules(self) -> None:
        for number, choice in enumerate((0, 3, 7, 11)):
            self.reflect("ADD", number, choice)

    def reflect(self, op: str, number: int, choice: int, mode: str = "once") -> None:
        """Take in one operation of a reflection, as a round does: decide first, then one transaction."""
        self.open_round()
        live = self.stored(State.CANDIDATE, State.ACTIVE, State.PROBATION)
        if op == "MERGE":  # what people approved is only proposed to be merged
            live = [one for one in live if one.approved_by is None] or live
        targets = [live[(number + shift) % len(live)].id for shift in (0, 1)] if live else ["nobody", "nobody"]
        self.operations += 1
        operation = Operation(
            op=op,  # type: ignore[arg-type]
            target=targets[0],
            other=targets[1],
            name=f"Rule {self.operations}",
            condition=SITUATIONS[choice % 3],
            action=f"{STEPS[choice // 3 % 4]} and count {('one', 'two', 'three', 'four', 'five')[number % 5]}",
            confidence=0.9,
        )
        lineage = [one.id for one in live[: number % 3]]
        effect = Intake(self.bench, self.by_loop).decide(
            operation, Source("reflection", self.operations, ("e",), lineage)
        )
        before = self.contents()

        def take() -> None:
            with self.database.write() as session:
                effect(session)

        if self.do(take, mode, number):
            self.note_merge(before)

    def note_merge(self, before: Contents) -> None:
        for rule_id, content in self.contents().items():
            if rule_id not in before and content["parents"]:
                self.counted.merge(rule_id, content["parents"])
                self.before_merge[rule_id] = {parent: before[parent] for parent in content["parents"]}

    def open_round(self) -> None:
        if not self.round_open:
            self.round_number += 1
            self.round_open = True
            self.remember()
            with self.database.write() as session:
                session.add(a_round(self.round_number, status="running", phase="planned"))

    def remember(self, *_: object) -> None:
        with self.database.read() as session:
            self.moments.append((last_event_id(session), self.contents()))

    def live_through(self, number: int, choice: int, mode: str) -> None:
        """Serve the library in some episodes; a prompt never carries both sides of an open conflict."""
        grades = ("pass", "pass", "fail", "marginal")[choice % 3 : choice % 3 + 2]
        arm = ("learn", "learn", "learn", "external", "after")[number % 5]
        fate = "failed" if choice == 15 else "done"
        with self.database.read() as session:
            hits = self.maker.current(session, DOMAIN).retrieve(SITUATIONS[number % 3]).hits
            disputed = session.exec(select(Conflict.rule_a, Conflict.rule_b).where(Conflict.status == "open")).all()
        served = {hit.rule.id for hit in hits} if number % 7 < 6 else set()
        assert not any({a, b} <= served for a, b in disputed)
        for grade in grades:
            lived = Lived(
                f"e{next(self.names):03}",
                "queues" if number % 2 else "logs",
                {"pass": 1.0, "marginal": 0.5, "fail": 0.0}[grade],
                grade == "pass",
                fate == "done",
                {
                    one: "violated" if (choice + place) % 4 == 0 else "complied"
                    for place, one in enumerate(sorted(served))
                },
            )
            self.store(lived, grade, arm)
        if choice % 4 == 0:  # else while something else has happened, such as a merge
            self.credit(number, choice, mode)

    def store(self, lived: Lived, grade: str, arm: str) -> None:
        number = self.round_number if self.round_open and arm != "external" else None
        columns = {"grade": grade, "task_type": lived.kind, "status": "done" if lived.done else "failed"}
        with self.database.write() as session:
            if session.get(Round, self.round_number) is None:
                number = None
            session.add(an_episode(lived.id, arm=arm, round_number=number, **columns))
            session.flush()
            session.add_all(
                a_use(lived.id, rule_id, compliance=compliance) for rule_id, compliance in lived.served.items()
            )
        if arm != "after":
            self.counted.live(lived)

    def credit(self, number: int, choice: int, mode: str) -> None:
        """Count episodes, again and again as a retry would."""

        def act() -> None:
            with self.database.write() as session:
                credit_episodes(session, DOMAIN)

        if self.do(act, mode, number):
            self.counted.credit(self.part_of())
        for _ in range(choice % 3):
            act()
            self.counted.credit(self.part_of())

    def settle(self, number: int, choice: int, mode: str) -> None:
        """Credit, lifecycle and pruning, in one transaction."""
        self.open_round()
        lifecycle = SETTINGS.lifecycle.model_copy(update={"approval": "auto" if choice % 2 else "required"})

        def act() -> None:
            with self.database.write() as session:
                credit_episodes(session, DOMAIN)
                mark_retrieved(session, self.round_number)
                figures = records(session, DOMAIN, baselines(session, DOMAIN))
                evidence = gather_evidence(session, DOMAIN, self.round_number, figures)
                apply_transitions(session, DOMAIN, evidence, lifecycle, self.by_loop)
                prune(session, DOMAIN, self.maker.scorer, lifecycle, self.by_loop)

        if self.do(act, mode, number):
            self.counted.credit(self.part_of())

    def end_round(self, number: int, choice: int, mode: str) -> None:
        """Keep what the round did, or take it back and nothing else."""
        if not self.round_open:
            return
        if choice % 3:

            def act() -> None:
                with self.database.write() as session:
                    roll_back_round(session, contents_without_round(session, self.round_number), self.by_loop)

            start = max(event_id for event_id, _ in self.moments if event_id <= self.start_of_round())
            expected = self.taken_back(start)
            if not self.do(act, mode, number):
                return
            if expected is not None:
                assert self.contents() == expected
            if mode == "twice":
                once = self.everything()
                act()
                assert self.everything() == once
        self.round_open = False
        self.remember()

    def start_of_round(self) -> int:
        with self.database.read() as session:
            query = select(RuleEvent.id).where(RuleEvent.round_number == self.round_number, RuleEvent.actor == SYSTEM)
            first = session.exec(query.order_by(col(RuleEvent.id))).first()
            return (first or last_event_id(session) + 1) - 1

    def taken_back(self, start: int) -> Contents | None:
        """Return the library that a rollback has to leave; None where people or earned moves have a say."""
        with self.database.read() as session:
            events = session.exec(select(RuleEvent).where(col(RuleEvent.id) > start)).all()
        earned = {Cause.VERIFIED, Cause.HARMFUL, Cause.RECOVERED, Cause.NO_RECOVERY, Cause.UNRETRIEVED, Cause.TRIMMED}
        if any(one.actor != SYSTEM or one.kind in earned or one.round_number != self.round_number for one in events):
            return None
        with self.database.read() as session:
            before = contents_at(session, start)
        return {
            rule_id: before.get(rule_id) or content | {"state": "archived", "probation_since": None}
            for rule_id, content in self.contents().items()
        }

    # People.

    def approve(self, number: int, choice: int, mode: str) -> None:
        if one := self.pick(number, State.CANDIDATE):
            who = self.who(one)

            def act(version: int) -> None:
                curation.approve(self.database, version=version, settings=SETTINGS, activate=bool(choice % 2), **who)

            self.person(one.id, one.version, act, mode, number)

    def edit_and_approve(self, number: int, choice: int, mode: str) -> None:
        if one := self.pick(number, State.CANDIDATE):
            content = {"action": f"{STEPS[choice % 4]}, then tell the owner"}
            who = self.who(one)

            def act(version: int) -> None:
                curation.edit_and_approve(self.database, version=version, content=content, settings=SETTINGS, **who)

            self.person(one.id, one.version, act, mode, number)

    def refuse(self, number: int, choice: int, mode: str) -> None:
        self.withdraw(curation.refuse, self.pick(number, State.CANDIDATE), number, mode)

    def archive(self, number: int, choice: int, mode: str) -> None:
        self.withdraw(curation.archive, self.pick(number, State.ACTIVE, State.PROBATION), number, mode)

    def restore(self, number: int, choice: int, mode: str) -> None:
        self.withdraw(curation.restore, self.pick(number, State.ARCHIVED), number, mode)

    def withdraw(self, way: Callable[..., None], one: Rule | None, number: int, mode: str) -> None:
        if one is not None:

            def act(version: int) -> None:
                way(self.database, version=version, reason="x", **self.who(one))

            self.person(one.id, one.version, act, mode, number)

    def unmerge(self, number: int, choice: int, mode: str) -> None:
        """Take a merge apart: parents as they were right before it, whatever happened since."""
        merges = [one for one in self.stored() if one.origin == "merge" and number % 5 < 4]
        if not merges:
            return
        one = merges[number % len(merges)]

        def act(version: int) -> None:
            curation.unmerge(self.database, version=version, reason="x", **self.who(one))

        if self.person(one.id, one.version, act, mode, number):
            after = self.contents()
            assert after[one.id]["state"] == "archived"
            assert {parent: after[parent] for parent in one.parents} == self.before_merge[one.id]

    def quarantine(self, number: int, choice: int, mode: str) -> None:
        """Take out a rule and some of its descendants: all or none."""
        one = self.pick(number, State.CANDIDATE, State.ACTIVE, State.PROBATION)
        if one is None:
            return
        with self.database.read() as session:
            found = [kin for kin in descendants(session, one.id) if kin.state != State.ARCHIVED]
        stale = number % 5 == 4
        taken = {kin.id: kin.version - stale for place, kin in enumerate(found) if choice >> place & 1}

        def act(version: int) -> None:
            curation.quarantine(self.database, version=version, descendants=taken, reason="x", **self.who(one))

        if self.person(one.id, one.version, act, mode, number):
            assert not (stale and taken)
            assert {self.contents()[rule_id]["state"] for rule_id in (one.id, *taken)} == {"archived"}

    def resolve_conflict(self, number: int, choice: int, mode: str) -> None:
        with self.database.read() as session:
            known = session.exec(select(Conflict).order_by(col(Conflict.id))).all()
        if known:
            one = known[number % len(known)]
            keep = (one.rule_a, one.rule_b, None)[choice % 3]

            def act(_version: int) -> None:
                settle(self.database, one.id, keep, actor="ada", clock=lambda: NOW)

            self.person(one.rule_a, 0, act, "once" if mode == "stale" else mode, number)

    def accept_proposal(self, number: int, choice: int, mode: str) -> None:
        with self.database.read() as session:
            known = session.exec(select(Proposal).order_by(col(Proposal.id))).all()
        if known:
            one = known[number % len(known)]

            def act(_version: int) -> None:
                curation.accept_proposal(
                    self.database, proposal_id=one.id, settings=SETTINGS, actor="ada", clock=lambda: NOW
                )

            self.person(one.rule_id, 0, act, "once" if mode == "stale" else mode, number)

    def rewind(self, number: int, choice: int, mode: str) -> None:
        """Go back to a moment that was remembered: exactly but for the quarantined, later rules archived."""
        before = self.contents()
        held = self.quarantined()
        event_id, then = self.moments[number % len(self.moments)]
        change = Change("ada", lambda: NOW, round_number=self.round_number)

        def act() -> None:
            with self.database.write() as session:
                rewind(session, event_id, change, DOMAIN)

        if self.do(act, mode, number):
            after = self.contents()
            assert {rule_id: after[rule_id] for rule_id in then} == then | {
                one: before[one] for one in held & then.keys()
            }
            assert {after[rule_id]["state"] for rule_id in after.keys() - then.keys()} <= {"archived"}

    def quarantined(self) -> set[str]:
        """Return the rules in quarantine, and what was merged into them: as the events tell it one by one."""
        held: dict[str, bool] = {}
        with self.database.read() as session:
            for one in session.exec(select(RuleEvent).order_by(col(RuleEvent.id))).all():
                if one.from_state != one.to_state and one.kind not in RESTORING:
                    held[one.rule_id] = one.kind == Cause.QUARANTINED
        now = self.contents()
        found = {rule_id for rule_id, taken in held.items() if taken and now[rule_id]["state"] == "archived"}
        while more := {one for one in now if now[one]["merged_into"] in found} - found:
            found |= more
        return found

    # One rule for all acts: hypothesis leaves out whole rules at random, and the acts need each other.

    @rule(act=st.sampled_from((*LOOP, *PEOPLE)), number=NUMBERS, choice=CHOICES, mode=MODES)
    def step(self, act: str, number: int, choice: int, mode: str) -> None:
        """Let the loop or a person act."""
        if act.isupper():
            self.reflect(act, number, choice, mode)
        else:
            getattr(self, act)(number, choice, mode)

    # What has to hold.

    @invariant()
    def events_follow_each_other_by_the_lifecycle(self) -> None:
        with self.database.read() as session:
            disputed = self.disputed(session)
        for one in self.newest_events():
            assert one.before == self.newest.get(one.rule_id)
            assert one.from_state == (one.before or {}).get("state")
            assert one.to_state == one.after["state"]
            if one.kind in set(Cause):
                check_transition(one.from_state or "", one.to_state, Cause(one.kind))
            else:
                assert one.from_state in (None, one.to_state)
            if one.to_state == State.ACTIVE and one.kind in (Cause.VERIFIED, Cause.PERSON, Cause.RECOVERED):
                assert one.rule_id not in disputed, "went live in an open conflict"
            self.newest[one.rule_id] = one.after
            self.checked = one.id or 0

    def disputed(self, session: Session) -> set[str]:
        """Return the rules in open conflicts of which both sides are in use."""
        live = {one.id for one in session.exec(select(Rule).where(Rule.state != "archived")).all()}
        pairs = session.exec(select(Conflict.rule_a, Conflict.rule_b).where(Conflict.status == "open")).all()
        return {one for pair in pairs if live.issuperset(pair) for one in pair}

    @invariant()
    def events_alone_rebuild_every_moment(self) -> None:
        with self.database.read() as session:
            assert contents_at(session, last_event_id(session)) == self.contents()
            for event_id, then in self.moments[-1:] + self.moments[self.checked % len(self.moments) :][:1]:
                assert contents_at(session, event_id) == then

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        in_use: list[tuple[str, str]] = []
        for one in self.stored():
            used, passed, delta = self.counted.figures(one.id)
            least, most = self.counted.verified_range(one.id)
            assert (one.n_used, one.n_success) == (used, passed)
            assert one.avg_delta == pytest.approx(delta, abs=1e-9)
            assert least <= one.verified <= most
            if one.state != State.ARCHIVED:
                in_use.extend(self.counted.uses.get(one.id, ()))
        assert len(in_use) == len(set(in_use))
        with self.database.read() as session:
            for one in self.stored(State.CANDIDATE, State.ACTIVE, State.PROBATION):
                assert not one.parents or merge_kin_in_use(session, one.id) == []

    @invariant()
    def every_act_is_in_the_audit(self) -> None:
        with self.database.read() as session:
            assert len(session.exec(select(AuditEntry.id)).all()) == self.acts


TestLibrary = Library.TestCase
TestLibrary.settings = settings(
    max_examples=14,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
