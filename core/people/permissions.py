"""Every action of a person, who may do it, and on what. The only place that knows (design section 12)."""

from dataclasses import dataclass
from enum import StrEnum

from core.rules.lifecycle import IN_USE, State


class Role(StrEnum):
    """What a person is here for. A person may have several roles; an administrator may do everything."""

    EXPERT = "expert"
    OPERATOR = "operator"
    MANAGER = "manager"
    ADMIN = "admin"


class Action(StrEnum):
    """What a person can do; the name in the audit trail."""

    APPROVE = "approve"
    EDIT_AND_APPROVE = "edit_and_approve"
    REFUSE = "refuse"
    ASK_EVIDENCE = "ask_evidence"
    MERGE_INTO = "merge_into"
    BULK_APPROVE = "bulk_approve"
    BULK_REFUSE = "bulk_refuse"
    ASSIGN = "assign"
    SET_POLICIES = "set_policies"
    ARCHIVE = "archive"
    RESTORE = "restore"
    CREATE = "create"
    EDIT = "edit"
    PIN = "pin"
    UNPIN = "unpin"
    ARCHIVE_MANY = "archive_many"
    RESTORE_MANY = "restore_many"
    PIN_MANY = "pin_many"
    UNPIN_MANY = "unpin_many"
    IMPORT_HANDBOOK = "import_handbook"
    REWIND = "rewind"
    SAVE_VIEW = "save_view"
    DELETE_VIEW = "delete_view"
    UNMERGE = "unmerge"
    QUARANTINE = "quarantine"
    ACCEPT_PROPOSAL = "accept_proposal"
    REFUSE_PROPOSAL = "refuse_proposal"
    REVIVE_REFUSAL = "revive_refusal"
    RESOLVE_CONFLICT = "resolve_conflict"
    GIVE_FEEDBACK = "give_feedback"
    RESTORE_MEMORY = "restore_memory"
    RESTORE_SNAPSHOT = "restore_snapshot"
    CHOOSE_PHASE = "choose_phase"
    SET_LOOP = "set_loop"
    STEP_LOOP = "step_loop"
    CHANGE_SETTING = "change_setting"
    CHANGE_BUDGET = "change_budget"
    INVITE = "invite"
    FIRST_SIGN_IN = "first_sign_in"
    CHANGE_ROLES = "change_roles"
    DEACTIVATE = "deactivate"
    REACTIVATE = "reactivate"
    UNDO = "undo"


@dataclass(frozen=True)
class Permission:
    """Who may do something (besides administrators), on which kind of object, in which of its states."""

    kind: str
    states: frozenset[str]
    roles: frozenset[Role]


STANDING = "standing"
"""The state of what has no states, such as the loop or a setting."""

STATES: dict[str, frozenset[str]] = {
    "rule": frozenset(state.value for state in State),
    "rules": frozenset(state.value for state in State),
    "library": frozenset({STANDING}),
    "view": frozenset({STANDING}),
    "proposal": frozenset({"open", "accepted", "refused"}),
    "refusal": frozenset({"refused", "revived"}),
    "conflict": frozenset({"open", "resolved", "dismissed"}),
    "item": frozenset({"waiting", "decided"}),
    "episode": frozenset({"learning", "evaluation"}),
    "memory": frozenset({"hot", "warm", "cold"}),
    "snapshot": frozenset({"in_force", "earlier"}),
    "policies": frozenset({STANDING}),
    "loop": frozenset({STANDING}),
    "setting": frozenset({STANDING}),
    "person": frozenset({"absent", "active", "deactivated"}),
    "action": frozenset({"done", "undone"}),
}
"""The kinds of object and the states that each can be in."""


def _may(*roles: Role, kind: str, states: tuple[str, ...] = (STANDING,)) -> Permission:
    return Permission(kind, frozenset(states), frozenset(roles))


_E, _O, _M = Role.EXPERT, Role.OPERATOR, Role.MANAGER
_CANDIDATE, _ARCHIVED = (State.CANDIDATE.value,), (State.ARCHIVED.value,)
_IN_USE = tuple(state.value for state in IN_USE)
_ANY = tuple(state.value for state in State)

