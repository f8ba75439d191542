"""Sign-in with an OpenID provider of its own process: who gets in, who does not, and who is shut out meanwhile."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from core import curation
from core.clock import utc_now
from core.tables import Person
from tests.browser.conftest import Running, run_product
from tests.conftest import ROOT
from tests.tools.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ADMIN, EXPERT, STRANGER, CARELESS = "root@example.com", "ada@example.com", "eve@example.com", "carl@example.com"
SUBJECTS = {  # what the provider knows: its own id -> address, and whether it has verified it
    "subject-root": (ADMIN, True),
    "subject-ada": (EXPERT, True),
    "subject-thief": (EXPERT, True),
    "subject-eve": (STRANGER, True),
    "subject-carl": (CARELESS, False),
}
SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "a secret for the cookies of this test"
client_id = "rulewright"
client_secret = "a secret of the client"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
"""
_START_S = 60
Visit = Callable[[str], Page]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """An OpenID provider on this machine."""
    port = free_port()
    users = [
        json.dumps({"sub": subject, "email": email, "email_verified": verified})
        for subject, (email, verified) in SUBJECTS.items()
    ]
    claims = [part for user in users for part in ("--user-claims", user)]
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *claims],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/.well-known/openid-configuration", process)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def guarded(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The product with sign-in, its first administrator by the setting, and an expert and a manager invited."""
    folder = tmp_path_factory.mktemp("guarded")
    secrets = folder / "secrets.toml"
    secrets.write_text(SECRETS.format(issuer=issuer))
    settings = {"RULEWRIGHT_ACCESS__FIRST_ADMIN": ADMIN, "RULEWRIGHT_LOOP__AUTOSTART": "never"}
    with run_product(folder, settings, "--secrets.files", str(secrets)) as running:
        with running.database() as database:
            curation.invite(database, email=EXPERT, name="Ada", roles=["expert"], actor=ADMIN, clock=utc_now)
            curation.invite(database, email=CARELESS, name="", roles=["manager"], actor=ADMIN, clock=utc_now)
        yield running


@pytest.fixture
def visit(guarded: Running, chromium: Browser) -> Iterator[Visit]:
    """Come with a browser of one's own and sign in as a subject of the provider."""
    expect.set_options(timeout=30_000)
    with ExitStack() as contexts:

        def come(subject: str) -> Page:
            context = chromium.new_context(viewport={"width": 1280, "height": 1000}, locale="en-US")
            contexts.callback(context.close)
            tab = context.new_page()
            tab.set_default_timeout(30_000)
            tab.goto(guarded.url)
            sign_in(tab, subject)
            return tab

        yield come


def sign_in(tab: Page, subject: str) -> None:
    expect(heading(tab, "Sign in")).to_be_visible()
    expect(tab.get_by_role("link", name="Overview")).to_have_count(0)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name=subject, exact=True).first.click()


def heading(tab: Page, text: str) -> Locator:
    return tab.get_by_role("heading", name=text, exact=True, level=1)


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(URLError, OSError), urlopen(url, timeout=1):
            return
    pytest.fail(f"nothing answered at {url}")


def test_an_expert_is_shut_out_in_mid_session_and_let_in_again(guarded: Running, visit: Visit) -> None:
    ada, root = visit("subject-ada"), visit("subject-root")
    expect(heading(ada, "Overview")).to_be_visible()
    expect(ada.get_by_text("Signed in as Ada (Expert)")).to_be_visible()
    expect(ada.get_by_role("link", name="Audit")).to_be_visible()
    expect(ada.get_by_role("link", name="People")).to_have_count(0)

    root.get_by_role("link", name="People").click()
    expect(heading(root, "People")).to_be_visible()
    switch = root.locator('[class*="st-key-people_ada"][class*="_switch"] button')
    switch.click()
    expect(root.get_by_text("Deactivated:")).to_be_visible()

    ada.get_by_test_id("stSidebarNavItems").get_by_role("link", name="Library").click()
    expect(heading(ada, "No way in")).to_be_visible()
    expect(ada.get_by_text(f"The account {EXPERT} is deactivated")).to_be_visible()
    expect(ada.get_by_text(ADMIN)).to_be_visible()

    switch.click()
    expect(root.get_by_text("Reactivated:")).to_be_visible()
    ada.reload()
    expect(ada.get_by_text("Signed in as Ada (Expert)")).to_be_visible()

    with guarded.database() as database, database.read() as session:
        assert str(session.get_one(Person, EXPERT).subject).endswith(" subject-ada")
    assert "Traceback" not in guarded.log.read_text()


def test_another_subject_with_the_same_address_is_refused(visit: Visit) -> None:
    ada = visit("subject-ada")
    expect(ada.get_by_text("Signed in as Ada (Expert)")).to_be_visible()
    thief = visit("subject-thief")
    expect(heading(thief, "No way in")).to_be_visible()
    expect(thief.get_by_text("belongs to somebody else")).to_be_visible()


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("subject-eve", f"There is no account for {STRANGER}"),
        ("subject-carl", f"has not verified the address {CARELESS}"),
    ],
)
def test_who_has_no_account_or_no_verified_address_is_told_whom_to_ask(visit: Visit, subject: str, words: str) -> None:
    tab = visit(subject)
    expect(heading(tab, "No way in")).to_be_visible()
    expect(tab.get_by_text(words)).to_be_visible()
    expect(tab.get_by_text(ADMIN)).to_be_visible()
    expect(tab.get_by_role("link", name="Overview")).to_have_count(0)


def test_signing_out_ends_the_other_tabs_too(guarded: Running, visit: Visit) -> None:
    first = visit("subject-root")
    expect(heading(first, "Overview")).to_be_visible()
    second = first.context.new_page()
    second.goto(f"{guarded.url}/audit")
    expect(heading(second, "Audit")).to_be_visible()
    first.get_by_role("button", name="Sign out").click()
    first.wait_for_url("**/oauth2/end_session**")
    second.get_by_role("link", name="Loop").click()
    expect(heading(second, "Sign in")).to_be_visible()
    first.goto(guarded.url)
    sign_in(first, "subject-root")
    expect(heading(first, "Overview")).to_be_visible()


def test_without_sign_in_no_other_address_is_served(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port"]
    given = (
        ([*command, str(free_port()), "--server.address", "0.0.0.0"], {}),
        ([*command, str(free_port())], {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}),
    )
    processes = [
        subprocess.Popen(
            arguments,
            cwd=ROOT,
            env={**os.environ, **more, "DATABASE_URL": f"sqlite:///{tmp_path}/t.db"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for arguments, more in given
    ]
    for process in processes:
        said, _ = process.communicate(timeout=120)
        assert process.returncode != 0
        assert "it only listens on this machine, not on 0.0.0.0" in said
        assert "Traceback" not in said
    assert not (tmp_path / "t.db").exists()
