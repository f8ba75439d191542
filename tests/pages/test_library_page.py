"""The library's page: filters in the address, saved views, one rule's page, writing, importing, rewinding."""

import pytest
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from core import curation
from core.clock import utc_now
from core.db import Database
from core.people.accounts import set_sign_in_needed
from core.settings import EmbeddingSettings, Settings
from core.tables import Rule, RulePin, SavedView
from core.views.meaning import MeaningSearch
from tests.pages.conftest import OpenPage

ACTIVE, CANDIDATE = "rule_0000000000000002", "rule_0000000000000005"
TYPED = "compare the onset with the deploy log, then roll the deploy back"
BOOK = "# Disks\n\n- When a volume fills up overnight, rotate its logs before anything else.\n- Be careful.\n"


def names(at: AppTest) -> list[str]:
    return [one.value.strip("*") for one in at.markdown if one.value.startswith("**")]


def read_rule(database: Database, rule_id: str) -> Rule:
    with database.read() as session:
        return session.get_one(Rule, rule_id)


def edit(database: Database, rule_id: str = ACTIVE, **content: object) -> None:
    version = read_rule(database, rule_id).version
    curation.edit(
        database,
        rule_id=rule_id,
        version=version,
        content=content,
        reason="clearer",
        settings=Settings(_env_file=None),
        actor="ann",
        clock=utc_now,
    )


