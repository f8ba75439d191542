"""What people do. Each function is one transaction: check, change, event and audit entry, or nothing at all.

Who may do what, and to an object in which state, says core.people.permissions. Every change of a rule names
the version the person has seen; if somebody changed it since, nothing happens and the error says so.
"""

from core.curation.assignments import assign
from core.curation.bulk import approve_many, preview_bulk, refuse_many
from core.curation.claims import claim, release
from core.curation.conflicts import (
    NARROWED,
    SeenConflict,
    dismiss_conflict,
    keep_rule,
    merge_pair,
    narrow,
    resolve_conflict,
    set_priority,
)
from core.curation.drafts import discard_draft, save_draft
from core.curation.evidence import ask_for_evidence
from core.curation.loop import change_setting, set_loop, step_loop
from core.curation.merging import SeenRule, merge_into
from core.curation.people import change_roles, deactivate, ensure_an_admin, first_sign_in, invite, reactivate
from core.curation.policies import set_policies
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
    "SeenConflict",
    "SeenRule",
    "accept_proposal",
    "approve",
    "approve_many",
    "archive",
    "ask_for_evidence",
    "assign",
    "change_roles",
    "change_setting",
    "claim",
    "deactivate",
    "discard_draft",
    "dismiss_conflict",
    "edit_and_approve",
    "ensure_an_admin",
    "first_sign_in",
    "invite",
    "keep_rule",
    "merge_into",
    "merge_pair",
    "narrow",
    "preview_bulk",
    "quarantine",
    "reactivate",
    "refuse",
    "refuse_many",
    "refuse_proposal",
    "release",
    "resolve_conflict",
    "restore",
    "revive_refusal",
    "save_draft",
    "set_loop",
    "set_policies",
    "set_priority",
    "step_loop",
    "undo",
    "unmerge",
]
