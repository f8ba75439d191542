"""Several people review at once: claims, assignments, second opinions, wishes for evidence, drafts."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from core import curation
from core.curation.review import Outcome
from core.db import Database, open_database
from core.errors import ClaimedError, NotAllowedError, UserError
from core.people.accounts import set_sign_in_needed
from core.rules.library import SYSTEM, Change, create_rule
from core.settings import ReviewSettings, Settings
from core.tables import Approval, AuditEntry, Person, Proposal, ReviewDraft, Round, Rule
from core.tables.rules import RuleContent
from core.views.review_queue import QueueFilter, next_item, queue

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
TWO_EYES = Settings(_env_file=None, review=ReviewSettings(second_opinion="desk, billing", approvals=3))


class Watch:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def database(tmp_path: Path, watch: Watch) -> Iterator[Database]:
    """Candidates a, b and c of one domain, oldest first, and a proposal to edit c."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add(Round(number=4, environment="desk", seed=1, trigger="step", started_at=START))
        for place, name in enumerate("abc"):
            moment = START - timedelta(hours=3 - place)
            draft = RuleContent(
                name=f"Rule {name}",
                condition=f"a loan of shelf {name} is renewed for the third time",
                action="ask for the fees of the account before the renewal is confirmed",
                domain="desk",
                confidence=0.9,
            )
            create_rule(session, draft, Change(SYSTEM, lambda at=moment: at), origin="reflection", id=name)
        after = {"action": "ask for the open fees and for the reservation list before renewing"}
        session.add(Proposal(id="p", rule_id="c", rule_version=1, kind="edit", after=after, created_at=START))
    yield opened
    opened.close()


def who(actor: str, watch: Watch) -> dict[str, Any]:
    return {"actor": actor, "clock": watch}


def approve(database: Database, rule_id: str, actor: str, watch: Watch, settings: Settings = SETTINGS) -> Outcome:
    watch.forward(seconds=1)
    with database.read() as session:
        version = session.get_one(Rule, rule_id).version
    return curation.approve(database, rule_id=rule_id, version=version, settings=settings, **who(actor, watch))


def waiting(database: Database, actor: str, watch: Watch) -> list[str]:
    with database.read() as session:
        return [item.id for item in queue(session, QueueFilter(), actor=actor, now=watch()).items]


def given(database: Database, actor: str, watch: Watch) -> str | None:
    with database.read() as session:
        item = next_item(session, QueueFilter(), actor=actor, now=watch())
    return item.id if item is not None else None


def test_two_people_are_not_given_the_same_item_until_a_claim_runs_out(database: Database, watch: Watch) -> None:
    curation.claim(database, item_id="a", settings=SETTINGS, **who("ada", watch))
    assert given(database, "ada", watch) == "a"
    assert given(database, "bob", watch) == "b"
    watch.forward(minutes=10)
    assert given(database, "bob", watch) == "a"


def test_what_somebody_holds_cannot_be_decided_or_taken_by_another(database: Database, watch: Watch) -> None:
    until = curation.claim(database, item_id="a", settings=SETTINGS, **who("ada", watch))
    assert until == START + timedelta(minutes=10)
    bob = who("bob", watch)
    with pytest.raises(ClaimedError, match=r"ada has this item before them until 09:10:00"):
        curation.claim(database, item_id="a", settings=SETTINGS, **bob)
    acts = (
        lambda: approve(database, "a", "bob", watch),
        lambda: curation.refuse(database, rule_id="a", version=1, reason="no", **bob),
        lambda: curation.ask_for_evidence(database, rule_id="a", version=1, unit="rounds", count=1, **bob),
        lambda: curation.approve_many(database, versions={"b": 1, "a": 1}, settings=SETTINGS, **bob),
    )
    for act in acts:
        with pytest.raises(ClaimedError):
            act()
    with database.read() as session:
        assert session.exec(select(AuditEntry)).all() == []
        assert session.get_one(Rule, "b").approved_by is None
    approve(database, "a", "ada", watch)
    assert waiting(database, "bob", watch) == ["b", "c", "p"]


