"""A rule's effects as read from the database equal those computed from the episodes one by one."""

import random
from pathlib import Path

import pytest
from sqlmodel import Session

from core.db import Database, open_database
from core.effects import Finding
from core.tables import Episode, RuleUse
from core.views.effects import effects_by_rule, rule_effects
from tests.learning.rows import DOMAIN, a_round, a_rule, a_use, an_episode

LEFT_OUT = 0.05


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def a_log(session: Session, n: int) -> list[tuple[Episode, list[RuleUse]]]:
    """Episodes of chance with two rules; "good" helps, "other" is judged too; some lost the whole library."""
    draw = random.Random(7)
    session.add(a_round(1))
    session.add_all([a_rule("good"), a_rule("other"), a_rule("unused")])
    session.flush()
    rows = []
    for number in range(n):
        gone, kept = draw.random() < 0.1, draw.random() >= LEFT_OUT
        served = kept and not gone
        passed = draw.random() < (0.8 if served else 0.3)
        calls = draw.randint(1, 6)
        episode = an_episode(
            f"e{number:04}",
            grade="pass" if passed else "fail",
            turns=draw.randint(2, 9) - 2 * served,
            tool_calls=calls,
            tool_errors=draw.randint(0, calls),
            library_left_out=gone,
            library_propensity=0.1 if gone else 0.9,
        )
        uses = []
        if draw.random() < 0.8:
            chance = 0.1 if gone else 1 - LEFT_OUT if kept else LEFT_OUT
            disposition = "left_out" if gone or not kept else "trimmed" if draw.random() < 0.1 else "served"
            compliance = draw.choice(["complied", "violated", "not_applicable", "unjudged"])
            uses.append(a_use(episode.id, "good", disposition=disposition, propensity=chance, compliance=compliance))
        if not gone:
            compliance = draw.choice(["complied", "complied", "violated", "not_applicable"])
            uses.append(a_use(episode.id, "other", propensity=1 - LEFT_OUT, compliance=compliance))
        session.add(episode)
        session.flush()
        session.add_all(uses)
        rows.append((episode, uses))
    session.add(an_episode("evaluated", arm="after", grade="fail"))
    session.flush()
    session.add(a_use("evaluated", "good", disposition="left_out", propensity=LEFT_OUT))
    return rows


def metric(name: str, episode: Episode, uses: list[RuleUse]) -> tuple[float, float]:
    judged = [u.compliance for u in uses if u.rule_id != "good" and u.compliance in ("complied", "violated")]
    return {
        "success_rate": (float(episode.grade == "pass"), 1.0),
        "mean_turns": (float(episode.turns), 1.0),
        "tool_error_rate": (float(episode.tool_errors), float(episode.tool_calls)),
        "compliance_rate": (float(judged.count("complied")), float(len(judged))),
    }[name]


def ratio(parts: list[tuple[float, float]]) -> float:
    return sum(x for x, _ in parts) / sum(d for _, d in parts)


def test_effects_and_raw_figures_equal_those_of_the_single_episodes(database: Database) -> None:
    with database.write() as session:
        rows = a_log(session, 600)
        found = {one.metric: one for one in rule_effects(session, "good")}

        for name, one in found.items():
            coin: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
            raw: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
            for episode, uses in rows:
                own = next((use for use in uses if use.rule_id == "good"), None)
                raw[own is not None and own.disposition == "served"].append(metric(name, episode, uses))
                if own is not None and not episode.library_left_out:
                    coin[own.disposition != "left_out"].append(metric(name, episode, uses))
            # One chance throughout: the weighted ratios are the plain ones.
            assert one.effect.value == pytest.approx(ratio(coin[True]) - ratio(coin[False]))
            assert (one.effect.n_with, one.effect.n_without) == (len(coin[True]), len(coin[False]))
            assert one.raw_with.value == pytest.approx(ratio(raw[True]))
            assert one.raw_without.value == pytest.approx(ratio(raw[False]))
    assert list(found) == ["success_rate", "mean_turns", "tool_error_rate", "compliance_rate"]
    assert found["success_rate"].effect.finding is Finding.ABOVE


def test_all_rules_at_once_give_the_same_as_one_alone(database: Database) -> None:
    with database.write() as session:
        a_log(session, 300)
        together = effects_by_rule(session, ["good", "other", "unused"])
        for rule_id, effect in together.items():
            assert rule_effects(session, rule_id)[0].effect == effect
    assert together["unused"].finding is Finding.TOO_FEW
    assert together["other"].n_without == 0


def test_an_unknown_rule_has_no_effects(database: Database) -> None:
    with database.read() as session:
        assert rule_effects(session, "nobody") == []


def test_other_worlds_are_not_in_the_raw_figures(database: Database) -> None:
    with database.write() as session:
        a_log(session, 50)
        before = rule_effects(session, "good")[0].raw_without
        session.add(an_episode("elsewhere", environment=f"{DOMAIN}_2", grade="fail"))
        assert rule_effects(session, "good")[0].raw_without == before
