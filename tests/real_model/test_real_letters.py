"""Three decisions by letter of a real small model: its log-probabilities come through, and experience bends them."""

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from core.db import open_database
from core.environments.incidents_lettered import LetteredIncidents
from core.episodes.agent import RolloutPlan, Trace, run_episode
from core.episodes.system_prompt import stable_part
from core.llm.build import build_client
from core.settings import load_settings
from tests.support.small_model import serving

pytestmark = [pytest.mark.real_model, pytest.mark.slow]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, outer_environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    with serving("135m", outer_environment, tmp_path_factory.mktemp("model") / "server.log") as address_and_name:
        yield address_and_name


def test_three_decisions_by_letter_and_a_bias_that_turns_them(served: tuple[str, str], tmp_path: Path) -> None:
    address, model = served
    settings = load_settings(openai_base_url=address, model={"act": model, "action_mode": "letters", "timeout_s": 300})
    world = LetteredIncidents()
    task = next(iter(world.tasks()))
    wanted: list[str] = []

    def bend(_trace: Trace, logits: Mapping[str, float]) -> Mapping[str, float]:
        """Favour the action that the model likes least, beyond doubt."""
        wanted.append(min(logits, key=lambda action: logits[action]))
        return {action: value + (100.0 if action == wanted[-1] else 0.0) for action, value in logits.items()}

    plan = RolloutPlan("ep", task, stable_part(world, "letters"), 1, 0.8, 3, "letters", bend=bend)
    with closing(open_database(f"sqlite:///{tmp_path}/letters.db")) as database:
        client = build_client(settings, database)
        trace = run_episode(client, world, plan)
        client.close()

    assert trace.error is None
    choices = [message["choice"] for message in trace.messages if message.get("choice")]
    assert [choice["action"] for choice in choices] == wanted
    assert len(choices) == 3 or trace.done
    for choice in choices:
        probabilities = [math.exp(value) for value in choice["logprobs"].values()]
        assert len(probabilities) >= 9
        assert sum(probabilities) == pytest.approx(1.0)
        assert max(probabilities) < 1.0
