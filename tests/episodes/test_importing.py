"""Import of recorded episodes into a real database file."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlmodel import col, select

from core import curation
from core.db import Database, open_database
from core.episodes.importing import ImportReport, import_recorded
from core.errors import UserError
from core.settings import Settings
from core.tables import Episode, Task
from tests.support.recordings import LIBRARY_DESK, airline_file, call, line, result, said, user, write_lines

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def run(database: Database, path: Path, **options: Any) -> ImportReport:
    return import_recorded(database, path, settings=Settings(), clock=lambda: NOW, **options)


def episodes(database: Database) -> list[Episode]:
    with database.read() as session:
        return list(session.exec(select(Episode).order_by(col(Episode.started_at))))


def tasks(database: Database) -> dict[str, Task]:
    with database.read() as session:
        return {task.id: task for task in session.exec(select(Task))}


def test_the_real_recordings_have_their_known_figures(database: Database) -> None:
    report = run(database, airline_file())
    assert (report.environment, report.added, report.tasks, report.problem_count) == ("airline", 105, 35, 0)
    rows = episodes(database)
    passes = sum(row.grade == "pass" for row in rows)
    turns, calls, errors = (sum(getattr(row, name) for row in rows) for name in ("turns", "tool_calls", "tool_errors"))
    assert (len(rows), passes, turns, calls, errors) == (105, 32, 1488, 749, 54)
    assert [round(value, 4) for value in (passes / 105, errors / calls)] == [0.3048, 0.0721]
    assert round(turns / 105, 3) == 14.171
    by_task = defaultdict(set)
    for row in rows:
        by_task[row.task_id].add(row.grade)
    assert (len(by_task), sum(len(grades) > 1 for grades in by_task.values())) == (35, 15)
    assert set(by_task) == set(tasks(database))


def test_importing_twice_adds_nothing(database: Database) -> None:
    run(database, airline_file())
    before = [row.model_dump() for row in episodes(database)]
    again = run(database, airline_file())
    assert (again.added, again.already_there, again.tasks, again.problems) == (0, 105, 35, [])
    assert [row.model_dump() for row in episodes(database)] == before


def test_an_episode_that_a_person_put_right_is_still_the_one_in_the_file(database: Database, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "desk.jsonl", line(reward=1.0))
    run(database, path)
    (episode,) = episodes(database)
    curation.give_feedback(
        database,
        episode_id=episode.id,
        version=0,
        verdict="failure",
        reason="it came back",
        actor="ada",
        clock=lambda: NOW,
    )
    again = run(database, path)
    assert (again.added, again.already_there, again.problems) == (0, 1, [])
    assert episodes(database)[0].reward == -1.0
    changed = run(database, write_lines(tmp_path / "desk.jsonl", line(reward=-1.0)))
    assert [one.field for one in changed.problems] == ["id"], "the file says another thing than what was recorded"


def test_all_that_a_line_says_is_stored(database: Database) -> None:
    report = run(database, LIBRARY_DESK)
    assert (report.environment, report.added, report.tasks) == ("library", 6, 4)
    rows = {row.query[:8]: row for row in episodes(database)}
    hours, failed = rows["你们港口分馆星期"], rows["My loan "]
    assert (hours.split, hours.task_type, hours.agent, hours.model) == (
        "held_out",
        "information",
        "desk-bot",
        "small-1",
    )
    assert hours.started_at == hours.ended_at == datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
    assert (failed.split, failed.task_type, failed.arm, failed.grade) == (
        "train",
        "library",
        "external",
        "fail",
    )
    assert (failed.turns, failed.tool_calls, failed.tool_errors, failed.decisive_step) == (7, 4, 2, 8)
    assert (failed.digest_source, failed.digest[:5], failed.task_id) == (
        "extracted",
        "TASK:",
        "library/desk-renew",
    )
    assert failed.started_at == NOW + timedelta(microseconds=1)
    task = tasks(database)["library/desk-renew"]
    assert (task.query, task.split, task.type) == (failed.query, "train", "library")
    assert [row.grade for row in rows.values()].count("marginal") == 1


@pytest.mark.parametrize(
    ("file", "environment"),
    [("airline-gpt4o.jsonl.gz", "airline"), ("desk.jsonl", "desk"), (".jsonl", "recorded"), ("a.b-c", "a")],
)
def test_the_environment_is_named_after_the_file(
    database: Database, tmp_path: Path, file: str, environment: str
) -> None:
    assert run(database, write_lines(tmp_path / file, line())).environment == environment


def test_the_same_id_in_two_environments_is_two_episodes(database: Database) -> None:
    run(database, LIBRARY_DESK, environment="north")
    assert run(database, LIBRARY_DESK, environment="south").added == 6
    assert len(episodes(database)) == 12


@pytest.mark.parametrize("name", ["", "a/b", "a b", "x" * 61])
def test_an_unusable_environment_name_is_refused(database: Database, name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name"):
        run(database, LIBRARY_DESK, environment=name)


def test_bad_lines_are_reported_in_order_and_good_ones_kept(database: Database, tmp_path: Path) -> None:
    orphan = [user("Go"), result("c9", "done"), said("Done")]
    path = write_lines(
        tmp_path / "x.jsonl",
        line(id="a"),
        "{not json",
        line(id="b", reward=...),
        line(id="c", messages=orphan),
        line(id="d"),
    )
    report = run(database, path)
    assert (report.added, report.problem_count) == (2, 3)
    assert [(found.line, found.field) for found in report.problems] == [
        (2, "line"),
        (3, "reward"),
        (4, "messages[1].tool_call_id"),
    ]


@pytest.mark.parametrize("changes", [{"reward": 0.5}, {"task_id": "t2"}, {"messages": [user("Bye")]}])
def test_an_id_with_other_content_is_a_problem_and_the_stored_one_is_kept(
    database: Database, tmp_path: Path, changes: dict[str, Any]
) -> None:
    run(database, write_lines(tmp_path / "x.jsonl", line()))
    report = run(database, write_lines(tmp_path / "x.jsonl", line(**changes), line(id="e2")))
    assert (report.added, report.already_there) == (1, 0)
    (problem,) = report.problems
    assert (problem.line, problem.field) == (1, "id") and "e1 is stored already" in str(problem)
    assert episodes(database)[0].reward == 1.0


def test_a_task_never_gets_into_both_splits(database: Database, tmp_path: Path) -> None:
    both = (line(id="a", split="held_out"), line(id="b", split="train"), line(id="c"))
    report = run(database, write_lines(tmp_path / "x.jsonl", *both))
    assert [(found.line, found.field) for found in report.problems] == [(2, "split")]
    assert {row.split for row in episodes(database)} == {"held_out"} and report.added == 2


def test_an_import_that_was_killed_is_completed_by_the_next(database: Database, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl", *(line(id=f"e{number}", task_id=f"t{number % 50}") for number in range(450))
    )

    class Killed(Exception):
        pass

    def kill(lines: int) -> None:
        assert lines == 200
        raise Killed

    with pytest.raises(Killed):
        run(database, path, progress=kill)
    assert len(episodes(database)) == 200
    handled: list[int] = []
    report = run(database, path, progress=handled.append)
    assert (report.added, report.already_there, report.tasks, handled) == (250, 200, 50, [200, 400, 450])
    assert len(episodes(database)) == 450


def test_a_flood_of_problems_is_counted_and_its_beginning_kept(database: Database, tmp_path: Path) -> None:
    report = run(database, write_lines(tmp_path / "x.jsonl", *(["nonsense"] * 1100)))
    assert (report.problem_count, len(report.problems), report.problems[-1].line) == (1100, 1000, 1000)


def test_an_empty_file_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is empty"):
        run(database, write_lines(tmp_path / "x.jsonl"))


TEXT = st.text(max_size=60)
TOOL = st.text(min_size=1, max_size=30)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int, int, int]:
    """Draw a well-formed conversation with its turns, calls and failed calls."""
    messages = [user(draw(TEXT.filter(lambda text: text.replace("\0", "x").strip())))]
    turns = calls = failed = 0
    for number in range(draw(st.integers(0, 8))):
        turns += 1
        if draw(st.booleans()):
            messages += [said(draw(TEXT)), user(draw(TEXT))]
            continue
        one = call(f"c{number % 3}", draw(TOOL))
        messages.append(one)
        calls += 1
        if draw(st.booleans()):
            wrong = draw(st.booleans())
            failed += wrong
            messages.append(result(f"c{number % 3}", draw(TEXT), failed=wrong))
    return messages, turns, calls, failed


@given(drawn=st.lists(conversations(), min_size=1, max_size=4), reward=st.floats(-1, 1))
@hypothesis_settings(max_examples=25, deadline=None)
def test_any_well_formed_conversation_is_imported_with_its_counts(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[list[dict[str, Any]], int, int, int]],
    reward: float,
) -> None:
    folder = tmp_path_factory.mktemp("import")
    lines = [line(id=str(number), messages=one[0], reward=reward) for number, one in enumerate(drawn)]
    path = write_lines(folder / "x.jsonl", *lines)
    database = open_database(f"sqlite:///{folder}/t.db")
    assert (run(database, path).added, run(database, path).already_there) == (len(drawn), len(drawn))
    for row, (messages, *counts) in zip(episodes(database), drawn, strict=True):
        assert [row.turns, row.tool_calls, row.tool_errors] == counts
        assert row.messages == json.loads(json.dumps(messages).replace("\\u0000", "\\ufffd"))
        assert row.reward == reward
    database.close()
