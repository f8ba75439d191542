"""What people do. Each function is one transaction: check, change, event and audit entry, or nothing at all.

Who may do what, and to an object in which state, says core.people.permissions. Every change of a rule names
the version the person has seen; if somebody changed it since, nothing happens and the error says so.
"""

from core.curation.conflicts import (
    NARROWED,
    Seen,
    dismiss_conflict,
    keep_rule,
    merge_pair,
    narrow,
    resolve_conflict,
    set_priority,
)
from core.curation.loop import change_setting, set_loop, step_loop
from core.curation.people import change_roles, deactivate, ensure_an_admin, first_sign_in, invite, reactivate
from core.curation.review import (
    accept_proposal,
    approve,
    edit_and_approve,
    refuse,
    refuse_proposal,
    revive_refusal,
)
from core.curation.rules import archive, quarantine, restore, unmerge
from core.curation.undo import undo

__all__ = [
    "NARROWED",
    "Seen",
    "accept_proposal",
    "approve",
    "archive",
    "change_roles",
    "change_setting",
    "deactivate",
    "dismiss_conflict",
    "edit_and_approve",
    "ensure_an_admin",
    "first_sign_in",
    "invite",
    "keep_rule",
    "merge_pair",
    "narrow",
    "quarantine",
    "reactivate",
    "refuse",
    "refuse_proposal",
    "resolve_conflict",
    "restore",
    "revive_refusal",
    "set_loop",
    "set_priority",
    "step_loop",
    "undo",
    "unmerge",
]
