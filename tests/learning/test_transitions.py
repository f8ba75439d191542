"""Which rules change their state after a round (design section 4)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core.db import Database, open_database
from core.learning.harm import Record
from core.learning.transitions import apply_transitions, gather_evidence, prune
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.pins import pin_rule
from core.rules.utility import Ucb
from core.settings import LifecycleSettings, UtilitySettings
from core.tables import Conflict, Rule, RuleEvent
from core.tables.rules import RuleContent
from tests.learning.rows import DOMAIN, NOW, a_round, a_use, an_episode

SETTINGS = LifecycleSettings()
HARMFUL, FINE, SHAKY = Record(2, 28, 40, 20), Record(25, 5, 40, 20), Record(16, 14, 40, 20)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def change(round_number: int | None, actor: str = SYSTEM) -> Change:
    return Change(actor, lambda: NOW, round_number=round_number)


def make_rule(
    database: Database, rule_id: str = "r", *, state: str = "candidate", born: int = 1, **columns: Any
) -> None:
    draft = RuleContent(name=rule_id, condition="a queue grows", action="drain it", domain=DOMAIN)
    with database.write() as session:
        rule = create_rule(session, draft, change(born), origin="reflection", id=rule_id, **columns)
        if state != "candidate":
            move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, change(born))
        if state == "probation":
            move_rule(session, rule, State.PROBATION, Cause.TRIMMED, change(born))


def settle(
    database: Database,
    round_number: int = 2,
    record: Record | None = None,
    *,
    trimmed: float = 0.0,
    testable: bool = True,
    **settings: Any,
) -> None:
    """Apply the transitions of a round in which rule r has this record and this share of trims."""
    lifecycle = SETTINGS.model_copy(update=settings)
    with database.write() as session:
        found = gather_evidence(session, DOMAIN, round_number, {"r": record} if record else {})
        evidence = replace(found, trimmed_share={"r": trimmed})
        apply_transitions(session, DOMAIN, evidence, lifecycle, change(round_number), testable=testable)


def state(database: Database, rule_id: str = "r") -> str:
    with database.read() as session:
        return get_rule(session, rule_id).state


def last_event(database: Database) -> RuleEvent:
    with database.read() as session:
        return session.exec(select(RuleEvent)).all()[-1]


CANDIDATES = [
    ({"verified": 3, "approved_by": "ada"}, None, {}, "active"),
    ({"verified": 2, "approved_by": "ada"}, None, {}, "candidate"),
    ({"verified": 3}, None, {}, "candidate"),
    ({"verified": 3}, None, {"approval": "auto"}, "active"),
    ({"verified": 2}, None, {"approval": "auto"}, "candidate"),
    ({"verified": 9, "approved_by": "ada"}, HARMFUL, {}, "archived"),
    ({"verified": 3, "approved_by": "ada"}, FINE, {}, "active"),
    ({"verified": 3, "approved_by": "ada"}, SHAKY, {}, "active"),
]


@pytest.mark.parametrize(("columns", "record", "settings", "becomes"), CANDIDATES)
def test_candidates(
    database: Database, columns: dict[str, Any], record: Record | None, settings: dict[str, Any], becomes: str
) -> None:
    make_rule(database, **columns)
    settle(database, 2, record, **settings)
    assert state(database) == becomes


@pytest.mark.parametrize(
    ("record", "trimmed", "becomes", "kind"),
    [
        (None, 0.0, "active", "verified"),
        (FINE, 0.5, "active", "verified"),  # half is not most
        (FINE, 0.51, "probation", "trimmed"),
        (SHAKY, 0.0, "active", "verified"),
        (HARMFUL, 0.0, "probation", "harmful"),
    ],
)
def test_active_rules(database: Database, record: Record | None, trimmed: float, becomes: str, kind: str) -> None:
    make_rule(database, state="active")
    settle(database, 2, record, trimmed=trimmed)
    assert (state(database), last_event(database).kind) == (becomes, kind)


@pytest.mark.parametrize(
    ("round_number", "record", "becomes"),
    [
        (3, HARMFUL, "probation"),
        (4, HARMFUL, "archived"),  # on probation since round 1: three rounds
        (3, None, "probation"),
        (4, None, "archived"),
        (2, SHAKY, "probation"),  # P(worse) is 0.9: not back at the baseline
        (2, FINE, "active"),
        (4, FINE, "active"),
    ],
)
def test_rules_on_probation(database: Database, round_number: int, record: Record | None, becomes: str) -> None:
    make_rule(database, state="probation")
    settle(database, round_number, record)
    assert state(database) == becomes


@pytest.mark.parametrize("from_state", ["candidate", "probation"])
def test_nothing_goes_live_without_room(database: Database, from_state: str) -> None:
    make_rule(database, "first", state="active")
    make_rule(database, state=from_state, verified=3, approved_by="ada")
    settle(database, 2, FINE, capacity=1)
    assert state(database) == from_state
    settle(database, 2, FINE, capacity=2)
    assert state(database) == "active"


@pytest.mark.parametrize(("approved_by", "becomes"), [(None, "candidate"), ("ada", "active")])
def test_where_nothing_can_be_tested_only_what_a_person_approved_goes_live(
    database: Database, approved_by: str | None, becomes: str
) -> None:
    make_rule(database, verified=3, approved_by=approved_by)
    settle(database, testable=False, approval="auto")
    assert state(database) == becomes


def test_room_is_given_out_once(database: Database) -> None:
    for name in ("a", "b", "c"):
        make_rule(database, name, verified=3, approved_by="ada")
    settle(database, capacity=2)
    assert [state(database, name) for name in ("a", "b", "c")] == ["active", "active", "candidate"]


def test_a_rule_in_an_open_conflict_waits(database: Database) -> None:
    make_rule(database, verified=3, approved_by="ada")
    make_rule(database, "other", state="active")
    with database.write() as session:
        finding = ConflictFinding("other", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "r"), [finding], change(None))
    settle(database)
    assert (state(database), state(database, "other")) == ("candidate", "active")


@pytest.mark.parametrize(
    ("born", "retrieved", "round_number", "becomes"),
    [
        (1, None, 5, "candidate"),
        (1, None, 6, "archived"),
        (1, 4, 8, "candidate"),
        (1, 4, 9, "archived"),
        (7, None, 8, "candidate"),
    ],
)
def test_a_candidate_that_no_prompt_asks_for_goes_after_five_rounds(
    database: Database, born: int, retrieved: int | None, round_number: int, becomes: str
) -> None:
    make_rule(database, born=born, last_retrieved_round=retrieved)
    settle(database, round_number)
    assert state(database) == becomes


def test_the_five_rounds_of_a_restored_candidate_start_anew(database: Database) -> None:
    make_rule(database)
    with database.write() as session:
        rule = get_rule(session, "r")
        move_rule(session, rule, State.ARCHIVED, Cause.PERSON, change(2, "ada"))
        move_rule(session, rule, State.CANDIDATE, Cause.PERSON, change(20, "ada"))
    settle(database, 24)
    assert state(database) == "candidate"
    settle(database, 25)
    assert state(database) == "archived"


def test_a_rule_takes_one_step_a_round(database: Database) -> None:
    make_rule(database, verified=3, approved_by="ada")
    settle(database, 2, trimmed=0.9)
    assert state(database) == "active"
    settle(database, 3, trimmed=0.9)
    assert state(database) == "probation"


def test_rules_of_other_domains_are_left_alone(database: Database) -> None:
    make_rule(database, verified=3, approved_by="ada")
    with database.write() as session:
        get_rule(session, "r").domain = "another"
    settle(database)
    assert state(database) == "candidate"


def test_an_event_says_what_the_decision_rests_on(database: Database) -> None:
    make_rule(database, state="active")
    settle(database, 7, HARMFUL)
    event = last_event(database)
    assert (event.actor, event.round_number, event.from_state, event.to_state) == (SYSTEM, 7, "active", "probation")
    assert "2 of 30 passed with it, baseline 40 of 60" in event.reason.format(**event.reason_values)


def test_trims_are_counted_over_the_rounds_training_prompts(database: Database) -> None:
    make_rule(database, state="active")
    with database.write() as session:
        session.add_all([a_round(1), a_round(2)])
        for name, disposition, columns in (
            ("a", "trimmed", {}),
            ("b", "trimmed", {}),
            ("c", "served", {}),
            ("d", "left_out", {}),
            ("e", "trimmed", {"arm": "after"}),
            ("f", "trimmed", {"round_number": 1}),
        ):
            session.add(an_episode(name, **{"round_number": 2, **columns}))
            session.flush()
            session.add(a_use(name, "r", disposition=disposition))
    with database.read() as session:
        assert gather_evidence(session, DOMAIN, 2, {}).trimmed_share == {"r": 0.5}


def test_pruning_archives_the_lowest_utility_and_says_so(database: Database) -> None:
    make_rule(database, "good", state="active", n_used=50, n_success=45)
    make_rule(database, "bad", state="active", n_used=50, n_success=5)
    make_rule(database, "new")
    scorer = Ucb(UtilitySettings(), 1.2)
    with database.write() as session:
        prune(session, DOMAIN, scorer, SETTINGS.model_copy(update={"capacity": 2}), change(3))
    assert [state(database, name) for name in ("good", "bad", "new")] == ["active", "archived", "candidate"]
    assert last_event(database).kind == "pruned"
    # 5 / 50 + 1.2 * sqrt(ln 101 / 50) = 0.4645...
    assert "0.465" in last_event(database).reason.format(**last_event(database).reason_values)


def test_a_pruned_rule_that_was_never_used_leaves_an_event_that_any_database_can_store(database: Database) -> None:
    make_rule(database, "a")
    make_rule(database, "b")
    with database.write() as session:
        prune(session, DOMAIN, Ucb(UtilitySettings(), 1.2), SETTINGS.model_copy(update={"capacity": 1}), change(3))
    assert last_event(database).reason_values == {"utility": "∞"}
    with database.read() as session:
        assert sorted(rule.state for rule in session.exec(select(Rule)).all()) == ["archived", "candidate"]


def test_a_rule_on_probation_does_not_come_back_while_its_conflict_is_open(database: Database) -> None:
    make_rule(database, state="probation")
    make_rule(database, "other", state="active")
    with database.write() as session:
        finding = ConflictFinding("other", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "r"), [finding], change(None))
    settle(database, 2, FINE)
    assert state(database) == "probation"
    with database.write() as session:
        conflict = session.exec(select(Conflict)).one()
        conflict.status = "dismissed"
        session.add(conflict)
    settle(database, 2, FINE)
    assert state(database) == "active"


def test_what_came_back_in_this_round_goes_live_in_a_later_one_at_the_earliest(database: Database) -> None:
    make_rule(database, verified=9)
    with database.write() as session:
        move_rule(session, get_rule(session, "r"), State.ARCHIVED, Cause.UNRETRIEVED, change(1))
        move_rule(session, get_rule(session, "r"), State.CANDIDATE, Cause.REENTERED, change(2))
    settle(database, 2, approval="auto")
    assert state(database) == "candidate"
    settle(database, 3, approval="auto")
    assert state(database) == "active"


def test_what_came_back_with_a_record_of_harm_is_archived_for_it_at_once(database: Database) -> None:
    make_rule(database)
    with database.write() as session:
        move_rule(session, get_rule(session, "r"), State.ARCHIVED, Cause.UNRETRIEVED, change(1))
        move_rule(session, get_rule(session, "r"), State.CANDIDATE, Cause.REENTERED, change(2))
    settle(database, 2, HARMFUL)
    assert (state(database), last_event(database).kind) == ("archived", "harmful")


def pin(database: Database, rule_id: str = "r") -> None:
    with database.write() as session:
        pin_rule(session, get_rule(session, rule_id), change(1, "ada"))


def test_a_pinned_rule_is_neither_pruned_nor_archived_for_want_of_use(database: Database) -> None:
    make_rule(database, last_retrieved_round=1)
    pin(database)
    settle(database, 40)
    with database.write() as session:
        prune(session, DOMAIN, Ucb(UtilitySettings(), 1.2), SETTINGS.model_copy(update={"capacity": 0}), change(40))
    assert state(database) == "candidate"


@pytest.mark.parametrize(("before", "after"), [("candidate", "archived"), ("active", "probation")])
def test_a_pin_is_no_immunity_against_harm(database: Database, before: str, after: str) -> None:
    make_rule(database, state=before)
    pin(database)
    settle(database, record=HARMFUL)
    assert state(database) == after
