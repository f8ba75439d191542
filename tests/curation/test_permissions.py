"""Every action, by everybody, on objects in every state: allowed or refused exactly as the one table says.

Called on core.curation, past the pages. What the table is meant to say is written down here once more, so that a
change of it is noticed; an action without a case fails.
"""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, func, select

from core import curation
from core.audit import record_action
from core.curation import SeenRule
from core.curation.handbook import HandbookRule
from core.db import Database, open_database
from core.errors import NotAllowedError, UserError
from core.people.accounts import Identity, set_sign_in_needed
from core.people.names import ACTION_NAMES, KIND_NAMES, ROLE_NAMES, STATE_NAMES
from core.people.permissions import PERMISSIONS, STANDING, STATES, Action, Role
from core.policy.snapshots import newest_snapshot
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, last_event_id, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.pins import pin_rule
from core.rules.policies import Decision, PolicyTerms, stored_policies
from core.settings import Settings
from core.tables import AuditEntry, Conflict, Person, PolicySnapshot, Proposal, Refusal, Rule, SavedView, Undone
from core.tables.rules import RuleContent
from tests.learning.rows import a_memory, a_snapshot, an_episode
from tests.support.settling import settle

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
BY_LOOP = Change(SYSTEM, lambda: NOW)
NUMBERS = count(1)

IN_USE = "candidate active probation"
ANY = "candidate active probation archived"
EXPECTED = {  # action -> roles besides administrators, kind, states
    "approve": ("expert", "rule", "candidate"),
    "edit_and_approve": ("expert", "rule", "candidate"),
    "refuse": ("expert", "rule", "candidate"),
    "ask_evidence": ("expert", "rule", "candidate"),
    "merge_into": ("expert", "rule", "candidate"),
    "bulk_approve": ("expert", "rule", "candidate"),
    "bulk_refuse": ("expert", "rule", "candidate"),
    "assign": ("expert operator", "item", "waiting"),
    "set_policies": ("expert", "policies", STANDING),
    "create": ("expert", "library", STANDING),
    "edit": ("expert", "rule", IN_USE),
    "pin": ("expert operator", "rule", IN_USE),
    "unpin": ("expert operator", "rule", ANY),
    "archive_many": ("expert operator", "rules", IN_USE),
    "restore_many": ("expert operator", "rules", "archived"),
    "pin_many": ("expert operator", "rules", IN_USE),
    "unpin_many": ("expert operator", "rules", ANY),
    "import_handbook": ("expert", "library", STANDING),
    "rewind": ("operator", "library", STANDING),
    "save_view": ("expert operator manager", "view", STANDING),
    "delete_view": ("expert operator manager", "view", STANDING),
    "archive": ("expert operator", "rule", IN_USE),
    "restore": ("expert operator", "rule", "archived"),
    "unmerge": ("expert operator", "rule", IN_USE),
    "quarantine": ("expert operator", "rule", IN_USE),
    "accept_proposal": ("expert", "proposal", "open"),
    "refuse_proposal": ("expert", "proposal", "open"),
    "revive_refusal": ("expert", "refusal", "refused"),
    "resolve_conflict": ("operator", "conflict", "open"),
    "give_feedback": ("expert operator", "episode", "learning"),
    "restore_memory": ("expert operator", "memory", "cold"),
    "restore_snapshot": ("operator", "snapshot", "earlier"),
    "choose_phase": ("operator", "setting", STANDING),
    "set_loop": ("operator manager", "loop", STANDING),
    "step_loop": ("operator manager", "loop", STANDING),
    "change_setting": ("operator", "setting", STANDING),
    "change_budget": ("manager", "setting", STANDING),
    "invite": ("", "person", "absent"),
    "first_sign_in": ("expert operator manager", "person", "active"),
    "change_roles": ("", "person", "active deactivated"),
    "deactivate": ("", "person", "active"),
    "reactivate": ("", "person", "deactivated"),
    "undo": ("expert operator manager", "action", "done"),
}
ROLES = ("expert", "operator", "manager", "admin")
OUTSIDERS = ("signed out", "deactivated", "no account")
THEIRS = {"expert": "approve", "operator": "set_loop", "manager": "set_loop", "admin": "approve"}
"""An action that each role may do, to be undone by whoever did it."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A server with sign-in and an account for each role, and one that was deactivated."""
    folder: Path = tmp_path_factory.mktemp("permissions")
    opened = open_database(f"sqlite:///{folder}/t.db")
    with opened.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        for role in ROLES:
            make_person(session, address(role), role)
        make_person(session, address("deactivated"), "admin", active=False)
    yield opened
    opened.close()


