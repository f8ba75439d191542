"""Choosing by letter: what the model says, what experience adds, what is chosen; on the stand-in and over HTTP."""

import math
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from sqlmodel import select

from core.db import open_database
from core.environments.incidents import Incidents, solution
from core.environments.incidents_lettered import LetteredIncidents
from core.environments.protocol import MOST_CHOICES
from core.episodes.agent import RolloutPlan, Trace, run_episode
from core.episodes.letters import Sampling, _choose, _of_letters
from core.episodes.system_prompt import stable_part
from core.errors import UserError
from core.llm.build import build_client
from core.settings import Settings, load_settings
from core.tables import LedgerEntry

ACTIONS = ["look(part=db)", "mend(part=db)", "wait()"]


def played(tmp_path: Path, settings: Settings, *, temperature: float = 0.0, wanted: str = "") -> Trace:
    world = LetteredIncidents()
    task = next(iter(world.tasks()))

    def bend(_trace: Trace, logits: Mapping[str, float]) -> Mapping[str, float]:
        return {action: value + (50.0 if action == wanted else 0.0) for action, value in logits.items()}

    plan = RolloutPlan(
        "ep", task, stable_part(world, "letters"), 1, temperature, 8, "letters", bend=bend if wanted else None
    )
    with closing(open_database(f"sqlite:///{tmp_path}/letters.db")) as database:
        client = build_client(settings, database)
        trace = run_episode(client, world, plan)
        client.close()
        with database.read() as session:
            assert len(session.exec(select(LedgerEntry)).all()) >= len(trace.messages) // 2 - 1
    return trace


def test_the_stand_in_plays_incidents_by_letter(tmp_path: Path) -> None:
    trace = played(tmp_path, load_settings(model={"action_mode": "letters"}))
    assert trace.error is None
    choices = [message["choice"] for message in trace.messages if message.get("choice")]
    assert 2 <= len(choices) <= 8
    for choice in choices:
        assert sum(math.exp(value) for value in choice["logprobs"].values()) == pytest.approx(1.0)
        assert choice["action"] == max(choice["logprobs"], key=choice["logprobs"].get)
        assert choice["probability"] == 1.0


def test_a_bias_turns_the_choice_and_the_right_remedy_ends_the_incident(tmp_path: Path) -> None:
    hidden = solution(next(iter(LetteredIncidents().tasks())).id)
    wanted = f"apply_remedy(remedy={hidden.remedy}, component={hidden.component})"
    trace = played(tmp_path, load_settings(model={"action_mode": "letters"}), wanted=wanted)
    (choice,) = [message["choice"] for message in trace.messages if message.get("choice")]
    assert choice["action"] == wanted
    assert trace.done
    assert trace.reward == pytest.approx(0.9)  # the evidence was never looked at


def test_an_environment_that_lists_nothing_cannot_be_played_by_letter(tmp_path: Path) -> None:
    plan = RolloutPlan("ep", next(iter(Incidents().tasks())), "s", 1, 0.0, 8, "letters")
    with closing(open_database(f"sqlite:///{tmp_path}/letters.db")) as database:
        client = build_client(load_settings(), database)
        with pytest.raises(UserError, match="does not list the actions at hand"):
            run_episode(client, Incidents(), plan)
        client.close()


def test_every_listed_action_is_legal_and_the_right_one_is_among_them() -> None:
    world = LetteredIncidents()
    for task in list(world.tasks())[::40]:
        world.reset(task, 1)
        hidden = solution(task.id)
        choices = world.choices()
        assert len(choices) == 12 <= MOST_CHOICES
        assert any(
            one.arguments.get("remedy") == hidden.remedy and one.arguments["component"] == hidden.component
            for one in choices
        )
        for action in choices:
            world.reset(task, 1)
            assert not world.step(action).failed
            assert world.choices() == () or action not in world.choices()


def test_tokens_become_letters() -> None:
    # " A" and "A" are one letter: 0.2 + 0.3; "B" 0.25; "C" was not among the tokens: e^-2 of the least.
    found = _of_letters({"A": math.log(0.3), " A": math.log(0.2), "B)": math.log(0.25), "The": -0.1}, ACTIONS)
    assert found is not None
    least = 0.25 * math.exp(-2)
    assert math.exp(found["look(part=db)"]) == pytest.approx(0.5 / (0.75 + least))
    assert math.exp(found["wait()"]) == pytest.approx(least / (0.75 + least))
    assert _of_letters({"The": -0.1}, ACTIONS) is None


def test_sampling_follows_the_bent_probabilities() -> None:
    logits = {"a": math.log(0.7), "b": math.log(0.3)}
    drawn = [_choose(logits, Sampling(1.0, seed, 0)) for seed in range(2_000)]
    assert sum(action == "a" for action, _ in drawn) / 2_000 == pytest.approx(0.7, abs=0.03)
    assert {round(probability, 6) for action, probability in drawn if action == "b"} == {0.3}
    assert _choose(logits, Sampling(0.0, 1, 0)) == ("a", 1.0)
