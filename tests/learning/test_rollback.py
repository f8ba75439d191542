"""Taking back what a round did to the library, and nothing else (design section 8, step 4)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, col, select

from core.db import Database, open_database
from core.learning.rollback import contents_without_round, roll_back_round
from core.rules.archive import archived_because
from core.rules.library import SYSTEM, VOTED, Change, content_of, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.pins import pin_rule
from core.tables import Rule, RuleEvent
from core.tables.rules import RuleContent
from tests.learning.rows import DOMAIN, NOW

ROUND = 5
ADA = Change("ada", lambda: NOW)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def by_loop(round_number: int = ROUND) -> Change:
    return Change(SYSTEM, lambda: NOW, round_number=round_number)


def make_rule(session: Session, rule_id: str, *, live: bool = True, born: int = 1) -> Rule:
    draft = RuleContent(name=rule_id, condition="a queue grows", action="drain it", domain=DOMAIN)
    rule = create_rule(session, draft, by_loop(born), origin="reflection", id=rule_id)
    if live:
        move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, by_loop(born))
    return rule


def roll_back(session: Session) -> int:
    return roll_back_round(session, contents_without_round(session, ROUND), by_loop())


def edit(session: Session, rule: Rule, change: Change, action: str = "close it") -> None:
    edit_rule(session, rule, {"action": action, "confidence": 0.9}, change)


def test_new_rules_are_archived_and_edits_undone_and_what_was_counted_stays(database: Database) -> None:
    with database.write() as session:
        old = make_rule(session, "old")
        before = content_of(old)
        edit(session, old, by_loop())
        edit(session, old, by_loop(), "lose it")
        new = make_rule(session, "new", live=False, born=ROUND)
        for rule in (old, new):
            rule.n_used, rule.n_success, rule.avg_delta, rule.verified = 7, 5, 0.2, 3
        assert roll_back(session) == 2
        assert content_of(old) == before
        assert new.state == "archived"
        assert {(r.n_used, r.n_success, r.avg_delta, r.verified) for r in (old, new)} == {(7, 5, 0.2, 3)}
        kinds = session.exec(select(RuleEvent.kind).order_by(col(RuleEvent.id))).all()
        assert list(kinds[-2:]) == ["gate", "gate"], "a rollback adds to history"


def test_a_merge_is_taken_back_with_its_parents(database: Database) -> None:
    with database.write() as session:
        parents = [make_rule(session, name) for name in ("a", "b")]
        before = [content_of(parent) for parent in parents]
        make_rule(session, "merged", live=False, born=ROUND)
        for parent in parents:
            move_rule(session, parent, State.ARCHIVED, Cause.MERGED, by_loop(), merged_into="merged")
        roll_back(session)
        assert [content_of(parent) for parent in parents] == before
        assert get_rule(session, "merged").state == "archived"


def test_other_rounds_are_left_alone(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "r")
        edit(session, rule, by_loop(ROUND - 1))
        assert contents_without_round(session, ROUND) == {}
        edit(session, rule, by_loop(), "lose it")
        roll_back(session)
        assert rule.action == "close it"


@pytest.mark.parametrize("act", ["approve", "edit", "archive"])
def test_what_a_person_touched_meanwhile_is_kept(database: Database, act: str) -> None:
    acts: dict[str, Callable[[Session, Rule], None]] = {
        "approve": lambda s, r: edit_rule(s, r, {"approved_by": "ada"}, ADA, kind="approved"),
        "edit": lambda s, r: edit(s, r, ADA, "ask the owner"),
        "archive": lambda s, r: move_rule(s, r, State.ARCHIVED, Cause.PERSON, ADA),
    }
    with database.write() as session:
        old, new = make_rule(session, "old"), make_rule(session, "new", live=False, born=ROUND)
        edit(session, old, by_loop())
        for rule in (old, new):
            acts[act](session, rule)
        kept = [content_of(rule) for rule in (old, new)]
        assert roll_back(session) == 0
        assert [content_of(rule) for rule in (old, new)] == kept


def test_what_a_person_did_before_the_round_is_restored_as_it_was(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "r")
        edit(session, rule, ADA, "ask the owner")
        edit(session, rule, by_loop())
        roll_back(session)
        assert rule.action == "ask the owner"


def earn(session: Session, rule: Rule, *steps: tuple[State, Cause]) -> None:
    for to, cause in steps:
        move_rule(session, rule, to, cause, by_loop())


EARNED: list[tuple[list[tuple[State, Cause]], str]] = [
    ([(State.PROBATION, Cause.HARMFUL)], "probation"),
    ([(State.PROBATION, Cause.TRIMMED)], "probation"),
    ([(State.PROBATION, Cause.TRIMMED), (State.ARCHIVED, Cause.NO_RECOVERY)], "archived"),
    ([(State.PROBATION, Cause.TRIMMED), (State.ACTIVE, Cause.RECOVERED)], "active"),
]


@pytest.mark.parametrize(("steps", "state"), EARNED)
@pytest.mark.parametrize("edited", [False, True])
def test_moves_that_rest_on_what_was_counted_are_kept(
    database: Database, steps: list[Any], state: str, edited: bool
) -> None:
    with database.write() as session:
        rule = make_rule(session, "r")
        if edited:
            edit(session, rule, by_loop())
        earn(session, rule, *steps)
        since = rule.probation_since
        roll_back(session)
        assert (rule.state, rule.action, rule.probation_since) == (state, "drain it", since)


@pytest.mark.parametrize("edited", [False, True])
def test_a_candidate_that_was_verified_stays_live(database: Database, edited: bool) -> None:
    with database.write() as session:
        rule = make_rule(session, "r", live=False)
        if edited:
            edit(session, rule, by_loop())
        earn(session, rule, (State.ACTIVE, Cause.VERIFIED))
        roll_back(session)
        assert (rule.state, rule.action) == ("active", "drain it")


def test_a_new_rule_goes_even_if_it_was_verified_at_once(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "r", born=ROUND)
        roll_back(session)
        assert rule.state == "archived"


def test_pruning_is_undone_but_the_demotion_before_it_is_not(database: Database) -> None:
    with database.write() as session:
        rule, demoted = make_rule(session, "r"), make_rule(session, "demoted")
        earn(session, rule, (State.ARCHIVED, Cause.PRUNED))
        earn(session, demoted, (State.PROBATION, Cause.HARMFUL), (State.ARCHIVED, Cause.PRUNED))
        roll_back(session)
        assert (rule.state, demoted.state, demoted.probation_since) == ("active", "probation", ROUND)


def test_a_change_that_came_to_nothing_needs_no_rollback(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "r")
        edit(session, rule, by_loop())
        edit_rule(session, rule, {"action": "drain it", "confidence": 0.7}, by_loop())
        assert contents_without_round(session, ROUND) == {}


def test_rolling_back_twice_changes_nothing_more(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "r")
        edit(session, rule, by_loop())
        assert roll_back(session) == 1
        assert roll_back(session) == 0
        assert rule.action == "drain it"


def test_nothing_comes_back_beside_a_kept_rule_that_it_became_part_of_in_two_steps(database: Database) -> None:
    with database.write() as session:
        parts = [make_rule(session, name) for name in ("a", "b", "c")]
        for merged_id, parents in (("ab", ["a", "b"]), ("abc", ["ab", "c"])):
            draft = RuleContent(name=merged_id, condition="a queue grows", action="drain it", domain=DOMAIN)
            create_rule(session, draft, by_loop(), origin="merge", id=merged_id, parents=parents)
            for parent in parents:
                rule = get_rule(session, parent)
                move_rule(session, rule, State.ARCHIVED, Cause.MERGED, by_loop(), merged_into=merged_id)
        edit_rule(session, get_rule(session, "abc"), {"approved_by": "ada"}, ADA, kind="approved")
        assert roll_back(session) == 0
        assert {part.state for part in parts} == {"archived"}


@pytest.mark.parametrize("before_the_loop", [True, False])
def test_a_rollback_brings_nothing_back_that_a_person_quarantined_in_the_round(
    database: Database, before_the_loop: bool
) -> None:
    """Neither the rule itself, nor what the round had merged into it."""
    with database.write() as session:
        parents = [make_rule(session, name) for name in ("a", "b")]
        edited, merged = make_rule(session, "edited"), make_rule(session, "merged", live=False, born=ROUND)
        if before_the_loop:
            move_rule(session, edited, State.ARCHIVED, Cause.QUARANTINED, ADA)
        else:
            edit(session, edited, by_loop())
            edit_rule(session, edited, {"confidence": 0.3}, by_loop(), kind=VOTED)
        for parent in parents:
            move_rule(session, parent, State.ARCHIVED, Cause.MERGED, by_loop(), merged_into="merged")
        merged.parents = ["a", "b"]
        for rule in (edited, merged):
            if rule.state != State.ARCHIVED:
                move_rule(session, rule, State.ARCHIVED, Cause.QUARANTINED, ADA)
        assert roll_back(session) == 0
        assert {rule.state for rule in (edited, merged, *parents)} == {"archived"}


@pytest.mark.parametrize("earned", [None, Cause.VERIFIED, Cause.HARMFUL])
def test_what_came_back_from_the_archive_in_the_round_goes_there_again_and_may_come_back_later(
    database: Database, earned: Cause | None
) -> None:
    with database.write() as session:
        rule = make_rule(session, "r", live=False)
        move_rule(session, rule, State.ARCHIVED, Cause.UNRETRIEVED, by_loop(ROUND - 1))
        before = content_of(rule)
        move_rule(session, rule, State.CANDIDATE, Cause.REENTERED, by_loop(), evidence=["e1"], lineage=["l1"])
        rule.n_used, rule.verified = 9, 4
        if earned is not None:
            earn(session, rule, (State.ACTIVE if earned is Cause.VERIFIED else State.ARCHIVED, earned))
        assert roll_back(session) == 1
        assert content_of(rule) == before
        assert (rule.n_used, rule.verified) == (9, 4)
        cause = Cause.HARMFUL if earned is Cause.HARMFUL else Cause.UNRETRIEVED
        assert archived_because(session, DOMAIN) == {"r": cause}, "where it was sent before; harm stays known"


def test_a_pin_says_nothing_about_an_edit_that_did_not_pass(database: Database) -> None:
    with database.write() as session:
        rule = make_rule(session, "pinned")
        before = content_of(rule)
        edit(session, rule, by_loop())
        pin_rule(session, rule, ADA)
        assert roll_back(session) == 1
        assert content_of(rule) == before