def address(who: str) -> str:
    return "" if who == "signed out" else f"{who.replace(' ', '.')}@example.com"


def make_person(session: Session, email: str, *roles: str, active: bool = True) -> str:
    session.add(Person(email=email, roles=list(roles), active=active, invited_by="root", created_at=NOW))
    return email


def make_rule(session: Session, state: str, *, parents: tuple[str, ...] = ()) -> str:
    number = next(NUMBERS)
    text = RuleContent(
        name="Rotate",
        condition=f"the log volume of cluster number {number} is nearly full",
        action="rotate the logs and delete the oldest archives",
        domain=f"desk {number}",
        confidence=0.9,
    )
    origin = "merge" if parents else "reflection"
    rule = create_rule(session, text, BY_LOOP, origin=origin, id=f"rule_{number}", parents=list(parents))
    if state in ("active", "probation"):
        move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, BY_LOOP)
    if state == "probation":
        move_rule(session, rule, State.PROBATION, Cause.HARMFUL, BY_LOOP)
    if state == "archived":
        move_rule(session, rule, State.ARCHIVED, Cause.PRUNED, BY_LOOP)
    return rule.id


def make_merge(session: Session, state: str) -> str:
    parents = (make_rule(session, "candidate"), make_rule(session, "candidate"))
    merged = make_rule(session, state, parents=parents)
    for parent in parents:
        move_rule(session, get_rule(session, parent), State.ARCHIVED, Cause.MERGED, BY_LOOP, merged_into=merged)
    return merged


def make_pair(session: Session, state: str) -> str:
    """Make a rule, and another in use of the same domain."""
    rule = get_rule(session, make_rule(session, state))
    text = RuleContent(**written(rule.domain))
    create_rule(session, text, BY_LOOP, origin="reflection", id=f"{rule.id}_other")
    return rule.id


def make_pinned(session: Session, state: str) -> str:
    rule_id = make_rule(session, state)
    pin_rule(session, get_rule(session, rule_id), BY_LOOP)
    return rule_id


def make_history(session: Session) -> str:
    """Make a domain with a rule that was archived after round 1."""
    rule = get_rule(session, make_rule(session, "candidate"))
    edit_rule(session, rule, {"tags": ["logs"]}, Change(SYSTEM, lambda: NOW, round_number=1))
    move_rule(session, rule, State.ARCHIVED, Cause.PRUNED, Change(SYSTEM, lambda: NOW, round_number=2))
    return rule.domain


def make_view(session: Session, owner: str) -> str:
    view = SavedView(id=f"view_{next(NUMBERS)}", page="library", owner=owner, name="Mine", query={}, changed_at=NOW)
    session.add(view)
    return view.id


def make_proposal(session: Session, state: str) -> str:
    rule = get_rule(session, make_rule(session, "active"))
    proposal = Proposal(
        id=f"proposal_{rule.id}",
        rule_id=rule.id,
        rule_version=rule.version,
        kind="edit",
        after={"action": "rotate the logs, then check that the volume has room"},
        status=state,
        created_at=NOW,
    )
    session.add(proposal)
    return proposal.id


def make_refusal(session: Session, state: str) -> str:
    number = next(NUMBERS)
    draft = RuleContent(
        name="Warm",
        condition="the cache is cold after a deploy",
        action="warm it before the traffic is switched over",
        domain=f"desk {number}",
        confidence=0.9,
    )
    revived = make_rule(session, "candidate") if state == "revived" else None
    refusal = Refusal(id=f"refusal_{number}", draft=draft.model_dump(), reasons=[], revived_as=revived, created_at=NOW)
    session.add(refusal)
    return refusal.id


def make_conflict(session: Session, state: str) -> str:
    first, second = sorted((make_rule(session, "active"), make_rule(session, "active")))
    conflict = Conflict(
        id=f"conflict_{first}", rule_a=first, rule_b=second, detector="lexicon", status=state, created_at=NOW
    )
    session.add(conflict)
    return conflict.id


