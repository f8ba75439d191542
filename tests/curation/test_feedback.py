"""What people say of an episode afterwards counts once, for all that was computed from it, and can be undone."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import Session, col, select

from core import curation
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.learning.credit import credit_episodes
from core.rules.kinship import with_merges
from core.rules.library import SYSTEM, Change
from core.rules.merging import Behind, merge_rules
from core.tables import AuditEntry, Episode, EpisodeReward, Rule, RuleUse
from core.tables.rules import RuleContent
from core.views.health import health_rows
from tests.learning.rows import DOMAIN, NOW, a_rule, a_use, an_episode

WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: datetime(2026, 3, 2, tzinfo=UTC)}
OUTCOMES = {
    "success": (1.0, "pass"),
    "partial": (0.2, "marginal"),
    "failure": (-1.0, "fail"),
    "taken_over": (-1.0, "fail"),
}
SERVED = {  # episode -> rules in its prompt, and whether they were followed
    "e0": {"r": "complied"},
    "e1": {"r": "complied", "s": "complied"},
    "e2": {"r": "violated", "s": "complied"},
    "e3": {"rs": "complied", "t": "not_applicable"},
    "e4": {},
}
GRADES = {"e0": "pass", "e1": "fail", "e2": "marginal", "e3": "pass", "e4": "fail"}


DIGEST = "TASK: drain it\nOUTCOME: {grade} reward=0.00 turns=4 tool_errors=0\nSTEPS:\nEXPECTED: it drained; got {grade}"


def fill(session: Session) -> None:
    """Five episodes; rules r and s have become part of rs after some of them, t stands alone."""
    session.add_all([a_rule("r"), a_rule("s"), a_rule("rs", parents=["r", "s"]), a_rule("t")])
    session.flush()
    for part in "rs":
        session.get_one(Rule, part).merged_into = "rs"
    for place, (name, uses) in enumerate(SERVED.items()):
        ended = NOW + timedelta(minutes=place + 1)
        session.add(an_episode(name, grade=GRADES[name], ended_at=ended, digest=DIGEST.format(grade=GRADES[name])))
        session.flush()
        session.add_all(a_use(name, rule_id, compliance=found) for rule_id, found in uses.items())
    session.add(an_episode("evaluation", arm="after"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the episodes counted, to be copied."""
    path = tmp_path_factory.mktemp("template") / "t.db"
    opened = open_database(f"sqlite:///{path}")
    with opened.write() as session:
        fill(session)
        session.flush()
        credit_episodes(session, DOMAIN)
    opened.close()
    return path


@contextmanager
def copied(template: Path, folder: Path) -> Iterator[Database]:
    shutil.copy(template, folder / "t.db")
    opened = open_database(f"sqlite:///{folder}/t.db")
    yield opened
    opened.close()


@pytest.fixture
def database(template: Path, tmp_path: Path) -> Iterator[Database]:
    with copied(template, tmp_path) as opened:
        yield opened


def version_of(database: Database, episode_id: str) -> int:
    with database.read() as session:
        row = session.get(EpisodeReward, episode_id)
        return row.version if row else 0


def say(database: Database, episode_id: str, verdict: str, **more: Any) -> None:
    known = {"version": version_of(database, episode_id), "reason": "it came back"}
    curation.give_feedback(database, **({"episode_id": episode_id, "verdict": verdict} | known | WHO | more))


def undo_last(database: Database) -> None:
    with database.read() as session:
        newest = session.exec(select(AuditEntry.id).order_by(col(AuditEntry.id).desc())).first()
    curation.undo(database, entry_id=newest or 0, **WHO)


def figures(session: Session) -> dict[str, tuple[Any, ...]]:
    rules = session.exec(select(Rule).order_by(Rule.id)).all()
    return {r.id: (r.n_used, r.n_success, r.verified, r.last_verified_at, pytest.approx(r.avg_delta)) for r in rules}


