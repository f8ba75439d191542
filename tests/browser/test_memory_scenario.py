"""Memory and policy in Chromium: a phase is unlocked and taken back, a memory restored, a typed state judged."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.clock import utc_now
from core.db import open_database
from tests.browser.conftest import Running, run_product
from tests.support.experience_rows import ACTIONS, STATES, fill_experience
from tests.support.speed import filled_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def experienced(tmp_path: Path) -> Iterator[Running]:
    """The product on the sample with 60 memories and a policy, and a loop that rests."""
    file = filled_file(tmp_path / "product.db")
    with closing(open_database(f"sqlite:///{file}")) as database:
        fill_experience(database, now=utc_now())
    with run_product(tmp_path, {"RULEWRIGHT_LOOP__AUTOSTART": "never"}) as running:
        yield running


def test_experience_is_unlocked_looked_up_and_restored(experienced: Running, tab: Page) -> None:
    tab.goto(f"{experienced.url}/memory_policy?lang=en")
    tab.get_by_role("button", name="Go on to recall").click()
    expect(tab.get_by_text("Phase in force from the next round on: recall")).to_be_visible()
    tab.get_by_role("button", name="Go back to static").click()
    expect(tab.get_by_role("button", name="Go on to recall")).to_be_visible()

    tab.goto(f"{experienced.url}/memory_policy?lang=en&memory_part=memories&memory_open=10")
    tab.get_by_role("button", name="Restore", exact=True).click()
    expect(tab.get_by_text("restored by a person")).to_be_visible()

    tab.goto(f"{experienced.url}/memory_policy?lang=en&memory_part=state")
    state = tab.get_by_label("State", exact=True)
    state.fill(STATES["queue"])
    state.press("Control+Enter")
    best = tab.get_by_role("row").filter(has_text=ACTIONS[2])
    expect(best).to_contain_text("+1.00")
