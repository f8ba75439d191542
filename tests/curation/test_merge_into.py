"""A person merges a candidate into another rule: statistics add up, and it can be taken apart exactly."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.curation import SeenRule
from core.curation.recorder import state_of
from core.curation.review import Outcome
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.settings import Settings
from core.tables import Rule
from core.tables.rules import RuleContent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
BY_LOOP = Change(SYSTEM, lambda: NOW, round_number=1)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
FIGURES = {"new": (10, 7, 0.2, 1), "live": (30, 12, -0.1, 4), "foreign": (0, 0, 0.0, 0), "gone": (0, 0, 0.0, 0)}
TEXT = {"name": "Fees first", "condition": "a loan is renewed while fees are open on the account"}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A candidate "new", a live rule "live", one of another domain and an archived one."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        for name, (used, success, delta, verified) in FIGURES.items():
            draft = RuleContent(
                name=f"Rule {name}",
                condition=f"a reader with open fees renews a {name} book",
                action="ask for the fees before the renewal is confirmed to the reader",
                domain="shop" if name == "foreign" else "desk",
                confidence=0.9,
            )
            rule = create_rule(session, draft, BY_LOOP, origin="reflection", id=name, evidence=[f"e-{name}"])
            rule.n_used, rule.n_success, rule.avg_delta, rule.verified = used, success, delta, verified
            session.add(rule)
        move_rule(session, get_rule(session, "live"), State.ACTIVE, Cause.PERSON, BY_LOOP, approved_by="bob")
        move_rule(session, get_rule(session, "gone"), State.ARCHIVED, Cause.PRUNED, BY_LOOP)
    yield opened
    opened.close()


def merge(database: Database, other: str = "live", version: int = 2, **text: str) -> tuple[str, Outcome]:
    return curation.merge_into(
        database,
        candidate=SeenRule("new", 1),
        other=SeenRule(other, version),
        content={**TEXT, **text},
        settings=SETTINGS,
        **WHO,
    )


def rows(database: Database) -> dict[str, dict[str, Any]]:
    with database.read() as session:
        found = {rule.id: (state_of(rule), rule.n_used, rule.verified) for rule in session.exec(select(Rule))}
    for state, _, _ in found.values():
        state.pop("version")
    return {key: {**state, "n_used": used, "verified": verified} for key, (state, used, verified) in found.items()}


def test_the_merge_has_both_behind_it_and_stands_where_the_live_one_stood(database: Database) -> None:
    merged_id, outcome = merge(database)
    assert outcome is Outcome.ACTIVE
    with database.read() as session:
        merged = get_rule(session, merged_id)
        assert (merged.origin, merged.parents, merged.approved_by) == ("merge", ["live", "new"], "ada")
        # Design section 3: counts add, the delta is weighted by uses; (10, 7, 0.2) and (30, 12, -0.1).
        assert (merged.n_used, merged.n_success, merged.verified) == (40, 19, 5)
        assert merged.avg_delta == pytest.approx(-0.025)
        assert (merged.condition, merged.action) == (TEXT["condition"], get_rule(session, "live").action)
        assert set(merged.evidence) == {"e-new", "e-live"}
        for parent in ("new", "live"):
            assert (get_rule(session, parent).state, get_rule(session, parent).merged_into) == ("archived", merged_id)


def test_taking_it_apart_restores_both_exactly(database: Database) -> None:
    before = rows(database)
    merged_id, _ = merge(database)
    with database.read() as session:
        version = get_rule(session, merged_id).version
    curation.unmerge(database, rule_id=merged_id, version=version, reason="they differ", **WHO)
    after = rows(database)
    assert after.pop(merged_id)["state"] == "archived"
    assert after == before


def test_undo_and_undo_of_the_undo(database: Database) -> None:
    before = rows(database)
    merged_id, _ = merge(database)
    merged = rows(database)
    curation.undo(database, entry_id=1, **WHO)
    undone = rows(database)
    assert undone.pop(merged_id)["state"] == "archived"
    assert undone == before
    curation.undo(database, entry_id=2, **WHO)
    assert rows(database) == merged


@pytest.mark.parametrize(
    ("other", "version", "text", "message"),
    [
        ("gone", 2, {}, "is archived"),
        ("foreign", 1, {}, "of one domain"),
        ("new", 1, {}, "into itself"),
        ("live", 2, {"action": "  "}, "not saved"),
    ],
)
def test_what_cannot_be_merged_is_said_and_nothing_happens(
    database: Database, other: str, version: int, text: dict[str, str], message: str
) -> None:
    before = rows(database)
    with pytest.raises(UserError, match=message):
        merge(database, other, version, **text)
    assert rows(database) == before


def test_a_change_of_either_meanwhile_stops_it(database: Database) -> None:
    with pytest.raises(ConcurrentChangeError, match="Rule live"):
        merge(database, "live", 1)


def test_a_conflict_is_resolved_first(database: Database) -> None:
    with database.write() as session:
        other = get_rule(session, "live")
        draft = RuleContent(name="Third", condition="x", action="y", domain="desk")
        create_rule(session, draft, BY_LOOP, origin="reflection", id="third")
        record_conflicts(session, other, [ConflictFinding("third", "model", "opposed", {}, hard=True)], BY_LOOP)
    with pytest.raises(UserError, match="contradicts “Third”"):
        merge(database)
