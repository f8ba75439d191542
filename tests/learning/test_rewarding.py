"""Every training and external episode gets one reward; the judge is asked where it can change one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import select

from core import curation
from core.episodes.judging import judge_messages
from core.errors import BudgetExceededError
from core.learning.bench import Bench
from core.learning.rewarding import reward_episodes
from core.llm.simulated.transport import SimulatedTransport
from core.settings import BudgetSettings, SimulationSettings
from core.tables import Episode, EpisodeReward, LedgerEntry
from tests.learning.rows import DOMAIN, NOW, a_round, an_episode
from tests.llm.helpers import make_bench, settings_for
from tests.support.embedding import WordEmbedder
from tests.support.model_server import ModelServer
from tests.support.recordings import call, result, said, user

QUIET = [user("The report is empty."), said("Look again."), user("It is there now, thanks.")]
DISPLEASED = [user("The report is empty."), said("It is not."), user("This is ridiculous.")]
FAILED_LAST = [*QUIET, call("1", "look"), result("1", "Error: no such page")]
EPISODES: dict[str, dict[str, Any]] = {
    "quiet": {"messages": QUIET},
    "marginal": {"messages": QUIET, "grade": "marginal"},
    "failed": {"messages": DISPLEASED, "grade": "fail"},
    "broken": {"messages": QUIET, "status": "failed", "error": "the endpoint broke down"},
    "tools": {"messages": FAILED_LAST},
    "displeased": {"messages": DISPLEASED, "arm": "external"},
    "both": {"messages": DISPLEASED, "grade": "marginal"},
    "held out": {"messages": DISPLEASED, "arm": "after"},
    "elsewhere": {"messages": DISPLEASED, "environment": "another"},
}
ASKED = {"displeased", "both"}


def verdict(value: str) -> Callable[[dict[str, Any]], str]:
    return lambda _body: json.dumps({"reason": f"it looks {value}", "verdict": value})


def a_bench(tmp_path: Path, server: ModelServer, budget: BudgetSettings | None = None) -> Bench:
    parts = make_bench(tmp_path, server.base_url, budget=budget, attempts=1)
    with parts.database.write() as session:
        session.add(a_round(1))
        session.flush()
        session.add_all(an_episode(name, **columns) for name, columns in EPISODES.items())
    return Bench(
        settings=settings_for(server.base_url),
        database=parts.database,
        client=parts.client,
        embedder=WordEmbedder(),
        clock=lambda: NOW,
        domain=DOMAIN,
        make_environment=None,
        owner="loop",
    )


def rewards(bench: Bench) -> dict[str, tuple[str, str, str, str, float]]:
    with bench.database.read() as session:
        rows = session.exec(select(EpisodeReward)).all()
    return {row.episode_id: (row.rules, row.tools, row.judge, row.judged_by, row.value) for row in rows}


def test_rewards_and_who_set_the_judges_signal(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.answer = verdict("negative")
        bench = a_bench(tmp_path, server)
        assert reward_episodes(bench, 1) == 7
        assert rewards(bench) == {
            "quiet": ("high", "high", "high", "preset", 1.0),
            "marginal": ("unclear", "high", "high", "preset", 0.2),
            "failed": ("negative", "high", "unclear", "none", -1.0),
            "broken": ("negative", "high", "unclear", "none", -1.0),
            "tools": ("high", "negative", "unclear", "none", -1.0),
            "displeased": ("high", "high", "negative", "model", -1.0),
            "both": ("unclear", "high", "negative", "model", -1.0),
        }
        with bench.database.read() as session:
            row = session.get_one(EpisodeReward, "displeased")
        assert (row.judge_reason, row.displeasure) == ("it looks negative", "ridiculous")


def test_the_judge_is_asked_once_for_each_episode_it_can_decide(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.answer = verdict("high")
        bench = a_bench(tmp_path, server)
        assert [reward_episodes(bench, 1) for _ in range(3)] == [7, 0, 0]
        with bench.database.read() as session:
            calls = session.exec(select(LedgerEntry)).all()
        assert {(one.episode_id, one.purpose, one.round_number) for one in calls} == {(e, "judge", 1) for e in ASKED}
        assert len(calls) == len(ASKED)
        assert rewards(bench)["displeased"] == ("high", "high", "high", "model", 1.0)
        assert rewards(bench)["both"] == ("unclear", "high", "high", "model", 0.2)


def test_a_judge_that_cannot_be_reached_leaves_its_signal_unclear(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.script(["bad_request", "bad_request"])
        bench = a_bench(tmp_path, server)
        assert reward_episodes(bench, 1) == 7
        assert rewards(bench)["displeased"] == ("high", "high", "unclear", "none", 0.2)
        with bench.database.read() as session:
            assert session.get_one(EpisodeReward, "displeased").judge_reason
        assert reward_episodes(bench, 1) == 0


def test_at_the_limit_on_spend_what_is_done_stays_and_the_rest_is_done_later(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.answer = verdict("high")
        bench = a_bench(tmp_path, server, BudgetSettings(per_day_usd=0.0, total_usd=None))
        with pytest.raises(BudgetExceededError):
            reward_episodes(bench, 1)
        assert set(rewards(bench)) == {"quiet", "marginal", "failed", "broken", "tools"}


def test_a_person_who_was_faster_has_the_last_word(tmp_path: Path) -> None:
    with ModelServer() as server:

        def answer(body: dict[str, Any]) -> str:
            for name in ASKED - set(rewards(bench)):
                curation.give_feedback(
                    bench.database,
                    episode_id=name,
                    version=0,
                    verdict="success",
                    reason="I asked the user",
                    actor="ada",
                    clock=lambda: NOW,
                )
            return verdict("negative")(body)

        server.answer = answer
        bench = a_bench(tmp_path, server)
        assert reward_episodes(bench, 1) == 5
        with bench.database.read() as session:
            for name in ASKED:
                row = session.get_one(EpisodeReward, name)
                assert (row.value, row.feedback) == (1.0, "success")
                assert session.get_one(Episode, name).grade == "pass"


@pytest.mark.parametrize(
    ("last", "signal"),
    [
        ("Thanks, that works now.", "high"),
        ("This is still wrong.", "negative"),
        ("Blue.", "unclear"),
        ("太好了，谢谢", "high"),
        ("还是不行，我要投诉", "negative"),
    ],
)
def test_the_stand_in_judges_by_what_the_user_says_last(last: str, signal: str) -> None:
    messages = judge_messages([user("Not now."), said("I see."), user(last), said("Thank you.")])
    body = {
        "model": "m",
        "messages": messages,
        "response_format": {"type": "json_schema", "json_schema": {"name": "episode_judgement", "schema": {}}},
    }
    faultless = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
    with httpx2.Client(transport=SimulatedTransport(faultless)) as http:
        reply = http.post("http://model/v1/chat/completions", json=body).json()
    assert json.loads(reply["choices"][0]["message"]["content"])["verdict"] == signal


def test_the_judge_reads_the_task_and_the_end_and_nothing_of_the_grade() -> None:
    talk = [one for number in range(40) for one in (said(f"step {number}"), user(f"and {number}"))]
    failed = [call("1", "look"), result("1", "Error: gone"), call("2", "look"), result("2", "a lot of text")]
    system, request = judge_messages([{"role": "system", "content": "Be kind."}, user("x" * 5000), *talk, *failed])
    lines = request["content"].splitlines()
    assert lines[0].startswith("USER: xxx")
    assert len(lines[0]) <= 600
    assert lines[-3:] == ["AGENT calls look", "TOOL failed: Error: gone", "AGENT calls look"]
    assert "and 39" in request["content"]
    assert "and 3\n" not in request["content"]
    assert "Be kind." not in system["content"] + request["content"]


def test_a_conversation_without_a_user_can_be_judged_too() -> None:
    assert judge_messages([said("Done.")])[1]["content"].strip() == "AGENT: Done."
