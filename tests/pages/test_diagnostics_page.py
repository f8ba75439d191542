"""The page of troubles: evidence, preview, apply, undo."""

from sqlalchemy import event
from sqlmodel import select

from core.clock import utc_now
from core.db import Database
from core.settings import load_settings
from core.tables import SettingOverride
from pages.context import Context
from pages.troubles import known_troubles
from tests.pages.conftest import OpenPage
from tests.pages.test_pages import texts
from tests.support.loop_rows import World


def overrides(database: Database) -> dict[str, object]:
    with database.read() as session:
        return {row.name: row.value for row in session.exec(select(SettingOverride)).all()}


def test_a_trouble_is_shown_with_its_evidence_and_its_remedy_can_be_applied_and_taken_back(
    database: Database, open_page: OpenPage
) -> None:
    world = World(database, load_settings())
    world.run(2)
    world.ills.add("ossification")
    world.run(2)
    world.settings = load_settings()
    at = open_page("diagnostics")
    assert not at.exception
    assert "Ossification: no new rule gets shown" in texts(at)
    evidence = at.table[0].value
    assert "Prompts that had a candidate, round 4" in list(evidence["Evidence"])
    assert any("These settings are in force already" in one.value for one in at.caption)


def test_applying_changes_settings_through_the_audited_way(database: Database, open_page: OpenPage) -> None:
    world = World(database, load_settings())
    world.run(2)
    world.ills.add("prompt_limit")
    world.run(2)
    at = open_page("diagnostics")
    changes = at.table[1].value
    assert list(changes["Setting"]) == ["retrieval.top_k"]
    assert (changes["Now"][0], int(changes["After"][0])) == ("12", 4)
    at.button(key="diagnostics_0_prompt_limit_apply").click().run()
    assert overrides(database) == {"retrieval.top_k": 4}
    at.button(key="diagnostics_undo_button").click().run()
    assert overrides(database) == {"retrieval.top_k": 12}


def test_the_hit_list_says_what_a_type_found(sample: Database, open_page: OpenPage) -> None:
    at = open_page("diagnostics")
    assert not at.exception
    hits = at.dataframe[-1].value
    assert list(hits.columns[:3]) == ["Rule", "State", "Found"]


def test_overview_looks_for_troubles_again_only_when_there_is_reason(database: Database) -> None:
    settings = load_settings()
    app, asked = Context(settings, database), []
    event.listen(database.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))

    def look() -> tuple[set[str], bool]:
        """What is found, and whether training episodes were read for it."""
        asked.clear()
        kinds = {trouble.kind.value for trouble in known_troubles(app)}
        return kinds, any("FROM episode" in statement for statement in asked)

    world = World(database, settings)
    world.run(2)
    world.ills.add("ossification")
    world.run(2)
    assert look() == ({"ossification"}, True)
    assert look() == ({"ossification"}, False)

    world.ills.clear()
    world.run(2)
    assert look() == (set(), True), "a round has ended"
    with database.write() as session:
        session.add(SettingOverride(name="retrieval.top_k", value=9, changed_by="ada", changed_at=utc_now()))
    assert look() == (set(), True), "remedies start from the settings in force"
    assert look() == (set(), False)
