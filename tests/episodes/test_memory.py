"""Memories: hand-worked figures, borders to the second, once and only once (design section 9)."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from core.db import Database, open_database
from core.embeddings import Kind
from core.environments.protocol import ToolSpec
from core.episodes.actions import ActionNames
from core.episodes.memory.decisions import decisions, returns
from core.episodes.memory.index import Kept, MemoryIndex, Near
from core.episodes.memory.latencies import latencies
from core.episodes.memory.recall import recall, second_phase, standardised
from core.episodes.memory.store import credit_uses, learned_q, recount, remember
from core.episodes.memory.tiers import Alike, keep_up, restore, tier_of
from core.episodes.memory.wording import memory_lines
from core.settings_experience import MemorySettings
from core.tables import LedgerEntry, Memory, MemoryUse, Tier
from tests.learning.rows import a_round, an_episode
from tests.support.embedding import WordEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = MemorySettings()
TOOLS = (
    ToolSpec("look", "", {"type": "object", "properties": {"part": {"type": "string", "enum": ["db", "host"]}}}),
    ToolSpec("mend", "", {"type": "object", "properties": {"part": {"enum": ["db"]}, "note": {"type": "string"}}}),
)
NAMES = ActionNames(TOOLS)


def call(number: int, tool: str, arguments: str) -> dict[str, object]:
    function = {"name": tool, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "function": function}]}


def said(number: int, text: str, reward: float = 0.0, *, failed: bool = False) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text, "reward": reward, "failed": failed}


TALK = [
    {"role": "system", "content": "be good"},
    {"role": "user", "content": "the queue grows"},
    call(1, "look", '{"part": "db"}'),
    said(1, "locks everywhere", 0.2),
    call(2, "mend", '{"part": "db", "note": "for order 4711"}'),
    said(2, "done", 0.8),
]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path}/memory.db")) as opened:
        yield opened


def test_an_episode_becomes_its_decisions() -> None:
    first, second = decisions(TALK, NAMES)
    assert (first.state, first.action) == ("the queue grows", "look(part=db)")
    assert (second.state, second.action) == ("the queue grows\nLast seen: locks everywhere", "mend(part=db)")
    assert (first.step_reward, second.step_reward) == (0.2, 0.8)
    assert (first.closed, second.closed) == (False, True)
    assert "4711" in second.arguments


def test_actions_of_unknown_tools_are_named_by_their_arguments_names() -> None:
    assert ActionNames(()).named("book", {"user": "mia", "flight": 7}) == "book(user, flight)"
    assert ActionNames(TOOLS, whole=True).named("act", {"command": "open door"}) == "act(command=open door)"
    assert NAMES.named("look", "no object") == "look()"


def test_returns_add_up_to_the_episodes_reward() -> None:
    # The second step pays 0.8, the first 0.2: 0.8, and 0.2 + 0.95 * 0.8 = 0.96.
    assert returns([0.2, 0.8], 1.0, 0.95) == pytest.approx([0.96, 0.8])
    # A failure is worth -1: what the steps were paid for is taken back at the end. -1.2, and 0.2 - 0.95 * 1.2 = -0.94.
    assert returns([0.2, 0.0], -1.0, 0.95) == pytest.approx([-0.94, -1.2])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=10), st.sampled_from([1.0, 0.2, -1.0]))
def test_without_discount_the_first_return_is_the_reward(paid: list[float], reward: float) -> None:
    assert returns(paid, reward, 1.0)[0] == pytest.approx(reward)


def test_q_after_two_successes() -> None:
    assert learned_q([(1, 0.3), (1, 0.3)]) == pytest.approx(0.51)
    assert learned_q([(1, 0.3)]) == pytest.approx(0.3)
    assert learned_q([]) == 0


def near(number: int, similarity: float, q: float) -> Near:
    kept = Kept(number, f"t{number}", "me", 1.0, "s", "a()", 1.0, 1.0, q, "", "hot", f"e{number}", NOW)
    return Near(kept, similarity)


def test_second_phase_by_hand() -> None:
    # Similarities 0.9, 0.8, 0.7: mean 0.8, deviation 0.0816; z = 1.2247, 0, -1.2247.
    # Q 0, 0.51, 0.3: mean 0.27, deviation 0.20928; z = -1.2901, 1.1468, 0.1433.
    # Half of each: -0.0327, 0.5734, -0.5407.
    found = second_phase([near(1, 0.9, 0.0), near(2, 0.8, 0.51), near(3, 0.7, 0.3)], MemorySettings(chosen=2))
    assert [(one.memory.id, round(one.score, 4)) for one in found] == [(2, 0.5734), (1, -0.0327)]


def test_equal_values_have_no_spread() -> None:
    assert standardised([0.5, 0.5]) == [0.0, 0.0]
    assert standardised([]) == []


@pytest.mark.parametrize(
    ("age", "place", "reward", "tier"),
    [
        (timedelta(hours=72), 200, 1.0, Tier.HOT),
        (timedelta(hours=72, seconds=1), 200, 1.0, Tier.WARM),
        (timedelta(hours=72, seconds=1), 199, -1.0, Tier.HOT),
        (timedelta(hours=72, seconds=1), 200, -1.0, Tier.COLD),
        (timedelta(days=30), 200, 0.2, Tier.WARM),
        (timedelta(days=30, seconds=1), 200, 0.2, Tier.COLD),
        (timedelta(days=300), 199, -1.0, Tier.HOT),
    ],
)
def test_borders_of_tiers_to_the_second(age: timedelta, place: int, reward: float, tier: Tier) -> None:
    assert tier_of(age, place, reward, SETTINGS) is tier


def store(
    database: Database, rows: Sequence[tuple[str, float, datetime]], *, settings: MemorySettings = SETTINGS
) -> list[int]:
    """Remember one-step episodes of (state, reward, time); return the memories' ids."""
    ids = []
    for number, (state, reward, moment) in enumerate(rows):
        messages = [{"role": "user", "content": state}, call(1, "look", '{"part": "db"}'), said(1, "seen")]
        episode = an_episode(f"e{number}", environment="w", task_id=f"w/t{number}", messages=messages, ended_at=moment)
        with database.write() as session:
            session.add(episode)
            session.flush()
            (memory,) = remember(session, episode, reward, NAMES, settings, 0.95)
            session.flush()
            ids.append(memory.id or 0)
    return ids


