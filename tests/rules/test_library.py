"""The library's history: any past moment from events alone, rewinding, optimistic locking."""

from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session, col, select

from core.db import Database, open_database
from core.errors import ConcurrentChangeError, IllegalTransitionError, UserError
from core.rules.library import (
    Change,
    check_apart,
    content_of,
    contents_at,
    create_rule,
    edit_rule,
    get_rule,
    last_event_id,
    move_rule,
    rewind,
    rules_in,
    unmerge,
)
from core.rules.lifecycle import Cause, State
from core.tables import Rule, RuleEvent
from core.tables.rules import RuleContent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CHANGE = Change("ada", lambda: NOW, "because")
ONWARD = {
    State.CANDIDATE: (State.ACTIVE, Cause.PERSON),
    State.ACTIVE: (State.PROBATION, Cause.HARMFUL),
    State.PROBATION: (State.ARCHIVED, Cause.NO_RECOVERY),
    State.ARCHIVED: (State.CANDIDATE, Cause.PERSON),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return open_database(f"sqlite:///{tmp_path_factory.mktemp('library')}/t.db")


def make_rule(session: Session, domain: str = "desk", **fields: Any) -> Rule:
    draft = RuleContent(name="A rule", condition="a queue grows", action="drain it", domain=domain)
    return create_rule(session, draft.model_copy(update=fields), CHANGE, origin="human")


def contents_now(session: Session, domain: str) -> dict[str, dict[str, Any]]:
    return {rule.id: deepcopy(content_of(rule)) for rule in rules_in(session, domain, tuple(State))}


def act(session: Session, domain: str, step: tuple[str, int, str]) -> None:
    """Create, edit, move or count; which rule is said by a number, so that any step can follow any other."""
    kind, number, text = step
    rules = rules_in(session, domain, tuple(State))
    if kind == "create" or not rules:
        make_rule(session, domain, name=text, tags=[text])
        return
    rule = rules[number % len(rules)]
    if kind == "edit":
        edit_rule(session, rule, {"condition": text, "tags": [*rule.tags, text]}, CHANGE)
    elif kind == "move":
        move_rule(session, rule, *ONWARD[State(rule.state)], CHANGE)
    else:
        rule.n_used, rule.n_success, rule.avg_delta = rule.n_used + 1, rule.n_success + number % 2, number / 7
        session.add(rule)
        session.flush()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "edit", "edit", "move", "move", "count"]),
        st.integers(0, 50),
        st.text(alphabet="abc 当时", min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, back_to=st.integers(0, 50))
def test_every_past_moment_is_rebuilt_and_can_be_restored(
    database: Database, steps: list[tuple[str, int, str]], back_to: int
) -> None:
    with Session(database.engine) as session:  # never committed: each example starts afresh
        domain = f"world {last_event_id(session)}"
        moments: list[tuple[int, dict[str, dict[str, Any]]]] = []
        for step in steps:
            act(session, domain, step)
            moments.append((last_event_id(session), contents_now(session, domain)))
        for event_id, snapshot in moments:
            assert contents_at(session, event_id, domain) == snapshot
        counted = {
            rule.id: (rule.n_used, rule.n_success, rule.avg_delta) for rule in rules_in(session, domain, (*State,))
        }

        event_id, snapshot = moments[back_to % len(moments)]
        rewind(session, event_id, CHANGE, domain)

        restored = contents_now(session, domain)
        assert {rule_id: restored[rule_id] for rule_id in snapshot} == snapshot
        assert {restored[later]["state"] for later in restored.keys() - snapshot.keys()} <= {"archived"}
        assert {
            rule.id: (rule.n_used, rule.n_success, rule.avg_delta) for rule in rules_in(session, domain, (*State,))
        } == counted
        for earlier, then in moments:
            assert contents_at(session, earlier, domain) == then, "a rewind adds to history, it does not rewrite it"


def test_rewinding_touches_one_domain_and_counts_what_changed(database: Database) -> None:
    with Session(database.engine) as session:
        mine, other = make_rule(session, "mine"), make_rule(session, "other")
        then = last_event_id(session)
        edit_rule(session, mine, {"action": "close it"}, CHANGE)
        edit_rule(session, other, {"action": "close it"}, CHANGE)
        make_rule(session, "mine")
        assert len(rewind(session, then, CHANGE, "mine")) == 2
        assert (mine.action, other.action) == ("drain it", "close it")
        assert rewind(session, then, CHANGE, "mine") == []


