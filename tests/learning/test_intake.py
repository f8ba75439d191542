"""What becomes of an operation that reflection proposed (design section 8, step 3)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.embeddings import Embedder
from core.errors import ConcurrentChangeError
from core.learning.bench import Bench
from core.learning.credit import credit_episodes
from core.learning.intake import Intake, Source
from core.learning.reflection import Operation
from core.learning.rollback import contents_without_round, roll_back_round
from core.llm.client import ModelClient
from core.rules.judging import CONFLICT_PROMPT
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.settings import Settings
from core.tables import Conflict, Proposal, Refusal, Rule, RuleEvent
from core.tables.rules import RuleContent
from tests.learning.rows import DOMAIN, NOW, a_use, an_episode
from tests.llm.helpers import make_bench
from tests.support.embedding import WordEmbedder, packaged_embedder
from tests.support.model_server import ModelServer

SETTINGS = Settings(_env_file=None)
CONDITION = "the log volume is nearly full"
ACTION = "rotate the logs and delete archives older than a week"
OTHER: dict[str, Any] = {
    "condition": "older clients fail their handshake at once",
    "action": "renew the intermediate certificate",
}
WIDER = {
    "name": "Wider",
    "condition": "a volume of logs or archives is nearly full",
    "action": "rotate the logs and delete archives older than a week",
    "exclusion": "",
}
CHANGE = Change(SYSTEM, lambda: NOW, round_number=3)


@dataclass
class Judge:
    """Answers each kind of question as told; counts what was asked."""

    equivalent: bool = True
    conflict: bool = True
    wider: dict[str, str] = field(default_factory=dict)
    shorter: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> str:
        system = body["messages"][0]["content"]
        kind = "conflict" if system == CONFLICT_PROMPT else "shorten" if system.startswith("Shorten") else "merge"
        self.asked.append(kind)
        answers: dict[str, dict[str, Any]] = {
            "conflict": {"reason": "because", "conflict": self.conflict},
            "shorten": {"condition": CONDITION, "action": ACTION, "exclusion": ""} | self.shorter,
            "merge": {"reason": "because", "equivalent": self.equivalent, **(self.wider or WIDER)},
        }
        return json.dumps(answers[kind])


@dataclass
class Desk:
    """An intake over a real database, a real client and a library."""

    bench: Bench
    judge: Judge
    index: int = 0

    def take(self, op: str, *, evidence: tuple[str, ...] = ("e1",), **fields: Any) -> dict[str, Any]:
        operation = Operation.model_validate({"op": op, "name": "Rotate", "confidence": 0.9} | fields)
        self.index += 1
        effect = Intake(self.bench, CHANGE).decide(operation, Source("reflection_1", self.index, evidence, ("l1",)))
        with self.bench.database.write() as session:
            return effect(session)

    def add(self, **fields: Any) -> dict[str, Any]:
        return self.take("ADD", **{"condition": CONDITION, "action": ACTION} | fields)

    def rule(self, rule_id: str) -> Rule:
        with self.bench.database.read() as session:
            return get_rule(session, rule_id)

    def rows(self, table: Any) -> list[Any]:
        with self.bench.database.read() as session:
            return list(session.exec(select(table)).all())


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, server: ModelServer) -> Desk:
    return make_desk(tmp_path, server, WordEmbedder())


def make_desk(tmp_path: Path, server: ModelServer, embedder: Embedder) -> Desk:
    server.answer = judge = Judge()
    parts = make_bench(tmp_path, server.base_url)
    client: ModelClient = parts.client
    bench = Bench(
        SETTINGS, parts.database, client, embedder, lambda: NOW, DOMAIN, lambda: pytest.fail("not played"), "test"
    )
    return Desk(bench, judge)


def make_rule(desk: Desk, rule_id: str = "r", *, live: bool = False, approved: bool = False, **fields: Any) -> None:
    content: dict[str, Any] = {
        "name": "Rotate",
        "condition": CONDITION,
        "action": ACTION,
        "domain": DOMAIN,
        "confidence": 0.8,
    }
    columns = {name: fields.pop(name) for name in ("n_used", "n_success", "avg_delta", "verified") if name in fields}
    with desk.bench.database.write() as session:
        draft = RuleContent(**content | fields)
        rule = create_rule(session, draft, CHANGE, origin="reflection", id=rule_id, evidence=["e0"], **columns)
        if live:
            move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, CHANGE)
        if approved:
            edit_rule(session, rule, {"approved_by": "ada"}, Change("ada", lambda: NOW), kind="approved")


def detectors(outcome: dict[str, Any]) -> list[str]:
    return [reason["detector"] for reason in outcome["reasons"]]


def test_a_good_draft_becomes_a_candidate_with_its_evidence(desk: Desk) -> None:
    outcome = desk.add(exclusion="it is a read-only snapshot")
    rule = desk.rule(outcome["rule_id"])
    assert (outcome["result"], rule.state, rule.origin, rule.created_round) == ("created", "candidate", "reflection", 3)
    assert (rule.evidence, rule.lineage, rule.domain) == (["e1"], ["l1"], DOMAIN)
    assert desk.judge.asked == [], "a draft that meets nothing costs nothing"


@pytest.mark.parametrize(
    ("fields", "detector"),
    [
        ({"confidence": 0.69}, "confidence"),
        ({"condition": "it fails", "action": "retry"}, "length"),
        ({"action": "be careful and think twice about everything you do"}, "vacuous"),
        ({"action": "restart 10.0.3.17 and then delete all of its archives"}, "single_case"),
        ({"action": " ".join(["rotate the logs"] * 40)}, "length"),
    ],
)
def test_a_bad_draft_is_refused_and_kept_with_its_reason(desk: Desk, fields: dict[str, Any], detector: str) -> None:
    outcome = desk.add(**fields)
    (refusal,) = desk.rows(Refusal)
    assert outcome["result"] == "refused"
    assert detector in detectors(outcome)
    assert (refusal.reasons, refusal.draft["evidence"], refusal.round_number) == (outcome["reasons"], ["e1"], 3)
    assert desk.rows(Rule) == []


LONG = " ".join(["rotate the logs and delete old archives"] * 6)


def test_a_long_draft_goes_back_once_for_shortening(desk: Desk) -> None:
    outcome = desk.add(action=LONG)
    assert (outcome["result"], desk.rule(outcome["rule_id"]).action) == ("created", ACTION)
    assert desk.judge.asked == ["shorten"]


def test_a_draft_that_stays_too_long_is_refused(desk: Desk) -> None:
    desk.judge.shorter = {"action": LONG}
    outcome = desk.add(action=LONG)
    assert (outcome["result"], detectors(outcome), desk.judge.asked) == ("refused", ["too_long"], ["shorten"])


def test_the_same_words_again_are_a_duplicate_whatever_the_model_would_say(desk: Desk) -> None:
    make_rule(desk)
    desk.judge.equivalent = False
    outcome = desk.add()
    assert (outcome["result"], outcome["rule_id"], desk.judge.asked) == ("duplicate", "r", [])
    assert len(desk.rows(Rule)) == 1


def test_a_merge_that_adds_nothing_is_a_duplicate(desk: Desk) -> None:
    make_rule(desk)
    desk.judge.wider = {"name": "Rotate", "condition": CONDITION, "action": ACTION, "exclusion": ""}
    outcome = desk.add(condition="the log volume is full")
    assert (outcome["result"], outcome["rule_id"], desk.judge.asked) == ("duplicate", "r", ["merge"])
    assert len(desk.rows(Rule)) == 1


def test_nearly_the_same_is_merged_and_keeps_what_was_counted(desk: Desk) -> None:
    make_rule(desk, n_used=10, n_success=7, avg_delta=0.2, verified=3)
    outcome = desk.add(condition="the log volume is full")
    merged, parent = desk.rule(outcome["rule_id"]), desk.rule("r")
    assert (outcome["result"], merged.origin, merged.parents, merged.condition) == (
        "merged", "merge", ["r"], WIDER["condition"]
    )  # fmt: skip
    assert (merged.n_used, merged.n_success, merged.avg_delta, merged.verified) == (10, 7, 0.2, 3)
    assert (merged.evidence, parent.state, parent.merged_into) == (["e0", "e1"], "archived", merged.id)


def test_what_the_model_tells_apart_stands_beside(desk: Desk) -> None:
    make_rule(desk)
    desk.judge.equivalent = False
    outcome = desk.add(condition="the log volume is full")
    assert (outcome["result"], desk.rule("r").state, len(desk.rows(Rule))) == ("created", "candidate", 2)


OPPOSITE = {"condition": CONDITION, "action": "do not rotate the logs and do not delete archives"}


def test_a_contradiction_is_queued_for_people_with_the_new_candidate(desk: Desk) -> None:
    make_rule(desk, live=True)
    outcome = desk.add(**OPPOSITE)
    (conflict,) = desk.rows(Conflict)
    assert (outcome["result"], conflict.status) == ("created", "open")
    assert {conflict.rule_a, conflict.rule_b} == {"r", outcome["rule_id"]}


def archived_by_a_person(desk: Desk, act: str) -> None:
    who: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW, "reason": "no", "version": 1}
    {"refuse": curation.refuse, "archive": curation.archive}[act](desk.bench.database, rule_id="r", **who)


@pytest.mark.parametrize("act", ["refuse", "archive"])
def test_what_a_person_refused_does_not_come_back(desk: Desk, act: str) -> None:
    make_rule(desk)
    archived_by_a_person(desk, act)
    outcome = desk.add()
    assert (outcome["result"], detectors(outcome)) == ("refused", ["refused_before"])
    assert [rule.id for rule in desk.rows(Rule)] == ["r"]


def test_what_a_person_refused_does_not_come_back_in_other_words(tmp_path: Path, server: ModelServer) -> None:
    desk = make_desk(tmp_path, server, packaged_embedder())
    make_rule(desk)
    archived_by_a_person(desk, "refuse")
    reworded = desk.add(
        condition="the log disk is almost full", action="delete archives older than a week and rotate the logs"
    )
    assert (reworded["result"], detectors(reworded)) == ("refused", ["refused_before"])
    assert desk.add(**OTHER)["result"] == "created"


def test_what_a_person_restored_may_be_said_again(desk: Desk) -> None:
    make_rule(desk)
    archived_by_a_person(desk, "refuse")
    curation.restore(
        desk.bench.database, rule_id="r", version=2, reason="true after all", actor="ada", clock=lambda: NOW
    )
    assert desk.add()["result"] == "duplicate"


BY_THE_LOOP: dict[Cause, tuple[tuple[State, Cause], ...]] = {
    Cause.UNRETRIEVED: ((State.ARCHIVED, Cause.UNRETRIEVED),),
    Cause.PRUNED: ((State.ARCHIVED, Cause.PRUNED),),
    Cause.NO_RECOVERY: (
        (State.ACTIVE, Cause.VERIFIED),
        (State.PROBATION, Cause.TRIMMED),
        (State.ARCHIVED, Cause.NO_RECOVERY),
    ),
    Cause.HARMFUL: ((State.ARCHIVED, Cause.HARMFUL),),
}


def archived_by_the_loop(desk: Desk, cause: Cause, rule_id: str = "r") -> None:
    with desk.bench.database.write() as session:
        for to, why in BY_THE_LOOP[cause]:
            move_rule(session, get_rule(session, rule_id), to, why, CHANGE)


@pytest.mark.parametrize("cause", [Cause.UNRETRIEVED, Cause.PRUNED, Cause.NO_RECOVERY])
def test_what_the_loop_archived_comes_back_with_its_record(desk: Desk, cause: Cause) -> None:
    make_rule(desk, n_used=10, n_success=7, avg_delta=0.2, verified=3, approved=True)
    archived_by_the_loop(desk, cause)
    outcome = desk.add(condition="the log volume is full")
    (rule,) = desk.rows(Rule)
    assert (outcome["result"], outcome["rule_id"], desk.judge.asked) == ("reentered", "r", ["merge"])
    assert (rule.state, rule.condition, rule.approved_by) == ("candidate", CONDITION, None), "approved anew, as it was"
    assert (rule.n_used, rule.n_success, rule.avg_delta, rule.verified) == (10, 7, 0.2, 3)
    assert (rule.evidence, rule.lineage) == (["e0", "e1"], ["l1"])
    assert desk.rows(RuleEvent)[-1].kind == "reentered"


def test_what_the_loop_archived_comes_back_for_its_own_words_without_a_question(desk: Desk) -> None:
    make_rule(desk)
    archived_by_the_loop(desk, Cause.UNRETRIEVED)
    assert (desk.add()["result"], desk.judge.asked) == ("reentered", [])


def test_what_the_loop_archived_stays_there_if_the_draft_says_something_else(desk: Desk) -> None:
    make_rule(desk)
    archived_by_the_loop(desk, Cause.UNRETRIEVED)
    desk.judge.equivalent = False
    assert desk.add(condition="the log volume is full")["result"] == "created"
    assert desk.rule("r").state == "archived"


def test_what_was_archived_as_harmful_does_not_come_back(desk: Desk) -> None:
    make_rule(desk)
    archived_by_the_loop(desk, Cause.HARMFUL)
    outcome = desk.add()
    assert (outcome["result"], detectors(outcome)) == ("refused", ["refused_before"])
    assert "did harm" in outcome["reasons"][0]["template"]
    assert desk.rule("r").state == "archived"


def test_the_last_word_on_an_archived_rule_counts(desk: Desk) -> None:
    """A person refused it, thought better of it, and then nobody asked for it."""
    make_rule(desk)
    archived_by_a_person(desk, "refuse")
    who: dict[str, Any] = {"reason": "true after all", "actor": "ada", "clock": lambda: NOW}
    curation.restore(desk.bench.database, rule_id="r", version=2, **who)
    archived_by_the_loop(desk, Cause.UNRETRIEVED)
    assert desk.add()["result"] == "reentered"


def test_what_comes_back_is_held_against_the_library_of_today(desk: Desk) -> None:
    make_rule(desk)
    archived_by_the_loop(desk, Cause.PRUNED)
    make_rule(desk, "opposite", live=True, **OPPOSITE)
    assert desk.add()["result"] == "reentered"
    (conflict,) = desk.rows(Conflict)
    assert ({conflict.rule_a, conflict.rule_b}, conflict.status) == ({"r", "opposite"}, "open")


def test_a_rule_does_not_come_back_beside_a_merge_of_it(desk: Desk) -> None:
    make_rule(desk)
    archived_by_the_loop(desk, Cause.UNRETRIEVED)
    with desk.bench.database.write() as session:
        draft = RuleContent(name="Merge", domain=DOMAIN, **OTHER)
        create_rule(session, draft, CHANGE, origin="merge", id="m", parents=["r"])
    assert desk.add()["result"] == "created"


def test_an_edit_changes_a_rule_that_nobody_approved(desk: Desk) -> None:
    make_rule(desk, live=True)
    outcome = desk.take("EDIT", target="r", condition=CONDITION, action="rotate the logs and compress old archives")
    assert (outcome["result"], desk.rule("r").action) == ("edited", "rotate the logs and compress old archives")
    assert desk.rows(Proposal) == []
    assert (desk.rule("r").evidence, desk.rule("r").lineage) == (["e0", "e1"], ["l1"]), "it comes from these too"


def test_a_rule_is_not_its_own_lineage(desk: Desk) -> None:
    make_rule(desk, "l1", live=True)
    desk.take("EDIT", target="l1", condition=CONDITION, action="rotate the logs and compress old archives")
    assert desk.rule("l1").lineage == []


def test_an_edit_that_makes_two_rules_say_the_same_merges_them(desk: Desk) -> None:
    first = desk.add()["rule_id"]
    second = desk.add(**OTHER)["rule_id"]
    with desk.bench.database.write() as session:
        for rule_id, used, success, delta in ((first, 30, 12, -0.1), (second, 10, 7, 0.2)):
            rule = get_rule(session, rule_id)
            rule.n_used, rule.n_success, rule.avg_delta = used, success, delta
    taken = desk.take("EDIT", target=second, condition="the log volume is full", action=ACTION)
    assert taken["result"] == "merged"
    merged = desk.rule(taken["rule_id"])
    assert (merged.n_used, merged.n_success, round(merged.avg_delta, 6)) == (40, 19, -0.025)
    assert {desk.rule(first).merged_into, desk.rule(second).merged_into} == {merged.id}
    assert merged.condition == WIDER["condition"]


def test_an_edit_stays_an_edit_when_the_model_tells_the_two_apart(desk: Desk) -> None:
    first = desk.add()["rule_id"]
    second = desk.add(**OTHER)["rule_id"]
    desk.judge.equivalent = desk.judge.conflict = False
    taken = desk.take("EDIT", target=second, condition="the log volume is full", action=ACTION)
    assert taken["result"] == "edited"
    assert {desk.rule(first).state, desk.rule(second).state} == {State.CANDIDATE}


def test_an_edit_to_the_same_words_merges_whatever_the_model_would_say(desk: Desk) -> None:
    first = desk.add()["rule_id"]
    second = desk.add(**OTHER)["rule_id"]
    desk.judge.equivalent = False
    taken = desk.take("EDIT", target=second, condition=CONDITION, action=ACTION)
    merged = desk.rule(taken["rule_id"])
    assert (taken["result"], set(merged.parents), merged.condition) == ("merged", {first, second}, CONDITION)


def test_an_edit_of_what_a_person_approved_is_only_proposed(desk: Desk) -> None:
    make_rule(desk, approved=True)
    outcome = desk.take("EDIT", target="r", condition=CONDITION, action="rotate the logs and compress old archives")
    (proposal,) = desk.rows(Proposal)
    assert (outcome["result"], desk.rule("r").action) == ("proposed", ACTION)
    assert (proposal.rule_version, proposal.after["action"], proposal.evidence, proposal.status) == (
        2, "rotate the logs and compress old archives", ["e1"], "open"
    )  # fmt: skip
    assert proposal.after["lineage"] == ["l1"], "for the rule's own, once a person accepts"


def test_an_edit_of_a_live_rule_is_only_proposed_where_nothing_can_be_tested(desk: Desk) -> None:
    make_rule(desk, live=True)
    desk.bench = replace(desk.bench, testable=False)
    outcome = desk.take("EDIT", target="r", condition=CONDITION, action="rotate the logs and compress old archives")
    assert (outcome["result"], desk.rule("r").action) == ("proposed", ACTION)


def test_an_edit_that_ends_a_contradiction_closes_its_conflict(desk: Desk) -> None:
    make_rule(desk)
    outcome = desk.add(**OPPOSITE)
    desk.take("EDIT", target=outcome["rule_id"], **OTHER)
    (conflict,) = desk.rows(Conflict)
    assert conflict.status == "resolved"


def test_a_merge_into_what_a_person_approved_is_only_proposed(desk: Desk) -> None:
    make_rule(desk, approved=True)
    make_rule(desk, "s", **OTHER)
    desk.judge.conflict = False
    taken = desk.take("EDIT", target="s", condition="the log volume is full", action=ACTION)
    (proposal,) = desk.rows(Proposal)
    assert (taken["result"], proposal.rule_id, proposal.after["lineage"]) == ("proposed", "r", ["l1", "s"])


def test_a_draft_that_would_change_what_a_person_approved_is_only_proposed(desk: Desk) -> None:
    make_rule(desk, approved=True)
    assert desk.add(condition="the log volume is full")["result"] == "proposed"
    assert (desk.rule("r").state, len(desk.rows(Rule)), len(desk.rows(Proposal))) == ("candidate", 1, 1)


def test_two_rules_are_merged_into_one_with_added_statistics(desk: Desk) -> None:
    make_rule(desk, "a", n_used=10, n_success=7, avg_delta=0.2)
    make_rule(desk, "b", n_used=30, n_success=12, avg_delta=-0.1, live=True)
    outcome = desk.take("MERGE", target="a", other="b")
    merged = desk.rule(outcome["rule_id"])
    assert (merged.n_used, merged.n_success, merged.parents) == (40, 19, ["a", "b"])
    assert merged.avg_delta == pytest.approx(-0.025)
    assert [desk.rule(name).state for name in ("a", "b")] == ["archived", "archived"]


def test_a_merge_is_held_against_the_rest_of_the_library(desk: Desk) -> None:
    """What it contradicts was no business of its parents: neither of them asked for it."""
    make_rule(desk, "a")
    make_rule(desk, "b")
    make_rule(desk, "opposite", live=True, **OPPOSITE)
    taken = desk.take("MERGE", target="a", other="b")
    assert taken["result"] == "merged"
    (conflict,) = desk.rows(Conflict)
    assert {conflict.rule_a, conflict.rule_b} == {"opposite", taken["rule_id"]}
    assert conflict.status == "open"


def test_rules_that_are_not_equivalent_are_not_merged(desk: Desk) -> None:
    make_rule(desk, "a")
    make_rule(desk, "b", **OTHER)
    desk.judge.equivalent = False
    assert desk.take("MERGE", target="a", other="b")["result"] == "ignored"
    assert [desk.rule(name).state for name in ("a", "b")] == ["candidate", "candidate"]


@pytest.mark.parametrize(("op", "confidence"), [("UPVOTE", 0.83), ("DOWNVOTE", 0.75)])
def test_votes_move_the_confidence_a_little(desk: Desk, op: str, confidence: float) -> None:
    make_rule(desk, approved=True)
    assert desk.take(op, target="r")["result"] == "voted"
    assert desk.rule("r").confidence == confidence


def test_votes_stay_in_range(desk: Desk) -> None:
    make_rule(desk, confidence=0.99)
    for _ in range(3):
        desk.take("UPVOTE", target="r")
    assert desk.rule("r").confidence == 1.0


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "EDIT", "target": ""},
        {"op": "UPVOTE", "target": "nowhere"},
        {"op": "MERGE", "target": "r", "other": "r"},
        {"op": "MERGE", "target": "r", "other": ""},
        {"op": "DOWNVOTE", "target": "gone"},
        {"op": "EDIT", "target": "r", "condition": CONDITION, "action": ACTION},
    ],
)
def test_operations_that_mean_nothing_change_nothing(desk: Desk, fields: dict[str, Any]) -> None:
    make_rule(desk)
    make_rule(desk, "gone")
    with desk.bench.database.write() as session:
        move_rule(session, get_rule(session, "gone"), State.ARCHIVED, Cause.UNRETRIEVED, CHANGE)
    events = len(desk.rows(RuleEvent))
    assert desk.take(**fields)["result"] == "ignored"
    assert len(desk.rows(RuleEvent)) == events


def test_a_rule_that_somebody_changed_in_between_is_left_alone(desk: Desk) -> None:
    make_rule(desk)
    operation = Operation(
        op="EDIT", target="r", condition=CONDITION, action="rotate the logs and compress old archives", confidence=0.9
    )
    effect = Intake(desk.bench, CHANGE).decide(operation, Source("reflection_1", 0, (), ()))
    with desk.bench.database.write() as session:
        edit_rule(session, get_rule(session, "r"), {"name": "Another"}, Change("ada", lambda: NOW))
    with pytest.raises(ConcurrentChangeError), desk.bench.database.write() as session:
        effect(session)
    assert (desk.rule("r").name, desk.rule("r").action) == ("Another", ACTION)


def test_deciding_alone_writes_nothing(desk: Desk) -> None:
    operation = Operation(op="ADD", name="Rotate", condition=CONDITION, action=ACTION, confidence=0.9)
    Intake(desk.bench, CHANGE).decide(operation, Source("reflection_1", 0, (), ()))
    assert (desk.rows(Rule), desk.rows(Refusal)) == ([], [])


def verify(desk: Desk, **episodes: tuple[str, ...]) -> None:
    """Count verified successes as credit does: rule ids by episode."""
    with desk.bench.database.write() as session:
        for episode_id, rule_ids in episodes.items():
            session.add(an_episode(episode_id))
            session.flush()
            for rule_id in rule_ids:
                session.add(a_use(episode_id, rule_id, compliance="complied", verified=True))
                get_rule(session, rule_id).verified += 1


def test_an_episode_in_which_both_parents_were_verified_is_one_verified_success_of_the_merge(desk: Desk) -> None:
    for name in ("a", "b"):
        make_rule(desk, name)
    verify(desk, e1=("a", "b"), e2=("a", "b"), e3=("b",))
    merged = desk.rule(desk.take("MERGE", target="a", other="b")["rule_id"])
    assert merged.verified == 3, "three episodes, not five"
    make_rule(desk, "c")
    verify(desk, e4=("c", merged.id), e5=("c",))
    wider = desk.rule(desk.take("MERGE", target=merged.id, other="c")["rule_id"])
    assert wider.verified == 5


def test_what_a_person_took_apart_is_not_merged_again(desk: Desk) -> None:
    for name in ("a", "b"):
        make_rule(desk, name)
    merged = desk.take("MERGE", target="a", other="b")["rule_id"]
    who: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
    curation.unmerge(desk.bench.database, rule_id=merged, version=1, reason="different cases", **who)
    assert detectors(desk.take("MERGE", target="b", other="a")) == ["ignored"]
    assert [desk.rule(name).state for name in ("a", "b")] == ["candidate", "candidate"]


def test_uses_in_the_round_of_a_merge_are_in_its_sum_and_stay_with_the_parents(desk: Desk) -> None:
    """Credit comes after reflection: (10, 7) and (30, 12) hold what earlier rounds counted."""
    make_rule(desk, "a", n_used=10, n_success=7, avg_delta=0.2)
    make_rule(desk, "b", n_used=30, n_success=12, avg_delta=-0.1)
    with desk.bench.database.write() as session:
        session.add(an_episode("e1"))
        session.add(an_episode("e2", grade="fail"))
        session.flush()
        session.add_all([a_use(one, rule_id) for one in ("e1", "e2") for rule_id in ("a", "b")])
    merged = desk.take("MERGE", target="a", other="b")["rule_id"]
    with desk.bench.database.write() as session:
        credit_episodes(session, DOMAIN)
    figures = {name: (desk.rule(name).n_used, desk.rule(name).n_success) for name in ("a", "b", merged)}
    assert figures == {"a": (12, 8), "b": (32, 13), merged: (44, 21)}
    # One of two episodes passes, so their four uses lie 0.5 above and below the baseline.
    assert desk.rule(merged).avg_delta == pytest.approx((10 * 0.2 + 30 * -0.1) / 44)
    who: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW, "reason": "different cases"}
    curation.unmerge(desk.bench.database, rule_id=merged, version=1, **who)
    assert {name: (desk.rule(name).n_used, desk.rule(name).n_success) for name in ("a", "b", merged)} == figures


def test_uses_whose_merge_was_rolled_back_before_they_were_counted_are_the_parents(desk: Desk) -> None:
    make_rule(desk, "a", n_used=10, n_success=7)
    make_rule(desk, "b", n_used=30, n_success=12)
    with desk.bench.database.write() as session:
        session.add(an_episode("e1"))
        session.flush()
        session.add(a_use("e1", "a"))
    later = replace(CHANGE, round_number=4)
    effect = Intake(desk.bench, later).decide(
        Operation(op="MERGE", target="a", other="b"), Source("reflection_2", 0, (), ())
    )
    with desk.bench.database.write() as session:
        merged = effect(session)["rule_id"]
    with desk.bench.database.write() as session:
        roll_back_round(session, contents_without_round(session, 4), later)
        credit_episodes(session, DOMAIN)
    assert {name: desk.rule(name).n_used for name in ("a", "b", merged)} == {"a": 11, "b": 30, merged: 40}
