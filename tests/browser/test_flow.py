"""The flow on Provenance, in Chromium: a click on a box or its name, and the keyboard, lead on."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import run_product
from tests.support.speed import filled_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_boxes_lead_from_episodes_to_rules_to_a_metric(tmp_path: Path, tab: Page) -> None:
    filled_file(tmp_path / "product.db")
    with run_product(tmp_path, {"RULEWRIGHT_LOOP__AUTOSTART": "never"}) as running:
        tab.goto(f"{running.url}/provenance?lang=en")
        heading = tab.get_by_role("tabpanel").get_by_role("heading", level=3)
        expect(tab.locator(".barlayer .point path").first).to_be_visible()
        expect(heading).to_have_count(0)

        click_at(tab, ".barlayer .point path", 0)
        expect(heading).to_have_text("pool_exhaustion")
        click_at(tab, ".scatterlayer .textpoint text", -1)
        expect(heading).to_have_text("Too few to tell")
        expect(tab.get_by_role("link", name="Task success rate by round")).to_be_visible()

        choice = tab.get_by_role("combobox", name="What it leads to")
        choice.focus()
        choice.fill("Resolve from inside")
        tab.keyboard.press("Enter")
        expect(heading).to_have_text("Resolve from inside the failing host")
        tab.get_by_role("tabpanel").get_by_role("link", name="Resolve from inside the failing host").first.press(
            "Enter"
        )
        expect(tab).to_have_url(re.compile(r"/library\?.*rule=rule_0000000000000003"))


def click_at(tab: Page, selector: str, place: int) -> None:
    """Click as a person does: Plotly tells by the pointer's place, not by the element below it."""
    tab.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    tab.locator(selector).nth(place).click(force=True)
