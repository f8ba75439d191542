"""What people do. Each function is one transaction: check, change, event and audit entry, or nothing at all.

Who may do what, and to an object in which state, says core.people.permissions. Every change of a rule names
the version the person has seen; if somebody changed it since, nothing happens and the error says so.
"""

from core.curation.conflicts import resolve_conflict
from core.curation.handbook import import_handbook
from core.curation.loop import change_setting, set_loop, step_loop
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
    "accept_proposal",
    "approve",
    "archive",
    "archive_many",
    "change_setting",
    "create",
    "delete_view",
    "edit",
    "edit_and_approve",
    "import_handbook",
    "pin",
    "pin_many",
    "preview_rewind",
    "quarantine",
    "refuse",
    "refuse_proposal",
    "resolve_conflict",
    "restore",
    "restore_many",
    "revive_refusal",
    "rewind_to_round",
    "save_view",
    "set_loop",
    "step_loop",
    "undo",
    "unmerge",
    "unpin",
    "unpin_many",
]
