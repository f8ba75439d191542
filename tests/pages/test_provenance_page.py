"""The page that says what came from what."""

from core.db import Database
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


def test_a_rule_is_traced_back_to_its_reflection(sample: Database, open_page: OpenPage) -> None:
    at = open_page("provenance", provenance_rule="rule_0000000000000005")
    assert not at.exception
    rule = at.tabs[2]
    assert "From reflection" in [one.value for one in rule.caption]
    assert "Task success rate" in set(rule.table[0].value["Metric"])


def test_an_episode_shows_the_versions_it_was_served(sample: Database, open_page: OpenPage) -> None:
    at = open_page("provenance")
    at.text_input(key="provenance_episode").set_value("episode_08after003").run()
    assert not at.exception
    served = at.tabs[3].table[0].value
    assert list(served.columns) == ["Place", "Rule", "Version served", "Version now", "In the prompt", "Followed"]
    at.text_input(key="provenance_episode").set_value("nobody").run()
    assert "There is no episode" in texts(at)
