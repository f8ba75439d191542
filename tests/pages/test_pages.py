"""Every page shows itself, on an empty and on a filled database, in both languages."""

import re
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.clock import utc_now
from core.db import Database
from core.tables import ArmName, Rule, SettingOverride
from core.views.health import health_rows
from pages.labels import ACTIVITIES, ARMS
from tests.pages.conftest import OpenPage

PAGES = (
    "overview", "review", "conflicts", "library", "preview", "episodes", "provenance", "diagnostics", "spend", "loop",
)  # fmt: skip
_CJK = re.compile(r"[\u4e00-\u9fff]")


def texts(at: AppTest) -> str:
    kinds = (
        at.title,
        at.subheader,
        at.markdown,
        at.caption,
        at.text,
        at.info,
        at.warning,
        at.success,
        at.error,
    )
    return "\n".join(str(one.value) for kind in kinds for one in kind)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_empty_database_says_what_to_do(open_page: OpenPage, page: str, language: str) -> None:
    at = open_page(page, language)
    assert not at.exception
    assert not at.error
    assert bool(_CJK.search(texts(at))) == (language == "zh")
    assert "Simulated model" in texts(at) or "模拟模型" in texts(at)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_filled_database_is_shown(sample: Database, open_page: OpenPage, page: str, language: str) -> None:
    at = open_page(page, language)
    assert not at.exception
    assert not at.error
    assert _CJK.search(at.title[0].value) if language == "zh" else at.title[0].value == page.capitalize()


