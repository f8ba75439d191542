"""What pages read: states of the loop, queues, filters and pages of lists."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from core.db import Database, open_database
from core.settings import load_settings
from core.tables import Lease, LoopControl, Rule, RuleUse, SettingOverride
from core.views.episodes import episode_choices, episode_story, episodes
from core.views.library import library_counts, rule_story
from core.views.library_list import LibraryFilter, listed_rules
from core.views.loop import loop_state, refusals, rounds, settings_in_force
from core.views.review import proposal_item, rule_item
from core.views.review_queue import queue
from tests.support.sample_data import fill

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def empty(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/views.db")


@pytest.fixture
def sample(empty: Database) -> Database:
    fill(empty, now=NOW)
    return empty


@pytest.mark.parametrize(
    ("age_s", "wanted", "steps", "status"),
    [
        (None, "run", 0, "stopped"),
        (1, "run", 0, "running"),
        (1, "pause", 0, "paused"),
        (1, "pause", 2, "running"),
        (10, "run", 0, "slow"),
        (16, "run", 0, "stopped"),
    ],
)
def test_a_stopped_loop_is_told_from_a_slow_and_a_paused_one(
    empty: Database, age_s: int | None, wanted: str, steps: int, status: str
) -> None:
    with empty.write() as session:
        session.add(LoopControl(name="loop", wanted=wanted, steps=steps, changed_at=NOW))
        if age_s is not None:
            session.add(Lease(name="loop", owner="x", heartbeat_at=NOW - timedelta(seconds=age_s)))
    with empty.read() as session:
        assert loop_state(session, now=NOW, heartbeat_s=2, lease_ttl_s=15).status == status


def test_the_queue_is_oldest_first_and_paged(sample: Database) -> None:
    with sample.read() as session:
        whole = queue(session)
        second = queue(session, limit=1, offset=1)
    assert (whole.total, len(whole.items)) == (5, 5)
    moments = [item.created_at for item in whole.items]
    assert moments == sorted(moments)
    assert second.items == whole.items[1:2]
    assert {item.kind for item in whole.items} == {"rule", "proposal"}


def test_an_approved_candidate_does_not_wait(sample: Database) -> None:
    with sample.write() as session:
        rule = session.get_one(Rule, "rule_0000000000000005")
        rule.approved_by = "ann"
        session.add(rule)
    with sample.read() as session:
        assert queue(session).total == 4
        assert rule_item(session, "rule_0000000000000005") is None


def test_a_candidate_comes_with_the_contrast_that_wrote_it(sample: Database) -> None:
    with sample.read() as session:
        item = rule_item(session, "rule_0000000000000005")
    assert item is not None
    assert item.contrast is not None
    assert [card.grade for card in item.contrast.passing] == ["pass"]
    assert "pass" not in [card.grade for card in item.contrast.failing]
    assert item.contrast.passing[0].query == item.contrast.failing[0].query


def test_a_proposal_says_what_changes(sample: Database) -> None:
    with sample.read() as session:
        item = proposal_item(session, "proposal_1")
    assert item is not None
    assert list(item.changed) == ["action"]
    assert not item.moved
    assert item.text_after != item.rule.text


def test_every_word_of_a_search_has_to_occur(sample: Database) -> None:
    with sample.read() as session:
        assert [one.row.name for one in listed_rules(session, LibraryFilter(text="HEAP restart")).items] == [
            "Take a heap profile before the restart"
        ]
        for text in ("heap certificate", "100%"):
            assert listed_rules(session, LibraryFilter(text=text)).total == 0
        active = listed_rules(session, LibraryFilter(state="active")).total
        assert active == library_counts(session).by_state["active"]


def test_a_rules_story_has_relatives_and_uses(sample: Database) -> None:
    with sample.read() as session:
        story = rule_story(session, "rule_0000000000000002")
        parent = rule_story(session, "rule_000000000000000a")
        assert rule_story(session, "rule_x") is None
        uses = session.exec(select(RuleUse).where(RuleUse.rule_id == "rule_0000000000000002")).all()
    assert story is not None
    assert parent is not None
    assert [row.id for row in story.parents] == [parent.row.id]
    assert [row.id for row in parent.children] == [story.row.id]
    assert all(use.served <= use.retrieved and use.passed <= use.served for use in story.uses)
    ignored = Counter(use.disposition for use in uses if use.compliance == "violated")
    assert ignored["left_out"]
    assert sum(use.violated for use in story.uses) == ignored["served"]


def test_episodes_are_filtered_and_paged(sample: Database) -> None:
    with sample.read() as session:
        choices = episode_choices(session)
        page = episodes(session, arm="empty", round_number=3, limit=7, offset=7)
    assert choices.rounds == tuple(range(8, 0, -1))
    assert (page.total, len(page.items)) == (30, 7)
    assert {(row.arm, row.round_number) for row in page.items} == {("empty", 3)}


def test_an_episode_lists_its_rules_in_prompt_order(sample: Database) -> None:
    with sample.read() as session:
        story = episode_story(session, "episode_08after003")
        assert episode_story(session, "episode_x") is None
    assert story is not None
    places = [rule.position for rule in story.rules if rule.position is not None]
    assert places == sorted(places)
    assert [rule.position for rule in story.rules][len(places) :] == [None] * (len(story.rules) - len(places))
    assert story.messages[2].calls[0].name == "read_metrics"


def test_rounds_and_refusals_are_newest_first(sample: Database) -> None:
    with sample.read() as session:
        assert [row.number for row in rounds(session, limit=3).items] == [8, 7, 6]
        found = refusals(session)
    assert [row.round_number for row in found.items] == [8, 7]


def test_settings_show_value_default_range_and_who_changed_them(empty: Database) -> None:
    with empty.write() as session:
        session.add(SettingOverride(name="gate.mode", value="strict", changed_by="ann", changed_at=NOW))
    with empty.read() as session:
        rows = {row.name: row for row in settings_in_force(session, load_settings(_env_file=None))}
    mode, turns, day = rows["gate.mode"], rows["agent.max_turns"], rows["budget.per_day_usd"]
    assert (mode.kind, mode.value, mode.default, mode.choices) == (
        "choice",
        "strict",
        "default",
        ("default", "strict"),
    )
    assert mode.changed_by == "ann"
    assert (turns.kind, turns.low, turns.high) == ("int", 1, 100)
    assert day.kind == "optional"