def test_a_claim_is_kept_for_longer_by_its_holder_and_can_be_given_back(database: Database, watch: Watch) -> None:
    curation.claim(database, item_id="a", settings=SETTINGS, **who("ada", watch))
    watch.forward(minutes=9)
    curation.claim(database, item_id="a", settings=SETTINGS, **who("ada", watch))
    watch.forward(minutes=9)
    assert given(database, "bob", watch) == "b"
    curation.release(database, item_id="a", actor="bob")
    assert given(database, "bob", watch) == "b"
    curation.release(database, item_id="a", actor="ada")
    assert given(database, "bob", watch) == "a"


def test_how_long_a_claim_lasts_is_a_setting(database: Database, watch: Watch) -> None:
    brief = Settings(_env_file=None, review=ReviewSettings(claim_minutes=2))
    assert curation.claim(database, item_id="a", settings=brief, **who("ada", watch)) == START + timedelta(minutes=2)


def test_only_who_may_decide_can_claim(database: Database, watch: Watch) -> None:
    with database.write() as session:
        set_sign_in_needed(session, watch, needed=True)
        session.add(Person(email="mia", roles=["manager"], invited_by="root", created_at=START))
    with pytest.raises(NotAllowedError):
        curation.claim(database, item_id="a", settings=SETTINGS, **who("mia", watch))


def test_several_people_have_to_approve_in_chosen_domains(database: Database, watch: Watch) -> None:
    assert approve(database, "a", "ada", watch, TWO_EYES) is Outcome.RECORDED
    with pytest.raises(UserError, match=r"approved this already\. 2 more of 3"):
        approve(database, "a", "ada", watch, TWO_EYES)
    assert waiting(database, "ada", watch) == ["b", "c", "p"]
    assert waiting(database, "bob", watch) == ["a", "b", "c", "p"]
    assert approve(database, "a", "bob", watch, TWO_EYES) is Outcome.RECORDED
    with database.read() as session:
        assert session.get_one(Rule, "a").approved_by is None
    assert approve(database, "a", "cyd", watch, TWO_EYES) is Outcome.APPROVED
    with database.read() as session:
        assert session.get_one(Rule, "a").approved_by == "cyd"
        last = session.exec(select(AuditEntry).order_by(col(AuditEntry.id).desc())).first()
    assert last is not None
    assert last.detail["approvals"] == ["ada", "bob", "cyd"]


def test_an_approval_holds_for_the_text_that_was_approved(database: Database, watch: Watch) -> None:
    approve(database, "a", "ada", watch, TWO_EYES)
    change = {"action": "ask for the open fees before the renewal is confirmed to the reader"}
    bob = who("bob", watch)
    outcome = curation.edit_and_approve(
        database, rule_id="a", version=1, content=change, settings=TWO_EYES, **bob
    )  # fmt: skip
    assert outcome is Outcome.RECORDED
    assert "a" in waiting(database, "ada", watch)
    assert approve(database, "a", "ada", watch, TWO_EYES) is Outcome.RECORDED
    assert approve(database, "a", "cyd", watch, TWO_EYES) is Outcome.APPROVED


def test_undoing_one_approval_leaves_the_others(database: Database, watch: Watch) -> None:
    for actor in ("ada", "bob", "cyd"):
        approve(database, "a", actor, watch, TWO_EYES)
    curation.undo(database, entry_id=3, **who("cyd", watch))
    with database.read() as session:
        assert session.get_one(Rule, "a").approved_by is None
        assert set(session.exec(select(Approval.actor))) == {"ada", "bob"}
    assert approve(database, "a", "dan", watch, TWO_EYES) is Outcome.APPROVED


def test_a_rule_that_was_restored_is_approved_anew(database: Database, watch: Watch) -> None:
    approve(database, "a", "ada", watch, TWO_EYES)
    curation.refuse(database, rule_id="a", version=1, reason="no", **who("bob", watch))
    watch.forward(minutes=1)
    curation.restore(database, rule_id="a", version=2, reason="after all", **who("bob", watch))
    watch.forward(minutes=1)
    assert approve(database, "a", "ada", watch, TWO_EYES) is Outcome.RECORDED


