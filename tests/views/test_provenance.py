"""What came from what: origins, prompts as served, and changes of a metric taken apart."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.effects import Finding
from core.tables import LedgerEntry, Reflection, RuleEvent
from core.views.effects import effects_by
from core.views.flows import rule_flows
from core.views.provenance import explain_change, origin
from tests.learning.rows import DOMAIN, NOW, a_round, a_rule, a_use, an_episode


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def an_event(rule_id: str, number: int, kind: str = "created") -> RuleEvent:
    return RuleEvent(
        rule_id=rule_id, kind=kind, to_state="candidate", actor="system", round_number=number, after={}, created_at=NOW
    )


def a_call(reflection_id: str | None, attempt: int, outcome: str, usd: float) -> LedgerEntry:
    return LedgerEntry(
        request_id="r", attempt=attempt, purpose="reflect", model="m", simulated=False, input_tokens=100,
        output_tokens=10, cost_usd=usd, outcome=outcome, round_number=1, reflection_id=reflection_id, created_at=NOW,
    )  # fmt: skip


def test_a_rule_leads_to_its_reflection_its_episodes_and_its_model_calls(database: Database) -> None:
    with database.write() as session:
        session.add_all([a_round(1), an_episode("good"), an_episode("bad", grade="fail"), a_rule("parent")])
        session.add(a_rule("r", evidence=["good", "bad"], parents=["parent"]))
        session.flush()
        session.add(
            Reflection(
                id="reflection", round_number=1, batch=0, status="done", passing=["good"], failing=["bad"],
                differences=[{"point": "first step"}], operations=[{"op": "UPVOTE"}, {"op": "ADD", "name": "r"}],
                outcomes=[{"result": "voted", "rule_id": "x"}, {"result": "created", "rule_id": "r"}], created_at=NOW,
            )
        )  # fmt: skip
        session.add_all([a_call("reflection", 1, "timeout", 0.0), a_call("reflection", 2, "valid", 0.02)])
        session.add(a_call("another", 1, "valid", 9.0))
    with database.read() as session:
        found = origin(session, "r")
        assert origin(session, "nobody") is None
    assert found is not None
    assert (found.reflection_id, found.round_number, found.operation) == ("reflection", 1, {"op": "ADD", "name": "r"})
    assert (found.passing, found.failing, found.evidence) == (("good",), ("bad",), ("good", "bad"))
    assert found.parents == {"parent": "parent"}
    calls = [(call.attempt, call.outcome, call.cost_usd) for call in found.calls]
    assert calls == [(1, "timeout", 0.0), (2, "valid", 0.02)]


def test_a_rule_of_a_person_has_no_reflection(database: Database) -> None:
    with database.write() as session:
        session.add(a_rule("r", origin="human", created_round=None))
    with database.read() as session:
        found = origin(session, "r")
    assert found is not None
    assert (found.how, found.reflection_id, found.calls) == ("human", "", ())


def fill_world(database: Database, *, seed: int, harm: float) -> None:
    """Forty rules come in between rounds 1 and 2; ``r07`` is harmful; ``old`` was there before."""
    chance = random.Random(seed)
    rules = [f"r{n:02}" for n in range(40)]
    with database.write() as session:
        session.add_all(a_round(n) for n in (1, 2))
        session.add_all(a_rule(each) for each in ("old", *rules))
        session.flush()
        session.add(an_event("old", 0))
        session.add_all(an_event(each, 1) for each in rules)
        for number in (1, 2):
            for place in range(120):
                found = {"old", *(chance.sample(rules, 12) if number == 2 else ())}
                passed = chance.random() < 0.75 - (harm if "r07" in found else 0.0)
                episode = f"e{number}_{place:03}"
                session.add(
                    an_episode(
                        episode, round_number=number, grade="pass" if passed else "fail", tool_calls=4,
                        tool_errors=2 if "r07" in found else 0, turns=6 if "r07" in found else 3,
                    )
                )  # fmt: skip
                session.flush()
                session.add_all(a_use(episode, rule) for rule in sorted(found) if chance.random() >= 0.05)


@pytest.mark.parametrize("metric", ["success_rate", "mean_turns", "tool_error_rate"])
def test_a_change_names_the_guilty_rule_of_forty_first(database: Database, metric: str) -> None:
    fill_world(database, seed=3, harm=0.5)
    with database.read() as session:
        found = explain_change(session, DOMAIN, metric, 1, 2)
    assert len(found.suspects) == 40, "the rule that was there before is none"
    assert found.suspects["r07"].events == ((1, "created"),)
    assert found.attribution is not None
    first = found.attribution.shares[0]
    assert first.rules == ("r07",)
    assert (first.before, first.after) == (0.0, pytest.approx(0.3, abs=0.12))
    assert (found.attribution.n_before, found.attribution.n_after) == (120, 120)


def test_without_episodes_nothing_is_explained(database: Database) -> None:
    with database.read() as session:
        found = explain_change(session, DOMAIN, "success_rate", 1, 2)
    assert (found.suspects, found.attribution) == ({}, None)


def test_flows_and_effects_by_round_and_type(database: Database) -> None:
    with database.write() as session:
        session.add_all([a_round(1), a_round(2), a_rule("r", evidence=["e1", "e2"], n_used=9), a_rule("idle")])
        session.flush()
        session.add_all([an_episode("e1", round_number=1), an_episode("e2", round_number=2, task_type="names")])
        session.flush()
        session.add_all([a_use("e1", "r", propensity=0.95), a_use("e2", "r", propensity=0.95)])
    with database.read() as session:
        (flow,) = rule_flows(session, DOMAIN, "success_rate")
        rounds = effects_by(session, "r", "success_rate", "round")
        kinds = effects_by(session, "r", "mean_turns", "type")
    assert (flow.rule_id, flow.used, flow.finding) == ("r", 9, Finding.TOO_FEW)
    assert flow.sources == {"names": ("e2",), "queues": ("e1",)}
    assert {key: (one.n_with, one.n_without) for key, one in rounds.items()} == {1: (1, 0), 2: (1, 0)}
    assert list(kinds) == ["names", "queues"]
