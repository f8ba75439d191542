"""Review: every way to decide, drafts that survive, what somebody else holds, many at once, policies, odd texts."""

from datetime import timedelta

import pytest
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from core import curation
from core.clock import utc_now
from core.db import Database
from core.rules.policies import stored_policies
from core.settings import load_settings
from core.tables import AuditEntry, Claim, EvidenceWish, ReviewDraft, Rule, SettingOverride
from tests.pages.conftest import OpenPage

OLDEST, SECOND, LIVE = "rule_0000000000000005", "rule_0000000000000006", "rule_0000000000000000"
NAME = "Find deleted files that are still open"
KEY = f"review_{OLDEST}"


def read_rule(database: Database, rule_id: str = OLDEST) -> Rule:
    with database.read() as session:
        return session.get_one(Rule, rule_id)


def change(database: Database, rule_id: str = OLDEST, **columns: object) -> None:
    with database.write() as session:
        rule = session.get_one(Rule, rule_id)
        for name, value in columns.items():
            setattr(rule, name, value)
        session.add(rule)


def hold(database: Database, item_id: str, holder: str) -> None:
    with database.write() as session:
        session.merge(Claim(item_id=item_id, holder=holder, until=utc_now() + timedelta(minutes=5)))


def heading(at: AppTest) -> str:
    return next(one.value for one in at.subheader)


def keys(at: AppTest) -> set[str]:
    return {str(button.key) for button in at.button}


