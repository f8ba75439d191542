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
    set_priority,
)
from core.curation.drafts import discard_draft, save_draft
from core.curation.evidence import ask_for_evidence
from core.curation.experience import choose_phase, restore_memory, restore_snapshot
from core.curation.feedback import give_feedback
from core.curation.handbook import import_handbook
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
from core.curation.rewind import preview_rewind, rewind_to_round
from core.curation.rules import archive, pin, quarantine, restore, unmerge, unpin
from core.curation.saved_views import delete_view, save_view
from core.curation.selection import archive_many, pin_many, restore_many, unpin_many
from core.curation.undo import undo
from core.curation.writing import create, edit

__all__ = [
    "NARROWED",
    "SeenConflict",
    "SeenRule",
    "accept_proposal",
    "approve",
    "approve_many",
    "archive",
    "archive_many",
    "ask_for_evidence",
    "assign",
    "change_roles",
    "change_setting",
    "choose_phase",
    "claim",
    "create",
    "deactivate",
    "delete_view",
    "discard_draft",
    "dismiss_conflict",
    "edit",
    "edit_and_approve",
    "ensure_an_admin",
    "first_sign_in",
    "give_feedback",
    "import_handbook",
    "invite",
    "keep_rule",
    "merge_into",
    "merge_pair",
    "narrow",
    "pin",
    "pin_many",
    "preview_bulk",
    "preview_rewind",
    "quarantine",
    "reactivate",
    "refuse",
    "refuse_many",
    "refuse_proposal",
    "release",
    "restore",
    "restore_many",
    "restore_memory",
    "restore_snapshot",
    "revive_refusal",
    "rewind_to_round",
    "save_draft",
    "save_view",
    "set_loop",
    "set_policies",
    "set_priority",
    "step_loop",
    "undo",
    "unmerge",
    "unpin",
    "unpin_many",
]
