"""The library in Chromium: what was planted is no link, the way back keeps the filters, a reload keeps a draft."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.tables import Rule
from tests.browser.conftest import Running, run_product
from tests.support.speed import filled_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULE = "rule_0000000000000001"
PLANTED = (
    "see https://evil.example/a or www.evil.example, ask bob@evil.example, <b>now</b> [here](https://evil.example)"
)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Running]:
    """The product on the sample, with addresses planted into one rule and a loop that rests."""
    filled_file(tmp_path / "product.db")
    with run_product(tmp_path, {"RULEWRIGHT_LOOP__AUTOSTART": "never"}) as running:
        with running.database() as database, database.write() as session:
            rule = session.get_one(Rule, RULE)
            rule.name, rule.action = PLANTED, PLANTED
            session.add(rule)
        yield running


def test_a_rule_is_found_opened_left_and_written(filled: Running, tab: Page) -> None:
    tab.goto(f"{filled.url}/library?lang=en")
    words = tab.get_by_role("textbox", name="Search", exact=True)
    words.fill("evil")
    words.press("Enter")
    tab.wait_for_url("**/library?*library_search=evil*")
    found = tab.get_by_role("link", name="Open this rule")
    expect(found).to_have_count(1)
    found.click()
    expect(tab.get_by_role("heading", name=PLANTED, level=1)).to_be_visible()
    expect(tab.locator('a[href*="evil.example"]')).to_have_count(0)

    tab.go_back()
    expect(words).to_have_value("evil")
    expect(found).to_have_count(1)

    tab.goto(f"{filled.url}/library?lang=en&library_part=write")
    action = tab.get_by_label("Do", exact=True)
    action.fill("ask the owner of the ledger before anything is booked twice")
    action.press("Tab")
    tab.wait_for_url("**booked*")
    tab.reload()
    expect(action).to_have_value("ask the owner of the ledger before anything is booked twice")
