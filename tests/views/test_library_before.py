"""The library of a past round, told backwards, is the one that playing its events forwards gives."""

import random
from pathlib import Path

from core.db import open_database
from core.settings import Settings
from core.tables import RuleEvent
from core.views.diagnostics.library_before import library_before, state_before
from core.views.diagnostics.window import Window
from tests.learning.rows import DOMAIN, NOW, a_rule

STATES = ("candidate", "active", "probation", "archived")
ROUNDS = range(1, 9)


def test_backwards_and_forwards_agree(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    draw = random.Random(3)
    forwards: dict[int, dict[str, str]] = {}
    states: dict[str, str] = {}
    with database.write() as session:
        session.add_all(a_rule(f"r{number}") for number in range(40))
        session.add(a_rule("stranger", domain="elsewhere", state="active"))
        session.flush()
        for number in (None, *ROUNDS):
            if number is not None:
                forwards[number] = dict(states)
            for rule in draw.sample(range(40), 12):
                before, after = states.get(f"r{rule}"), draw.choice(STATES)
                if before != after or draw.random() < 0.5:
                    states[f"r{rule}"] = after
                    session.add(an_event(f"r{rule}", number, before, after))
            session.flush()
        session.add(an_event("stranger", 7, "candidate", "active"))
        for rule, state in states.items():
            session.merge(a_rule(rule, state=state))
        unseen = {f"r{number}" for number in range(40)} - states.keys()
        for rule in unseen:
            session.merge(a_rule(rule, domain="elsewhere"))
    with database.read() as session:
        window = Window(session, DOMAIN, Settings(), ())
        found = library_before(window, list(ROUNDS))
        for number, library in found.items():
            there = forwards[number]
            counts = {state: library.counts.get(state, 0) for state in STATES}
            assert counts == {state: list(there.values()).count(state) for state in STATES}
            assert library.size == sum(state != "archived" for state in there.values())
            told = state_before(window, library, [*states, "stranger"])
            assert told == {rule: there.get(rule) for rule in states}


def an_event(rule: str, number: int | None, before: str | None, after: str) -> RuleEvent:
    return RuleEvent(
        rule_id=rule, kind="k", from_state=before, to_state=after, actor="system", round_number=number, after={},
        created_at=NOW,
    )  # fmt: skip
