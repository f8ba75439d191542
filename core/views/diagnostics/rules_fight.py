"""Rules fight: two that contradict each other both reach prompts of the same type of task."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.rules.conflict_records import live_conflicts
from core.tables import Rule, RuleTally
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window

_EXPLANATION = mark(
    "Two rules that contradict each other take turns in the prompts of the same type of task: what the agent is told "
    "hangs on which of them fits a little better."
)
_ADVICE = mark("Decide in Conflicts which of the two is to be kept, or that they do not contradict each other.")
_WITH = mark("Passed with “{name}”")
_PROMPTS = 5


def detect(window: Window) -> list[Trouble]:
    """Report open conflicts both of whose sides were served to one type at least five times in the last rounds.

    Not where one side is in the archive: then there is nothing to decide, and no prompt has it.
    """
    live = [(conflict.rule_a, conflict.rule_b) for conflict in live_conflicts(window.session)]
    sides = {rule_id for pair in live for rule_id in pair}
    named = window.session.execute(
        select(col(Rule.id), col(Rule.name)).where(col(Rule.id).in_(sides), col(Rule.domain) == window.domain)
    )
    names = {rule_id: name for rule_id, name in named}
    conflicts = [pair for pair in live if names.keys() >= set(pair)]
    served = _served(window, sorted(names))
    found = []
    for pair in conflicts:
        for kind in sorted(served.get(pair[0], {}).keys() & served.get(pair[1], {}).keys()):
            passes = [served[rule_id][kind] for rule_id in pair]
            if min(one.n for one in passes) >= _PROMPTS:
                facts = tuple(
                    Fact(_WITH, one.rate, values={"name": names[rule_id]}, rule_id=rule_id)
                    for rule_id, one in zip(pair, passes, strict=True)
                )
                found.append(Trouble(Kind.RULES_FIGHT, _EXPLANATION, facts, Remedy(_ADVICE, page="conflicts"), kind))
    return found


def _served(window: Window, rules: Sequence[str]) -> dict[str, dict[str, Passes]]:
    """Return rule -> task type -> passes of the training prompts that had the rule."""
    place = (col(RuleTally.rule_id), col(RuleTally.task_type))
    rows = window.session.execute(
        select(*place, func.sum(col(RuleTally.passed)), func.sum(col(RuleTally.uses)))
        .where(
            col(RuleTally.rule_id).in_(rules),
            col(RuleTally.disposition) == "served",
            col(RuleTally.arm) == "learn",
            col(RuleTally.round_number).in_(window.newest()),
        )
        .group_by(*place)
    )
    found: dict[str, dict[str, Passes]] = {}
    for rule_id, kind, won, n in rows:
        found.setdefault(rule_id, {})[kind] = Passes(int(won), int(n))
    return found
