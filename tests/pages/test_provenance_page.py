"""The page that says what came from what."""

import pytest
from sqlmodel import select

from core.db import Database
from core.tables import Rule, RuleUse
from tests.pages.conftest import OpenPage
from tests.pages.test_pages import texts
from tests.views.test_provenance import fill_world


def test_a_change_names_the_rule_it_is_owed_to(database: Database, open_page: OpenPage) -> None:
    fill_world(database, seed=3, harm=0.5)
    at = open_page("provenance")
    assert not at.exception
    changes = at.tabs[1].table[0].value
    assert changes["Rule"][0] == "r07"
    assert changes["Told apart"][0] == "yes"
    assert at.tabs[1].metric[0].value.startswith("−0.")


@pytest.mark.parametrize(
    ("box", "heading", "links", "episodes"),
    [
        ("type/dns_fault", "dns\\_fault", ["Resolve from inside the failing host", "Read the chain's dates"], True),
        ("rule/rule_0000000000000003", "Resolve from inside", ["Resolve from inside the failing host"], True),
        ("finding/too_few", "Too few to tell", ["Look for leaked connections", "Task success rate by round"], False),
    ],
)
def test_each_box_of_the_flow_leads_on(
    sample: Database, open_page: OpenPage, box: str, heading: str, links: list[str], episodes: bool
) -> None:
    at = open_page("provenance")
    flow = at.tabs[0]
    assert not flow.get("page_link"), "nothing is chosen yet"
    at.selectbox(key="provenance_box").set_value(box).run()
    assert not at.exception
    flow = at.tabs[0]
    assert flow.subheader[0].value.startswith(heading)
    named = [link.proto.label.replace("\\", "") for link in flow.get("page_link")]
    for link in links:
        assert any(name.startswith(link) for name in named), named
    assert any(link.proto.page == "episodes" for link in flow.get("page_link")) == episodes


def test_a_box_that_is_not_there_any_more_is_forgotten(sample: Database, open_page: OpenPage) -> None:
    at = open_page("provenance")
    at.selectbox(key="provenance_box").set_value("rule/rule_0000000000000003").run()
    assert at.tabs[0].subheader
    with sample.write() as session:
        session.get_one(Rule, "rule_0000000000000003").state = "archived"
    at.run()
    assert not at.exception
    assert at.selectbox(key="provenance_box").value is None
    assert not at.tabs[0].subheader


def test_a_rule_is_traced_back_to_its_reflection(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        session.get_one(Rule, "rule_0000000000000005").name = "Close idle-in-transaction (first)"
    at = open_page("provenance", provenance_rule="rule_0000000000000005")
    assert "Close idle-in-transaction (first)" in at.selectbox(key="provenance_rule").options
    assert not at.exception
    rule = at.tabs[2]
    assert "From reflection" in [one.value for one in rule.caption]
    assert "Task success rate" in set(rule.table[0].value["Metric"])


def test_an_episode_shows_the_versions_it_was_served(sample: Database, open_page: OpenPage) -> None:
    with sample.read() as session:
        left_out = session.exec(select(RuleUse.episode_id).where(RuleUse.disposition == "left_out")).first()
    at = open_page("provenance")
    at.text_input(key="provenance_episode").set_value(left_out).run()
    assert not at.exception
    rows = at.tabs[3].table[0].value
    assert list(rows.columns) == ["Place", "Rule", "Version served", "Version now", "In the prompt", "Followed"]
    assert {shown == "–" for place, shown in zip(rows["Place"], rows["Followed"], strict=True) if place == "–"} == {
        True
    }
    assert "–" not in {shown for place, shown in zip(rows["Place"], rows["Followed"], strict=True) if place != "–"}
    at.text_input(key="provenance_episode").set_value("nobody").run()
    assert "There is no episode" in texts(at)
