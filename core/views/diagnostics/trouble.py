"""What a detector says: a trouble with its evidence, its explanation and its remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from core.statistics import Interval

Unit = Literal["share", "number", "usd"]


class Kind(StrEnum):
    """The ten troubles of design section 8."""

    OVER_FITTING = "over_fitting"
    PROMPT_LIMIT = "prompt_limit"
    IGNORED_RULES = "ignored_rules"
    EMPTY_TALK = "empty_talk"
    OVER_PLAN = "over_plan"
    FAILING_TYPE = "failing_type"
    RULES_FIGHT = "rules_fight"
    BLOAT = "bloat"
    CONFLICT_VARIANCE = "conflict_variance"
    OSSIFICATION = "ossification"


@dataclass(frozen=True)
class Fact:
    """One row of evidence.

    Attributes:
        what: a template to translate, and ``values`` that go into it.
        figure: with n and, where it is an estimate, its 95 % interval.
        unit: share in [0, 1], number, or USD.
        round: whose episodes it is about, if of one round.
        rule_id: the rule it is about, if of one rule.
    """

    what: str
    figure: Interval
    unit: Unit = "share"
    values: Mapping[str, Any] = field(default_factory=dict)
    round: int | None = None
    rule_id: str = ""


@dataclass(frozen=True)
class Remedy:
    """What helps.

    Attributes:
        advice: a template to translate, and ``values`` that go into it.
        changes: setting -> new value, to be applied from the page; empty where a person has to act.
        page: where a person acts: review, conflicts or library; '' where the settings are all.
    """

    advice: str
    values: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    page: str = ""


@dataclass(frozen=True)
class Trouble:
    """One trouble as it stands after the newest round.

    Attributes:
        kind: which of the ten.
        subject: the task type or purpose it is about; '' for the whole library.
        explanation: a template to translate, and ``values`` that go into it.
        facts: the evidence.
        remedy: what helps.
    """

    kind: Kind
    explanation: str
    facts: tuple[Fact, ...]
    remedy: Remedy
    subject: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
