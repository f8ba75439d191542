"""Conflicts: what is shown of a pair, the five ways, and what is typed is never lost."""

import pytest
from sqlmodel import col, select
from streamlit.testing.v1 import AppTest

from core.db import Database
from core.tables import Conflict, Rule
from pages.widgets import plain
from tests.pages.conftest import OpenPage

ID = "conflict_1"
A, B = "rule_0000000000000001", "rule_0000000000000006"


def rule_of(database: Database, rule_id: str) -> Rule:
    with database.read() as session:
        return session.get_one(Rule, rule_id)


def conflict_of(database: Database, conflict_id: str = ID) -> Conflict:
    with database.read() as session:
        return session.get_one(Conflict, conflict_id)


def change(database: Database, rule_id: str, **columns: object) -> None:
    with database.write() as session:
        rule = session.get_one(Rule, rule_id)
        for name, value in columns.items():
            setattr(rule, name, value)
        rule.version += 1
        session.add(rule)


def choose(at: AppTest, way: str) -> AppTest:
    return at.button_group(key=f"conflicts_way_{ID}").set_value(way).run()


def send(at: AppTest, way: str) -> AppTest:
    at.button(key=f"conflicts_{ID}_send_{way}").click().run(timeout=120)
    assert not at.exception
    return at


def shown(at: AppTest) -> str:
    return "\n".join(str(one.value) for kind in (at.markdown, at.caption, at.text, at.info) for one in kind)


def test_both_rules_stand_side_by_side_with_what_found_it_and_what_is_suggested(
    sample: Database, open_page: OpenPage
) -> None:
    at = open_page("conflicts")
    assert not at.exception
    text = shown(at)
    assert "**Found by:** Same condition, opposite action" in text
    assert at.info[0].value.startswith("“")
    for rule_id in (A, B):
        assert plain(rule_of(sample, rule_id).name) in "\n".join(str(one.value) for one in at.subheader)
    assert ":orange-background[**" in text
    assert "waiting for 2 hours" in text
    assert "retrieved both rules" in text or "there is none in which both rules fire" in text


def test_keep_one(sample: Database, open_page: OpenPage) -> None:
    at = open_page("conflicts")
    at.radio(key=f"conflicts_{ID}_keep").set_value(A)
    at.text_area(key=f"conflicts_{ID}_reason").set_value("It is in our handbook.").run()
    send(at, "keep")
    assert "is kept" in at.success[0].value
    conflict = conflict_of(sample)
    assert (conflict.resolution, conflict.reason, conflict.resolved_by) == (
        f"keep:{A}",
        "It is in our handbook.",
        "local",
    )
    assert rule_of(sample, B).state == "archived"
    assert not at.radio


def test_one_goes_first(sample: Database, open_page: OpenPage) -> None:
    at = choose(open_page("conflicts"), "priority")
    at.radio(key=f"conflicts_{ID}_priority").set_value(B).run()
    send(at, "priority")
    assert conflict_of(sample).resolution == f"priority:{B}"


def test_narrow_both(sample: Database, open_page: OpenPage) -> None:
    at = choose(open_page("conflicts"), "narrowed")
    at.text_area(key=f"conflicts_{ID}_{A}_exclusion").set_value("calls are refused although usage looks low").run()
    send(at, "narrowed")
    assert not at.error
    assert conflict_of(sample).resolution == "narrowed"
    assert rule_of(sample, A).exclusion == "calls are refused although usage looks low"


def test_one_rule_of_both_begins_with_a_draft(sample: Database, open_page: OpenPage) -> None:
    at = choose(open_page("conflicts"), "merged")
    draft = at.text_area(key=f"conflicts_{ID}_merge_action").value
    assert "; if " in draft
    at.text_area(key=f"conflicts_{ID}_merge_action").set_value("Set jittered expiry and spread the calls.").run()
    send(at, "merged")
    assert not at.error
    with sample.read() as session:
        merged = session.exec(select(Rule).where(Rule.origin == "merge", col(Rule.state) != "archived")).one()
    assert (merged.parents, merged.action) == ([A, B], "Set jittered expiry and spread the calls.")


def test_not_a_conflict_and_undo(sample: Database, open_page: OpenPage) -> None:
    send(choose(open_page("conflicts"), "not_a_conflict"), "not_a_conflict")
    assert conflict_of(sample).status == "dismissed"
    at = open_page("conflicts")
    at.button_group(key="conflicts_show").set_value("settled").run()
    at.button(key=f"conflicts_open_{ID}").click().run()
    assert "local" in at.success[0].value
    at.button(key=f"conflicts_{ID}_undo").click().run()
    assert not at.exception
    assert conflict_of(sample).status == "open"