def make_episode(session: Session, state: str) -> str:
    arm = "external" if state == "learning" else "after"
    episode = an_episode(f"episode_{next(NUMBERS)}", arm=arm)
    session.add(episode)
    return episode.id


def make_memory(session: Session, state: str) -> str:
    episode = make_episode(session, "learning")
    session.flush()
    memory = a_memory(episode, tier=state)
    session.add(memory)
    session.flush()
    return str(memory.id)


def make_snapshot(session: Session, state: str) -> str:
    """Make the snapshots of an environment of its own; the last one is in force."""
    snapshots = [a_snapshot(environment=f"desk {next(NUMBERS)}")]
    if state == "earlier":
        snapshots.append(a_snapshot(environment=snapshots[0].environment))
    for one in snapshots:
        session.add(one)
        session.flush()
    return str(snapshots[0].id)


def make_account(session: Session, state: str) -> str:
    email = f"person{next(NUMBERS)}@example.com"
    return email if state == "absent" else make_person(session, email, "manager", active=state == "active")


def make_entry(session: Session, state: str, who: str) -> str:
    """An action of the person's own, since nobody but an administrator may take back somebody else's."""
    given = {"actor": address(who), "action": THEIRS.get(who, "approve"), "object_kind": "rule", "object_id": "x"}
    record_action(session, lambda: NOW, **given)
    entry_id = session.exec(select(func.max(AuditEntry.id))).one() or 0
    if state == "undone":
        session.add(Undone(entry_id=entry_id, by_entry_id=entry_id))
    return str(entry_id)


MAKERS: dict[str, Callable[[Session, str], str]] = {
    "rule": make_rule,
    "proposal": make_proposal,
    "refusal": make_refusal,
    "conflict": make_conflict,
    "rules": make_rule,
    "item": lambda session, state: make_rule(session, "candidate" if state == "waiting" else "active"),
    "episode": make_episode,
    "memory": make_memory,
    "snapshot": make_snapshot,
    "library": lambda session, state: f"desk {next(NUMBERS)}",
    "policies": lambda session, state: "policies",
    "view": lambda session, state: f"view {next(NUMBERS)}",
    "loop": lambda session, state: "loop",
    "setting": lambda session, state: "setting",
    "person": make_account,
}


def rule_act(act: Callable[..., object], **more: Any) -> Callable[..., object]:
    def do(database: Database, key: str, **who: Any) -> object:
        with database.read() as session:
            version = session.get_one(Rule, key).version
        return act(database, rule_id=key, version=version, **more, **who)

    return do


def rules_act(act: Callable[..., object], name: str = "rules", **more: Any) -> Callable[..., object]:
    def do(database: Database, key: str, **who: Any) -> object:
        with database.read() as session:
            version = session.get_one(Rule, key).version
        return act(database, **{name: {key: version}}, **more, **who)

    return do


def merge_into(database: Database, key: str, **who: Any) -> object:
    with database.read() as session:
        version = session.get_one(Rule, key).version
    content = {"condition": "a log volume has no room left"}
    candidate, other = SeenRule(key, version), SeenRule(f"{key}_other", 1)
    return curation.merge_into(database, candidate=candidate, other=other, content=content, settings=SETTINGS, **who)


def set_policies(database: Database, key: str, **who: Any) -> None:
    with database.read() as session:
        seen = stored_policies(session)
    policy = PolicyTerms("handbook", "", next(NUMBERS) / 10_000, 1.0, Decision.APPROVE)
    curation.set_policies(database, policies=[policy], seen=seen, **who)


def rewind(database: Database, key: str, **who: Any) -> None:
    with database.read() as session:
        seen = last_event_id(session)
    curation.rewind_to_round(database, domain=key, round_number=1, seen=seen, reason="worse since", **who)


def written(domain: str) -> dict[str, Any]:
    return {
        "name": "Start a consumer",
        "condition": f"the queue of {domain} has no consumer",
        "action": "start one and look at why the last one ended",
        "domain": domain,
        "confidence": 0.9,
    }


def restore_snapshot(database: Database, key: str, **who: Any) -> None:
    with database.read() as session:
        environment = session.get_one(PolicySnapshot, int(key)).environment
        newest = newest_snapshot(session, environment)
    in_force = newest.id or 0 if newest else 0
    curation.restore_snapshot(database, snapshot_id=int(key), in_force=in_force, reason="worse since", **who)


