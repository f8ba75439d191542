"""Which rules come from which: by merges (parents), and by being learned with them in the prompt (lineage).

Changes nothing. What follows from it (taking a merge apart, quarantine, a rollback) is decided elsewhere.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import String, cast, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.lifecycle import State
from core.tables import Rule

_Links = Mapping[str, set[str]]


def merged_from(session: Session, rule_ids: Iterable[str]) -> set[str]:
    """Return all that went into the given rules by merges, over any number of them."""
    return _reachable(rule_ids, _parents(session))


def learned_from(rule: Rule, evidence: Sequence[str], lineage: Iterable[str]) -> dict[str, Any]:
    """Return the changes of content that add episodes, and the rules in their prompts, to a rule's origins.

    A text that was changed because of them comes from them as much as from what it was first written for.
    """
    return {
        "evidence": list(dict.fromkeys([*rule.evidence, *evidence])),
        "lineage": list(dict.fromkeys([*rule.lineage, *(other for other in lineage if other != rule.id)])),
    }


def descendants(session: Session, rule_id: str) -> list[Rule]:
    """Return the rules that come from a rule by merges or lineage, over any number of steps, oldest first.

    Archived ones are among them, the rule itself never is, even where rules were learned from each other.
    """
    found = _reachable([rule_id], _turned(_origins(session))) - {rule_id}
    return list(
        session.exec(select(Rule).where(col(Rule.id).in_(found)).order_by(col(Rule.created_at), col(Rule.id))).all()
    )


def with_merges(session: Session, rule_id: str) -> list[Rule]:
    """Return a rule and the merges it is part of at present, over any number of them, the rule itself first."""
    rules = [session.get_one(Rule, rule_id)]
    while rules[-1].merged_into is not None:
        rules.append(session.get_one(Rule, rules[-1].merged_into))
    return rules


def merge_kin_in_use(session: Session, rule_id: str) -> list[Rule]:
    """Return the rules in use that a rule shares statistics with.

    A merge adds up the figures of its parents. So these are what went into the rule, what the rule went into,
    and other merges of what went into it; none of them may be in use at the same time as the rule.
    """
    parents = _parents(session)
    parts = _reachable([rule_id], parents)
    kin = (parts | _reachable([rule_id, *parts], _turned(parents))) - {rule_id}
    query = select(Rule).where(col(Rule.id).in_(kin), Rule.state != State.ARCHIVED.value)
    return list(session.exec(query.order_by(col(Rule.created_at), col(Rule.id))).all())


def _parents(session: Session) -> dict[str, set[str]]:
    return {rule_id: set(parents) for rule_id, parents in session.exec(select(Rule.id, Rule.parents))}


def _origins(session: Session) -> dict[str, set[str]]:
    """Return rule id -> the rules it comes from by merges or lineage, of those that come from any.

    Lists are read as text: among ten thousand rules, making objects of the empty ones is what takes the time.
    """
    written = [cast(column, String) for column in (Rule.parents, Rule.lineage)]
    query = select_columns(col(Rule.id), *written).where(or_(*(text != "[]" for text in written)))
    return {rule_id: {*json.loads(first), *json.loads(second)} for rule_id, first, second in session.execute(query)}


def _turned(links: _Links) -> dict[str, set[str]]:
    turned: dict[str, set[str]] = {}
    for source, targets in links.items():
        for target in targets:
            turned.setdefault(target, set()).add(source)
    return turned


def _reachable(start: Iterable[str], links: _Links) -> set[str]:
    """Return what can be reached from the start in one step or more."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        new = links.get(waiting.pop(), set()) - found
        found |= new
        waiting.extend(new)
    return found