def test_rewinding_leaves_the_quarantined_in_the_archive(database: Database) -> None:
    with Session(database.engine) as session:
        domain = f"quarantine {last_event_id(session)}"
        poisoned, innocent, forgiven, refused = (make_rule(session, domain) for _ in range(4))
        then = last_event_id(session)
        for rule in (poisoned, innocent, forgiven):
            move_rule(session, rule, State.ARCHIVED, Cause.QUARANTINED, CHANGE)
        move_rule(session, refused, State.ARCHIVED, Cause.PERSON, CHANGE)
        move_rule(session, innocent, State.CANDIDATE, Cause.PERSON, CHANGE)
        move_rule(session, innocent, State.ARCHIVED, Cause.UNRETRIEVED, CHANGE)
        taken_out = content_of(poisoned)
        move_rule(session, forgiven, State.CANDIDATE, Cause.PERSON, CHANGE)
        rewind(session, then, CHANGE, domain)
        assert content_of(poisoned) == taken_out, "out of use and as the person left it"
        assert {rule.state for rule in (innocent, forgiven, refused)} == {"candidate"}


def test_rewinding_away_and_back_does_not_forget_that_a_person_forgave(database: Database) -> None:
    with Session(database.engine) as session:
        domain = f"forgiven {last_event_id(session)}"
        nothing = last_event_id(session)
        rule = make_rule(session, domain)
        move_rule(session, rule, State.ARCHIVED, Cause.QUARANTINED, CHANGE)
        move_rule(session, rule, State.CANDIDATE, Cause.PERSON, CHANGE)
        then = last_event_id(session)
        for moment, state in ((nothing, "archived"), (then, "candidate")):
            rewind(session, moment, CHANGE, domain)
            assert rule.state == state


def test_rewinding_leaves_what_was_merged_into_the_quarantined_there_too(database: Database) -> None:
    with Session(database.engine) as session:
        domain = f"merged {last_event_id(session)}"
        parents = [make_rule(session, domain) for _ in range(2)]
        then = last_event_id(session)
        draft = RuleContent(name="Merged", condition="a queue grows", action="drain it", domain=domain)
        merged = create_rule(session, draft, CHANGE, origin="merge", parents=[parent.id for parent in parents])
        for parent in parents:
            move_rule(session, parent, State.ARCHIVED, Cause.MERGED, CHANGE, merged_into=merged.id)
        move_rule(session, merged, State.ARCHIVED, Cause.QUARANTINED, CHANGE)
        assert rewind(session, then, CHANGE, domain) == []
        assert {rule.state for rule in (*parents, merged)} == {"archived"}


def test_each_change_is_one_event_with_before_and_after(database: Database) -> None:
    with Session(database.engine) as session:
        rule = make_rule(session)
        edit_rule(session, rule, {"action": "close it"}, Change("ada", lambda: NOW, "clearer", 4))
        edit_rule(session, rule, {"action": "close it"}, CHANGE)
        move_rule(session, rule, State.ARCHIVED, Cause.PERSON, CHANGE)
        created, edited, moved = session.exec(
            select(RuleEvent).where(RuleEvent.rule_id == rule.id).order_by(col(RuleEvent.id))
        )
        assert (created.before, created.from_state, created.to_state) == (None, None, "candidate")
        assert (edited.kind, edited.actor, edited.reason, edited.round_number) == ("edited", "ada", "clearer", 4)
        assert edited.before is not None
        assert (edited.before["action"], edited.after["action"]) == ("drain it", "close it")
        assert (moved.kind, moved.from_state, moved.to_state) == ("person", "candidate", "archived")
        assert rule.version == 3


def test_probation_remembers_its_round_and_leaving_it_forgets(database: Database) -> None:
    with Session(database.engine) as session:
        rule = make_rule(session)
        move_rule(session, rule, State.ACTIVE, Cause.PERSON, CHANGE)
        move_rule(session, rule, State.PROBATION, Cause.HARMFUL, Change("system", lambda: NOW, round_number=6))
        assert rule.probation_since == 6
        move_rule(session, rule, State.ACTIVE, Cause.RECOVERED, CHANGE)
        assert rule.probation_since is None


def test_an_illegal_move_leaves_the_rule_and_its_history_alone(database: Database) -> None:
    with Session(database.engine) as session:
        rule = make_rule(session)
        before, event_id = content_of(rule), last_event_id(session)
        with pytest.raises(IllegalTransitionError):
            move_rule(session, rule, State.PROBATION, Cause.TRIMMED, CHANGE, name="Another")
        assert (content_of(rule), rule.version, last_event_id(session)) == (before, 1, event_id)


@pytest.mark.parametrize("column", ["state", "n_used", "version", "created_at", "nonsense"])
def test_only_content_can_be_edited(database: Database, column: str) -> None:
    with Session(database.engine) as session, pytest.raises(UserError, match=column):
        edit_rule(session, make_rule(session), {column: "active"}, CHANGE)