def person_act(act: Callable[..., object], **more: Any) -> Callable[..., object]:
    def do(database: Database, key: str, **who: Any) -> object:
        with database.read() as session:
            person = session.get(Person, key)
        return act(database, email=key, version=person.version if person else 1, **more, **who)

    return do


def sign_in(database: Database, key: str, *, actor: str, clock: Any) -> None:
    curation.first_sign_in(database, identity=Identity(actor and key, f"https://id.example.com {key}"), clock=clock)


CASES: dict[Action, Callable[..., object]] = {
    Action.APPROVE: rule_act(curation.approve, settings=SETTINGS),
    Action.EDIT_AND_APPROVE: rule_act(
        curation.edit_and_approve, settings=SETTINGS, content={"condition": "a log volume has no room left"}
    ),
    Action.REFUSE: rule_act(curation.refuse, reason="no"),
    Action.ARCHIVE: rule_act(curation.archive, reason="old"),
    Action.RESTORE: rule_act(curation.restore, reason="needed"),
    Action.UNMERGE: rule_act(curation.unmerge, reason="differ"),
    Action.QUARANTINE: rule_act(curation.quarantine, descendants={}, reason="harmful"),
    Action.ASK_EVIDENCE: rule_act(curation.ask_for_evidence, unit="verified", count=3),
    Action.MERGE_INTO: merge_into,
    Action.BULK_APPROVE: rules_act(curation.approve_many, "versions", settings=SETTINGS),
    Action.BULK_REFUSE: rules_act(curation.refuse_many, "versions", reason="no"),
    Action.ASSIGN: lambda d, key, **who: curation.assign(d, item_id=key, person=address("expert"), **who),
    Action.SET_POLICIES: set_policies,
    Action.CREATE: lambda d, key, **who: curation.create(d, content=written(key), settings=SETTINGS, **who),
    Action.EDIT: rule_act(
        curation.edit, content={"condition": "a log volume has no room left"}, reason="", settings=SETTINGS
    ),
    Action.PIN: rule_act(curation.pin),
    Action.UNPIN: rule_act(curation.unpin),
    Action.ARCHIVE_MANY: rules_act(curation.archive_many, reason="old"),
    Action.RESTORE_MANY: rules_act(curation.restore_many, reason="needed"),
    Action.PIN_MANY: rules_act(curation.pin_many),
    Action.UNPIN_MANY: rules_act(curation.unpin_many),
    Action.IMPORT_HANDBOOK: lambda d, key, **who: curation.import_handbook(
        d, file="book.md", rules=[HandbookRule(f"draft {key}", 1, written(key))], settings=SETTINGS, **who
    ),
    Action.REWIND: rewind,
    Action.SAVE_VIEW: lambda d, key, **who: curation.save_view(d, page="library", name=key, query={"a": "1"}, **who),
    Action.DELETE_VIEW: lambda d, key, **who: curation.delete_view(d, view_id=key, **who),
    Action.ACCEPT_PROPOSAL: lambda d, key, **who: curation.accept_proposal(
        d, proposal_id=key, settings=SETTINGS, **who
    ),
    Action.REFUSE_PROPOSAL: lambda d, key, **who: curation.refuse_proposal(d, proposal_id=key, reason="no", **who),
    Action.REVIVE_REFUSAL: lambda d, key, **who: curation.revive_refusal(d, refusal_id=key, **who),
    Action.RESOLVE_CONFLICT: lambda d, key, **who: settle(d, key, None, **who),
    Action.GIVE_FEEDBACK: lambda d, key, **who: curation.give_feedback(
        d, episode_id=key, version=0, verdict="failure", reason="it came back", **who
    ),
    Action.RESTORE_MEMORY: lambda d, key, **who: curation.restore_memory(d, memory_id=int(key), **who),
    Action.RESTORE_SNAPSHOT: restore_snapshot,
    Action.CHOOSE_PHASE: lambda d, key, **who: curation.choose_phase(
        d, phase="static", environment="desk", settings=SETTINGS, **who
    ),
    Action.SET_LOOP: lambda d, key, **who: curation.set_loop(d, wanted="run", **who),
    Action.STEP_LOOP: lambda d, key, **who: curation.step_loop(d, rounds=1, **who),
    Action.CHANGE_SETTING: lambda d, key, **who: curation.change_setting(
        d, name="round.tasks", value=next(NUMBERS) % 99 + 1, settings=SETTINGS, **who
    ),
    Action.CHANGE_BUDGET: lambda d, key, **who: curation.change_setting(
        d, name="budget.per_day_usd", value=next(NUMBERS), settings=SETTINGS, **who
    ),
    Action.INVITE: lambda d, key, **who: curation.invite(d, email=key, name="", roles=["expert"], **who),
    Action.FIRST_SIGN_IN: sign_in,
    Action.CHANGE_ROLES: person_act(curation.change_roles, roles=["expert"]),
    Action.DEACTIVATE: person_act(curation.deactivate),
    Action.REACTIVATE: person_act(curation.reactivate),
    Action.UNDO: lambda d, key, **who: curation.undo(d, entry_id=int(key), **who),
}