def from_scratch(session: Session, baseline: float) -> dict[str, tuple[Any, ...]]:
    """Work each rule's statistics out from the episodes as they are now, by design section 5."""
    found: dict[str, tuple[Any, ...]] = {}
    for rule in session.exec(select(Rule).order_by(Rule.id)):
        uses = [
            (session.get_one(Episode, use.episode_id), use)
            for use in session.exec(select(RuleUse))
            if rule.id in {one.id for one in with_merges(session, use.rule_id)}
        ]
        proofs = {e.id: e.ended_at for e, use in uses if e.grade == "pass" and use.compliance == "complied"}
        deltas = [episode.reward - baseline for episode, _ in uses]
        found[rule.id] = (
            len(uses),
            sum(episode.grade == "pass" for episode, _ in uses),
            len(proofs),
            max(proofs.values(), default=None),
            sum(deltas) / len(deltas) if deltas else 0.0,
        )
    return found


BASELINE = (1.0 + 0.0 + 0.5 + 1.0 + 0.0) / 5
"""Mean reward when the episodes were counted: too few are without rules, so all of them make the baseline."""


@pytest.mark.parametrize("verdict", OUTCOMES)
def test_a_verdict_beats_the_signals_and_becomes_the_episodes_outcome(database: Database, verdict: str) -> None:
    say(database, "e2", verdict)
    value, grade = OUTCOMES[verdict]
    with database.read() as session:
        row, episode = session.get_one(EpisodeReward, "e2"), session.get_one(Episode, "e2")
        assert (row.value, episode.grade) == (value, grade)
        assert (row.recorded_reward, row.recorded_grade) == (0.5, "marginal")
        assert row.taken_over == (verdict == "taken_over")
        assert (row.feedback_by, row.feedback_reason) == ("ada", "it came back")
        # Where the grade was right the recorded reward is the finer one.
        assert episode.reward == (0.5 if grade == "marginal" else value)


def test_an_episodes_success_moves_to_all_that_read_it(database: Database) -> None:
    say(database, "e1", "success")
    with database.read() as session:
        assert figures(session) == from_scratch(session, BASELINE)
        rule, merged = session.get_one(Rule, "s"), session.get_one(Rule, "rs")
        assert (rule.n_used, rule.n_success, rule.verified) == (2, 1, 1)
        assert (merged.n_used, merged.n_success, merged.verified) == (6, 4, 3)
        (rate,) = [
            one
            for one in health_rows(session, environment=DOMAIN)
            if one.arm == "learn" and one.metric == "success_rate"
        ]
        assert (rate.n, rate.value) == (5, 3 / 5)


def test_the_digest_tells_what_was_said_and_what_was_recorded(database: Database) -> None:
    say(database, "e1", "success")
    say(database, "e1", "taken_over")
    with database.read() as session:
        # The grade was right, so the recorded outcome stands.
        assert session.get_one(Episode, "e1").digest == DIGEST.format(grade="fail")
    say(database, "e1", "success")
    with database.read() as session:
        assert session.get_one(Episode, "e1").digest.splitlines()[1] == (
            "OUTCOME: pass reward=1.00 turns=4 tool_errors=0 (said by a person; recorded: fail reward=0.00)"
        )


def test_said_twice_it_counts_once(database: Database) -> None:
    for _ in range(3):
        say(database, "e1", "success")
    with database.read() as session:
        assert figures(session) == from_scratch(session, BASELINE)
    with pytest.raises(ConcurrentChangeError, match="nothing was changed"):
        say(database, "e1", "failure", version=0)


def test_an_undone_verdict_leaves_all_as_it_was(database: Database) -> None:
    with database.read() as session:
        before, episode = figures(session), session.get_one(Episode, "e1").model_dump()
    say(database, "e1", "success")
    undo_last(database)
    with database.read() as session:
        assert figures(session) == before
        assert session.get_one(Episode, "e1").model_dump() == episode
        assert session.get(EpisodeReward, "e1") is None
        assert session.exec(select(RuleUse.verified).where(RuleUse.episode_id == "e1")).all() == [False, False]
    undo_last(database)
    with database.read() as session:
        assert session.get_one(Episode, "e1").grade == "pass"
        assert figures(session) == from_scratch(session, BASELINE)


