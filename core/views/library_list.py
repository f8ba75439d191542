"""The library as a list and as a board: filtered, ordered and paged by the database; and views people saved of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, func, literal, or_
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.rules.lifecycle import State
from core.tables import Conflict, Rule, RulePin, SavedView
from core.views.library import STATES, RuleRow, rule_row
from core.views.paging import PAGE_SIZE, Page

ORDERS = ("newest", "used", "reward", "name")
_SEARCHED = (Rule.name, Rule.condition, Rule.action, Rule.exclusion, Rule.rationale)
_AT_ONCE = 500


@dataclass(frozen=True)
class LibraryFilter:
    """Which rules are shown; '' and False filter nothing. Every word of ``text`` has to occur in a rule."""

    state: str = ""
    domain: str = ""
    origin: str = ""
    text: str = ""
    pinned: bool = False
    in_conflict: bool = False


@dataclass(frozen=True)
class ListedRule:
    """A rule in the list; ``in_conflict``: it contradicts another rule in use and nobody has settled it yet."""

    row: RuleRow
    pinned: bool
    in_conflict: bool


@dataclass(frozen=True)
class BoardColumn:
    """The newest rules of one state, and how many there are in all."""

    state: str
    rules: tuple[ListedRule, ...]
    total: int


@dataclass(frozen=True)
class NamedView:
    """A saved view: the page's parameters in the address under a name."""

    id: str
    name: str
    query: Mapping[str, str]


def listed_rules(
    session: Session, wanted: LibraryFilter, *, order: str = "newest", limit: int = PAGE_SIZE, offset: int = 0
) -> Page[ListedRule]:
    """List the rules that a filter lets through.

    Args:
        session: for reading.
        wanted: the filter.
        order: one of ``ORDERS``; largest or newest first, names from A.
        limit: rows at most.
        offset: rows to skip.
    """
    conditions = _conditions(wanted)
    if wanted.text:  # words are looked for in every rule, so that is done once, not for the total and the page
        ids = session.exec(select(Rule.id).where(*conditions).order_by(*_order(order))).all()
        return Page(_in_order(session, ids[offset : offset + limit]), len(ids))
    total = session.exec(select(func.count()).select_from(Rule).where(*conditions)).one()
    query = select(Rule).where(*conditions).order_by(*_order(order)).limit(limit).offset(offset)
    return Page(_listed(session, session.exec(query).all()), total)


def ranked_rules(
    session: Session, wanted: LibraryFilter, ranking: Sequence[str], *, limit: int = PAGE_SIZE, offset: int = 0
) -> Page[ListedRule]:
    """List the rules that a filter lets through in a given order, such as by meaning; others are left out.

    Args:
        session: for reading.
        wanted: the filter.
        ranking: rule ids, best first.
        limit: rows at most.
        offset: rows to skip.
    """
    conditions = _conditions(wanted)
    passing = list(ranking)
    if conditions:
        found: set[str] = set()
        for start in range(0, len(ranking), _AT_ONCE):
            part = ranking[start : start + _AT_ONCE]
            found.update(session.exec(select(Rule.id).where(col(Rule.id).in_(part), *conditions)))
        passing = [rule_id for rule_id in ranking if rule_id in found]
    return Page(_in_order(session, passing[offset : offset + limit]), len(passing))


def board(session: Session, wanted: LibraryFilter, *, limit: int = 5) -> tuple[BoardColumn, ...]:
    """Show a column for each state that the filter allows, the newest rules first.

    Args:
        session: for reading.
        wanted: the filter.
        limit: rules a column at most.
    """
    columns = []
    for state in STATES:
        if wanted.state in ("", state):
            page = listed_rules(session, replace(wanted, state=state), limit=limit)
            columns.append(BoardColumn(state, page.items, page.total))
    return tuple(columns)


def origins(session: Session) -> tuple[str, ...]:
    """Name the ways in which the library's rules came about."""
    return tuple(session.exec(select(Rule.origin).distinct().order_by(Rule.origin)))


def saved_views(session: Session, page: str, owner: str) -> tuple[NamedView, ...]:
    """List a person's saved views of a page, by name."""
    query = select(SavedView).where(SavedView.owner == owner, SavedView.page == page).order_by(SavedView.name)
    return tuple(NamedView(view.id, view.name, view.query) for view in session.exec(query))


def _conditions(wanted: LibraryFilter) -> list[ColumnElement[bool]]:
    equal = {Rule.state: wanted.state, Rule.domain: wanted.domain, Rule.origin: wanted.origin}
    conditions: list[ColumnElement[bool]] = [col(column) == value for column, value in equal.items() if value]
    if wanted.pinned:
        conditions.append(col(Rule.id).in_(select(RulePin.rule_id)))
    if wanted.in_conflict:
        conditions.append(col(Rule.state) != State.ARCHIVED.value)
        conditions.append(or_(*(col(Rule.id).in_(side) for side in _conflicting())))
    said: ColumnElement[str] = literal("")
    for column in _SEARCHED:
        said = said + "\n" + col(column)
    conditions += [said.icontains(word, autoescape=True) for word in wanted.text.split()]
    return conditions


def _conflicting() -> list[SelectOfScalar[str]]:
    """Return the two sides of open conflicts whose other side is in use, as sub-selects of rule ids."""
    other = aliased(Rule)
    sides = ((Conflict.rule_a, Conflict.rule_b), (Conflict.rule_b, Conflict.rule_a))
    return [
        select(one)
        .join(other, col(other.id) == rival)
        .where(Conflict.status == "open", col(other.state) != State.ARCHIVED.value)
        for one, rival in sides
    ]


def _order(order: str) -> tuple[Any, Any]:
    newest = col(Rule.created_at).desc()
    chosen: dict[str, Any] = {
        "newest": newest,
        "used": col(Rule.n_used).desc(),
        "reward": col(Rule.avg_delta).desc(),
        "name": col(Rule.name).asc(),
    }
    return chosen.get(order, newest), col(Rule.id).asc()


def _in_order(session: Session, ids: Sequence[str]) -> tuple[ListedRule, ...]:
    rules = {rule.id: rule for rule in session.exec(select(Rule).where(col(Rule.id).in_(ids)))}
    return _listed(session, [rules[one] for one in ids if one in rules])


def _listed(session: Session, rules: Iterable[Rule]) -> tuple[ListedRule, ...]:
    rows = [rule_row(rule) for rule in rules]
    ids = [row.id for row in rows]
    pinned = set(session.exec(select(RulePin.rule_id).where(col(RulePin.rule_id).in_(ids))))
    fought: set[str] = set()
    for side in _conflicting():
        fought.update(session.exec(select(Rule.id).where(col(Rule.id).in_(ids), col(Rule.id).in_(side))))
    return tuple(ListedRule(row, row.id in pinned, row.id in fought and row.state != "archived") for row in rows)