def test_a_decision_keeps_how_the_user_took_it_and_how_long_it_took(database: Database) -> None:
    """Of three requests for actions the second was tried twice: 900 ms, 300 + 500 ms, 200 ms."""
    complaint = {"role": "user", "content": "This is unacceptable, I told you already."}
    talk = [*TALK[:4], complaint, *TALK[4:], {"role": "assistant", "content": "All is well now."}]
    attempts = [("r1", 1, 900.0), ("r2", 1, 300.0), ("r2", 2, 500.0), ("r3", 1, 200.0)]
    with database.write() as session:
        session.add(a_round(1))
        session.flush()
        episode = an_episode("e1", environment="w", messages=talk, round_number=1)
        session.add(episode)
        session.flush()
        for request, attempt, milliseconds in attempts:
            session.add(an_attempt("act", request, attempt, milliseconds))
        session.add(an_attempt("digest", "r4", 1, 50.0))
        session.flush()
        took = latencies(session, [episode])
        assert took == {"e1": [900, 800, 200]}
        first, second = remember(session, episode, 1.0, NAMES, SETTINGS, 0.95, took["e1"])
        assert (first.displeased, first.latency_ms) == (True, 900)
        assert (second.displeased, second.latency_ms) == (False, 800)
        assert latencies(session, [an_episode("e2", round_number=None)]) == {}


def test_a_time_that_belongs_to_no_message_for_certain_is_not_kept(database: Database) -> None:
    with database.write() as session:
        episode = an_episode("e1", environment="w", messages=TALK)
        session.add(episode)
        session.flush()
        assert [one.latency_ms for one in remember(session, episode, 1.0, NAMES, SETTINGS, 0.95, [900.0])] == [None] * 2


def an_attempt(purpose: str, request: str, attempt: int, milliseconds: float) -> LedgerEntry:
    return LedgerEntry(
        request_id=request,
        attempt=attempt,
        purpose=purpose,
        model="m",
        simulated=True,
        latency_ms=milliseconds,
        outcome="ok",
        episode_id="e1",
        round_number=1,
        created_at=NOW,
    )


def tiers(database: Database) -> dict[int, str]:
    with database.read() as session:
        return dict(session.exec(select(Memory.id, Memory.tier)).all())  # type: ignore[arg-type]


def test_upkeep_moves_what_has_passed_a_border_and_nothing_else(database: Database) -> None:
    settings = MemorySettings(hot_count=1)
    old, older = NOW - timedelta(hours=72, seconds=1), NOW - timedelta(days=30, seconds=1)
    good, bad, ancient, fresh = store(
        database, [("a", 1.0, old), ("b", -1.0, old), ("c", 1.0, older), ("d", -1.0, NOW - timedelta(hours=72))]
    )
    moved = keep_up(database, "w", settings, NOW)
    assert tiers(database) == {good: "warm", bad: "cold", ancient: "cold", fresh: "hot"}
    assert (moved.warm, moved.cold) == (1, 2)
    assert keep_up(database, "w", settings, NOW) == type(moved)()


