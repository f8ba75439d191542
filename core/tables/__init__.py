"""The database's tables. Importing this package registers all of them with SQLModel's metadata."""

from core.tables.ledger import LedgerEntry
from core.tables.memory import Memory, MemoryUse, PolicyEvent, PolicySnapshot, Tier
from core.tables.people import AccessMode, AuditEntry, AuditHead, AuditObject, Person, SettingOverride, Undone
from core.tables.review import Approval, Assignment, Claim, EvidenceWish, Policy, ReviewDraft
from core.tables.rewards import EpisodeReward
from core.tables.rounds import Lease, LoopControl, Reflection, Round
from core.tables.rules import Conflict, Proposal, Refusal, Rule, RuleEvent, RulePin
from core.tables.tallies import (
    ComplianceTally,
    EpisodeTally,
    EventTally,
    LedgerTally,
    RuleTally,
    TaskTally,
    TurnsTally,
    TypeTally,
)
from core.tables.vectors import Embedding, QueryRewrite
from core.tables.views import SavedView
from core.tables.work import JUDGED, ArmName, Episode, RuleUse, Task

__all__ = [
    "JUDGED",
    "AccessMode",
    "Approval",
    "ArmName",
    "Assignment",
    "AuditEntry",
    "AuditHead",
    "AuditObject",
    "Claim",
    "ComplianceTally",
    "Conflict",
    "Embedding",
    "Episode",
    "EpisodeReward",
    "EpisodeTally",
    "EventTally",
    "EvidenceWish",
    "Lease",
    "LedgerEntry",
    "LedgerTally",
    "LoopControl",
    "Memory",
    "MemoryUse",
    "Person",
    "Policy",
    "PolicyEvent",
    "PolicySnapshot",
    "Proposal",
    "QueryRewrite",
    "Reflection",
    "Refusal",
    "ReviewDraft",
    "Round",
    "Rule",
    "RuleEvent",
    "RulePin",
    "RuleTally",
    "RuleUse",
    "SavedView",
    "SettingOverride",
    "Task",
    "TaskTally",
    "Tier",
    "TurnsTally",
    "TypeTally",
    "Undone",
]
