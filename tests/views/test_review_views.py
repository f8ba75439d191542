"""What Review tells of a candidate: its nearest rules, the past tasks it fits, where good and bad episodes part."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.db import Database, open_database
from core.embeddings import COMPARISON, Embedder, _text_hash
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.wording import condition_text, rule_text
from core.settings import EmbeddingSettings
from core.tables import Embedding, Episode, Rule, Task
from core.tables.rules import RuleContent
from core.views.nearest import Near, Nearest, RuleMap
from core.views.parting import parting
from core.views.touched import touched

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BY_LOOP = Change(SYSTEM, lambda: NOW, round_number=1)
MODEL = EmbeddingSettings(model="by hand")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def add(database: Database, rule_id: str, condition: str, *, domain: str = "desk", live: bool = False) -> Rule:
    draft = RuleContent(name=rule_id, condition=condition, action="ask for the fees first", domain=domain)
    with database.write() as session:
        rule = create_rule(session, draft, BY_LOOP, origin="reflection", id=rule_id)
        if live:
            move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, BY_LOOP)
    return rule


def store(database: Database, text: str, angle: float) -> None:
    """Give a text a unit vector at an angle in degrees, so that cosines can be told by eye."""
    vector = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))], dtype="<f4")
    with database.write() as session:
        session.merge(Embedding(text_hash=_text_hash(COMPARISON, text), model="by hand", vector=vector.tobytes()))


def nearest(database: Database, rules: RuleMap, rule_id: str, limit: int = 3) -> Nearest:
    with database.read() as session:
        return rules.nearest(session, get_rule(session, rule_id), rule_id, limit)


def ids(found: Nearest) -> list[str]:
    return [one.rule_id for one in found.rules]


def test_the_nearest_by_stored_vectors_of_the_same_domain_in_use(database: Database) -> None:
    for rule_id, angle in (("a", 0), ("b", 60), ("c", 10), ("gone", 1)):
        store(database, rule_text(add(database, rule_id, f"renewal {rule_id}")), angle)
    store(database, rule_text(add(database, "foreign", "renewal elsewhere", domain="shop")), 0)
    add(database, "unknown", "renewal without a vector")
    with database.write() as session:
        move_rule(session, get_rule(session, "gone"), State.ARCHIVED, Cause.PRUNED, BY_LOOP)
    found = nearest(database, RuleMap(Embedder(MODEL, database)), "a")
    assert (found.by, found.compared) == ("meaning", 2)
    assert ids(found) == ["c", "b"]
    assert [one.likeness for one in found.rules] == pytest.approx([np.cos(np.radians(10)), 0.5], abs=1e-6)


def test_the_map_follows_what_changes(database: Database) -> None:
    for rule_id, angle in (("a", 0), ("b", 60), ("c", 10)):
        store(database, rule_text(add(database, rule_id, f"renewal {rule_id}")), angle)
    rules = RuleMap(Embedder(MODEL, database))
    assert ids(nearest(database, rules, "a")) == ["c", "b"]
    with database.write() as session:
        move_rule(session, get_rule(session, "c"), State.ARCHIVED, Cause.PERSON, BY_LOOP)
    assert ids(nearest(database, rules, "a")) == ["b"]
    store(database, rule_text(add(database, "d", "renewal d")), 5)
    assert ids(nearest(database, rules, "a")) == ["d", "b"]
    with database.write() as session:
        edit_rule(session, get_rule(session, "d"), {"condition": "a text without a vector"}, BY_LOOP)
    assert ids(nearest(database, rules, "a")) == ["b"]


def test_without_a_vector_words_decide(database: Database) -> None:
    add(database, "a", "a reader renews a map of the coast")
    add(database, "b", "a reader renews a map of the mountains")
    add(database, "c", "the printer is out of paper")
    found = nearest(database, RuleMap(Embedder(MODEL, database)), "a", 1)
    assert (found.by, found.compared, ids(found)) == ("words", 2, ["b"])
    assert isinstance(found.rules[0], Near)
    assert 0 < found.rules[0].likeness < 1


def task(database: Database, name: str, query: str, grades: tuple[str, ...]) -> None:
    with database.write() as session:
        moment = NOW + timedelta(minutes=len(name))
        session.add(
            Task(id=name, environment="desk", type="loan", query=query, split="train", created_at=moment)
        )  # fmt: skip
        for number, grade in enumerate(grades):
            session.add(episode(f"{name}-{number}", name, grade, []))


def episode(episode_id: str, task_id: str, grade: str, messages: list[dict[str, Any]]) -> Episode:
    return Episode(
        id=episode_id,
        environment="desk",
        task_id=task_id,
        task_type="loan",
        query="q",
        split="train",
        arm="learn",
        reward=1.0 if grade == "pass" else 0.0,
        grade=grade,
        turns=1,
        tool_calls=0,
        tool_errors=0,
        messages=messages,
        started_at=NOW,
        ended_at=NOW,
    )


def test_past_tasks_for_which_it_beats_all_but_a_few_live_rules(database: Database) -> None:
    new = add(database, "new", "a map is renewed")
    store(database, condition_text(new), 0)
    for number, angle in enumerate((20, 40, 60)):
        store(database, condition_text(add(database, f"live{number}", f"case {number}", live=True)), angle)
    for name, query, angle, grades in (
        ("near", "Renew my map", 0, ("pass", "fail", "fail")),
        ("between", "Renew it or not", 35, ("pass",)),
        ("far", "The printer", 60, ("fail",)),
        ("untried", "Nobody tried", 0, ()),
    ):
        store(database, query, angle)
        task(database, name, query, grades)
    embedder = Embedder(MODEL, database)
    with database.read() as session:
        rule = get_rule(session, "new")
        found = touched(session, RuleMap(embedder), embedder, rule, rivals=1)
        wide = touched(session, RuleMap(embedder), embedder, rule, rivals=4)
    # At 35 degrees the live rule at 40 is nearer; at 60 the one at 60 is.
    assert (found.by, found.looked_at, found.tasks, found.episodes, found.passed) == ("meaning", 3, 1, 3, 1)
    assert [one.query for one in found.best] == ["Renew my map"]
    assert not found.few_rules
    assert (wide.tasks, wide.few_rules) == (3, True)


def test_past_tasks_by_words_where_vectors_are_missing(database: Database) -> None:
    add(database, "new", "a reader renews the map of the coast")
    task(database, "near", "Please renew the map of the coast for this reader", ("pass", "fail"))
    task(database, "far", "The printer is out of paper", ("fail",))
    embedder = Embedder(MODEL, database)
    with database.read() as session:
        found = touched(session, RuleMap(embedder), embedder, get_rule(session, "new"), rivals=12)
    assert (found.by, found.looked_at, found.tasks, found.episodes, found.passed) == ("words", 2, 1, 2, 1)


def call(name: str, said: str = "") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": said,
        "tool_calls": [{"id": name, "type": "function", "function": {"name": name, "arguments": '{"copy": 1}'}}],
    }


def answer(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "x", "content": text}


def test_episodes_part_at_the_first_step_that_differs_in_what_was_done(database: Database) -> None:
    start = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    good = [*start, call("look", "Let me see"), answer("fees open"), call("ask"), answer("paid")]
    bad = [*start, call("look", "I look"), answer("fees open"), call("renew"), answer("refused")]
    with database.write() as session:
        session.add_all(
            [
                episode("elsewhere", "other", "pass", good),
                episode("good", "same", "pass", good),
                episode("bad", "same", "fail", bad),
                episode("short", "brief", "fail", bad[:4]),
            ]
        )
    with database.read() as session:
        found = parting(session, ["elsewhere", "good"], ["bad"])
        ended = parting(session, ["good"], ["short"])
        assert parting(session, ["good"], []) is None
        assert parting(session, ["good"], ["unknown"]) is None
    assert found is not None
    assert (found.passing_id, found.failing_id, found.common, found.same_task) == ("good", "bad", 1, True)
    assert found.passing is not None
    assert found.failing is not None
    assert (found.passing.calls, found.passing.results) == (('ask({"copy": 1})',), ("paid",))
    assert (found.failing.calls, found.failing.results) == (('renew({"copy": 1})',), ("refused",))
    assert ended is not None
    assert (ended.common, ended.failing, ended.same_task) == (1, None, False)
