"""Review in Chromium: thirty rules by keyboard alone, and two people at once who never get into each other's way."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlmodel import col, select

from core.clock import utc_now
from core.db import Database, open_database
from core.rules.library import SYSTEM, Change, create_rule
from core.tables import AuditEntry, EvidenceWish, ReviewDraft, Rule
from core.tables.rules import RuleContent
from tests.browser.conftest import _wait_for
from tests.conftest import ROOT
from tests.tools.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULES = 30
_SHELVES = ("fiction", "maps", "music", "law", "poems", "atlases", "plays", "diaries", "essays", "comics")
_STEPS = ("look up the reservations first", "ask for the open fees", "offer the next free copy")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Thirty candidates of one domain, none verified."""
    opened = open_database(f"sqlite:///{tmp_path}/product.db")
    with opened.write() as session:
        for number in range(RULES):
            moment = utc_now() - timedelta(hours=RULES - number)
            draft = RuleContent(
                name=f"Rule number {number + 1}",
                condition=f"a reader wants to keep {_SHELVES[number % 10]} beyond the second renewal",
                action=f"{_STEPS[number // 10]} before the loan is renewed and write down the answer",
                domain="desk",
                confidence=0.9,
            )
            change = Change(SYSTEM, lambda at=moment: at)
            create_rule(session, draft, change, origin="reflection", id=f"rule_{number + 1:02}")
    yield opened
    opened.close()


@pytest.fixture
def url(database: Database, tmp_path: Path) -> Iterator[str]:
    """The product on that database, the loop at rest; who acts is told by a cookie instead of a sign-in."""
    port, log = free_port(), tmp_path / "product.log"
    environment = {"DATABASE_URL": str(database.engine.url), "RULEWRIGHT_LOOP__AUTOSTART": "never"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "tests/support/people_app.py", "--server.port", str(port)],
            cwd=ROOT,
            env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture
def person(chromium: Browser, url: str) -> Iterator[Callable[[str], Page]]:
    """Opens Review for somebody, in a browser context of their own."""
    contexts = []

    def open_(name: str) -> Page:
        context = chromium.new_context(viewport={"width": 1280, "height": 1000}, locale="en-US")
        context.add_cookies([{"name": "test-person", "value": name, "url": url}])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        page.goto(f"{url}/review?lang=en")
        return page

    yield open_
    for context in contexts:
        context.close()


def subject(page: Page, name: str) -> None:
    """Wait until this rule is before the person and the page is at rest: keys go to what is on screen."""
    expect(page.locator('[data-testid="stHeading"] h3').filter(has_text=name).first).to_have_text(name)
    at_rest(page)


def open_edit(page: Page) -> None:
    """Press the key for an edit; again if the page, just loaded, did not listen to keys yet."""
    page.keyboard.press("e")
    try:
        expect(page.get_by_label("Do", exact=True)).to_be_visible(timeout=15_000)
    except AssertionError:
        page.keyboard.press("e")


def at_rest(page: Page) -> None:
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def states(database: Database) -> dict[str, tuple[str, str | None]]:
    with database.read() as session:
        return {rule.id: (rule.state, rule.approved_by) for rule in session.exec(select(Rule))}


def test_thirty_rules_by_keyboard_alone_with_one_undo(person: Callable[[str], Page], database: Database) -> None:
    page = person("ada")
    subject(page, "Rule number 1")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Undo your last action")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for number in range(1, RULES + 1):
        subject(page, f"Rule number {number}")
        if number == 2:
            page.keyboard.press("x")
            expect(page.get_by_role("button", name="Another reason")).to_be_visible()
            at_rest(page)
            page.keyboard.press("6")
            expect(page.get_by_label("Why?", exact=True)).to_be_focused()
            page.keyboard.type("We never renew a third time.")
            page.keyboard.press("Enter")
        elif number == 3:
            page.keyboard.press("e")
            expect(page.get_by_label("Do", exact=True)).to_be_focused()
            page.keyboard.press("Control+a")
            page.keyboard.type("ask for the open fees and for the reservations before the loan is renewed")
            page.keyboard.press("Control+Enter")
        elif number == 4:
            page.keyboard.press("w")
            expect(page.get_by_label("How many?", exact=True)).to_be_focused()
            page.keyboard.press("Enter")
        elif number == 5:
            page.keyboard.press("a")
            subject(page, "Rule number 6")
            page.keyboard.press("u")
            expect(page.get_by_text("Undone: Approve – Rule number 5")).to_be_visible()
            subject(page, "Rule number 5")
            page.keyboard.press("l")
        elif number % 7 == 0:
            page.keyboard.press("x")
            expect(page.get_by_role("button", name="It is too vague to follow.")).to_be_visible()
            at_rest(page)
            page.keyboard.press("2")
        else:
            page.keyboard.press("a")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    found = states(database)
    assert found["rule_02"][0] == "archived"
    assert found["rule_05"] == ("active", "ada")
    assert sorted(one for one, (state, _) in found.items() if state == "archived") == [
        "rule_02", "rule_07", "rule_14", "rule_21", "rule_28"
    ]  # fmt: skip
    with database.read() as session:
        assert session.get_one(Rule, "rule_03").action.startswith("ask for the open fees and for the reservations")
        assert session.exec(select(EvidenceWish.rule_id)).all() == ["rule_04"]
        done = session.exec(select(AuditEntry.action).order_by(col(AuditEntry.id))).all()
    assert (len(done), done.count("undo")) == (32, 1)
    assert sum(who == "ada" for _, who in found.values()) == 24


def test_two_people_never_collide_and_never_lose_an_edit(person: Callable[[str], Page], database: Database) -> None:
    ada, bob = person("ada"), None
    subject(ada, "Rule number 1")
    bob = person("bob")
    subject(bob, "Rule number 2")

    ada.keyboard.press("e")
    field = ada.get_by_label("Do", exact=True)
    expect(field).to_be_focused()
    text = "look up the reservations and the fees before the loan is renewed a third time"
    ada.keyboard.press("Control+a")
    ada.keyboard.type(text)
    ada.keyboard.press("Tab")
    expect(ada.get_by_text("Your draft, saved")).to_be_visible()

    for number in (2, 3):
        subject(bob, f"Rule number {number}")
        bob.keyboard.press("a")
    subject(bob, "Rule number 4")
    bob.keyboard.press("k")
    subject(bob, f"Rule number {RULES}")

    ada.reload()
    subject(ada, "Rule number 1")
    open_edit(ada)
    expect(ada.get_by_label("Do", exact=True)).to_have_value(text)
    expect(ada.get_by_label("Do", exact=True)).to_be_focused()
    ada.keyboard.press("Control+Enter")
    expect(ada.get_by_text("Changed and approved: Rule number 1")).to_be_visible()

    with database.read() as session:
        assert session.get_one(Rule, "rule_01").action == text
        decided = {one.object_id: one.actor for one in session.exec(select(AuditEntry))}
        assert [one.actor for one in session.exec(select(ReviewDraft))] == ["ada"]
    assert decided == {"rule_01": "ada", "rule_02": "bob", "rule_03": "bob"}
    subject(ada, "Rule number 4")
