"""What administrators do with accounts, and what ties an account to whoever signs in first."""

import re
from collections.abc import Collection

from core.audit import record_action
from core.clock import Clock
from core.curation.desk import Desk, at_desk
from core.curation.recorder import Recorder
from core.db import Database
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.people.accounts import Identity, active_admins, email_key
from core.people.permissions import PERMISSIONS, Action, Role
from core.rules.library import SYSTEM
from core.tables import Person
from core.text import clip, hidden_characters

_LONGEST_NAME = 100
_LONGEST_EMAIL = 254  # RFC 5321 by way of its erratum 1690
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|[^@\s]+@localhost")


def invite(database: Database, *, email: str, name: str, roles: Collection[str], actor: str, clock: Clock) -> str:
    """Make an account; its owner can sign in from then on. Returns the address that names it.

    Raises:
        UserError: not an e-mail address, a name that cannot be shown, no role, or there is an account already.
    """
    key, called, wanted = _checked_email(email), _checked_name(name), _checked_roles(roles)
    with at_desk(database, Action.INVITE, actor, clock) as desk:
        desk.check(_state(desk.session.get(Person, key)))
        desk.session.add(
            Person(email=key, name=called, roles=wanted, invited_by=actor, created_at=clock()),
        )
        desk.record(key, name=called, roles=wanted)
    return key


def change_roles(
    database: Database, *, email: str, version: int, roles: Collection[str], actor: str, clock: Clock
) -> None:
    """Give somebody these roles and no others; effective at once.

    Raises:
        UserError: no such account, no role, or no administrator would be left.
        ConcurrentChangeError: the account has changed since.
    """
    wanted = _checked_roles(roles)
    with at_desk(database, Action.CHANGE_ROLES, actor, clock) as desk:
        person = _seen(desk, email, version)
        before, person.roles = person.roles, wanted
        desk.record(person.email, roles=wanted, before=before)


def deactivate(database: Database, *, email: str, version: int, actor: str, clock: Clock) -> None:
    """Shut somebody out; whatever they try next is refused, in open tabs too.

    Raises:
        UserError: no such account, or no administrator would be left.
        ConcurrentChangeError: the account has changed since.
    """
    with at_desk(database, Action.DEACTIVATE, actor, clock) as desk:
        person = _seen(desk, email, version)
        person.active = False
        desk.record(person.email)


def reactivate(database: Database, *, email: str, version: int, actor: str, clock: Clock) -> None:
    """Let somebody in again, with the roles they had.

    Raises:
        UserError: no such account.
        ConcurrentChangeError: the account has changed since.
    """
    with at_desk(database, Action.REACTIVATE, actor, clock) as desk:
        person = _seen(desk, email, version)
        person.active = True
        desk.record(person.email)


def first_sign_in(database: Database, *, identity: Identity, clock: Clock) -> None:
    """Tie an account to the subject that signed in first: an address may change hands, a subject does not.

    Raises:
        NotAllowedError: no active account, or it is tied to a subject already.
    """
    with at_desk(database, Action.FIRST_SIGN_IN, identity.email, clock) as desk:
        person = desk.session.get(Person, identity.email)
        desk.check(_state(person))
        if person is None or person.subject is not None:
            raise NotAllowedError("The account {email} is in use already. Sign in again.", email=identity.email)
        person.subject = identity.subject
        person.version += 1
        desk.record(person.email, subject=identity.subject)


def ensure_an_admin(database: Database, *, first_admin: str | None, clock: Clock) -> None:
    """See to it, at the start of a server with sign-in, that somebody can let others in.

    Args:
        database: where accounts are.
        first_admin: address to make an administrator of if there is no active one.
        clock: tells the time.

    Raises:
        UserError: there is none, and no address is given or it is none.
    """
    with database.write() as session:
        if active_admins(session):
            return
        if not first_admin:
            raise UserError(
                "Sign-in is configured, but there is no administrator. Set RULEWRIGHT_ACCESS__FIRST_ADMIN to the "
                "e-mail address of the first one and start again."
            )
        recorder, key = Recorder(session), _checked_email(first_admin)
        person = session.get(Person, key) or Person(email=key, roles=[], invited_by=SYSTEM, created_at=clock())
        person.roles = sorted({*person.roles, Role.ADMIN.value})
        person.active = True
        session.add(person)
        record_action(
            session,
            clock,
            actor=SYSTEM,
            action=Action.INVITE.value,
            object_kind=PERMISSIONS[Action.INVITE].kind,
            object_id=key,
            detail={"roles": person.roles},
            changes=recorder.changes(),
        )


def _seen(desk: Desk, email: str, version: int) -> Person:
    """Return the account to act on, as the person has seen it; its version grows."""
    person = desk.session.get(Person, email)
    if person is None:
        raise UserError("There is no account for {email}.", email=email)
    if person.version != version:
        raise ConcurrentChangeError(
            "The account {email} has changed since you opened it. Look at it as it is now, then decide; "
            "nothing was changed.",
            email=email,
        )
    desk.check(_state(person))
    person.version += 1
    return person


def _state(person: Person | None) -> str:
    if person is None:
        return "absent"
    return "active" if person.active else "deactivated"


def _checked_email(email: str) -> str:
    key = email_key(email)
    if not _EMAIL.fullmatch(key) or len(key) > _LONGEST_EMAIL or hidden_characters(key):
        raise UserError(
            "“{email}” is not an e-mail address. Give one such as ada@example.com.", email=clip(email, _LONGEST_NAME)
        )
    return key


def _checked_name(name: str) -> str:
    called = name.strip()
    if len(called) > _LONGEST_NAME:
        raise UserError(
            "A name has {most} characters at most, this one has {n}. Shorten it.", most=_LONGEST_NAME, n=len(called)
        )
    if hidden := hidden_characters(called):
        raise UserError("The name has characters that nobody can see: {names}. Type it anew.", names=", ".join(hidden))
    return called


def _checked_roles(roles: Collection[str]) -> list[str]:
    known = [role.value for role in Role]
    unknown = sorted(set(roles) - set(known))
    if unknown:
        raise UserError("There is no role {role}. Choose from: {roles}.", role=unknown[0], roles=", ".join(known))
    if not roles:
        raise UserError("Choose at least one role. To shut somebody out, deactivate the account.")
    return sorted(set(roles))
