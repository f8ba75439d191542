"""The page Memory and policy: phases, memories, a typed state, snapshots, and what was learned in words."""

import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from sqlmodel import col, select
from streamlit.testing.v1 import AppTest

from core import curation
from core.clock import utc_now
from core.db import Database, open_database
from core.people.accounts import set_sign_in_needed
from core.policy.snapshots import newest_snapshot
from core.tables import AuditEntry, Memory, Rule, SettingOverride
from tests.learning.rows import a_rule
from tests.pages.conftest import SHELL, OpenPage
from tests.pages.test_pages import texts
from tests.pages.test_people_page import claims
from tests.support.experience_rows import ACTIONS, STATES, fill_experience
from tests.support.speed import copy_into

PAGE = "memory_policy"
PARTS = ("phases", "memories", "state", "policy", "explanations")
_CJK = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def experienced_file(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("experienced") / "experienced.db"
    shutil.copyfile(filled, target)
    with closing(open_database(f"sqlite:///{target}")) as database:
        fill_experience(database, now=utc_now())
    return target


@pytest.fixture
def experienced(database: Database, experienced_file: Path) -> Database:
    """Eight rounds of work, 60 memories of two kinds of state, and three snapshots of a policy."""
    copy_into(database, experienced_file)
    return database


def choose_phase(database: Database, phase: str) -> None:
    with database.write() as session:
        session.add(SettingOverride(name="policy.phase", value=phase, changed_by="ann", changed_at=utc_now()))


def phase(database: Database) -> Any:
    with database.read() as session:
        return session.get_one(SettingOverride, "policy.phase").value


def names(at: AppTest) -> list[str]:
    return [one.key or "" for one in at.button]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_part_says_what_to_do_while_there_is_nothing(open_page: OpenPage, part: str, language: str) -> None:
    at = open_page(PAGE, language, memory_part=part)
    assert not at.exception
    assert not at.error
    assert bool(_CJK.search(texts(at))) == (language == "zh")
    if language == "en":
        told = {"memories": "Start a round on the page Loop", "policy": "In the phase adapt"}
        assert told.get(part, "") in texts(at)
        assert at.title[0].value == "Memory and policy"


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_shown_in_chinese(experienced: Database, open_page: OpenPage, part: str) -> None:
    at = open_page(PAGE, "zh", memory_part=part)
    assert not at.exception
    assert not at.error


def test_a_phase_that_is_not_ready_says_what_is_missing(database: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE)
    assert "**missing** · Remembered decisions: 0, needed 50." in texts(at)
    assert "3 things are still missing." in texts(at)
    assert at.button(key="memory_phase_recall").disabled
    assert at.button(key="memory_phase_adapt").disabled
    assert "memory_phase_static" not in names(at), "it is in force"


def test_a_phase_is_unlocked_and_taken_back(experienced: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE)
    assert "Graded training episodes that were shown memories: 12, needed 10." in texts(at)
    at.button(key="memory_phase_recall").click().run()
    assert at.success[0].value == "Phase in force from the next round on: recall"
    assert phase(experienced) == "recall"
    at.button(key="memory_phase_static").click().run()
    assert phase(experienced) == "static"
    at.button(key="shell_undo").click().run()
    assert not at.exception
    assert phase(experienced) == "recall"


def test_memories_are_counted_by_tier_and_filtered_in_the_address(experienced: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE, memory_part="memories")
    assert [one.value for one in at.metric] == ["36", "12", "12"]
    assert len(at.dataframe[0].value) == 10
    at.selectbox(key="memory_tier").set_value("cold").run()
    assert set(at.dataframe[0].value["Tier"]) == {"Cold"}
    at.text_input(key="memory_search").set_value("ROLL_BACK").run()
    assert set(at.dataframe[0].value["Action"]) == {ACTIONS[1]}
    assert (at.query_params["memory_tier"], at.query_params["memory_search"]) == ("cold", "ROLL_BACK")
    at.text_input(key="memory_search").set_value("100 %").run()
    assert "No memory fits" in at.info[0].value
    nonsense = open_page(PAGE, memory_part="<b>", memory_tier="lukewarm")
    assert not nonsense.exception


def test_a_cold_memory_is_restored(experienced: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE, memory_part="memories", memory_open="10")
    assert STATES["deploy"] in texts(at)
    at.button(key="memory_restore_10").click().run()
    assert at.success[0].value == "Restored: memory 10 is warm, and is found again"
    assert "restored by a person" in texts(at)
    assert "memory_restore_10" not in names(at)
    with experienced.read() as session:
        assert session.get_one(Memory, 10).tier == "warm"
    tables = [table.value.to_dict("records") for table in open_page("audit").table]
    assert {"Field": "Tier", "Before": "Cold", "After": "Warm"} in tables[0]
    at.button(key="memory_close").click().run()
    assert len(at.dataframe) == 1
    for unknown in ("9999", "-1", "x"):
        assert "There is no memory" in open_page(PAGE, memory_part="memories", memory_open=unknown).warning[0].value


def test_what_models_wrote_is_no_markdown(experienced: Database, open_page: OpenPage) -> None:
    with experienced.write() as session:
        memory = session.get_one(Memory, 1)
        memory.action = memory.result = memory.lesson = "![x](http://evil.example/x.png) <b>now</b>"
        session.add(memory)
    at = open_page(PAGE, memory_part="memories", memory_open="1")
    assert not at.exception
    assert all("![x](" not in one.value for one in (*at.markdown, *at.caption))


def test_a_typed_state_shows_its_neighbours_and_what_speaks_for_each_action(
    experienced: Database, open_page: OpenPage
) -> None:
    at = open_page(PAGE, memory_part="state")
    at.text_area(key="memory_state").set_value(STATES["queue"]).run(timeout=60)
    assert not at.exception
    table = at.table[0].value.set_index("Action")
    found = {name.replace("\\", ""): row for name, row in table.iterrows()}
    assert set(found) == set(ACTIONS)
    tried = {name: int(row["Tried"]) for name, row in found.items()}
    assert sum(tried.values()) == 20
    good = found[ACTIONS[2]]
    assert good["Q"] == "+1.00"
    value = (2 * tried[ACTIONS[2]] - 20) / 20  # the good action's returns are 1, all others -1
    assert at.metric[0].value.replace("−", "-") == f"{value:+.2f}"
    assert good["Advantage"].startswith(f"+{1 - value:.2f}")
    assert good["Adapter's bias"].startswith("+"), "it learned that too"
    few = [row["Advantage"] for name, row in found.items() if tried[name] < 3]
    assert all("too few to tell" in one or one == "not tried" for one in few)
    assert sum("similarity 1.00" in one.value for one in at.caption) == 20


def test_the_guardrail_snapshots_and_log_are_shown(experienced: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE, memory_part="policy")
    assert [one.value for one in at.metric] == ["1 of 3", "70%"]
    shown = texts(at)
    assert "3 worse ones in a row restore snapshot 2" in shown
    assert "success 0.70 (0.52–0.83, n = 30), mean turns 4.8" in shown
    assert "53% success · Worse than the good one" in shown
    assert "memory_preview_3" not in names(at), "it is in force"


def test_an_older_snapshot_is_restored_after_a_look_at_what_changes(experienced: Database, open_page: OpenPage) -> None:
    at = open_page(PAGE, memory_part="policy")
    at.button(key="memory_preview_1").click().run()
    changed = at.table[0].value
    told = {one.replace("\\", "") for one in changed["Action"]}
    assert told
    assert told <= set(ACTIONS)
    assert "latest states" in texts(at)
    at.button(key="memory_restore_send_1").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key="memory_restore_reason_1").set_value("the new one loops")
    at.button(key="memory_restore_send_1").click().run()
    assert at.success[0].value == "Snapshot 1 is in force again"
    with experienced.read() as session:
        newest = newest_snapshot(session, "incidents")
        first = session.get_one(type(newest), 1) if newest else None
        assert newest is not None and first is not None
        assert (newest.id, newest.state) == (4, first.state)
        entry = session.exec(select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(1)).one()
        assert (entry.action, entry.detail["reason"]) == ("restore_snapshot", "the new one loops")
    assert "as snapshot 1 was" in texts(at)