def test_what_somebody_else_changed_meanwhile_is_said_and_the_typed_text_stays(
    sample: Database, open_page: OpenPage
) -> None:
    at = choose(open_page("conflicts"), "narrowed")
    at.text_area(key=f"conflicts_{ID}_{A}_exclusion").set_value("typed with care").run()
    change(sample, B, rationale="Changed by somebody else.")
    send(at, "narrowed")
    assert "has changed since you opened it" in at.error[0].value
    assert at.text_area(key=f"conflicts_{ID}_{A}_exclusion").value == "typed with care"
    assert conflict_of(sample).status == "open"


def test_a_reload_keeps_the_draft_and_the_address_keeps_the_conflict(sample: Database, open_page: OpenPage) -> None:
    at = choose(open_page("conflicts", conflict=ID), "merged")
    at.text_area(key=f"conflicts_{ID}_merge_action").set_value("half a sentence").run()
    again = choose(open_page("conflicts", conflict=ID), "merged")
    assert again.text_area(key=f"conflicts_{ID}_merge_action").value == "half a sentence"
    send(choose(again, "not_a_conflict"), "not_a_conflict")
    change(sample, A, rationale="x")


def test_a_conflict_settled_in_another_tab_is_refused_and_shown_as_settled(
    sample: Database, open_page: OpenPage
) -> None:
    late, first = open_page("conflicts"), open_page("conflicts")
    send(choose(first, "not_a_conflict"), "not_a_conflict")
    late.button(key=f"conflicts_{ID}_send_keep").click().run()
    assert not late.exception
    assert conflict_of(sample).status == "dismissed"
    assert rule_of(sample, B).state == "candidate"
    settled = open_page("conflicts", conflict=ID)
    assert settled.success[0].value.startswith("local")


def test_the_effect_on_prompts_is_shown_on_request(sample: Database, open_page: OpenPage) -> None:
    at = open_page("conflicts")
    assert not at.table
    at.button(key=f"conflicts_{ID}_effect_keep").click().run(timeout=120)
    assert not at.exception
    rows = at.table[0].value
    assert list(rows.columns) == ["Recent task", "In its prompt now", "In its prompt then", "Changes"]
    assert 1 <= len(rows) <= 6


ODD = {
    "long": "word " * 2000,
    "blank": "   ",
    "hidden": "call\u200bs are \u202erefused\u202c",
    "markup": "<b>bold</b> **stars** [link](http://x.example) :red[red] $x$",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_are_shown_as_written(sample: Database, open_page: OpenPage, text: str) -> None:
    change(sample, A, condition=text, name=text)
    at = open_page("conflicts")
    assert not at.exception
    shown_text = "".join(str(one.value) for one in at.markdown)
    assert "<b>" not in shown_text.replace("\\<b\\>", "")
    assert not at.main.get("html")
    if "\u200b" in text:
        assert "ZERO WIDTH SPACE" in at.warning[0].value


def test_an_unknown_conflict_in_the_address_is_said(sample: Database, open_page: OpenPage) -> None:
    at = open_page("conflicts", conflict="nothing")
    assert not at.exception
    assert at.warning[0].value == "There is no such conflict."


def test_a_conflict_with_an_archived_rule_offers_nothing(sample: Database, open_page: OpenPage) -> None:
    change(sample, B, state="archived")
    at = open_page("conflicts", conflict=ID)
    assert "nothing to settle now" in at.info[0].value
    assert not [button for button in at.button if "_send_" in str(button.key)]


def test_the_whole_queue_leads_to_each_conflict(sample: Database, open_page: OpenPage) -> None:
    at = open_page("conflicts")
    at.button_group(key="conflicts_show").set_value("queue").run()
    assert not at.radio
    at.button(key=f"conflicts_open_{ID}").click().run()
    assert not at.exception
    assert at.radio(key=f"conflicts_{ID}_keep").value in (A, B)


def test_the_queue_goes_round_and_the_navigation_counts_it(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        given = conflict_of(sample).model_dump()
        session.add(Conflict(**(given | {"id": "conflict_2", "rule_a": "rule_0000000000000002"})))
    at = open_page("conflicts")
    assert any("1 of 2" in one.value for one in at.caption)
    at.button(key="conflicts_j").click().run()
    assert any("2 of 2" in one.value for one in at.caption)
    at.button(key="conflicts_j").click().run()
    assert at.query_params["conflict"] in (ID, [ID])
