"""All ten detectors, run over the newest rounds of a domain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.settings import Settings, with_overrides
from core.tables import Round
from core.views.diagnostics import (
    bloat,
    conflict_variance,
    empty_talk,
    failing_type,
    ignored_rules,
    ossification,
    over_fitting,
    over_plan,
    prompt_limit,
    rules_fight,
)
from core.views.diagnostics.trouble import Kind, Remedy, Trouble
from core.views.diagnostics.window import Window, look

DETECTORS: Mapping[Kind, Callable[[Window], list[Trouble]]] = {
    Kind.OVER_FITTING: over_fitting.detect,
    Kind.PROMPT_LIMIT: prompt_limit.detect,
    Kind.IGNORED_RULES: ignored_rules.detect,
    Kind.EMPTY_TALK: empty_talk.detect,
    Kind.OVER_PLAN: over_plan.detect,
    Kind.FAILING_TYPE: failing_type.detect,
    Kind.RULES_FIGHT: rules_fight.detect,
    Kind.BLOAT: bloat.detect,
    Kind.CONFLICT_VARIANCE: conflict_variance.detect,
    Kind.OSSIFICATION: ossification.detect,
}


@dataclass(frozen=True)
class Change:
    """What a remedy does to one setting."""

    name: str
    before: Any
    after: Any


def domains(session: Session) -> list[str]:
    """Return the environments that have a finished round, the one of the newest round first."""
    rows = session.exec(
        select(Round.environment).where(Round.phase == "finished").order_by(col(Round.number).desc())
    ).all()
    return list(dict.fromkeys(rows))


def troubles(session: Session, settings: Settings, domain: str) -> list[Trouble]:
    """Return what is wrong after the newest round of a domain, in the order of ``DETECTORS``.

    Args:
        session: for reading.
        settings: in force now; remedies start from them.
        domain: name of the environment.
    """
    window = look(session, settings, domain)
    if not window.rounds:
        return []
    return [trouble for detect in DETECTORS.values() for trouble in detect(window)]


def preview(settings: Settings, remedy: Remedy) -> list[Change]:
    """Return what applying a remedy would change in the settings in force; [] if they are so already.

    Raises:
        UserError: the settings would not fit together any more.
    """
    after = with_overrides(settings, remedy.changes)
    pairs = [(name, *(_value(each, name) for each in (settings, after))) for name in remedy.changes]
    return [Change(name, old, new) for name, old, new in pairs if old != new]


def _value(settings: Settings, name: str) -> Any:
    group, _, field = name.partition(".")
    return getattr(getattr(settings, group), field)