def test_a_page_is_written_at_the_top_whatever_container_the_run_before_it_left_current(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fragment's run leaves its container current in Streamlit 1.67, and the next page may be run by its thread."""
    first = st.set_page_config

    def after_a_fragment(**options: Any) -> None:
        first(**options)
        st.container().__enter__()

    monkeypatch.setattr(st, "set_page_config", after_a_fragment)
    at = open_page("library")
    left = at.main.children[0]
    assert len(left.children) == 0
    assert at.title[0] in list(at.main.children.values())


def test_first_visit_explains_in_three_sentences_and_names_the_next_step(open_page: OpenPage) -> None:
    at = open_page()
    explained = next(one.value for one in at.markdown if one.value.startswith("Rulewright lets"))
    assert len(re.findall(r"\.(?:\s|$)", explained)) == 3
    assert "Next, let the loop run a round" in explained


def test_a_round_that_was_rolled_back_shows_the_library_it_left_standing(sample: Database, open_page: OpenPage) -> None:
    with sample.read() as session:
        rows = {(row.round, row.arm): row for row in health_rows(session) if row.metric == "success_rate"}
    figures = next(one.value for one in open_page().dataframe if "With library" in one.value.columns)
    shown = dict(zip(figures["Round"], figures["With library"], strict=True))
    assert rows[3, "before"] != rows[3, "after"]
    for number, arm in ((3, "before"), (8, "after")):
        row = rows[number, arm]
        assert shown[str(number)] == f"{row.value:.2f} ({row.low:.2f}–{row.high:.2f}, n = 30)"


def test_every_arm_has_a_name_and_each_the_loop_runs_says_what_it_does() -> None:
    assert set(ARMS) == set(ArmName)
    assert set(ArmName) - {ArmName.EXTERNAL} <= set(ACTIVITIES)


def test_rates_carry_their_interval_and_n(sample: Database, open_page: OpenPage) -> None:
    at = open_page()
    captions = [one.value for one in at.caption]
    assert any(re.search(r"0\.\d\d \(0\.\d\d–0\.\d\d, n = 30\)", caption) for caption in captions)


def test_limits_are_those_in_force(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        session.add(SettingOverride(name="budget.per_day_usd", value=3.5, changed_by="ann", changed_at=utc_now()))
    assert any("of $3.50" in one.value for one in open_page().caption)


def test_few_uses_are_too_few_to_tell(sample: Database, open_page: OpenPage) -> None:
    at = open_page("review")
    assert any("too few to tell (n = 7)" in one.value for one in at.caption)


def test_a_rule_has_its_history_uses_and_evidence(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", rule="rule_0000000000000002")
    shown = texts(at)
    assert not at.exception
    assert "Candidate → Active" in shown
    assert at.title[0].value == "Compare the error onset with the deploy log"
    assert [tab.label for tab in at.tabs] == [*("History", "Versions", "Who decided", "Effect", "Episodes", "Lineage")]
    assert len(at.dataframe[0].value) == 6  # rounds 3 to 8: the rule was born in round 2


def test_library_is_filtered_by_state_and_words(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library")
    at.text_input(key="library_search").set_value("heap").run()
    assert [one.value for one in at.markdown if one.value.startswith("**")] == [
        "**Take a heap profile before the restart**"
    ]
    at.text_input(key="library_search").set_value("").run()
    at.button_group(key="library_state").set_value("probation").run()
    assert [one.value for one in at.markdown if one.value.startswith("**")] == ["**Find the poison message first**"]


def test_an_unknown_rule_or_episode_is_said_plainly(sample: Database, open_page: OpenPage) -> None:
    assert "There is no rule" in open_page("library", rule="rule_x").warning[0].value
    assert "There is no episode" in open_page("episodes", episode="episode_x").warning[0].value


def test_the_reader_shows_messages_and_the_rules_of_the_prompt(sample: Database, open_page: OpenPage) -> None:
    at = open_page("episodes", episode="episode_08after003")
    shown = texts(at)
    assert not at.exception
    assert "When checkout waits climb while the database is idle" in shown
    assert "Not followed" in shown
    assert "Decisive step" in shown
    assert [message.name for message in at.chat_message].count("tool") == 4


def test_model_text_is_never_markdown(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        rule = session.get_one(Rule, "rule_0000000000000005")
        rule.name = "![x](http://evil.example/x.png) <b>now</b>"
        session.add(rule)
    at = open_page("review")
    assert all("![x](" not in one.value for one in (*at.markdown, *at.subheader))
    assert any("\\!\\[x\\]\\(http:small[\\:]" in one.value for one in at.subheader)


def test_hidden_characters_are_named(sample: Database, open_page: OpenPage) -> None:
    with sample.write() as session:
        rule = session.get_one(Rule, "rule_0000000000000005")
        rule.action += "\u200b"
        session.add(rule)
    assert "ZERO WIDTH SPACE" in open_page("review").warning[0].value


def test_settings_show_ranges_and_only_adjustable_groups(sample: Database, open_page: OpenPage) -> None:
    at = open_page("loop")
    turns = at.number_input(key="loop_setting_agent.max_turns")
    assert (turns.value, turns.min, turns.max) == (10, 1, 100)
    assert "loop_setting_model.timeout_s" not in {one.key for one in at.number_input}


@pytest.mark.parametrize(
    ("query", "expected"),
    [("zh", "概览"), ("en", "Overview"), ("xx", "Overview"), ("zh-TW", "概览")],
)
def test_language_comes_from_the_address(open_page: OpenPage, query: str, expected: str) -> None:
    at = open_page(language=query)
    assert at.title[0].value == expected
    assert at.query_params["lang"] in ("en", "zh")


def test_language_is_switched_in_the_sidebar_and_kept(open_page: OpenPage) -> None:
    at = open_page()
    at.button_group(key="shell_choice").set_value("zh").run()
    assert at.title[0].value == "概览"
    assert at.query_params["lang"] == "zh"
    at.switch_page("library.py").run()
    assert at.title[0].value == "规则库"


def test_an_unusable_database_is_said_plainly(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:////proc/nowhere/x.db")
    at = open_page()
    assert not at.exception
    assert "cannot be opened" in at.error[0].value


def test_a_typed_task_shows_its_prompt_and_why_each_rule_is_in_or_out(sample: Database, open_page: OpenPage) -> None:
    at = open_page("preview")
    assert not at.metric
    at.text_area(key="preview_task").set_value("Error rates jumped right after the deploy of checkout").run()
    assert not at.exception
    assert not at.error
    assert at.metric[0].label == "Rules in the prompt"
    served = at.table[0].value
    assert len(served) == int(at.metric[0].value) > 0
    shown = at.code[-1].value
    assert all(rule.split(",")[0].removeprefix("When ") in shown for rule in served["Rule"])
    assert "Left out" in [one.value for one in at.subheader]


def test_a_rule_says_its_effect_and_when_too_few_episodes_tell(sample: Database, open_page: OpenPage) -> None:
    at = open_page("library", rule="rule_0000000000000002")
    effects = at.tabs[3].table[0].value
    assert list(effects["Metric"]) == [
        "Task success rate", "Mean turns", "Tool-call error rate", "Rule-compliance rate"
    ]  # fmt: skip
    assert set(effects["What it says"]) == {"Too few to tell"}


def test_the_filters_of_episodes_are_in_the_address(sample: Database, open_page: OpenPage) -> None:
    at = open_page("episodes", episodes_round="8", episodes_arm="after")
    facts = [one.value for one in at.caption if "reward" in one.value]
    assert facts and all("round 8" in one and "Library after the round" in one for one in facts)
    at.selectbox(key="episodes_grade").set_value("pass").run()
    assert at.query_params["episodes_grade"] == "pass"
    at.selectbox(key="episodes_round").set_value("").run()
    assert "episodes_round" not in at.query_params
    nonsense = open_page("episodes", episodes_round="first", episodes_arm="<b>")
    assert not nonsense.exception
    assert nonsense.selectbox(key="episodes_arm").value == ""


def test_each_card_of_overview_leads_to_the_episodes_it_counts(sample: Database, open_page: OpenPage) -> None:
    links = [link.proto.query_string for link in open_page("overview").get("page_link")]
    assert sum("episodes_round=8" in one and "episodes_arm=" in one for one in links) == 4