def test_a_proposal_takes_as_many_approvals(database: Database, watch: Watch) -> None:
    for actor, expected in (("ada", Outcome.RECORDED), ("bob", Outcome.RECORDED), ("cyd", Outcome.APPROVED)):
        done = curation.accept_proposal(database, proposal_id="p", settings=TWO_EYES, **who(actor, watch))
        assert done is expected
    with database.read() as session:
        assert session.get_one(Proposal, "p").status == "accepted"
        assert "reservation list" in session.get_one(Rule, "c").action


def test_an_item_out_of_the_queue_comes_back_with_its_evidence(database: Database, watch: Watch) -> None:
    ada = who("ada", watch)
    curation.ask_for_evidence(database, rule_id="a", version=1, unit="verified", count=2, **ada)
    curation.ask_for_evidence(database, rule_id="b", version=1, unit="rounds", count=3, **ada)
    assert waiting(database, "bob", watch) == ["c", "p"]
    for verified, number, expected in ((1, 6, ["c", "p"]), (2, 6, ["a", "c", "p"]), (2, 7, ["a", "b", "c", "p"])):
        with database.write() as session:
            rule = session.get_one(Rule, "a")
            rule.verified = verified
            session.add(rule)
            row = session.exec(select(Round)).one()
            if row.number != number:
                session.add(Round(**row.model_dump() | {"number": number}))
                session.delete(row)
        assert waiting(database, "bob", watch) == expected


@pytest.mark.parametrize(("unit", "count"), [("days", 1), ("rounds", 0), ("verified", 101)])
def test_a_wish_for_evidence_is_checked(database: Database, watch: Watch, unit: str, count: int) -> None:
    with pytest.raises(UserError):
        curation.ask_for_evidence(
            database, rule_id="a", version=1, unit=unit, count=count, **who("ada", watch)
        )  # fmt: skip


def test_an_assigned_item_is_given_to_its_person_only_but_locks_nobody_out(database: Database, watch: Watch) -> None:
    with database.write() as session:
        set_sign_in_needed(session, watch, needed=True)
        for email, role in (("ada", "expert"), ("bob", "expert"), ("mia", "manager")):
            session.add(Person(email=email, roles=[role], invited_by="root", created_at=START))
    curation.assign(database, item_id="a", person="bob", **who("ada", watch))
    assert (given(database, "ada", watch), given(database, "bob", watch)) == ("b", "a")
    with pytest.raises(UserError, match="assigned so already"):
        curation.assign(database, item_id="a", person="bob", **who("ada", watch))
    with pytest.raises(UserError, match="mia has no role"):
        curation.assign(database, item_id="b", person="mia", **who("ada", watch))
    with pytest.raises(NotAllowedError, match="no account for eve"):
        curation.assign(database, item_id="b", person="eve", **who("ada", watch))
    curation.assign(database, item_id="a", person=None, **who("ada", watch))
    assert given(database, "ada", watch) == "a"
    approve(database, "a", "ada", watch)
    with pytest.raises(UserError, match="Decided"):
        curation.assign(database, item_id="a", person="bob", **who("ada", watch))


def test_drafts_are_kept_for_each_person_and_item_whatever_they_hold(database: Database, watch: Watch) -> None:
    texts = ("x" * 10_000, "  \n", "a\u200bb \u202e<b>c</b> [d](http://e)")
    for actor, text in zip(("ada", "ada", "bob"), texts, strict=True):
        curation.save_draft(
            database, item_id="a", kind="edit", content={"action": text}, seen={"a": 1}, **who(actor, watch)
        )
    with database.read() as session:
        assert {(row.actor, row.content["action"]) for row in session.exec(select(ReviewDraft))} == {
            ("ada", texts[1]),
            ("bob", texts[2]),
        }
    curation.discard_draft(database, item_id="a", kind="edit", actor="ada")
    with database.read() as session:
        assert [row.actor for row in session.exec(select(ReviewDraft))] == ["bob"]
