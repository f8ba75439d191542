"""What people press on the pages ends up in the database, through core.curation."""

from sqlmodel import select

from core.clock import utc_now
from core.db import Database
from core.rules.library import Change, create_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.tables import LoopControl, Proposal, Rule, SettingOverride
from core.tables.rules import RuleContent
from tests.pages.conftest import OpenPage

OLDEST = "rule_0000000000000005"
CONFLICTING = "rule_0000000000000006"


def read_rule(database: Database, rule_id: str) -> Rule:
    with database.read() as session:
        return session.get_one(Rule, rule_id)


def test_approve_is_told_and_the_next_item_follows(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"review_{OLDEST}_approve").click().run()
    assert not at.exception
    assert at.success[0].value == "Approved and active: Find deleted files that are still open"
    assert read_rule(sample, OLDEST).approved_by == "local"
    assert any("1 of 4" in one.value for one in at.caption)
    assert OLDEST not in "".join(str(button.key) for button in at.button)


def test_approve_at_once_makes_a_rule_active(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"review_{OLDEST}_at_once").click().run()
    assert read_rule(sample, OLDEST).state == "active"


def test_edit_and_approve_keeps_the_persons_words(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"review_{OLDEST}_edit").click().run()
    changed = "List open deleted files with their size, then restart the process that holds the largest."
    at.text_area(key=f"review_{OLDEST}_action").set_value(changed)
    at.button(key=f"review_{OLDEST}_save").click().run()
    rule = read_rule(sample, OLDEST)
    assert (rule.action, rule.approved_by) == (changed, "local")


def test_refuse_needs_a_reason_and_archives(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"review_{OLDEST}_refuse").click().run()
    at.button(key=f"review_{OLDEST}_refuse_send").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key=f"review_{OLDEST}_reason").set_value("We resize the volume instead.")
    at.button(key=f"review_{OLDEST}_refuse_send").click().run()
    assert read_rule(sample, OLDEST).state == "archived"


def test_a_concurrent_change_is_said_plainly_and_nothing_is_lost(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key=f"review_{OLDEST}_edit").click().run()
    at.text_area(key=f"review_{OLDEST}_action").set_value("Typed with care.")
    with sample.write() as session:
        rule = session.get_one(Rule, OLDEST)
        rule.action, rule.version = "Changed by somebody else.", rule.version + 1
        session.add(rule)
    at.button(key=f"review_{OLDEST}_save").click().run()
    assert "has changed since you opened it" in at.error[0].value
    assert at.text_area(key=f"review_{OLDEST}_action").value == "Typed with care."
    assert read_rule(sample, OLDEST).approved_by is None


