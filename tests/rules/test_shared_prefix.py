"""Two prompts in a row share most of what they are made of, so that an endpoint can cache it (design section 6).

Rules take at most 40 % of a prompt, so at least 60 % is the same whatever is retrieved.
"""

import gzip
import json
import random
import sys
from collections.abc import Sequence
from itertools import pairwise

from core.environments.incidents import Incidents
from core.episodes.system_prompt import stable_part
from core.rules.prompt import assemble
from core.rules.retrieval import Hit
from core.settings import RetrievalSettings
from core.text import estimate_tokens
from tests.learning.rows import a_rule
from tests.support.recordings import airline_file

SETTINGS = RetrievalSettings()
PROMPTS = 60


def hits(draw: random.Random, words: Sequence[str]) -> list[Hit]:
    """Retrieve at random from rules that nearly fill the room there is."""
    chosen = []
    for number in draw.sample(range(120), SETTINGS.top_k):
        own = random.Random(number)
        condition, action = " ".join(own.choices(words, k=18)), "apply " + " ".join(own.choices(words, k=18))
        rule = a_rule(f"r{number}", condition=condition, action=action)
        chosen.append(Hit(rule, draw.random(), 0.5, 0.5, 0.5, draw.random()))
    return sorted(chosen, key=lambda hit: -hit.score)


def common_start(first: str, second: str) -> str:
    differs = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return first[: next(differs, min(len(first), len(second)))]


def shares(stable: Sequence[str], words: Sequence[str]) -> list[float]:
    """Return for each two prompts in a row the share of the second one's tokens that both begin with."""
    draw = random.Random(1)
    prompts = [assemble(stable[n % len(stable)], hits(draw, words), SETTINGS).text for n in range(PROMPTS)]
    return [
        estimate_tokens(common_start(first, second)) / estimate_tokens(second) for first, second in pairwise(prompts)
    ]


def shown(name: str, found: Sequence[float]) -> None:
    figures = f"{name}: shared prefix {min(found):.3f} at least, {sum(found) / len(found):.3f} on average"
    sys.stdout.write(f"\n{figures} (n = {len(found)})\n")  # with pytest -s


def test_prompts_of_the_bundled_world() -> None:
    words = [word for task in list(Incidents().tasks())[:50] for word in task.query.split()]
    found = shares([stable_part(Incidents(), "tools")], words)
    shown("incidents", found)
    assert min(found) >= 0.6


def test_prompts_of_recorded_agents() -> None:
    with gzip.open(airline_file(), "rt", encoding="utf-8") as lines:
        episodes = [json.loads(line) for line in lines]
    policies = [episode["messages"][0]["content"] for episode in episodes]
    words = " ".join(episode["messages"][1]["content"] for episode in episodes[:50]).split()
    found = shares(policies, words)
    shown("airline", found)
    assert min(found) >= 0.6
