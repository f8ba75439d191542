"""Where a rule comes from and what came of it, as a graph: merges, and rules it was learned beside."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import String, cast, or_
from sqlmodel import Session, col, select

from core.tables import Rule
from core.views.library import RuleRow, rule_row

_MOST = 40
"""Rules in one picture at most; more cannot be read."""


@dataclass(frozen=True)
class Link:
    """``child`` comes from ``parent``: by a ``merge``, or ``learned`` with it in the prompt."""

    parent: str
    child: str
    kind: str


@dataclass(frozen=True)
class Lineage:
    """The rules round one, itself among them, and how they come from each other. ``cut``: there are more."""

    rules: tuple[RuleRow, ...]
    links: tuple[Link, ...]
    cut: bool


def lineage(session: Session, rule_id: str, *, most: int = _MOST) -> Lineage:
    """Return a rule's ancestors and descendants, nearest first, over any number of steps.

    Args:
        session: for reading.
        rule_id: the rule; has to exist.
        most: rules at most.
    """
    found = {rule_id: session.get_one(Rule, rule_id)}
    cut = False
    for step in (_above, _below):
        edge = [found[rule_id]]
        while edge and not cut:
            new = {rule.id: rule for rule in step(session, edge) if rule.id not in found}
            room = most - len(found)
            cut = len(new) > room
            edge = [new[key] for key in sorted(new)][:room]
            found |= {rule.id: rule for rule in edge}
    links = [Link(parent, rule.id, "merge") for rule in found.values() for parent in rule.parents]
    merges = {(link.parent, link.child) for link in links}
    links += [
        Link(parent, rule.id, "learned")
        for rule in found.values()
        for parent in rule.lineage
        if (parent, rule.id) not in merges and parent != rule.id
    ]
    shown = tuple(link for link in links if link.parent in found)
    return Lineage(tuple(rule_row(rule) for rule in found.values()), shown, cut)


def _above(session: Session, rules: Iterable[Rule]) -> list[Rule]:
    ids = {one for rule in rules for one in (*rule.parents, *rule.lineage)}
    return list(session.exec(select(Rule).where(col(Rule.id).in_(ids)).limit(_MOST + 1)).all())


def _below(session: Session, rules: Iterable[Rule]) -> list[Rule]:
    """Return the children: those that name one of the rules in a list of their own."""
    named = [
        cast(column, String).contains(f'"{rule.id}"', autoescape=True)
        for rule in rules
        for column in (Rule.parents, Rule.lineage)
    ]
    return list(session.exec(select(Rule).where(or_(*named)).order_by(Rule.id).limit(_MOST + 1)).all())
