"""The stand-in model: repeatable, blind to the world's secrets, helped by right rules and by no others."""

import json
import random
from pathlib import Path

import httpx2
import pytest

from core.db import open_database
from core.environments.incidents import Incidents
from core.environments.protocol import TaskSpec
from core.episodes.agent import RolloutPlan, run_episode
from core.episodes.system_prompt import stable_part
from core.learning.placebo import random_parts
from core.llm.build import build_client
from core.llm.client import ModelClient
from core.llm.simulated.transport import PrefixCache, SimulatedTransport
from core.settings import SimulationSettings, load_settings
from tests.support.right_rules import right_rules

FAULTLESS = {"malformed_rate": 0.0, "rate_limit_rate": 0.0, "timeout_rate": 0.0}
NUMBER_OF_TASKS = 90


@pytest.fixture
def client(tmp_path: Path) -> ModelClient:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    return build_client(load_settings(simulation=FAULTLESS), database)


@pytest.fixture(scope="module")
def tasks() -> list[TaskSpec]:
    return random.Random(3).sample(list(Incidents().tasks()), NUMBER_OF_TASKS)


def success(client: ModelClient, tasks: list[TaskSpec], rules: dict[str, list[str]]) -> float:
    environment = Incidents()
    stable = stable_part(environment, "tools")
    passed = 0
    for task in tasks:
        lines = [f"[R{n}] {text}" for n, text in enumerate(rules.get(task.type, []), 1)]
        system = "\n".join([stable, *lines])
        trace = run_episode(client, environment, RolloutPlan("e", task, system, 1, 0.0, 10, "tools"))
        passed += trace.reward >= 0.8
    return passed / len(tasks)


def test_right_rules_help_and_shuffled_or_foreign_ones_do_not(client: ModelClient, tasks: list[TaskSpec]) -> None:
    right = right_rules()
    types = sorted(right)
    shuffled = {kind: right[types[(at + 4) % len(types)]] for at, kind in enumerate(types)}
    foreign = random_parts(len(types), seed=5)
    crossed = {
        # The condition of one type with the action of another: fires, and does the wrong thing.
        kind: right[kind].partition(", apply ")[0] + ", apply " + shuffled[kind].partition(", apply ")[2]
        for kind in types
    }
    empty = success(client, tasks, {})
    assert 0.15 <= empty <= 0.45
    assert success(client, tasks, {kind: [text] for kind, text in right.items()}) >= empty + 0.4
    assert abs(success(client, tasks, {kind: [text] for kind, text in shuffled.items()}) - empty) <= 0.05
    assert success(client, tasks, {kind: [text] for kind, text in crossed.items()}) <= empty + 0.05
    world = dict(zip(types, foreign, strict=True))
    assert success(client, tasks, {kind: [f"When {a}, {b}."] for kind, (a, b) in world.items()}) == empty


def ask(transport: SimulatedTransport, body: dict[str, object], attempt: int = 1) -> httpx2.Response:
    with httpx2.Client(transport=transport) as http:
        headers = {"X-Rulewright-Attempt": str(attempt)}
        return http.post("http://model/v1/chat/completions", json=body, headers=headers)


def body(text: str, seed: int = 1) -> dict[str, object]:
    look = {"type": "object", "properties": {"part": {"type": "string", "enum": ["a", "b", "c"]}}}
    tools = [
        {"type": "function", "function": {"name": f"{verb}_part", "description": "", "parameters": look}}
        for verb in ("read", "reset", "query")
    ]
    messages = [{"role": "system", "content": "Work."}, {"role": "user", "content": text}]
    return {"model": "m", "messages": messages, "tools": tools, "temperature": 0.8, "seed": seed}


def test_the_same_request_gives_the_same_answer() -> None:
    answers = [
        ask(SimulatedTransport(SimulationSettings(seed=4, **FAULTLESS)), body("part a is slow")).json()["choices"]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


def test_other_seeds_give_other_answers_at_times() -> None:
    transport = SimulatedTransport(SimulationSettings(**FAULTLESS))
    seen = {json.dumps(ask(transport, body("all is slow", seed)).json()["choices"]) for seed in range(20)}
    assert len(seen) > 1


def test_it_fails_at_the_set_rates() -> None:
    transport = SimulatedTransport(SimulationSettings(malformed_rate=0, rate_limit_rate=0.2, timeout_rate=0.1))
    limited = timed_out = 0
    for number in range(400):
        try:
            limited += ask(transport, body(f"part {number} is slow")).status_code == 429
        except httpx2.ReadTimeout:
            timed_out += 1
    assert 55 <= limited <= 105
    assert 22 <= timed_out <= 60


def test_a_retry_is_not_bound_to_fail_again() -> None:
    transport = SimulatedTransport(SimulationSettings(malformed_rate=0, rate_limit_rate=0.5, timeout_rate=0))
    codes = [ask(transport, body("part a is slow"), attempt).status_code for attempt in range(1, 21)]
    assert {200, 429} == set(codes)


def test_a_repeated_prompt_is_cached_in_whole_blocks_and_a_changed_start_is_not() -> None:
    cache = PrefixCache()
    prompt = "x" * 1300
    assert cache.hit(prompt) == 0
    assert cache.hit(prompt) == 2 * 128
    assert cache.hit(prompt[:600] + "y" * 700) == 128
    assert cache.hit("y" + prompt) == 0


def test_usage_adds_up_and_counts_cached_tokens_inside_the_input() -> None:
    transport = SimulatedTransport(SimulationSettings(**FAULTLESS))
    long = body("part a is slow. " * 200)
    ask(transport, long)
    usage = ask(transport, long).json()["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 0 < usage["prompt_tokens_details"]["cached_tokens"] <= usage["prompt_tokens"]
