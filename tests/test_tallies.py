"""The tallies equal a GROUP BY over the raw rows, whatever is written in whatever order, and by whomever."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from core.db import _prepare_sqlite, open_database
from core.tables import Episode, LedgerEntry, Round, RuleUse
from tests.learning.rows import DOMAIN, NOW, a_round, a_rule, a_use, an_episode
from tests.test_migrations import go_back

_JOINED = "FROM rule_use u JOIN episode e ON e.id = u.episode_id"
LAWS = {
    "episode_tally": """
        SELECT environment, ifnull(round_number, -1), split, arm, grade, count(*),
            sum(reused_from IS NOT NULL), sum(tool_calls), sum(tool_errors)
        FROM episode GROUP BY 1, 2, 3, 4, 5""",
    "turns_tally": """
        SELECT environment, ifnull(round_number, -1), split, arm, turns, count(*)
        FROM episode GROUP BY 1, 2, 3, 4, 5""",
    "type_tally": """
        SELECT environment, arm, task_type, ifnull(round_number, -1), library_left_out, status, count(*),
            sum(grade = 'pass') FROM episode GROUP BY 1, 2, 3, 4, 5, 6""",
    "task_tally": """
        SELECT ifnull(round_number, -1), task_id, count(*) FROM episode WHERE arm = 'learn' GROUP BY 1, 2""",
    "compliance_tally": f"""
        SELECT environment, ifnull(round_number, -1), split, arm, compliance, count(*) {_JOINED}
        WHERE disposition = 'served' GROUP BY 1, 2, 3, 4, 5""",
    "rule_tally": f"""
        SELECT rule_id, environment, arm, ifnull(round_number, -1), task_type, library_left_out, disposition,
            propensity, count(*), sum(grade = 'pass'), sum(turns), sum(turns * turns), sum(tool_calls),
            sum(tool_calls * tool_calls), sum(tool_errors), sum(tool_errors * tool_errors),
            sum(tool_calls * tool_errors), sum(compliance = 'complied'), sum(compliance = 'violated'), sum(verified),
            sum(cast(round(score * 1e9) AS INTEGER)) {_JOINED} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8""",
    "ledger_tally": """
        SELECT substr(created_at, 1, 10), purpose, model, agent, ifnull(round_number, -1), outcome, simulated, count(*),
            sum(attempt = 1), sum(cost_usd IS NULL), sum(input_tokens), sum(cached_tokens), sum(output_tokens),
            sum(cast(round(ifnull(cost_usd, 0) * 1e12) AS INTEGER)),
            sum(cast(round(CASE WHEN attempt > 1 THEN ifnull(cost_usd, 0) ELSE 0 END * 1e12) AS INTEGER))
        FROM ledger_entry GROUP BY 1, 2, 3, 4, 5, 6, 7""",
    "event_tally": """
        SELECT ifnull(round_number, -1), kind, ifnull(from_state, ''), to_state, count(*)
        FROM rule_event GROUP BY 1, 2, 3, 4""",
}  # fmt: skip

_FIXED: dict[str, dict[str, Any]] = {
    "episode": {"query": "q", "rollout": 0, "seed": 0, "model": "m", "reward": 0, "messages": "[]", "agent": "a",
                "library_propensity": 1, "prompt_hash": "", "digest": "", "digest_source": "", "started_at": "2026",
                "ended_at": "2026", "credited": 0},
    "rule_use": {"rule_version": 1, "judged_by": ""},
    "ledger_entry": {"request_id": "r", "latency_ms": 1},
    "rule_event": {"rule_id": "r1", "actor": "a", "reason": "", "reason_values": "{}", "after": "{}",
                   "created_at": "2026"},
}  # fmt: skip


def of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


_VARIED: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "episode": {
        "id": of("e1", "e2", "e3"), "environment": of("desk", "shop"), "round_number": of(None, 1, 2),
        "split": of("train", "held_out"), "arm": of("learn", "after"), "grade": of("pass", "fail"),
        "turns": of(1, 2, 9), "tool_calls": of(0, 3), "tool_errors": of(0, 2), "task_type": of("disk", "dns"),
        "task_id": of("t1", "t2"), "status": of("done", "failed"), "library_left_out": of(0, 1),
        "reused_from": of(None, "e9"),
    },
    "rule_use": {
        "id": of(1, 2, 3, 4), "episode_id": of("e1", "e2", "e3"), "rule_id": of("r1", "r2"),
        "disposition": of("served", "left_out"), "propensity": of(1.0, 0.95, 0.05), "score": of(0.1, 0.123456789),
        "compliance": of("unjudged", "complied", "violated"), "verified": of(0, 1),
    },
    "ledger_entry": {
        "id": of(1, 2, 3), "attempt": of(1, 2), "purpose": of("act", "judge"), "model": of("m", "n"),
        "agent": of("", "bot"), "simulated": of(0, 1), "input_tokens": of(0, 700), "cached_tokens": of(0, 600),
        "output_tokens": of(0, 5), "cost_usd": of(None, 0.1, 0.2, 0.000013), "outcome": of("ok", "timeout"),
        "round_number": of(None, 1), "created_at": of("2026-01-04 23:59:59.999999", "2026-01-05 00:00:00.000000"),
    },
    "rule_event": {
        "id": of(1, 2, 3), "round_number": of(None, 1), "kind": of("created", "verified"),
        "from_state": of(None, "candidate"), "to_state": of("candidate", "active"),
    },
}  # fmt: skip


@st.composite
def writes(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    """Draw one statement: a row that comes, comes again, changes or goes."""
    table = draw(of(*_VARIED))
    row = {name: draw(values) for name, values in _VARIED[table].items()}
    way = draw(of("INSERT OR IGNORE", "INSERT OR REPLACE", "UPDATE OR IGNORE", "DELETE"))
    if way == "DELETE":
        return f"DELETE FROM {table} WHERE id = ?", (row["id"],)
    if way == "UPDATE OR IGNORE":
        changed = draw(st.sets(of(*row), min_size=1)) - {"id"} or {"round_number", "episode_id"} & row.keys()
        assigned = ", ".join(f"{name} = ?" for name in sorted(changed))
        return f"{way} {table} SET {assigned} WHERE id = ?", (*(row[name] for name in sorted(changed)), row["id"])
    whole = _FIXED[table] | row
    marks = ", ".join("?" * len(whole))
    return f"{way} INTO {table} ({', '.join(whole)}) VALUES ({marks})", tuple(whole.values())


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("tallies") / "t.db"
    open_database(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def differences(connection: sqlite3.Connection) -> dict[str, object]:
    found: dict[str, object] = {}
    for table, law in LAWS.items():
        kept = sorted(connection.execute(f"SELECT * FROM {table}").fetchall())
        counted = sorted(connection.execute(law).fetchall())
        if kept != counted:
            found[table] = (kept, counted)
    return found


@settings(deadline=None, max_examples=120)
@given(st.lists(writes(), max_size=40))
def test_whatever_is_written_the_tallies_are_the_sums_of_the_rows(
    migrated: sqlite3.Connection, statements: list[tuple[str, tuple[Any, ...]]]
) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrated.backup(connection)
        _prepare_sqlite(connection, None)
        connection.execute("PRAGMA foreign_keys=OFF")  # so that a use may come before its episode, and outlive it
        for statement, values in statements:
            connection.execute(statement, values)
        assert differences(connection) == {}


def test_the_drawn_writes_fill_every_tally(migrated: sqlite3.Connection) -> None:
    """Otherwise the law above would hold of empty tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        migrated.backup(connection)
        connection.execute("PRAGMA foreign_keys=OFF")
        for table, varied in _VARIED.items():
            whole = _FIXED[table] | {name: _first(values) for name, values in varied.items()}
            marks = ", ".join("?" * len(whole))
            connection.execute(f"INSERT INTO {table} ({', '.join(whole)}) VALUES ({marks})", tuple(whole.values()))
        assert {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in LAWS} == {
            table: (1,) for table in LAWS
        }