PERMISSIONS: dict[Action, Permission] = {
    Action.APPROVE: _may(_E, kind="rule", states=_CANDIDATE),
    Action.EDIT_AND_APPROVE: _may(_E, kind="rule", states=_CANDIDATE),
    Action.REFUSE: _may(_E, kind="rule", states=_CANDIDATE),
    Action.ASK_EVIDENCE: _may(_E, kind="rule", states=_CANDIDATE),
    # The other rule may be live; that it is in use is checked where it is read.
    Action.MERGE_INTO: _may(_E, kind="rule", states=_CANDIDATE),
    Action.BULK_APPROVE: _may(_E, kind="rule", states=_CANDIDATE),
    Action.BULK_REFUSE: _may(_E, kind="rule", states=_CANDIDATE),
    Action.ASSIGN: _may(_E, _O, kind="item", states=("waiting",)),
    Action.SET_POLICIES: _may(_E, kind="policies"),
    Action.ARCHIVE: _may(_E, _O, kind="rule", states=_IN_USE),
    Action.RESTORE: _may(_E, _O, kind="rule", states=_ARCHIVED),
    Action.CREATE: _may(_E, kind="library"),
    Action.EDIT: _may(_E, kind="rule", states=_IN_USE),
    Action.PIN: _may(_E, _O, kind="rule", states=_IN_USE),
    Action.UNPIN: _may(_E, _O, kind="rule", states=_ANY),
    Action.ARCHIVE_MANY: _may(_E, _O, kind="rules", states=_IN_USE),
    Action.RESTORE_MANY: _may(_E, _O, kind="rules", states=_ARCHIVED),
    Action.PIN_MANY: _may(_E, _O, kind="rules", states=_IN_USE),
    Action.UNPIN_MANY: _may(_E, _O, kind="rules", states=_ANY),
    Action.IMPORT_HANDBOOK: _may(_E, kind="library"),
    Action.REWIND: _may(_O, kind="library"),
    Action.SAVE_VIEW: _may(_E, _O, _M, kind="view"),
    Action.DELETE_VIEW: _may(_E, _O, _M, kind="view"),
    Action.UNMERGE: _may(_E, _O, kind="rule", states=_IN_USE),
    Action.QUARANTINE: _may(_E, _O, kind="rule", states=_IN_USE),
    Action.ACCEPT_PROPOSAL: _may(_E, kind="proposal", states=("open",)),
    Action.REFUSE_PROPOSAL: _may(_E, kind="proposal", states=("open",)),
    Action.REVIVE_REFUSAL: _may(_E, kind="refusal", states=("refused",)),
    Action.RESOLVE_CONFLICT: _may(_O, kind="conflict", states=("open",)),
    # Operators see where a person had to step in, experts whether it was right after all. An evaluation has decided
    # about a round already, so nobody changes its outcome afterwards.
    Action.GIVE_FEEDBACK: _may(_E, _O, kind="episode", states=("learning",)),
    # A memory speaks for itself as a rule does, and like a rule it comes back on an expert's or an operator's word.
    Action.RESTORE_MEMORY: _may(_E, _O, kind="memory", states=("cold",)),
    # As a rewind of the library: it is about how the agent runs, not about what is right in its trade.
    Action.RESTORE_SNAPSHOT: _may(_O, kind="snapshot", states=("earlier",)),
    # A setting like others, but for what it needs.
    Action.CHOOSE_PHASE: _may(_O, kind="setting"),
    Action.SET_LOOP: _may(_O, _M, kind="loop"),
    Action.STEP_LOOP: _may(_O, _M, kind="loop"),
    Action.CHANGE_SETTING: _may(_O, kind="setting"),
    Action.CHANGE_BUDGET: _may(_M, kind="setting"),
    Action.INVITE: _may(kind="person", states=("absent",)),
    # Only for oneself: it ties the account to the subject that the provider names.
    Action.FIRST_SIGN_IN: _may(_E, _O, _M, kind="person", states=("active",)),
    Action.CHANGE_ROLES: _may(kind="person", states=("active", "deactivated")),
    Action.DEACTIVATE: _may(kind="person", states=("active",)),
    Action.REACTIVATE: _may(kind="person", states=("deactivated",)),
    # Whoever may do it may take it back; core.curation.undo also asks that it was their own.
    Action.UNDO: _may(_E, _O, _M, kind="action", states=("done",)),
}


def may(roles: frozenset[Role], action: Action) -> bool:
    """Say whether somebody with these roles may do this to an object in a fitting state."""
    return Role.ADMIN in roles or bool(roles & PERMISSIONS[action].roles)