def make(database: Database, action: Action, state: str, who: str) -> tuple[str, str]:
    """Make an object in a state; return its key, and the actor: for a first sign-in, the account is the actor's own."""
    with database.write() as session:
        if action is Action.UNDO:
            return make_entry(session, state, who), address(who)
        if action is Action.UNMERGE:
            return make_merge(session, state), address(who)
        if action is Action.MERGE_INTO:
            return make_pair(session, state), address(who)
        if action in (Action.UNPIN, Action.UNPIN_MANY):
            return make_pinned(session, state), address(who)
        if action is Action.REWIND:
            return make_history(session), address(who)
        if action is Action.DELETE_VIEW:
            return make_view(session, address(who)), address(who)
        if action is Action.FIRST_SIGN_IN:
            email = f"self{next(NUMBERS)}@example.com"
            exists = state != "absent" and who != "no account"
            if exists:
                role = who if who in ROLES else "admin"
                make_person(session, email, role, active=state == "active" and who != "deactivated")
            return email, "" if who == "signed out" else email
        return MAKERS[PERMISSIONS[action].kind](session, state), address(who)


def entries(database: Database) -> int:
    with database.read() as session:
        return session.exec(select(func.count()).select_from(AuditEntry)).one()


@pytest.fixture(scope="module")
def commits(database: Database) -> Iterator[Callable[[], int]]:
    """Gives a number that changes with every commit to the database, whatever it writes."""
    watching = sqlite3.connect(str(database.engine.url.database))
    yield lambda: int(watching.execute("PRAGMA data_version").fetchone()[0])
    watching.close()


@pytest.mark.parametrize("action", list(Action))
def test_every_action_by_everybody_in_every_state(
    database: Database, commits: Callable[[], int], action: Action
) -> None:
    roles, kind, states = EXPECTED[action.value]
    for state in sorted(STATES[kind]):
        for who in (*ROLES, *OUTSIDERS):
            key, actor = make(database, action, state, who)
            written, before = entries(database), commits()
            may_do, fits = who in {*roles.split(), "admin"}, state in states.split()
            act = CASES[action]
            if may_do and fits:
                act(database, key, actor=actor, clock=lambda: NOW)
                assert entries(database) == written + 1, (who, state)
                continue
            with pytest.raises(UserError) as refused:
                act(database, key, actor=actor, clock=lambda: NOW)
            # Nobody without an account, active and of a fitting role, learns more than that they may not.
            not_allowed = not may_do or (action is Action.FIRST_SIGN_IN and not fits)
            assert isinstance(refused.value, NotAllowedError) == not_allowed, (who, state)
            assert commits() == before, (who, state)


def test_the_table_says_what_it_is_meant_to_say() -> None:
    said = {
        action.value: (
            {role.value for role in permission.roles},
            permission.kind,
            set(permission.states),
        )
        for action, permission in PERMISSIONS.items()
    }
    assert said == {
        name: (set(roles.split()), kind, set(states.split())) for name, (roles, kind, states) in EXPECTED.items()
    }


def test_every_action_has_a_case_a_permission_and_a_name() -> None:
    assert set(CASES) == set(Action) == set(PERMISSIONS) == set(ACTION_NAMES)
    assert set(ROLE_NAMES) == set(Role)
    assert {permission.kind for permission in PERMISSIONS.values()} <= set(STATES) == set(KIND_NAMES)
    assert set().union(*STATES.values()) - {STANDING} <= set(STATE_NAMES)
