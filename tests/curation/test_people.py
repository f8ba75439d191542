"""Accounts: invited, changed and shut out by administrators; the first one comes from the settings."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.audit import first_broken_link
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.people.accounts import Identity, find_account, read_identity, roles_of, set_sign_in_needed
from core.people.permissions import Role
from core.tables import AuditEntry, Person

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ROOT: dict[str, Any] = {"actor": "root@example.com", "clock": lambda: NOW}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A server with sign-in and its first administrator."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
    curation.ensure_an_admin(opened, first_admin="Root@example.com", clock=lambda: NOW)
    yield opened
    opened.close()


def person(database: Database, email: str) -> Person:
    with database.read() as session:
        return session.get_one(Person, email)


def test_the_first_administrator_is_made_once_and_is_in_the_trail(database: Database) -> None:
    curation.ensure_an_admin(database, first_admin="other@example.com", clock=lambda: NOW)
    with database.read() as session:
        assert [one.email for one in session.exec(select(Person))] == ["root@example.com"]
        (entry,) = session.exec(select(AuditEntry)).all()
        assert (entry.actor, entry.action, entry.object_id) == ("system", "invite", "root@example.com")
        assert first_broken_link(session) is None


def test_without_any_active_administrator_the_named_one_gets_in_again(database: Database) -> None:
    with database.write() as session:
        root = session.get_one(Person, "root@example.com")
        root.active, root.roles = False, ["expert"]
        session.add(root)
    with pytest.raises(UserError, match="RULEWRIGHT_ACCESS__FIRST_ADMIN"):
        curation.ensure_an_admin(database, first_admin=None, clock=lambda: NOW)
    curation.ensure_an_admin(database, first_admin="root@example.com", clock=lambda: NOW)
    root = person(database, "root@example.com")
    assert (root.active, root.roles) == (True, ["admin", "expert"])


def test_an_invited_person_has_the_roles_at_once_and_loses_them_at_once(database: Database) -> None:
    key = curation.invite(database, email=" Ada@Example.com ", name=" Ada ", roles=["expert"], **ROOT)
    assert (key, person(database, key).name) == ("ada@example.com", "Ada")
    with database.read() as session:
        assert roles_of(session, key) == {Role.EXPERT}
    curation.change_roles(database, email=key, version=1, roles=["operator", "manager"], **ROOT)
    with database.read() as session:
        assert roles_of(session, key) == {Role.OPERATOR, Role.MANAGER}
    curation.deactivate(database, email=key, version=2, **ROOT)
    with database.read() as session, pytest.raises(NotAllowedError, match="deactivated"):
        roles_of(session, key)


ODD_ADDRESSES = ("ada\u200b@example.com", "a" * 10_000 + "@example.com", "\u202eada@example.com")


@pytest.mark.parametrize(
    "email", ["", "ada", "ada@", "@example.com", "a b@example.com", "ada@example", "a@b@c.com", *ODD_ADDRESSES]
)
def test_what_is_no_address_is_refused(database: Database, email: str) -> None:
    with pytest.raises(UserError, match="is not an e-mail address"):
        curation.invite(database, email=email, name="", roles=["expert"], **ROOT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a" * 10_000, "100 characters at most, this one has 10000"),
        ("A\u200bda", "U\\+200B"),
        ("\u202eada", "U\\+202E"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(database: Database, name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        curation.invite(database, email="ada@example.com", name=name, roles=["expert"], **ROOT)
    with database.read() as session:
        assert session.get(Person, "ada@example.com") is None


def test_a_name_of_white_space_is_none(database: Database) -> None:
    key = curation.invite(database, email="ada@example.com", name=" \u3000 ", roles=["expert"], **ROOT)
    assert person(database, key).name == ""


def test_roles_must_be_known_and_at_least_one(database: Database) -> None:
    with pytest.raises(UserError, match="no role king"):
        curation.invite(database, email="ada@example.com", name="", roles=["king"], **ROOT)
    with pytest.raises(UserError, match="at least one role"):
        curation.change_roles(database, email="root@example.com", version=1, roles=[], **ROOT)


def test_an_account_is_made_once(database: Database) -> None:
    curation.invite(database, email="ada@example.com", name="", roles=["expert"], **ROOT)
    with pytest.raises(UserError, match="the state is Active, and it takes No account"):
        curation.invite(database, email="ADA@example.com", name="", roles=["admin"], **ROOT)
    assert person(database, "ada@example.com").roles == ["expert"]


def test_the_last_administrator_can_be_neither_demoted_nor_deactivated(database: Database) -> None:
    for act in (
        lambda: curation.deactivate(database, email="root@example.com", version=1, **ROOT),
        lambda: curation.change_roles(database, email="root@example.com", version=1, roles=["expert"], **ROOT),
    ):
        with pytest.raises(UserError, match="Nobody would be left"):
            act()
    assert person(database, "root@example.com").version == 1
    curation.invite(database, email="ada@example.com", name="", roles=["admin"], **ROOT)
    curation.deactivate(database, email="root@example.com", version=1, **ROOT)


def test_two_administrators_do_not_overwrite_each_other(database: Database) -> None:
    curation.invite(database, email="ada@example.com", name="", roles=["expert"], **ROOT)
    curation.change_roles(database, email="ada@example.com", version=1, roles=["manager"], **ROOT)
    with pytest.raises(ConcurrentChangeError, match=r"ada@example\.com has changed since"):
        curation.change_roles(database, email="ada@example.com", version=1, roles=["operator"], **ROOT)
    assert person(database, "ada@example.com").roles == ["manager"]


def test_an_account_belongs_to_the_subject_that_signed_in_first(database: Database) -> None:
    mine = read_identity({"email": "Root@Example.com", "iss": "https://a", "sub": "1"})
    curation.first_sign_in(database, identity=mine, clock=lambda: NOW)
    with database.read() as session:
        assert find_account(session, mine).bound
        for other in (Identity(mine.email, "https://a 2"), Identity(mine.email, "https://b 1")):
            with pytest.raises(NotAllowedError, match="belongs to somebody else"):
                find_account(session, other)
