"""Who advises an episode speaks only where memory has been (design sections 9 and 10)."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.episodes.agent import Trace
from core.episodes.memory.index import MemoryIndex
from core.learning.experience import Experience, Sources, make_experience
from core.settings import Settings, load_settings
from tests.learning.rows import DOMAIN, a_memory, an_episode
from tests.support.embedding import WordEmbedder

TASKS = ("red green", "red blue", "red pink", "grey black")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as opened:
        with opened.write() as session:
            for number, state in enumerate(TASKS, 1):
                session.add(an_episode(f"e{number}"))
                session.flush()
                value, action = (1.0, "drain()") if number % 2 else (-1.0, "wait()")
                session.add(a_memory(f"e{number}", state=state, touched=number, value=value, action=action))
        yield opened


def settings_for(**policy: object) -> Settings:
    return load_settings(_env_file=None, policy={"phase": "reward", "untried_chance": 0, **policy})


def experience(database: Database, settings: Settings) -> Experience:
    index = MemoryIndex(database, WordEmbedder(), DOMAIN, settings.memory)
    index.follow()
    return make_experience(index, Sources(recall=True, advantage=True), None, settings, 0.0)


def say(experience: Experience, task: str) -> str:
    return experience.adviser("", 1, None, learning=True)(Trace([{"role": "user", "content": task}]))


def test_it_is_silent_in_a_strange_state_and_speaks_in_a_familiar_one(database: Database) -> None:
    found = experience(database, settings_for())
    assert "[M1]" in say(found, "red white")
    assert say(found, "a violin out of tune") == ""
    assert "[M1]" in say(experience(database, settings_for(strange_share=0)), "a violin out of tune")


def test_it_bends_nothing_in_a_strange_state(database: Database) -> None:
    adviser = experience(database, settings_for(way="logit")).adviser("", 1, None, learning=True)
    logits = {"drain()": -0.5, "wait()": -1.0}
    assert adviser.bend(Trace([{"role": "user", "content": "a violin out of tune"}]), logits) == logits
    bent = adviser.bend(Trace([{"role": "user", "content": "red green"}]), logits)
    assert bent == {"drain()": -0.5 + 2 * 1, "wait()": -1.0 + 2 * -1}, "V = 0, so A = Q; beta = 2"