def test_later_shows_the_next_item_without_deciding(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    at.button(key="review_later").click().run()
    assert any("2 of 5" in one.value for one in at.caption)
    assert read_rule(sample, OLDEST).approved_by is None


def test_a_proposal_is_accepted(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    while "review_proposal_1_accept" not in {button.key for button in at.button}:
        at.button(key="review_later").click().run()
    at.button(key="review_proposal_1_accept").click().run()
    assert not at.error
    with sample.read() as session:
        assert session.get_one(Proposal, "proposal_1").status == "accepted"
    assert read_rule(sample, "rule_0000000000000000").action.endswith("those of the leaking service only.")


def test_a_contradiction_leads_to_the_page_that_settles_it(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    for _ in range(5):
        links = [link.proto for link in at.get("page_link")]
        if any("conflict=conflict_1" in link.query_string for link in links):
            return
        at.button(key="review_later").click().run()
    raise AssertionError("no waiting item links to its conflict")


def test_a_rule_is_archived_and_restored_from_the_library(sample: Database, open_page: OpenPage) -> None:
    rule_id = "rule_0000000000000001"
    at = open_page("library", rule=rule_id)
    at.text_input(key=f"library_{rule_id}_reason").set_value("Caches are gone.")
    at.button(key=f"library_{rule_id}_send").click().run()
    assert read_rule(sample, rule_id).state == "archived"
    at.text_input(key=f"library_{rule_id}_reason").set_value("They are back.")
    at.button(key=f"library_{rule_id}_send").click().run()
    assert read_rule(sample, rule_id).state == "candidate"


def test_pause_run_and_step_reach_the_loop(sample: Database, open_page: OpenPage) -> None:
    def control() -> LoopControl:
        with sample.read() as session:
            return session.exec(select(LoopControl)).one()

    at = open_page("loop")
    at.button(key="loop_run").click().run()
    assert control().wanted == "run"
    at.button(key="loop_pause").click().run()
    assert control().wanted == "pause"
    at.button(key="loop_step").click().run()
    assert control().steps == 1


def test_a_setting_is_changed_with_its_name(sample: Database, open_page: OpenPage) -> None:
    at = open_page("loop")
    at.number_input(key="loop_setting_gate.tasks").set_value(40)
    at.button(key="loop_save_gate").click().run()
    assert at.success[0].value == "Saved: gate\\.tasks"
    with sample.read() as session:
        override = session.get_one(SettingOverride, "gate.tasks")
    assert (override.value, override.changed_by) == (40, "local")


def test_a_language_switch_keeps_the_page_and_the_rule(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", rule=OLDEST)
    at.button_group(key="shell_choice").set_value("zh").run()
    assert at.query_params["rule"] == OLDEST
    assert at.title[0].value == "Find deleted files that are still open"


def test_a_rule_is_archived_with_the_descendants_that_were_chosen(sample: Database, open_page: OpenPage) -> None:
    root, chosen, spared = (f"rule_{number:016x}" for number in (1, 5, 6))
    with sample.write() as session:
        for rule_id in (chosen, spared):
            rule = session.get_one(Rule, rule_id)
            rule.lineage = [root]
            session.add(rule)
    at = open_page("library", rule=root)
    assert {box.key for box in at.checkbox} == {f"library_{root}_with_{one}" for one in (chosen, spared)}
    at.checkbox(key=f"library_{root}_with_{chosen}").check()
    at.text_input(key=f"library_{root}_reason").set_value("Planted by a tool result.")
    at.button(key=f"library_{root}_send").click().run()
    assert not at.exception
    assert at.success[0].value.startswith("Archived with 1 descendant: ")
    assert [read_rule(sample, one).state for one in (root, chosen, spared)] == ["archived", "archived", "candidate"]


def test_a_descendant_that_changed_meanwhile_stops_the_whole_quarantine(sample: Database, open_page: OpenPage) -> None:
    root, chosen = (f"rule_{number:016x}" for number in (1, 5))

    def change(**columns: object) -> None:
        with sample.write() as session:
            rule = session.get_one(Rule, chosen)
            for name, value in columns.items():
                setattr(rule, name, value)
            session.add(rule)

    change(lineage=[root])
    at = open_page("library", rule=root)
    at.checkbox(key=f"library_{root}_with_{chosen}").check()
    at.text_input(key=f"library_{root}_reason").set_value("Planted by a tool result.")
    change(version=7)
    at.button(key=f"library_{root}_send").click().run()
    assert "has changed since you opened it" in at.error[0].value
    assert read_rule(sample, root).state != "archived"


def test_a_merge_is_taken_apart_from_its_page(sample: Database, open_page: OpenPage) -> None:
    change = Change("system", utc_now, round_number=8)
    parent_id = "rule_0000000000000001"
    with sample.write() as session:
        parent = session.get_one(Rule, parent_id)
        draft = RuleContent(name="Wider", condition="a cache is cold", action="warm it", domain=parent.domain)
        create_rule(session, draft, change, origin="merge", id="merged", parents=[parent_id])
        move_rule(session, parent, State.ARCHIVED, Cause.MERGED, change, merged_into="merged")
    assert "library_merged_unmerge_send" not in {button.key for button in open_page("library", rule=OLDEST).button}
    at = open_page("library", rule="merged")
    at.button(key="library_merged_unmerge_send").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key="library_merged_unmerge_reason").set_value("They differ in the remedy.")
    at.button(key="library_merged_unmerge_send").click().run()
    assert at.success[0].value == "Taken apart: Wider"
    assert [read_rule(sample, one).state for one in (parent_id, "merged")] == ["active", "archived"]