def test_undo_last_brings_the_item_back_before_the_visitor(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    assert "review_undo" not in keys(at)
    at.button(key=f"{KEY}_approve").click().run()
    assert heading(at) != NAME
    at.button(key="review_undo").click().run()
    assert at.success[0].value == f"Undone: Approve – {NAME}"
    assert heading(at) == NAME
    assert read_rule(sample).approved_by is None


def test_a_reason_is_chosen_by_number(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"{KEY}_refuse").click().run()
    at.button(key=f"{KEY}_reason_2").click().run()
    assert read_rule(sample).state == "archived"
    with sample.read() as session:
        assert session.exec(select(AuditEntry)).one().detail["reason"] == "It is too vague to follow."


def test_more_evidence_takes_it_out_of_the_queue_and_says_so(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"{KEY}_evidence").click().run()
    at.number_input(key=f"{KEY}_count").set_value(4)
    at.button_group(key=f"{KEY}_unit").set_value("rounds")
    at.button(key=f"{KEY}_evidence_send").click().run()
    assert at.success[0].value == f"Waits for more evidence: {NAME}"
    with sample.read() as session:
        wish = session.get_one(EvidenceWish, OLDEST)
    assert (wish.until_round, wish.until_verified) == (12, None)
    assert any("1 of 4" in one.value for one in at.caption)
    at.toggle(key="review_parked").set_value(True).run()
    assert heading(at) == NAME
    assert any("asked for more evidence before" in one.value for one in at.caption)


def test_it_is_merged_into_a_rule_that_a_search_finds(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"{KEY}_merge").click().run()
    at.text_input(key=f"{KEY}_merge_search").set_value("leaked connections").run()
    assert at.selectbox(key=f"{KEY}_merge_other").value == LIVE
    text = "Read idle sessions and open deleted files; close what the leaking service holds, then restart it."
    at.text_area(key=f"{KEY}_{LIVE}_action").set_value(text).run()
    at.button(key=f"{KEY}_{LIVE}_save").click().run()
    assert not at.error
    assert at.success[0].value.startswith(f"Merged: {NAME} and ")
    merged = read_rule(sample, str(read_rule(sample).merged_into))
    assert (merged.action, merged.parents, merged.state) == (text, [LIVE, OLDEST], "active")


def test_a_draft_survives_a_reload_and_can_be_forgotten(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"{KEY}_edit").click().run()
    at.text_area(key=f"{KEY}_action").set_value("Typed with care.").run()
    again = open_page("review")
    again.button(key=f"{KEY}_edit").click().run()
    assert again.text_area(key=f"{KEY}_action").value == "Typed with care."
    assert not again.warning
    change(sample, action="Changed by somebody else.", version=2)
    third = open_page("review")
    third.button(key=f"{KEY}_edit").click().run()
    assert third.text_area(key=f"{KEY}_action").value == "Typed with care."
    assert "has changed since you wrote this draft" in third.warning[0].value
    third.button(key=f"{KEY}_edit_forget").click().run()
    assert third.text_area(key=f"{KEY}_action").value == "Changed by somebody else."
    with sample.read() as session:
        assert session.exec(select(ReviewDraft)).all() == []


def test_what_somebody_else_has_is_not_given(sample: Database, open_page: OpenPage) -> None:
    hold(sample, OLDEST, "bob")
    at = open_page("review")
    assert heading(at) != NAME
    with sample.read() as session:
        assert {(one.item_id, one.holder) for one in session.exec(select(Claim))} == {
            (OLDEST, "bob"), (SECOND, "local")
        }  # fmt: skip


def test_a_claim_that_ran_out_and_was_taken_stops_the_decision(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    hold(sample, OLDEST, "bob")
    at.button(key=f"{KEY}_approve").click().run()
    assert "bob has this item before them" in at.error[0].value
    assert read_rule(sample).approved_by is None


def test_an_item_that_was_decided_meanwhile_gives_way_to_the_next(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    settings = load_settings()
    curation.approve(sample, rule_id=OLDEST, version=1, settings=settings, actor="local", clock=utc_now)
    at.run()
    assert not at.exception
    assert heading(at) != NAME


def test_a_second_opinion_is_told(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        session.add(
            SettingOverride(name="review.second_opinion", value="incidents", changed_by="ann", changed_at=utc_now())
        )
    at = open_page("review")
    assert at.info[0].value == "0 of 2 approvals are given: –"
    at.button(key=f"{KEY}_approve").click().run()
    assert at.success[0].value == f"Your approval is recorded; others have to approve too: {NAME}"
    assert any("1 of 4" in one.value for one in at.caption)
    assert read_rule(sample).approved_by is None


def test_many_are_previewed_approved_and_undone_as_one(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button_group(key="review_way").set_value("bulk").run()
    table = at.table[0].value
    assert table["What would happen"].tolist() == [
        "Goes live at once: it is verified",
        "Stays as it is",
        *["Approved; goes live once it is verified"] * 2,
    ]
    assert "contradicts another rule" in table["Why not"].tolist()[1]
    at.button(key="review_bulk_send").click().run()
    assert not at.error
    assert at.success[0].value == "Approved: 3 rules"
    assert read_rule(sample).state == "active"
    at.button(key="shell_undo").click().run()
    assert (read_rule(sample).state, read_rule(sample).approved_by) == ("candidate", None)


def test_many_are_not_decided_when_one_has_changed(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button_group(key="review_way").set_value("bulk").run()
    change(sample, version=9)
    at.button(key="review_bulk_send").click().run()
    assert "has changed since you opened it" in at.error[0].value
    with sample.read() as session:
        assert session.exec(select(AuditEntry)).all() == []


def test_refusing_many_needs_a_reason(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button_group(key="review_way").set_value("bulk").run()
    at.button_group(key="review_bulk_way").set_value("refuse").run()
    at.button(key="review_bulk_send").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key="review_bulk_reason").set_value("We use another volume manager.")
    at.button(key="review_bulk_send").click().run()
    assert read_rule(sample).state == "archived"


def test_policies_are_tried_before_they_are_saved(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button_group(key="review_way").set_value("policies").run()
    at.button_group(key="review_policy_decision").set_value("approve")
    at.button(key="review_policy_add").click().run()
    at.button(key="review_policies_try").click().run()
    assert not at.exception
    assert "Live by itself once verified" in at.table[0].value["The policies"].tolist()
    at.button(key="review_policies_save").click().run()
    assert at.success[0].value == "Policies saved."
    with sample.read() as session:
        (policy,) = stored_policies(session)
    assert (policy.decision, policy.min_confidence) == ("approve", 0.7)
    at.button(key="review_policy_0_remove").click().run()
    at.button(key="review_policies_save").click().run()
    with sample.read() as session:
        assert stored_policies(session) == []


@pytest.mark.parametrize(
    "text",
    [
        "word " * 2000,
        "字" * 10_000,
        " \n\t ",
        "a\u200bb\u202eright to left\u202c",
        "# <b>x</b> [l](http://e) $y$ :red[z]",
    ],
    ids=["long", "long-chinese", "blank", "hidden", "markup"],
)
def test_odd_texts_are_shown_as_text(sample: Database, open_page: OpenPage, text: str) -> None:
    change(sample, action=text, name=text[:80])
    at = open_page("review")
    assert not at.exception
    shown = [one.value for one in (*at.markdown, *at.subheader, *at.caption)]
    assert all("<b>x</b>" not in one and "](http" not in one for one in shown)
    at.button(key=f"{KEY}_edit").click().run()
    assert not at.exception
    assert at.text_area(key=f"{KEY}_action").value == text
