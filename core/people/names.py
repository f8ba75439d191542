"""What actions, roles and states are called, for errors, the audit trail and every page; translated when shown."""

from core.i18n import mark
from core.people.permissions import Action, Role

ROLE_NAMES = {
    Role.EXPERT: mark("Expert"),
    Role.OPERATOR: mark("Operator"),
    Role.MANAGER: mark("Manager"),
    Role.ADMIN: mark("Administrator"),
}

ACTION_NAMES = {
    Action.APPROVE: mark("Approve"),
    Action.EDIT_AND_APPROVE: mark("Edit and approve"),
    Action.REFUSE: mark("Refuse"),
    Action.ASK_EVIDENCE: mark("Ask for more evidence"),
    Action.MERGE_INTO: mark("Merge into another rule"),
    Action.BULK_APPROVE: mark("Approve several rules"),
    Action.BULK_REFUSE: mark("Refuse several rules"),
    Action.ASSIGN: mark("Assign to a person"),
    Action.SET_POLICIES: mark("Change the policies"),
    Action.ARCHIVE: mark("Archive"),
    Action.RESTORE: mark("Restore"),
    Action.CREATE: mark("Write a rule"),
    Action.EDIT: mark("Edit a rule"),
    Action.PIN: mark("Pin"),
    Action.UNPIN: mark("Take the pin away"),
    Action.ARCHIVE_MANY: mark("Archive several rules"),
    Action.RESTORE_MANY: mark("Restore several rules"),
    Action.PIN_MANY: mark("Pin several rules"),
    Action.UNPIN_MANY: mark("Take the pins of several rules away"),
    Action.IMPORT_HANDBOOK: mark("Import a handbook"),
    Action.REWIND: mark("Rewind the library"),
    Action.SAVE_VIEW: mark("Save a view"),
    Action.DELETE_VIEW: mark("Delete a saved view"),
    Action.UNMERGE: mark("Take the merge apart"),
    Action.QUARANTINE: mark("Quarantine"),
    Action.ACCEPT_PROPOSAL: mark("Accept a proposal"),
    Action.REFUSE_PROPOSAL: mark("Refuse a proposal"),
    Action.REVIVE_REFUSAL: mark("Revive a refused draft"),
    Action.RESOLVE_CONFLICT: mark("Resolve a conflict"),
    Action.GIVE_FEEDBACK: mark("Say how an episode ended"),
    Action.RESTORE_MEMORY: mark("Restore a memory"),
    Action.RESTORE_SNAPSHOT: mark("Restore a snapshot of the policy"),
    Action.CHOOSE_PHASE: mark("Choose how far experience reaches"),
    Action.SET_LOOP: mark("Run or pause the loop"),
    Action.STEP_LOOP: mark("Run single rounds"),
    Action.CHANGE_SETTING: mark("Change a setting"),
    Action.CHANGE_BUDGET: mark("Change the budget"),
    Action.INVITE: mark("Invite a person"),
    Action.FIRST_SIGN_IN: mark("Sign in for the first time"),
    Action.CHANGE_ROLES: mark("Change roles"),
    Action.DEACTIVATE: mark("Deactivate a person"),
    Action.REACTIVATE: mark("Reactivate a person"),
    Action.UNDO: mark("Undo"),
}

RULE_STATE_NAMES = {
    "candidate": mark("Candidate"),
    "active": mark("Active"),
    "probation": mark("Probation"),
    "archived": mark("Archived"),
}

TIER_NAMES = {"hot": mark("Hot"), "warm": mark("Warm"), "cold": mark("Cold")}

STATE_NAMES = (
    RULE_STATE_NAMES
    | TIER_NAMES
    | {
        "in_force": mark("In force"),
        "earlier": mark("Earlier"),
        "open": mark("Open"),
        "accepted": mark("Accepted"),
        "refused": mark("Refused"),
        "revived": mark("Revived"),
        "resolved": mark("Resolved"),
        "waiting": mark("Waiting"),
        "decided": mark("Decided"),
        "dismissed": mark("Dismissed"),
        "learning": mark("For learning"),
        "evaluation": mark("Held-out test"),
        "absent": mark("No account"),
        "deactivated": mark("Deactivated"),
        "done": mark("Done"),
        "undone": mark("Undone"),
    }
)

KIND_NAMES = {
    "rule": mark("Rule"),
    "rules": mark("Rules"),
    "library": mark("Library"),
    "view": mark("Saved view"),
    "proposal": mark("Proposal"),
    "refusal": mark("Refused draft"),
    "conflict": mark("Conflict"),
    "item": mark("Waiting item"),
    "episode": mark("Episode"),
    "memory": mark("Memory"),
    "snapshot": mark("Snapshot"),
    "policies": mark("Policies"),
    "loop": mark("Loop"),
    "setting": mark("Setting"),
    "person": mark("Person"),
    "action": mark("Action"),
}