def test_an_explanation_leads_to_its_episodes_and_to_a_draft_rule(experienced: Database, open_page: OpenPage) -> None:
    with experienced.write() as session:
        session.add(a_rule("other", domain="airline"))  # the first of the domains by name
    at = open_page(PAGE, memory_part="explanations")
    assert "Where it is about **queue, consumer**" in texts(at)
    links = at.get("page_link")
    episodes = [one for one in links if one.proto.page == "episodes"]
    assert len(episodes) == 3 * 2
    query = next(one.proto.query_string for one in links if one.proto.label == "Write it as a rule")
    given = dict(re.findall(r"([^&=]+)=([^&]*)", query))
    assert given["library_part"] == "write"
    form = open_page("library", **{name: unquote_plus(value) for name, value in given.items() if name != "lang"})
    assert not form.exception
    assert form.selectbox(key="library_new_domain").value == "incidents"
    assert form.text_area(key="library_new_condition").value.startswith("it is about queue, consumer, as in “Orders")
    assert form.text_area(key="library_new_action").value == f"prefer {ACTIONS[2]}"
    form.button(key="library_new_save").click().run()
    assert not form.exception
    with experienced.read() as session:
        rule = session.exec(select(Rule).where(Rule.origin == "human")).one()
        assert (rule.state, rule.action) == ("candidate", f"prefer {ACTIONS[2]}")


def test_the_prompt_preview_shows_what_experience_adds_in_the_phase_in_force(
    experienced: Database, open_page: OpenPage
) -> None:
    task = STATES["queue"].splitlines()[0]
    at = open_page("preview")
    at.text_area(key="preview_task").set_value(task).run(timeout=60)
    assert "The phase is static: nothing is taken from experience." in texts(at)
    choose_phase(experienced, "reward")
    at = at.run(timeout=60)
    assert not at.exception
    told = at.table[-1].value
    assert {"Memory", "Similarity", "Score", "Return", "Q", "Tier"} == set(told.columns)
    assert len(told) == 5
    advice = at.code[-2].value
    assert advice.count("[M") == 5
    assert "[H] Experience in situations like this" in advice


def test_an_expert_is_offered_memories_and_rules_but_neither_snapshots_nor_phases(experienced: Database) -> None:
    with experienced.write() as session:
        set_sign_in_needed(session, utc_now, needed=True)
    curation.ensure_an_admin(experienced, first_admin="root@example.com", clock=utc_now)
    by_root = {"actor": "root@example.com", "clock": utc_now}
    curation.invite(experienced, email="ada@example.com", name="Ada", roles=["expert"], **by_root)
    shown = {}
    for part in ("phases", "policy", "memories"):
        at = AppTest.from_file(SHELL, default_timeout=30)
        at.user = claims("ada@example.com")
        at.query_params["lang"] = "en"
        at.run()
        at.query_params["memory_part"], at.query_params["memory_open"] = part, "10"
        at.switch_page(f"{PAGE}.py").run()
        assert at.title[0].value == "Memory and policy"
        shown[part] = names(at)
    assert not [one for one in shown["phases"] if one.startswith("memory_phase")]
    assert not [one for one in shown["policy"] if one.startswith("memory_preview")]
    assert "memory_restore_10" in shown["memories"]
