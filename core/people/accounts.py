"""Accounts: who a name belongs to and what it may do. Sign-in itself is the pages' matter (OIDC)."""

from sqlmodel import Session

from core.clock import Clock
from core.errors import NotAllowedError
from core.people.permissions import Role
from core.tables import AccessMode, Person

_ACCESS = "access"


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
        actor: e-mail address of the account, in small letters.

    Raises:
        NotAllowedError: there is no such account, or it is deactivated.
    """
    if not sign_in_needed(session):
        return frozenset(Role)
    person = session.get(Person, actor)
    if person is None:
        raise NotAllowedError(
            "There is no account for {actor}. Ask an administrator to invite you. Nothing was changed.",
            actor=actor or "–",
        )
    if not person.active:
        raise NotAllowedError(
            "The account {actor} is deactivated. Ask an administrator. Nothing was changed.", actor=actor
        )
    return frozenset(Role(role) for role in person.roles)