def test_the_latest_stay_hot_however_old(database: Database) -> None:
    ids = store(database, [(f"s{n}", -1.0, NOW - timedelta(days=90, minutes=n)) for n in range(5)])
    keep_up(database, "w", MemorySettings(hot_count=2), NOW)
    assert [tiers(database)[one] for one in ids] == ["hot", "hot", "cold", "cold", "cold"]


@pytest.mark.parametrize("second_state", ["queue grows at night", "queue grows at night again"])
def test_a_newer_similar_success_covers_an_older_one(database: Database, second_state: str) -> None:
    # Four words of five in common: a cosine of 4 / sqrt(4 * 5) = 0.89.
    old = NOW - timedelta(hours=80)
    rows = [("queue grows at night", 1.0, old - timedelta(hours=2)), (second_state, 1.0, old)]
    first, second = store(database, rows)
    alike = None if second_state == "queue grows at night" else Alike(index_of(database), 0.85)
    moved = keep_up(database, "w", MemorySettings(hot_count=0), NOW, alike)
    assert tiers(database) == {first: "cold", second: "warm"}
    assert moved.covered == 1
    with database.write() as session:
        covered = session.get_one(Memory, first)
        assert covered.covered_by == second
        restore(session, covered)
    keep_up(database, "w", MemorySettings(hot_count=0), NOW + timedelta(days=100))
    assert tiers(database) == {first: "warm", second: "cold"}


def test_a_held_out_episode_never_reaches_memory(database: Database) -> None:
    episode = an_episode("h", environment="w", split="held_out", messages=TALK)
    with database.write() as session, pytest.raises(ValueError, match="held-out"):
        remember(session, episode, 1.0, NAMES, SETTINGS, 0.95)


def test_an_episode_is_remembered_once(database: Database) -> None:
    store(database, [("a", 1.0, NOW)])
    with database.write() as session:
        again = an_episode("e0", environment="w", messages=TALK)
        assert remember(session, again, 1.0, NAMES, SETTINGS, 0.95) == []


def test_uses_count_once_and_a_correction_replaces_what_they_did(database: Database) -> None:
    memory, *_ = store(database, [("a", 1.0, NOW), ("b", 1.0, NOW), ("c", 1.0, NOW)])
    with database.write() as session:
        for number in (1, 2):
            session.add(MemoryUse(episode_id=f"e{number}", memory_id=memory, step=0, similarity=1.0, score=1.0))
    for _ in range(2):
        with database.write() as session:
            for number in (1, 2):
                episode = an_episode(f"e{number}", environment="w")
                credit_uses(session, episode, 1.0, 0.3)
    with database.read() as session:
        found = session.get_one(Memory, memory)
        assert (found.q, found.q_updates) == (pytest.approx(0.51), 2)
    for _ in range(2):  # the first of both was a failure after all: 0 -> -0.3 -> 0.09
        with database.write() as session:
            recount(session, "e1", -1.0)
    with database.read() as session:
        found = session.get_one(Memory, memory)
        assert (found.q, found.q_updates) == (pytest.approx(0.09), 2)
        own = session.exec(select(Memory).where(Memory.episode_id == "e1")).one()
        assert (own.reward, own.value) == (-1.0, -1.0)


def index_of(database: Database, settings: MemorySettings = SETTINGS) -> MemoryIndex:
    index = MemoryIndex(database, WordEmbedder(), "w", settings)
    index.follow()
    return index


def test_recall_by_similarity_and_never_of_the_task_itself(database: Database) -> None:
    first, second, third = store(database, [("red green", 1.0, NOW), ("red blue", 1.0, NOW), ("grey black", 1.0, NOW)])
    index = index_of(database)
    (vector,) = index.encode(["red green"])
    assert [one.memory.id for one in recall(index.near(vector, 10), SETTINGS, 0.0)] == [first, second, third]
    without = recall(index.near(vector, 10, without_task="w/t0"), SETTINGS, 0.0)
    assert [one.memory.id for one in without] == [second, third]
    two_phase = MemorySettings(recall="two_phase", min_similarity=0.4)
    assert {one.memory.id for one in recall(index.near(vector, 10), two_phase, 0.0)} == {first, second}


def test_the_index_follows_what_changes(database: Database) -> None:
    first, second = store(database, [("red", 1.0, NOW), ("blue", 1.0, NOW)])
    index = index_of(database)
    with database.write() as session:
        memory = session.get_one(Memory, first)
        memory.tier, memory.touched = Tier.COLD.value, 99
        session.add(memory)
    index.follow()
    (vector,) = index.encode(["red"])
    assert [one.memory.id for one in index.near(vector, 5)] == [second]
    with database.write() as session:
        restore(session, session.get_one(Memory, first))
    index.follow()
    assert [one.memory.id for one in index.near(vector, 5)] == [first, second]


