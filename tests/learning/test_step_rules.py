"""Rules that come up on the way, and queries with words of intent (design section 6)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import col, select

from core.db import Database, open_database
from core.episodes.agent import Trace
from core.episodes.trajectory import state_at_hand
from core.learning.queries import QueryRewriter
from core.learning.service import run_rounds
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.learning.step_rules import StepRules
from core.rules.prompt import assemble
from core.rules.utility import Ucb
from core.settings import RetrievalSettings, UtilitySettings, load_settings
from core.tables import Episode, LedgerEntry, QueryRewrite, RuleUse
from tests.learning.rows import a_rule
from tests.llm.helpers import make_bench
from tests.support.embedding import WordEmbedder
from tests.support.model_server import ModelServer
from tests.support.right_rules import right_rules

STABLE = "You are an agent. " * 200
TASK = "the checkout page is slow"


def a_library(settings: RetrievalSettings) -> LibrarySnapshot:
    rules = [
        a_rule("slow", condition="the checkout page is slow", state="active"),
        a_rule("lock", condition="the database log shows a lock that waits", state="active"),
        a_rule("disk", condition="the disk is full of old archives", state="active"),
    ]
    return SnapshotMaker(WordEmbedder(), Ucb(UtilitySettings(), 1.2), settings).of(rules, [])


def trace_of(*seen: str) -> Trace:
    messages = [{"role": "system", "content": STABLE}, {"role": "user", "content": TASK}]
    messages += [{"role": "tool", "content": one} for one in seen]
    return Trace(messages)


def advisor(settings: RetrievalSettings, *, holdout: float = 0.0, seed: int = 1) -> StepRules:
    library = a_library(settings)
    prompt = assemble(STABLE, library.retrieve(TASK).hits, settings)
    assert [hit.rule.id for hit in prompt.served] == ["slow"]
    return StepRules(library, STABLE, prompt, [], settings, holdout=holdout, seed=seed)


ONE = RetrievalSettings(top_k=1, per_step=True)


def test_what_was_seen_brings_the_rule_for_it_once() -> None:
    steps = advisor(ONE)
    found = trace_of("the database log shows a lock that waits since noon")
    assert "[R2] When the database log shows a lock that waits" in steps(found)
    assert steps(found) == "", "it stands in the conversation already"
    assert "[R3] When the disk is full" in steps(trace_of("the disk is full of old archives"))
    assert [hit.rule.id for hit in steps.served] == ["lock", "disk"]


def test_what_the_prompt_holds_is_not_said_again() -> None:
    assert advisor(ONE)(trace_of("the checkout page is slow")) == ""


def test_a_coin_leaves_them_out_like_others() -> None:
    said = [advisor(ONE, holdout=0.5, seed=seed) for seed in range(200)]
    served = sum(bool(steps(trace_of("the database log shows a lock that waits"))) for steps in said)
    assert 70 <= served <= 130
    assert all(len(steps.served) + len(steps.left_out) == 1 for steps in said)


def test_without_room_they_are_trimmed() -> None:
    steps = advisor(ONE.model_copy(update={"max_tokens": 50}))
    assert steps(trace_of("the database log shows a lock that waits")) == ""
    assert [hit.rule.id for hit in steps.trimmed] == ["lock"]


def test_the_state_is_the_task_and_the_last_thing_seen() -> None:
    assert state_at_hand(trace_of("first", "second").messages) == f"{TASK}\nLast seen: second"
    assert state_at_hand(trace_of().messages) == TASK


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """One small round of a library that was there: retrieval at every step, rewritten queries, small prompts."""
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('steps')}/t.db")
    with database.write() as session:
        for kind, text in right_rules().items():
            condition, _, action = text.removeprefix("When ").partition(", apply ")
            given = {"condition": condition, "action": f"apply {action}", "domain": "incidents", "state": "active"}
            session.add(a_rule(kind, created_round=None, **given))
    settings = load_settings(
        retrieval={"per_step": True, "rewrite": True, "top_k": 1, "min_candidates": 0},
        agent={"rollouts_per_task": 1, "max_turns": 5},
        round={"tasks": 4},
        gate={"tasks": 10},
        simulation={"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
    )
    run_rounds(settings, database, rounds=1)
    return database


def test_in_a_round_they_are_said_counted_once_and_nothing_is_reused(learned: Database) -> None:
    with learned.read() as session:
        episodes = session.exec(select(Episode).where(col(Episode.arm).in_(("after", "before")))).all()
        uses = session.exec(select(RuleUse).where(RuleUse.disposition == "served")).all()
    told = {
        episode.id: [message["content"] for message in episode.messages[1:] if message["role"] == "system"]
        for episode in episodes
    }
    assert any(told.values())
    assert all(episode.reused_from is None for episode in episodes)
    for episode in episodes:
        own = sorted(use.position for use in uses if use.episode_id == episode.id and use.position is not None)
        assert own == list(range(len(own)))
        lines = "\n".join(told[episode.id]).count("[R")
        assert lines == max(0, len(own) - 1)


def test_each_query_was_rewritten_once(learned: Database) -> None:
    with learned.read() as session:
        queries = set(session.exec(select(Episode.query).where(col(Episode.round_number) == 1)))
        kept = session.exec(select(QueryRewrite)).all()
    assert len(kept) == len({rewrite.text.partition("\n")[0] for rewrite in kept})
    assert queries & {rewrite.text.partition("\n")[0] for rewrite in kept}
    assert all("\n" in rewrite.text for rewrite in kept)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def test_words_of_intent_are_added_and_asked_for_once(tmp_path: Path, server: ModelServer) -> None:
    server.answer = lambda _: json.dumps({"tags": ["slow page", "checkout"]})
    bench = make_bench(tmp_path, server.base_url)
    rewrite = QueryRewriter(bench.client, bench.database, "cheap", 1)
    assert rewrite(TASK) == f"{TASK}\nslow page, checkout"
    assert rewrite(TASK) == f"{TASK}\nslow page, checkout"
    with bench.database.read() as session:
        (entry,) = session.exec(select(LedgerEntry)).all()
    assert entry.purpose == "digest"


def test_without_a_usable_answer_the_query_stands_alone(tmp_path: Path, server: ModelServer) -> None:
    server.answer = lambda _: "I would rather not."
    bench = make_bench(tmp_path, server.base_url)
    assert QueryRewriter(bench.client, bench.database, "cheap", 1)(TASK) == TASK
    with bench.database.read() as session:
        assert session.exec(select(QueryRewrite)).all() == []
