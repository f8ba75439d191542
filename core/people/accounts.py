"""Accounts: who a name belongs to and what it may do. Sign-in itself is the pages' matter (OIDC)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.clock import Clock
from core.errors import NotAllowedError, UserError
from core.people.permissions import Role
from core.tables import AccessMode, Person

_ACCESS = "access"


@dataclass(frozen=True)
class Identity:
    """Who an identity provider says somebody is.

    Attributes:
        email: in small letters.
        subject: the provider's address and its own id of the person; unlike an e-mail address it never changes hands.
    """

    email: str
    subject: str


@dataclass(frozen=True)
class Account:
    """An active account; ``bound`` once its owner has signed in."""

    email: str
    name: str
    roles: frozenset[Role]
    bound: bool


def email_key(email: str) -> str:
    """Return an e-mail address in the form that names an account."""
    return email.strip().lower()


def read_identity(claims: Mapping[str, Any]) -> Identity:
    """Read an OpenID Connect ID token's claims (OpenID Connect Core 1.0, sections 2 and 5.1).

    Raises:
        NotAllowedError: no subject or address in it, or the provider has not verified the address.
    """
    email, issuer, subject = (str(claims.get(name) or "") for name in ("email", "iss", "sub"))
    if not (email.strip() and issuer and subject):
        raise NotAllowedError(
            "The identity provider did not tell your e-mail address. Ask whoever runs it to send the claims "
            "iss, sub and email (scope “openid email”)."
        )
    # Some providers send the words; one that sends nothing has only addresses of its own.
    if str(claims.get("email_verified", True)).lower() == "false":
        raise NotAllowedError(
            "The identity provider has not verified the address {email}. Confirm it there, then sign in again.",
            email=email_key(email),
        )
    return Identity(email_key(email), f"{issuer} {subject}")


def find_account(session: Session, identity: Identity) -> Account:
    """Return the account of somebody who has signed in.

    Raises:
        NotAllowedError: there is none, it is deactivated, or it belongs to another subject.
    """
    person = _active_person(session, identity.email)
    if person.subject not in (None, identity.subject):
        raise NotAllowedError(
            "The account {email} belongs to somebody else: it was first used under another identity. If the address "
            "is yours now, ask an administrator to undo that first sign-in in Audit.",
            email=identity.email,
        )
    return Account(person.email, person.name, _roles(person), bound=person.subject is not None)


def sign_in_needed(session: Session) -> bool:
    """Say whether people have accounts here; else whoever reaches the server may do everything."""
    mode = session.get(AccessMode, _ACCESS)
    return mode is not None and mode.sign_in


def set_sign_in_needed(session: Session, clock: Clock, *, needed: bool) -> None:
    """Record at the start of a server whether it is configured for sign-in."""
    mode = session.get(AccessMode, _ACCESS) or AccessMode(name=_ACCESS, changed_at=clock())
    if mode.sign_in != needed:
        mode.sign_in, mode.changed_at = needed, clock()
    session.add(mode)


def roles_of(session: Session, actor: str) -> frozenset[Role]:
    """Return what somebody may do now: all of it on a machine without sign-in.

    Args:
        session: for reading; a write session makes the answer hold until its end.
        actor: e-mail address of the account, in small letters; empty: signed out.

    Raises:
        NotAllowedError: there is no such account, or it is deactivated, or nobody is signed in.
    """
    if not sign_in_needed(session):
        return frozenset(Role)
    return _roles(_active_person(session, actor))


def active_admins(session: Session) -> list[Person]:
    """Return the active accounts that may administer others, by address."""
    people = session.exec(select(Person).where(Person.active).order_by(col(Person.email))).all()
    return [person for person in people if Role.ADMIN in _roles(person)]


def check_an_admin_is_left(session: Session) -> None:
    """Refuse a change after which nobody could administer accounts any more.

    Raises:
        UserError: people have to sign in, and no active account has the role.
    """
    if sign_in_needed(session) and not active_admins(session):
        raise UserError(
            "Nobody would be left to administer accounts. Give another active person the role Administrator first; "
            "nothing was changed."
        )


def _active_person(session: Session, email: str) -> Person:
    if not email:
        raise NotAllowedError("You are not signed in (any more). Sign in again. Nothing was changed.")
    person = session.get(Person, email)
    if person is None:
        raise NotAllowedError(
            "There is no account for {actor}. Ask an administrator to invite you. Nothing was changed.", actor=email
        )
    if not person.active:
        raise NotAllowedError(
            "The account {actor} is deactivated. Ask an administrator. Nothing was changed.", actor=email
        )
    return person


def _roles(person: Person) -> frozenset[Role]:
    return frozenset(Role(role) for role in person.roles)