def test_what_was_written_while_a_reader_encoded_is_found_by_it_later(database: Database) -> None:
    """The loop remembers an episode while a page's index encodes: at first it has no vector, then it is found."""

    class Interrupted(WordEmbedder):
        waiting = True

        def encode(self, texts: Sequence[str], kind: Kind = "query", *, store: bool = True) -> np.ndarray:
            if self.waiting:
                self.waiting = False
                remembered("late")
            return super().encode(texts, kind, store=store)

    def remembered(name: str) -> None:
        messages = [{"role": "user", "content": name}, call(1, "look", '{"part": "db"}'), said(1, "seen")]
        episode = an_episode(name, environment="w", messages=messages, ended_at=NOW)
        with database.write() as session:
            session.add(episode)
            session.flush()
            remember(session, episode, 1.0, NAMES, SETTINGS, 0.95)

    remembered("early")
    index = MemoryIndex(database, Interrupted(), "w", SETTINGS)
    index.follow()
    assert len(index) == 1
    index.follow()
    assert len(index) == 2


def test_beyond_the_border_faiss_finds_what_looking_at_each_one_finds(database: Database) -> None:
    rows = [(f"word{number % 40} other{number % 7} third{number}", 1.0, NOW) for number in range(120)]
    ids = store(database, rows)
    exact, lists = index_of(database), index_of(database, MemorySettings(exact_until=50))
    for vector in exact.encode([rows[number][0] for number in (3, 50, 111)]):
        wanted = exact.near(vector, 1)[0]
        assert lists.near(vector, 1)[0].memory.id == wanted.memory.id
    with database.write() as session:
        memory = session.get_one(Memory, ids[3])
        memory.tier, memory.touched = Tier.COLD.value, 10**6
        session.add(memory)
    lists.follow()
    (vector,) = lists.encode([rows[3][0]])
    assert ids[3] not in [one.memory.id for one in lists.near(vector, 20)]


def test_trusted_sources_come_first(database: Database) -> None:
    own, foreign = store(database, [("red", 1.0, NOW), ("red", 1.0, NOW)])
    with database.write() as session:
        memory = session.get_one(Memory, own)
        memory.trust, memory.touched = 1.0, 99
        session.add(memory)
    index = index_of(database)
    assert [one.memory.id for one in index.near(index.encode(["red"])[0], 2)] == [own, foreign]


def test_how_near_memories_of_different_tasks_usually_are(database: Database) -> None:
    """Three states share one of two words with another, the fourth none.

    Nearest cosines, sorted: 0, c, c, c; the 0.2 quantile lies at place 0.6 of 3: 0.6 c, the 0.5 quantile is c.
    """
    states = ("red green", "red blue", "red pink", "grey black")
    store(database, [(state, 1.0, NOW) for state in states])
    index = index_of(database)
    near = float(index.encode(["red green"])[0] @ index.encode(["red blue"])[0])
    assert 0 < near < 1
    assert index.usual_nearness(0.2) == pytest.approx(0.6 * near, abs=1e-6)
    assert index.usual_nearness(0.5) == pytest.approx(near, abs=1e-6)
    assert index.usual_nearness(0) == -1


def test_where_memories_are_all_but_equal_half_way_from_duplicates_is_near_enough(database: Database) -> None:
    """Duplicates are at 0.8 here: 0.9 is asked, though each memory has its equal of another task."""
    store(database, [("red green", 1.0, NOW), ("red green", 1.0, NOW)])
    assert index_of(database).usual_nearness(0.2) == pytest.approx(0.9)


def test_memories_of_one_task_tell_nothing_of_others(database: Database) -> None:
    store(database, [("red green", 1.0, NOW)])
    assert index_of(database).usual_nearness(0.2) == -1


def test_lines_keep_to_the_room_there_is(database: Database) -> None:
    store(database, [("red green", 1.0, NOW), ("red blue", -1.0, NOW)])
    index = index_of(database)
    found = recall(index.near(index.encode(["red"])[0], 10), SETTINGS, 0.0)
    text, told = memory_lines(found, 3, 1_000)
    assert len(told) == 2
    assert "[M4] look(part=db) returned" in text
    assert memory_lines(found, 0, 5) == ("", [])


def test_vectors_are_unit_length_and_of_the_model(database: Database) -> None:
    store(database, [("red green", 1.0, NOW)])
    index_of(database)
    with database.read() as session:
        memory = session.exec(select(Memory)).one()
    assert memory.vector_model.startswith("words ")
    assert np.linalg.norm(np.frombuffer(memory.vector or b"", dtype="<f4")) == pytest.approx(1.0)
