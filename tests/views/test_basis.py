"""What troubles hang on: the same as long as they cannot have changed, and never longer."""

from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, select

from core import curation
from core.clock import utc_now
from core.db import Database, open_database
from core.settings import load_settings
from core.tables import Conflict, Episode, LedgerEntry, Round, Rule, RuleEvent
from core.views.diagnostics.basis import basis
from tests.support.loop_rows import World

SETTINGS = load_settings(_env_file=None)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    World(opened, SETTINGS).run(3)
    yield opened
    opened.close()


def now(database: Database) -> tuple[Hashable, ...]:
    with database.read() as session:
        return basis(session)


def rules(session: Session) -> list[Rule]:
    return list(session.exec(select(Rule).where(Rule.state != "archived").order_by(Rule.id)))


def a_round_at_work(session: Session) -> None:
    finished = session.get_one(Round, 3)
    session.add(
        Round(
            number=4, environment=finished.environment, seed=4, trigger="step", phase="rolled_out",
            started_at=utc_now(),
        )
    )  # fmt: skip
    session.flush()
    episode = session.exec(select(Episode)).first()
    assert episode is not None
    session.add(Episode(**episode.model_dump() | {"id": "of round 4", "round_number": 4}))
    session.add(
        LedgerEntry(
            request_id="r", attempt=1, purpose="act", model="m", simulated=True, outcome="ok", round_number=4,
            created_at=utc_now(),
        )
    )  # fmt: skip


def the_round_ends(session: Session) -> None:
    row = session.get_one(Round, 3)
    session.add(Round(**row.model_dump() | {"number": 4}))


def a_rule_changes(session: Session) -> None:
    (rule, *_) = rules(session)
    session.add(
        RuleEvent(
            rule_id=rule.id, kind="harmful", from_state=rule.state, to_state="probation", actor="system", after={},
            created_at=utc_now(),
        )
    )  # fmt: skip


def a_conflict_comes_up(session: Session) -> None:
    a, b, *_ = rules(session)
    session.add(Conflict(id="c", rule_a=a.id, rule_b=b.id, detector="lexicon", created_at=utc_now()))


def test_a_round_at_work_changes_nothing(database: Database) -> None:
    before = now(database)
    with database.write() as session:
        a_round_at_work(session)
    assert now(database) == before


@pytest.mark.parametrize("change", [the_round_ends, a_rule_changes, a_conflict_comes_up])
def test_what_the_loop_changes_is_noticed(database: Database, change: Callable[[Session], None]) -> None:
    before = now(database)
    with database.write() as session:
        change(session)
    assert now(database) != before


def test_a_conflict_that_is_settled_while_another_comes_up_is_noticed(database: Database) -> None:
    with database.write() as session:
        a_conflict_comes_up(session)
        rows = rules(session)
    before = now(database)
    seen = curation.SeenConflict("c", {row.id: row.version for row in rows[:2]})
    curation.dismiss_conflict(database, seen=seen, reason="both hold", actor="local", clock=utc_now)
    with database.write() as session:
        session.add(Conflict(id="d", rule_a=rows[2].id, rule_b=rows[3].id, detector="lexicon", created_at=utc_now()))
    assert now(database) != before
