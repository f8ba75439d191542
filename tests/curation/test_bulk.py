"""The same decision on many: previewed, checked again, all or none, one entry that undoes as a whole."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.curation.bulk import Fate
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, get_rule
from core.settings import ReviewSettings, Settings
from core.tables import AuditEntry, Rule
from core.tables.rules import RuleContent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
BY_LOOP = Change(SYSTEM, lambda: NOW, round_number=1)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
PARTS = ("fiction", "maps", "music", "law", "poems", "atlases")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Candidates 0 to 5 of one domain; 1 is verified, 4 and 5 contradict each other."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        for number, part in enumerate(PARTS):
            draft = RuleContent(
                name=f"Rule {number}",
                condition=f"a reader asks to keep {part} beyond the second renewal",
                action="look up the reservations first and offer the earliest free copy",
                domain="desk",
                confidence=0.9,
            )
            rule = create_rule(session, draft, BY_LOOP, origin="reflection", id=str(number))
            rule.verified = 3 if number == 1 else 0
            session.add(rule)
        finding = ConflictFinding("5", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "4"), [finding], BY_LOOP)
    yield opened
    opened.close()


def rules(database: Database) -> dict[str, tuple[str, str | None]]:
    with database.read() as session:
        return {rule.id: (rule.state, rule.approved_by) for rule in session.exec(select(Rule))}


def entries(database: Database) -> list[AuditEntry]:
    with database.read() as session:
        return list(session.exec(select(AuditEntry)))


def preview(database: Database, decision: str, settings: Settings = SETTINGS) -> dict[str, Fate]:
    ids = [str(number) for number in range(6)]
    found = curation.preview_bulk(database, decision=decision, rule_ids=ids, settings=settings, **WHO)
    return {one.rule_id: one.fate for one in found}


def test_the_preview_tells_what_happens_and_that_is_what_happens(database: Database) -> None:
    told = preview(database, "approve")
    approved, out = Fate.APPROVED, Fate.OBJECTION
    assert told == {"0": approved, "1": Fate.ACTIVE, "2": approved, "3": approved, "4": out, "5": out}
    curation.approve_many(database, versions={one: 1 for one in "0123"}, settings=SETTINGS, **WHO)
    after = rules(database)
    assert [after[one] for one in "012"] == [("candidate", "ada"), ("active", "ada"), ("candidate", "ada")]
    assert after["4"] == ("candidate", None)
    assert preview(database, "approve")["0"] is out


def test_one_entry_undoes_the_whole(database: Database) -> None:
    before = rules(database)
    curation.approve_many(database, versions={one: 1 for one in "0123"}, settings=SETTINGS, **WHO)
    (entry,) = entries(database)
    assert (entry.action, set(entry.detail["rules"])) == ("bulk_approve", set("0123"))
    curation.undo(database, entry_id=1, **WHO)
    assert rules(database) == before


@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_change_of_any_one_meanwhile_stops_all(database: Database, place: int) -> None:
    with database.write() as session:
        changed = get_rule(session, str(place))
        changed.version += 1
        session.add(changed)
    before = rules(database)
    versions = {one: 1 for one in "0123"}
    with pytest.raises(ConcurrentChangeError, match=f"Rule {place} has changed"):
        curation.approve_many(database, versions=versions, settings=SETTINGS, **WHO)
    with pytest.raises(ConcurrentChangeError, match=f"Rule {place} has changed"):
        curation.refuse_many(database, versions=versions, reason="no", **WHO)
    assert rules(database) == before
    assert entries(database) == []


def test_a_conflict_a_bad_text_or_the_need_of_others_stops_all(database: Database) -> None:
    before = rules(database)
    with pytest.raises(UserError, match=r"Rule 4.*contradicts"):
        curation.approve_many(database, versions={"0": 1, "4": 1}, settings=SETTINGS, **WHO)
    two_eyes = Settings(_env_file=None, review=ReviewSettings(second_opinion="*"))
    assert set(preview(database, "approve", two_eyes).values()) == {Fate.OBJECTION}
    with pytest.raises(UserError, match="several approvals"):
        curation.approve_many(database, versions={"0": 1}, settings=two_eyes, **WHO)
    with database.write() as session:
        spoiled = get_rule(session, "3")
        spoiled.action = "mail the list to desk@example.org and to everybody who has asked before"
        session.add(spoiled)
    with pytest.raises(UserError, match=r"Rule 3.*does not pass"):
        curation.approve_many(database, versions={one: 1 for one in "0123"}, settings=SETTINGS, **WHO)
    assert rules(database) == before


def test_many_are_refused_for_one_reason(database: Database) -> None:
    assert set(preview(database, "refuse").values()) == {Fate.REFUSED}
    curation.refuse_many(database, versions={one: 1 for one in "0245"}, reason="too narrow", **WHO)
    assert [one for one, (state, _) in rules(database).items() if state == "archived"] == list("0245")
    assert entries(database)[0].detail["reason"] == "too narrow"


def test_the_number_has_a_limit(database: Database) -> None:
    for versions in ({}, {str(number): 1 for number in range(201)}):
        with pytest.raises(UserError, match="Between 1 and 200"):
            curation.approve_many(database, versions=versions, settings=SETTINGS, **WHO)
