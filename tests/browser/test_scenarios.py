"""What a visitor lives through, in Chromium, with the loop running on the simulated model."""

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlmodel import col, select

from core.db import open_database
from core.tables import Episode, Rule, RuleUse
from tests.browser.conftest import Running

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ("", "review", "library", "episodes", "loop")
_ROUND_MS = 300_000


def heading(tab: Page, text: str) -> Locator:
    return tab.get_by_role("heading", name=text, exact=True, level=1)


def healthy(tab: Page) -> None:
    expect(tab.locator('[data-testid="stException"]')).to_have_count(0)


@pytest.mark.parametrize(
    ("language", "titles"),
    [
        ("en", ("Overview", "Review", "Library", "Episodes", "Loop")),
        ("zh", ("概览", "审核", "规则库", "轨迹", "循环")),
    ],
)
def test_every_page_opens_in_each_language(product: Running, tab: Page, language: str, titles: tuple[str, ...]) -> None:
    for page, title in zip(PAGES, titles, strict=True):
        tab.goto(f"{product.url}/{page}?lang={language}")
        expect(heading(tab, title)).to_be_visible()
        expect(tab.get_by_text("Simulated model" if language == "en" else "模拟模型").first).to_be_visible()
        healthy(tab)


def test_the_language_stays_when_the_page_changes(product: Running, tab: Page) -> None:
    tab.goto(product.url)
    tab.get_by_role("radio", name="中文").or_(tab.get_by_role("button", name="中文")).first.click()
    expect(heading(tab, "概览")).to_be_visible()
    tab.get_by_role("link", name="规则库").click()
    expect(heading(tab, "规则库")).to_be_visible()
    assert "lang=zh" in tab.url


def test_pause_and_resume(product: Running, tab: Page) -> None:
    tab.goto(f"{product.url}/loop?lang=en")
    tab.get_by_role("button", name="Pause").click()
    expect(tab.get_by_text("The loop pauses after what it is doing now.")).to_be_visible()
    status = tab.locator('[data-testid="stBadge"], [data-testid="stMarkdownBadge"], .stMarkdownBadge')
    expect(status.filter(has_text="Paused").first).to_be_visible(timeout=60_000)
    tab.get_by_role("button", name="Run", exact=True).click()
    expect(tab.get_by_text("The loop runs.")).to_be_visible()
    expect(status.filter(has_text="Running").first).to_be_visible(timeout=60_000)
    healthy(tab)


def test_from_a_cold_start_an_approved_rule_turns_up_in_a_served_prompt(product: Running, tab: Page) -> None:
    tab.goto(f"{product.url}/?lang=en")
    expect(tab.get_by_text("Rulewright lets an agent get better without retraining it")).to_be_visible()
    rule_id = _approve_the_first_rule(product, tab)
    episode_id = _served_to(product, tab, rule_id)
    tab.goto(f"{product.url}/episodes?lang=en&episode={episode_id}")
    expect(tab.get_by_role("heading", name="Rules in its prompt")).to_be_visible()
    database = open_database(product.database_url)
    with database.read() as session:
        name = session.get_one(Rule, rule_id).name
    database.close()
    expect(tab.get_by_role("link", name=name).first).to_be_visible()
    healthy(tab)


def _approve_the_first_rule(product: Running, tab: Page) -> str:
    """Wait in Review until the first round has written a rule; approve it at once and return its id."""
    approve = tab.get_by_role("button", name="Approve", exact=False)
    for _ in range(60):
        tab.goto(f"{product.url}/review?lang=en")
        expect(heading(tab, "Review")).to_be_visible()
        if approve.last.is_visible():
            break
        tab.wait_for_timeout(_ROUND_MS / 60)
    tab.get_by_text("Put it into prompts at once").click()
    tab.locator('[class*="st-key-review_rule"][class*="_approve"] button').click()
    expect(tab.get_by_text("Approved and active:")).to_be_visible()
    database = open_database(product.database_url)
    with database.read() as session:
        rule = session.exec(select(Rule).where(Rule.approved_by == "local")).one()
    database.close()
    return rule.id


def _served_to(product: Running, tab: Page, rule_id: str) -> str:
    """Wait until a prompt carried the rule; return that episode's id."""
    database = open_database(product.database_url)
    served = (
        select(Episode.id)
        .join(RuleUse, col(RuleUse.episode_id) == col(Episode.id))
        .where(RuleUse.rule_id == rule_id, RuleUse.disposition == "served", RuleUse.rule_version > 1)
        .limit(1)
    )
    try:
        for _ in range(60):
            with database.read() as session:
                found = session.exec(served).first()
            if found is not None:
                return found
            tab.wait_for_timeout(_ROUND_MS / 60)
    finally:
        database.close()
    pytest.fail("no prompt carried the approved rule")
