"""Which of a round's changes are to blame when the whole of them does not pass the gate.

One bad rule would otherwise take a round's good ones down with it. The changes whose rules were followed in
tasks that got worse, or were followed there before they were changed, are dropped, and what is left is tested
once more, on the same tasks against the same library. A second look at the same tasks flatters a little; the
verdict says that it is one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, select

from core.learning.verdict import Outcome
from core.tables import ArmName, Episode, Rule, RuleUse


def changes_to_blame(
    session: Session,
    round_number: int,
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    undone: Mapping[str, Mapping[str, Any]],
) -> dict[str, Mapping[str, Any]]:
    """Return the part of ``undone`` whose rules were followed in tasks that got worse, before or after.

    Rules that came out of each other by a merge stand or fall together.
    """
    rewards = {outcome.task_id: outcome.reward for outcome in before}
    worse = [outcome.task_id for outcome in after if outcome.reward < rewards.get(outcome.task_id, outcome.reward)]
    followed = session.exec(
        select(RuleUse.rule_id)
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(
            Episode.round_number == round_number,
            col(Episode.arm).in_((ArmName.BEFORE.value, ArmName.AFTER.value)),
            col(Episode.task_id).in_(worse),
            RuleUse.disposition == "served",
            RuleUse.compliance == "complied",
        )
        .distinct()
    )
    blamed = set(followed) & set(undone)
    return {rule_id: undone[rule_id] for rule_id in sorted(_with_relatives(session, blamed, set(undone)))}


def _with_relatives(session: Session, blamed: set[str], changed: set[str]) -> set[str]:
    rules = session.exec(select(Rule).where(col(Rule.id).in_(changed))).all()
    links = [(rule.id, parent) for rule in rules for parent in rule.parents if parent in changed]
    grown = set(blamed)
    while more := {b for a, b in links if a in grown} | {a for a, b in links if b in grown}:
        if more <= grown:
            break
        grown |= more
    return grown
