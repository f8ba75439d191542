"""An operator settles five conflicts, one in each way, and takes one back, in Chromium."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlmodel import select

from core.clock import utc_now
from core.db import open_database
from core.ids import stable_id
from core.tables import Conflict, LoopControl, Rule
from tests.browser.conftest import Running, run_product
from tests.support.sample_data import fill

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAIRS = ((0, 5), (1, 6), (2, 7), (3, 8), (4, 9))
_FIRST_MODEL_MS = 120_000
"""The embedding model is loaded for the first narrowing."""


@pytest.fixture
def contradicting(tmp_path: Path) -> Iterator[Running]:
    """The product on a database with five open conflicts and a loop that rests."""
    database = open_database(f"sqlite:///{tmp_path}/product.db")
    now = utc_now()
    fill(database, now=now)
    with database.write() as session:
        session.delete(session.exec(select(Conflict)).one())
        session.get_one(LoopControl, "loop").wanted = "pause"
        for place, (a, b) in enumerate(PAIRS):
            first, second = f"rule_{a:016x}", f"rule_{b:016x}"
            session.add(
                Conflict(
                    id=stable_id("conflict", first, second),
                    rule_a=first,
                    rule_b=second,
                    detector="polarity",
                    evidence="They contradict each other.",
                    created_at=now - timedelta(hours=9 - place),
                )
            )
    database.close()
    with run_product(tmp_path, {}) as running:
        yield running


def rests(tab: Page) -> None:
    """Wait until the page has run to its end: until then the widgets of the conflict before are still there."""
    tab.wait_for_selector('[data-testid="stApp"][data-test-script-state="running"]', state="detached")


def choose(tab: Page, way: str) -> None:
    rests(tab)
    tab.get_by_role("radio", name=way, exact=True).or_(tab.get_by_role("button", name=way, exact=True)).first.click()
    rests(tab)


def test_an_operator_settles_a_conflict_in_each_of_the_five_ways(contradicting: Running, tab: Page) -> None:
    def settled(message: str) -> None:
        expect(tab.get_by_text(message)).to_be_visible(timeout=_FIRST_MODEL_MS)
        rests(tab)
        expect(tab.locator('[data-testid="stException"]')).to_have_count(0)

    tab.goto(f"{contradicting.url}/conflicts?lang=en")
    expect(tab.get_by_text("1 of 5, waiting for 9 hours")).to_be_visible()
    tab.locator('[class*="_send_keep"] button').click()
    settled("is kept.")
    expect(tab.get_by_text("1 of 4")).to_be_visible()

    choose(tab, "One goes first")
    tab.locator('[class*="_send_priority"] button').click()
    settled("goes first where both fit.")

    choose(tab, "Narrow both")
    tab.get_by_label("Except when").first.fill("the weekly report runs")
    tab.get_by_label("Why?").fill("They are about different weeks.")
    tab.get_by_role("button", name="Save both conditions").click()
    settled("do not meet any more.")

    choose(tab, "Make one rule of both")
    tab.get_by_label("Do", exact=True).fill("Query the resolver from a failing host and compare its plan.")
    tab.get_by_role("button", name="Make one rule", exact=True).click()
    settled("both are one rule now.")

    choose(tab, "Not a conflict")
    tab.get_by_role("button", name="They do not contradict each other").click()
    settled("not a conflict.")
    expect(tab.get_by_text("No conflict waits")).to_be_visible()

    with contradicting.database() as database, database.read() as session:
        found = {row.rule_a[-1]: row for row in session.exec(select(Conflict))}
        merged = session.exec(select(Rule).where(Rule.origin == "merge")).one()
    ways = [found[str(a)].resolution.partition(":")[0] for a, _ in PAIRS]
    assert ways == ["keep", "priority", "narrowed", "merged", "not_a_conflict"]
    assert found["2"].reason == "They are about different weeks."
    assert merged.action == "Query the resolver from a failing host and compare its plan."

    choose(tab, "Settled")
    tab.locator('[class*="st-key-conflicts_open_"] button').first.click()
    tab.get_by_role("button", name="Undo").first.click()
    settled("the conflict is open again.")
    expect(tab.get_by_role("link", name="Conflicts (1)")).to_be_visible()
