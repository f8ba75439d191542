"""The page People, and who gets past the door with which pages."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import curation
from core.clock import utc_now
from core.db import Database
from core.people.accounts import set_sign_in_needed
from core.tables import Person
from tests.pages.conftest import SHELL

ROOT = "root@example.com"
ADA = "ada@example.com"
Visit = Callable[..., AppTest]


def claims(email: str, **others: Any) -> dict[str, Any]:
    given = {
        "is_logged_in": True,
        "email": email,
        "iss": "https://id.example.com",
        "sub": email,
        "iat": 1,
        "nonce": "n",
    }
    return given | others


@pytest.fixture
def guarded(database: Database) -> Database:
    """A server with sign-in: an administrator, and an expert who was invited."""
    with database.write() as session:
        set_sign_in_needed(session, utc_now, needed=True)
    curation.ensure_an_admin(database, first_admin="Root@Example.com ", clock=utc_now)
    curation.invite(database, email=ADA, name="Ada <b>", roles=["expert"], actor=ROOT, clock=utc_now)
    return database


@pytest.fixture
def visit(guarded: Database) -> Visit:
    """Open a page as somebody."""

    def open_(user: dict[str, Any], page: str = "") -> AppTest:
        at = AppTest.from_file(SHELL, default_timeout=30)
        at.user = user
        at.query_params["lang"] = "en"
        at.run()
        if page:
            at.switch_page(f"{page}.py").run()
        return at

    return open_


def account(database: Database, email: str = ADA) -> Person:
    with database.read() as session:
        return session.get_one(Person, email)


def refused(at: AppTest, words: str) -> None:
    assert not at.exception
    assert at.title[0].value == "No way in"
    assert words in at.error[0].value
    assert [one.value for one in at.text] == [ROOT]
    assert {button.key for button in at.button} == {"shell_sign_out"}


def test_signed_out_there_is_nothing_but_the_way_in(visit: Visit) -> None:
    at = visit({"is_logged_in": False})
    assert at.title[0].value == "Sign in"
    assert not at.sidebar.button
    assert not at.metric


@pytest.mark.parametrize(
    ("user", "words"),
    [
        (claims("eve@example.com"), "no account for eve@example.com"),
        (claims(ADA, email_verified=False), "has not verified the address"),
        (claims(ADA, email_verified="false"), "has not verified the address"),
        (claims(ADA, sub=""), "did not tell your e-mail address"),
        (claims(""), "did not tell your e-mail address"),
    ],
)
def test_nobody_without_an_account_gets_past_the_door(visit: Visit, user: dict[str, Any], words: str) -> None:
    refused(visit(user), words)


def test_the_first_sign_in_binds_the_account_to_its_subject(guarded: Database, visit: Visit) -> None:
    at = visit(claims(ADA.upper(), email_verified=True))
    assert at.title[0].value == "Overview"
    assert account(guarded).subject == f"https://id.example.com {ADA.upper()}"
    refused(visit(claims(ADA, sub="another")), "belongs to somebody else")
    refused(visit(claims(ADA, sub=ADA.upper(), iss="https://other.example.com")), "belongs to somebody else")
    assert visit(claims(ADA, sub=ADA.upper())).title[0].value == "Overview"


def test_an_administrator_can_free_an_account_for_another_subject(guarded: Database, visit: Visit) -> None:
    visit(claims(ADA))
    curation.undo(guarded, entry_id=3, actor=ROOT, clock=utc_now)
    assert visit(claims(ADA, sub="new")).title[0].value == "Overview"


def test_deactivated_in_mid_session_the_next_click_is_refused(guarded: Database, visit: Visit) -> None:
    at = visit(claims(ADA), "loop")
    curation.deactivate(guarded, email=ADA, version=account(guarded).version, actor=ROOT, clock=utc_now)
    at.button(key="loop_step").click().run()
    refused(at, f"The account {ADA} is deactivated")


def test_signing_out_ends_every_tab_of_that_sign_in_and_no_other(visit: Visit) -> None:
    first, second, elsewhere = visit(claims(ADA)), visit(claims(ADA)), visit(claims(ADA, nonce="phone"))
    first.button(key="shell_sign_out").click().run()
    assert second.run().title[0].value == "Sign in"
    assert elsewhere.run().title[0].value == "Overview"


def test_people_is_for_administrators(visit: Visit) -> None:
    with_people = visit(claims(ROOT), "people")
    assert not with_people.exception
    assert with_people.title[0].value == "People"
    with pytest.raises(ValueError, match="Could not find a navigation page"):
        visit(claims(ADA), "people")


def test_an_administrator_invites_changes_deactivates_and_reactivates(guarded: Database, visit: Visit) -> None:
    at = visit(claims(ROOT), "people")
    at.text_input(key="people_email").set_value(" Bob@Example.com")
    at.button_group(key="people_roles").set_value(["operator", "manager"])
    next(button for button in at.button if button.label == "Invite").click().run()
    assert at.success[0].value == "Invited: `Bob@Example.com`"
    bob = account(guarded, "bob@example.com")
    assert (bob.roles, bob.invited_by) == (["manager", "operator"], ROOT)
    at.button_group(key="people_bob@example.com_roles").set_value(["expert"]).run()
    at.button(key="people_bob@example.com_save").click().run()
    assert account(guarded, bob.email).roles == ["expert"]
    for active in (False, True):
        at.button(key="people_bob@example.com_switch").click().run()
        assert not at.error
        assert account(guarded, bob.email).active is active


def test_the_last_administrator_stays(guarded: Database, visit: Visit) -> None:
    at = visit(claims(ROOT), "people")
    at.button(key=f"people_{ROOT}_switch").click().run()
    assert "Nobody would be left to administer accounts" in at.error[0].value
    assert account(guarded, ROOT).active


def test_a_change_that_was_not_seen_is_not_overwritten(guarded: Database, visit: Visit) -> None:
    at = visit(claims(ROOT), "people")
    at.button_group(key=f"people_{ADA}_roles").set_value(["manager"]).run()
    curation.change_roles(guarded, email=ADA, version=1, roles=["operator"], actor=ROOT, clock=utc_now)
    at.button(key=f"people_{ADA}_save").click().run()
    assert "has changed since you opened it" in at.error[0].value
    assert account(guarded).roles == ["operator"]
    assert at.button_group(key=f"people_{ADA}_roles").value == ["manager"]
    assert any("Operator" in caption.value for caption in at.caption)


def test_a_name_is_shown_as_it_was_typed(visit: Visit) -> None:
    at = visit(claims(ROOT), "people")
    assert any(r"Ada \<b\>" in one.value for one in at.markdown)


def test_without_sign_in_the_page_says_so(database: Database) -> None:
    at = AppTest.from_file(SHELL, default_timeout=30)
    at.query_params["lang"] = "en"
    at.run()
    at.switch_page("people.py").run()
    assert "There is no sign-in here" in at.info[0].value
    assert any("there is no sign-in" in caption.value for caption in at.caption)