def _first(values: st.SearchStrategy[Any]) -> Any:
    return getattr(values, "elements")[0]  # noqa: B009  (what of() was given; no part of the strategy's interface)


def test_a_database_from_before_is_counted_when_it_is_opened(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    database = open_database(url)
    with database.write() as session:
        session.add_all([a_round(1), a_rule("r"), a_rule("s")])
        session.flush()
        session.add_all([an_episode("e", round_number=1, agent="bot"), an_episode("f", grade="fail", arm="external")])
        session.flush()
        session.add_all([a_use("e", "r", compliance="complied"), a_use("e", "s", disposition="trimmed")])
        session.add_all([a_call(episode_id="e"), a_call(episode_id="gone"), a_call(round_number=1)])
    go_back(database, "0008")
    database.close()

    with open_database(url).read() as session:
        agents = session.execute(text("SELECT agent, count(*) FROM ledger_entry GROUP BY 1 ORDER BY 1")).all()
    assert [tuple(row) for row in agents] == [("", 2), ("bot", 1)]
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        assert differences(connection) == {}
        assert connection.execute("SELECT sum(episodes) FROM episode_tally").fetchone() == (2,)


def a_call(**columns: Any) -> LedgerEntry:
    given_: dict[str, Any] = {
        "request_id": "q", "attempt": 1, "purpose": "act", "model": "m", "simulated": False, "cost_usd": 0.5,
        "outcome": "ok", "created_at": NOW,
    }  # fmt: skip
    return LedgerEntry(**given_ | columns)


def test_rows_written_through_the_product_are_counted(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        session.add_all([Round(number=1, environment=DOMAIN, seed=1, trigger="t", started_at=NOW), a_rule("r")])
        session.flush()
        session.add_all([an_episode("e", round_number=1), a_call()])
        session.flush()
        session.add(a_use("e", "r"))
    with database.write() as session:
        session.get_one(Episode, "e").grade = "fail"
        session.get_one(RuleUse, 1).compliance = "violated"
    database.close()
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        assert differences(connection) == {}
        assert connection.execute("SELECT grade FROM episode_tally").fetchall() == [("fail",)]
