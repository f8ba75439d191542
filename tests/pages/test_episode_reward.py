"""An episode's reader shows the reward with its three signals, and takes a person's word for how it ended."""

from typing import Any

import pytest

from core import curation
from core.clock import utc_now
from core.db import Database
from core.people.accounts import set_sign_in_needed
from core.tables import Episode, EpisodeReward, Rule
from tests.learning.rows import NOW, a_rule, a_use, an_episode
from tests.pages.conftest import OpenPage


def stored(database: Database, **columns: Any) -> None:
    """Put a failing episode e of training with a rule in its prompt, an evaluation v, and a reward of e's, if any."""
    with database.write() as session:
        session.add(a_rule("r", n_used=1, avg_delta=-0.5))
        session.add(an_episode("e", grade="fail", credited=True, messages=[{"role": "user", "content": "Hello"}]))
        session.add(an_episode("v", arm="after"))
        session.flush()
        session.add(a_use("e", "r", compliance="complied"))
        if columns:
            given: dict[str, Any] = {
                "episode_id": "e",
                "rules": "negative",
                "tools": "high",
                "judge": "unclear",
                "judged_by": "none",
                "recorded_reward": 0.0,
                "recorded_grade": "fail",
                "value": -1.0,
                "updated_at": NOW,
            }
            session.add(EpisodeReward(**given | columns))


def texts(at: Any) -> str:
    return "\n".join(one.value for one in [*at.caption, *at.markdown, *at.text, *at.subheader])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"value": -1.0}, "its answer could change nothing"),
        ({"rules": "high", "judge": "high", "judged_by": "preset", "value": 1.0}, "nothing called for the judge"),
        ({"rules": "high", "judge_reason": "no answer in time"}, "Asked in vain: the call failed"),
        ({"rules": "high"}, "a person said how it ended first"),
        ({"rules": "high", "judged_by": "model", "judge_reason": "![x](http://evil.example)"}, "Said by the model"),
        ({"displeasure": "ridiculous\nuseless"}, "ridiculous, useless"),
    ],
)
def test_the_signals_are_shown_with_who_set_them(
    database: Database, open_page: OpenPage, columns: dict[str, Any], told: str
) -> None:
    stored(database, **columns)
    at = open_page("episodes", episode="e")
    assert not at.exception
    assert told in texts(at)
    assert "![x](http" not in texts(at), "what a model wrote is no Markdown"


def test_an_evaluation_has_no_reward(database: Database, open_page: OpenPage) -> None:
    stored(database)
    at = open_page("episodes", episode="v")
    assert not at.exception
    assert "Reward" not in [one.value for one in at.subheader]


def test_feedback_counts_at_once_and_can_be_undone(database: Database, open_page: OpenPage) -> None:
    stored(database)
    at = open_page("episodes", episode="e")
    assert "Not worked out yet" in texts(at)
    at.button(key="episodes_e_send").click().run()
    assert at.error[0].value == "Choose how it ended first."
    at.radio(key="episodes_e_verdict").set_value("success")
    at.button(key="episodes_e_send").click().run()
    assert at.error[0].value == "Give a reason first; one line is enough."
    at.text_input(key="episodes_e_reason").set_value("The user wrote that it works")
    at.button(key="episodes_e_send").click().run()
    assert not at.exception
    assert at.success[0].value == "Noted, and counted anew: A success"
    assert "The user wrote that it works" in texts(at)
    assert "Recorded before: Fail, reward 0.00" in texts(at)
    with database.read() as session:
        assert session.get_one(Episode, "e").grade == "pass"
        assert (session.get_one(Rule, "r").n_success, session.get_one(Rule, "r").verified) == (1, 1)
    at.button(key="shell_undo").click().run()
    with database.read() as session:
        assert session.get_one(Episode, "e").grade == "fail"
        assert session.get_one(Rule, "r").n_success == 0


def test_what_somebody_else_said_meanwhile_is_not_overwritten(database: Database, open_page: OpenPage) -> None:
    stored(database, value=-1.0)
    at = open_page("episodes", episode="e")
    curation.give_feedback(
        database, episode_id="e", version=1, verdict="partial", reason="half", actor="bob", clock=utc_now
    )
    at.radio(key="episodes_e_verdict").set_value("success")
    at.text_input(key="episodes_e_reason").set_value("works")
    at.button(key="episodes_e_send").click().run()
    assert "has changed since you opened it" in at.error[0].value
    with database.read() as session:
        assert session.get_one(EpisodeReward, "e").feedback_by == "bob"


def test_who_may_not_say_so_is_not_asked(database: Database, open_page: OpenPage) -> None:
    stored(database, value=-1.0)
    with database.write() as session:
        set_sign_in_needed(session, utc_now, needed=True)
    at = open_page("episodes", episode="e")
    assert "episodes_e_send" not in [button.key for button in at.button]
