"""What people do. Each function is one transaction: check, change, event and audit entry, or nothing at all.

Who may do what, and to an object in which state, says core.people.permissions. Every change of a rule names
the version the person has seen; if somebody changed it since, nothing happens and the error says so.
"""

from core.curation.assignments import assign
from core.curation.bulk import approve_many, preview_bulk, refuse_many
from core.curation.claims import claim, release
from core.curation.conflicts import resolve_conflict
from core.curation.drafts import discard_draft, save_draft
from core.curation.evidence import ask_for_evidence
from core.curation.loop import change_setting, set_loop, step_loop
from core.curation.merging import Seen, merge_into
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
    "Seen",
    "accept_proposal",
    "approve",
    "approve_many",
    "archive",
    "ask_for_evidence",
    "assign",
    "change_setting",
    "claim",
    "discard_draft",
    "edit_and_approve",
    "merge_into",
    "preview_bulk",
    "quarantine",
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
    "step_loop",
    "undo",
    "unmerge",
]
