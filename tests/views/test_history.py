"""The library over time, from events alone; and the queues of people with their ages."""

from datetime import timedelta
from pathlib import Path

from core.db import open_database
from core.tables import Conflict, Proposal, RuleEvent
from core.views.history import RoundChanges, library_history, waiting
from tests.learning.rows import NOW, a_rule


def an_event(rule_id: str, number: int | None, kind: str, before: str | None, after: str) -> RuleEvent:
    return RuleEvent(
        rule_id=rule_id, kind=kind, from_state=before, to_state=after, actor="system", round_number=number, after={},
        created_at=NOW,
    )  # fmt: skip


def test_each_round_says_what_it_changed_and_what_was_left(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        session.add_all([a_rule("a"), a_rule("b")])
        session.flush()
        for row in (
            ("a", None, "created", None, "candidate"),
            ("b", 2, "created", None, "candidate"),
            ("a", 2, "edited", "candidate", "candidate"),
            ("a", 2, "voted", "candidate", "candidate"),
            ("a", 3, "verified", "candidate", "active"),
            ("b", 3, "unretrieved", "candidate", "archived"),
        ):
            session.add(an_event(*row))
            session.flush()
    with database.read() as session:
        found = library_history(session)
    states = [{state: n for state, n in one.states.items() if n} for one in found]
    assert states == [{"candidate": 1}, {"candidate": 2}, {"active": 1, "archived": 1}]
    assert [(one.round, one.created, one.edited, one.live, one.left) for one in found] == [
        (0, 1, 0, 0, 0), (2, 1, 1, 0, 0), (3, 0, 0, 1, 1),
    ]  # fmt: skip
    assert isinstance(found[0], RoundChanges)


def test_queues_say_how_long_the_oldest_has_waited(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        session.add_all([a_rule("old"), a_rule("new", created_at=NOW + timedelta(hours=3))])
        session.add(a_rule("approved", approved_by="ada", created_at=NOW - timedelta(days=9)))
        session.flush()
        session.add(Proposal(id="p", rule_id="old", rule_version=1, kind="edit", after={}, created_at=NOW))
        session.add(Conflict(id="c", rule_a="new", rule_b="old", detector="lexicon", status="resolved", created_at=NOW))
    with database.read() as session:
        found = {one.queue: (one.n, one.oldest) for one in waiting(session, now=NOW + timedelta(hours=5))}
    assert found == {"review": (3, timedelta(hours=5)), "conflicts": (0, None)}
