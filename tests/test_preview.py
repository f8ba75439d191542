"""The prompt a typed task would get is the one an evaluation gets, and every rule has its reason."""

from pathlib import Path

import pytest
from sqlmodel import col, select

from core.db import Database, open_database
from core.errors import UserError
from core.learning.service import run_rounds
from core.preview import Previewer
from core.settings import Settings, load_settings
from core.tables import Episode, Rule
from tests.learning.rows import a_rule

FAULTLESS = {"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0}


def settings_for(**groups: object) -> Settings:
    return load_settings(simulation=FAULTLESS, **groups)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def test_it_is_the_prompt_that_the_gate_serves(database: Database) -> None:
    """A round that changes nothing more: its evaluation of the standing library has the previewed prompts."""
    settings = settings_for(round={"tasks": 12}, gate={"tasks": 12}, agent={"rollouts_per_task": 2})
    run_rounds(settings, database, rounds=2)
    with database.read() as session:
        episode = session.exec(
            select(Episode).where(Episode.arm == "after", Episode.round_number == 2, col(Episode.reused_from).is_(None))
        ).first()
    assert episode is not None
    served = episode.messages[0]["content"]
    preview = Previewer(settings, database).preview(settings, "incidents", episode.query)
    # Figures move on after a round, so the order may; the rules and the stable part are the same.
    assert preview.text.split("## Rules")[0] == served.split("## Rules")[0]
    assert {row.text for row in preview.rows if row.fate == "served"} == {
        line.partition("] ")[2] for line in served.splitlines() if line.startswith("[R")
    }


def test_every_rule_that_may_be_served_has_its_fate(database: Database) -> None:
    with database.write() as session:
        for number in range(20):
            state = ("active", "candidate", "probation", "archived")[number % 4]
            condition = f"the queue number {number} grows without any end"
            session.add(a_rule(f"r{number:02}", domain="incidents", state=state, condition=condition))
        session.add(a_rule("out", domain="incidents", state="active", exclusion="staging cluster"))
    settings = settings_for(retrieval={"top_k": 6})
    preview = Previewer(settings, database).preview(settings, "incidents", "the queue grows in the staging cluster")
    fates = {row.rule_id: row.fate for row in preview.rows}
    with database.read() as session:
        served = {rule.id for rule in session.exec(select(Rule).where(Rule.state != "archived"))}
    assert set(fates) == served
    assert fates["out"] == "exclusion"
    assert [row.position for row in preview.rows if row.fate == "served"] == [1, 2, 3, 4, 5, 6]
    assert {"rank", "candidates", "served"} <= set(fates.values())
    assert preview.rule_tokens <= preview.budget


def test_recorded_agents_have_prompts_of_their_own(database: Database) -> None:
    with database.write() as session:
        session.add(a_rule("r", domain="airline", state="active"))
    settings = settings_for(environment={"name": "recorded:airline"})
    preview = Previewer(settings, database).preview(settings, "airline", "the queue grows")
    assert preview.text.strip().startswith("## Rules learned from experience")


def test_an_empty_task_is_no_task(database: Database) -> None:
    settings = settings_for()
    with pytest.raises(UserError, match="Type a task first"):
        Previewer(settings, database).preview(settings, "incidents", "  ")