def test_a_verdict_on_an_episode_not_counted_yet_is_what_will_be_counted(database: Database) -> None:
    with database.write() as session:
        session.add(an_episode("late", grade="fail"))
        session.flush()
        session.add(a_use("late", "t", compliance="complied"))
    say(database, "late", "success")
    with database.write() as session:
        assert session.get_one(Rule, "t").verified == 0
        credit_episodes(session, DOMAIN)
        assert session.get_one(Rule, "t").verified == 1
    say(database, "late", "taken_over")
    with database.read() as session:
        rule = session.get_one(Rule, "t")
        assert (rule.n_used, rule.n_success, rule.verified, rule.last_verified_at) == (2, 1, 0, None)


def test_a_merge_made_since_has_taken_the_episode_over(database: Database) -> None:
    with database.write() as session:
        parents = [session.get_one(Rule, name) for name in ("rs", "t")]
        change = Change(SYSTEM, lambda: NOW)
        merge_rules(session, parents, RuleContent(**a_rule("wide").model_dump()), change, Behind(), id="wide")
        assert figures(session)["wide"][:4] == (7, 3, 2, NOW + timedelta(minutes=4))
    say(database, "e3", "failure")
    with database.read() as session:
        assert figures(session)["wide"][:4] == (7, 1, 1, NOW + timedelta(minutes=1))
        mean = (1.0 + 2 * 0.0 + 2 * 0.5 + 2 * -1.0) / 7
        assert session.get_one(Rule, "wide").avg_delta == pytest.approx(mean - BASELINE)


def test_an_episode_that_a_failing_call_ended_still_proves_nothing(database: Database) -> None:
    with database.write() as session:
        session.add(an_episode("broken", grade="fail", status="failed", credited=True))
        session.flush()
        session.add(a_use("broken", "t", compliance="complied"))
        before = figures(session)
    say(database, "broken", "success")
    with database.read() as session:
        assert figures(session) == before


def test_the_trail_keeps_what_was_recorded_but_not_the_conversation(database: Database) -> None:
    say(database, "e1", "success")
    with database.read() as session:
        entry = session.exec(select(AuditEntry)).one()
    assert (entry.action, entry.object_kind, entry.object_id) == ("give_feedback", "episode", "e1")
    assert entry.detail == {
        "verdict": "success",
        "reason": "it came back",
        "grade_before": "fail",
        "reward_before": 0.0,
        "grade_after": "pass",
        "reward_after": 1.0,
    }
    assert [change["table"] for change in entry.changes or []] == ["episode_reward"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"episode_id": "nobody"}, "no episode nobody"),
        ({"verdict": "splendid"}, "Choose from: success, partial, failure, taken_over"),
        ({"episode_id": "evaluation", "version": 0}, "Held-out test"),
        ({"version": 7}, "has changed since"),
    ],
)
def test_what_cannot_be_said_is_refused_and_changes_nothing(
    database: Database, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        say(database, **({"episode_id": "e1", "verdict": "success"} | wrong))
    with database.read() as session:
        assert session.exec(select(EpisodeReward)).all() == []
        assert session.exec(select(AuditEntry)).all() == []


def test_a_reward_that_was_taken_back_and_given_anew_is_not_taken_for_the_old_one(database: Database) -> None:
    say(database, "e1", "success")
    old = version_of(database, "e1")
    undo_last(database)
    say(database, "e1", "failure")
    with pytest.raises(ConcurrentChangeError):
        say(database, "e1", "success", version=old)


STEP = st.tuples(st.sampled_from([*SERVED]), st.sampled_from([*OUTCOMES])) | st.just(None)


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=7))
def test_whatever_is_said_and_undone_the_statistics_are_those_worked_out_from_scratch(
    steps: list[tuple[str, str] | None], template: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with copied(template, tmp_path_factory.mktemp("feedback")) as database:
        said = False
        for step in steps:
            if step is not None:
                say(database, *step)
            elif said:
                undo_last(database)
            said = said or step is not None
            with database.read() as session:
                assert figures(session) == from_scratch(session, BASELINE)