def test_the_board_has_a_column_for_each_state(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library")
    assert not at.exception
    assert len(names(at)) == 12
    assert "Search by" in {one.label for one in at.button_group}


def test_filters_are_read_from_the_address_and_kept_in_it(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", library_state="probation")
    assert names(at) == ["Find the poison message first"]
    at.button_group(key="library_state").set_value("active").run()
    at.text_input(key="library_search").set_value("deploy").run()
    assert (at.query_params["library_state"], at.query_params["library_search"]) == ("active", "deploy")
    assert names(at) == ["Compare the error onset with the deploy log"]


@pytest.mark.parametrize("value", ["nonsense", "' OR 1=1 --", "\u200b", "x" * 10_000])
def test_nonsense_in_the_address_filters_nothing_or_finds_nothing(
    sample: Database, open_page: OpenPage, value: str
) -> None:
    at = open_page("library", library_state=value, library_domain=value, library_order=value, library_form=value)
    assert not at.exception
    assert len(names(at)) == 12
    at = open_page("library", library_search=value)
    assert not at.exception
    assert at.info[0].value.startswith("No rule fits")


def test_the_table_shows_what_is_pinned_and_in_conflict(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        session.add(RulePin(rule_id=ACTIVE, pinned_by="ann", pinned_at=utc_now()))
    at = open_page("library", library_form="table", library_pinned="1")
    table = at.dataframe[0].value
    assert list(table["Rule"]) == ["Compare the error onset with the deploy log"]
    assert list(table["Marks"]) == ["Pinned"]
    fought = open_page("library", library_form="table", library_conflict="1").dataframe[0].value
    assert set(fought["Marks"]) == {"In conflict"}
    assert len(fought) == 2


def test_a_search_by_meaning_puts_the_nearest_first(sample: Database, open_page: OpenPage) -> None:
    wanted = "a new release broke it"
    search = MeaningSearch(EmbeddingSettings(), sample)
    ranking = search.ranking(wanted)  # leaves the vectors in the database, so that the page need not load the model
    assert ranking.index(ACTIVE) < 3
    edit(sample, condition=wanted)
    assert search.ranking(wanted)[0] == ACTIVE
    at = open_page("library", library_way="meaning", library_search=wanted, library_state="active")
    assert not at.exception
    table = at.dataframe[0].value
    assert len(table) == 5
    assert table["Rule"][0] == "Compare the error onset with the deploy log"


def test_a_view_is_saved_under_a_name_and_deleted(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", library_state="archived", library_form="table")
    at.text_input(key="library_view_name").set_value("Old ones")
    at.button(key="library_view_save").click().run()
    assert at.success[0].value == "View saved: Old ones"
    with sample.read() as session:
        view = session.exec(select(SavedView)).one()
    assert view.query == {"library_form": "table", "library_state": "archived"}
    at.button(key=f"library_forget_{view.id}").click().run()
    with sample.read() as session:
        assert session.exec(select(SavedView)).all() == []


def test_versions_are_held_against_each_other_word_by_word(sample: Database, open_page: OpenPage) -> None:
    edit(sample, action=TYPED)
    at = open_page("library", rule=ACTIVE)
    assert not at.exception
    marked = [one.value for one in at.tabs[1].markdown]
    assert any(":green-background[**compare the onset" in one for one in marked)
    assert any(":red-background[" in one for one in marked)
    decided = at.tabs[2].table[0].value
    assert (list(decided["Who"]), list(decided["What"]), list(decided["Why"])) == (
        ["ann"],
        ["Edit a rule"],
        ["clearer"],
    )


def test_a_decision_is_taken_back_from_the_rules_page(sample: Database, open_page: OpenPage) -> None:
    before = read_rule(sample, ACTIVE).action
    at = open_page("library", rule=ACTIVE)
    at.button(key=f"library_{ACTIVE}_pin").click().run()
    at.text_area(key=f"library_{ACTIVE}_action").set_value(TYPED)
    at.text_input(key=f"library_{ACTIVE}_edit_reason").set_value("clearer")
    at.button(key=f"library_{ACTIVE}_edit_save").click().run()
    assert read_rule(sample, ACTIVE).action == TYPED
    at.button(key="library_undo_2").click().run()
    assert read_rule(sample, ACTIVE).action == before
    at.button(key="library_undo_1").click().run()
    with sample.read() as session:
        assert session.exec(select(RulePin)).all() == []


def test_an_edit_of_what_changed_meanwhile_is_refused_and_the_text_kept(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", rule=ACTIVE)
    at.text_area(key=f"library_{ACTIVE}_action").set_value(TYPED)
    at.text_input(key=f"library_{ACTIVE}_edit_reason").set_value("clearer")
    edit(sample, condition="errors start within five minutes of a deploy")
    at.button(key=f"library_{ACTIVE}_edit_save").click().run()
    assert "has changed since you opened it" in at.error[0].value
    assert at.text_area(key=f"library_{ACTIVE}_action").value == TYPED
    assert read_rule(sample, ACTIVE).action != TYPED


def test_a_reload_in_the_middle_of_an_edit_keeps_the_draft(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", rule=ACTIVE, **{f"library_{ACTIVE}_action": TYPED})
    assert at.text_area(key=f"library_{ACTIVE}_action").value == TYPED
    at = open_page("library", library_part="write", library_new_condition="half a thought")
    assert at.text_area(key="library_new_condition").value == "half a thought"


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "**bold** <script>x</script> [a](b)", "\u202eabc\u200b", '"];A-->B', "\n"]
)
def test_odd_texts_are_shown_as_written(sample: Database, open_page: OpenPage, text: str) -> None:
    with sample.write() as session:
        for rule_id in (ACTIVE, CANDIDATE):
            rule = session.get_one(Rule, rule_id)
            rule.name = rule.action = text
            rule.lineage = [ACTIVE] if rule_id == CANDIDATE else []
            session.add(rule)
    at = open_page("library", rule=ACTIVE)
    assert not at.exception
    assert all("<script>" not in one.value and "**bold**" not in one.value for one in at.markdown)
    at = open_page("library")
    assert not at.exception
    assert all("<script>" not in one.value and "**bold**" not in one.value for one in at.markdown)


def test_the_lineage_is_drawn_and_each_rule_of_it_linked(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        rule = session.get_one(Rule, CANDIDATE)
        rule.lineage = [ACTIVE]
        session.add(rule)
    at = open_page("library", rule=ACTIVE)
    (chart,) = [one.value for one in at.tabs[5].markdown if "flowchart" in one.value]
    assert "r0 -.-> r" in chart
    links = [one.proto.label for one in at.tabs[5].get("page_link")]
    assert links == ["Take a heap profile before the restart", "Find deleted files that are still open"]


def test_a_rule_is_written_and_its_page_opened(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", library_part="write")
    typed = {"name": "Rotate", "condition": "a volume fills up overnight", "action": "rotate its logs before all else"}
    at.text_input(key="library_new_name").set_value(typed["name"])
    at.text_area(key="library_new_condition").set_value(typed["condition"])
    at.text_area(key="library_new_action").set_value("be careful")
    at.button(key="library_new_save").click().run()
    assert "your text is kept" in at.error[0].value
    assert at.text_area(key="library_new_condition").value == typed["condition"]
    at.text_area(key="library_new_action").set_value(typed["action"])
    at.button(key="library_new_save").click().run()
    assert at.title[0].value == "Rotate"
    with sample.read() as session:
        rule = session.exec(select(Rule).where(Rule.origin == "human")).one()
    assert (rule.state, rule.condition) == ("candidate", typed["condition"])


def test_a_handbook_is_previewed_changed_and_imported_once(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", library_part="handbook")
    at.text_area(key="library_handbook_text").set_value(BOOK).run()
    assert at.button(key="library_handbook_import").label == "Import 1 rule as a candidate"
    assert list(at.table[0].value["Line"]) == ["4"]
    (action,) = [one for one in at.text_area if str(one.key).endswith("_action")]
    action.set_value("be careful").run()
    assert at.button(key="library_handbook_import").disabled
    assert at.warning[0].value
    (action,) = [one for one in at.text_area if str(one.key).endswith("_action")]
    action.set_value("rotate its logs and delete the oldest archives").run()
    at.button(key="library_handbook_import").click().run()
    assert at.success[0].value == "1 rule imported"
    with sample.read() as session:
        rule = session.exec(
            select(Rule).where(Rule.domain == "incidents", Rule.name == "Rotate its logs before anything else")
        ).one()
    assert (rule.origin, rule.action) == ("handbook", "rotate its logs and delete the oldest archives")
    assert at.button(key="library_handbook_import").disabled


def test_a_rewind_is_shown_first_and_then_done(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", library_part="rewind")
    at.number_input(key="library_rewind_round").set_value(1).run()
    at.button(key="library_rewind_preview").click().run()
    assert not at.exception
    assert at.subheader[0].value.endswith("rules would change")
    at.button(key="library_rewind_send").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key="library_rewind_reason").set_value("worse since")
    at.button(key="library_rewind_send").click().run()
    assert at.success[0].value == "Rewound to round 1"
    assert read_rule(sample, CANDIDATE).state == "archived"


def test_who_may_not_act_is_not_offered_to(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        set_sign_in_needed(session, utc_now, needed=True)
    at = open_page("library")
    assert "library_part" not in {one.key for one in at.button_group}
    at = open_page("library", rule=ACTIVE)
    keys = {one.key for one in at.button}
    assert not {f"library_{ACTIVE}_{end}" for end in ("pin", "send", "edit_save")} & keys