def test_whoever_saw_an_older_version_changes_nothing(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        rule_id = make_rule(session).id
    with database.write() as session:
        edit_rule(session, get_rule(session, rule_id, 1), {"action": "close it"}, CHANGE)
    with pytest.raises(ConcurrentChangeError) as raised, database.write() as session:
        edit_rule(session, get_rule(session, rule_id, 1), {"action": "lose it"}, CHANGE)
    assert (raised.value.values["seen"], raised.value.values["now"]) == (1, 2)
    with database.read() as session:
        assert get_rule(session, rule_id, 2).action == "close it"
        with pytest.raises(UserError, match="no rule rule_x"):
            get_rule(session, "rule_x")
    database.close()


def merge(session: Session, *parents: Rule, change: Change = CHANGE) -> Rule:
    merged = create_rule(
        session,
        RuleContent(name="Wider", condition="any queue grows", action="drain it", domain=parents[0].domain),
        change,
        origin="merge",
        parents=[parent.id for parent in parents],
        n_used=sum(parent.n_used for parent in parents),
    )
    for parent in parents:
        move_rule(session, parent, State.ARCHIVED, Cause.MERGED, change, merged_into=merged.id)
    return merged


def test_a_merge_is_taken_apart_exactly_and_every_use_stays_where_it_was_counted(database: Database) -> None:
    with Session(database.engine) as session:
        live, waiting = make_rule(session, name="live", tags=["x"]), make_rule(session, name="waiting")
        move_rule(session, live, State.ACTIVE, Cause.VERIFIED, CHANGE)
        move_rule(session, live, State.PROBATION, Cause.TRIMMED, Change("system", lambda: NOW, round_number=4))
        live.n_used, waiting.n_used = 5, 7
        before = [content_of(live), content_of(waiting)]
        merged = merge(session, live, waiting)
        move_rule(session, merged, State.ACTIVE, Cause.PERSON, CHANGE)
        merged.n_used += 3
        assert unmerge(session, merged, CHANGE) == [live, waiting]
        assert [content_of(live), content_of(waiting)] == before
        assert (merged.state, merged.n_used, live.n_used, waiting.n_used) == ("archived", 15, 5, 7)
        kinds = session.exec(select(RuleEvent.kind).order_by(col(RuleEvent.id).desc()).limit(4)).all()
        assert list(kinds) == ["unmerged", "unmerged", "unmerged", "person"]


def test_a_merge_that_a_person_archived_can_still_be_taken_apart(database: Database) -> None:
    with Session(database.engine) as session:
        parent = make_rule(session)
        merged = merge(session, parent)
        move_rule(session, merged, State.ARCHIVED, Cause.PERSON, CHANGE)
        unmerge(session, merged, CHANGE)
        assert (parent.state, merged.state) == ("candidate", "archived")


def test_a_merge_can_be_taken_apart_after_the_library_went_back_and_forth(database: Database) -> None:
    with Session(database.engine) as session:
        parent = make_rule(session, "back and forth")
        before, then = content_of(parent), last_event_id(session)
        merged = merge(session, parent)
        after = last_event_id(session)
        for event_id in (then, after):
            rewind(session, event_id, CHANGE, "back and forth")
        unmerge(session, merged, CHANGE)
        assert content_of(parent) == before


def _again(session: Session, merged: Rule, parent: Rule) -> None:
    merge(session, merged)


def _edit_parent(session: Session, merged: Rule, parent: Rule) -> None:
    edit_rule(session, parent, {"action": "close it"}, CHANGE)


def _restore_parent(session: Session, merged: Rule, parent: Rule) -> None:
    move_rule(session, parent, State.CANDIDATE, Cause.PERSON, CHANGE, merged_into=None)


def _unmerge(session: Session, merged: Rule, parent: Rule) -> None:
    unmerge(session, merged, CHANGE)


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (_again, "became part of “Wider”"),
        (_edit_parent, "“part” has changed"),
        (_restore_parent, "“part” has changed"),
        (_unmerge, "“part” has changed"),
    ],
)
def test_a_merge_that_cannot_be_taken_apart_says_why(database: Database, first: Any, says: str) -> None:
    with Session(database.engine) as session:
        parent = make_rule(session, name="part")
        merged = merge(session, parent)
        first(session, merged, parent)
        event_id = last_event_id(session)
        with pytest.raises(UserError, match=says):
            unmerge(session, merged, CHANGE)
        assert last_event_id(session) == event_id
        with pytest.raises(UserError, match="not a merge"):
            unmerge(session, parent, CHANGE)


def test_parents_do_not_come_back_beside_what_went_into_them(database: Database) -> None:
    with Session(database.engine) as session:
        part = make_rule(session, name="part")
        whole = merge(session, part)
        wider = merge(session, whole)
        move_rule(session, wider, State.ARCHIVED, Cause.PERSON, CHANGE)
        check_apart(session, part)
        move_rule(session, part, State.CANDIDATE, Cause.PERSON, CHANGE, merged_into=None)
        with pytest.raises(UserError, match="“part” come from the same merge"):
            unmerge(session, wider, CHANGE)
