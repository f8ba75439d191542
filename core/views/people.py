"""Accounts as administrators read them, and whom to ask for one."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from core.people.accounts import active_admins
from core.people.permissions import Role
from core.tables import Person


@dataclass(frozen=True)
class PersonRow:
    """One account. ``signed_in`` tells whether its owner ever was; ``version`` is for optimistic locking."""

    email: str
    name: str
    roles: tuple[Role, ...]
    active: bool
    signed_in: bool
    version: int
    invited_by: str
    created_at: datetime


def people(session: Session) -> tuple[PersonRow, ...]:
    """List all accounts: active ones first, by address."""
    found = session.exec(select(Person).order_by(col(Person.active).desc(), col(Person.email))).all()
    return tuple(_row(person) for person in found)


def admins(session: Session) -> tuple[PersonRow, ...]:
    """List the active administrators, by address."""
    return tuple(_row(person) for person in active_admins(session))


def _row(person: Person) -> PersonRow:
    return PersonRow(
        email=person.email,
        name=person.name,
        roles=tuple(sorted(Role(role) for role in person.roles)),
        active=person.active,
        signed_in=person.subject is not None,
        version=person.version,
        invited_by=person.invited_by,
        created_at=person.created_at,
    )
