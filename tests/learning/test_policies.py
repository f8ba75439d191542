"""Policies stand in for a person, and only where they may."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core import curation
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.learning.transitions import apply_transitions, gather_evidence
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, get_rule, rules_in
from core.rules.lifecycle import State
from core.rules.policies import Decision, PolicyTerms, decide, policy_decisions
from core.settings import LifecycleSettings, ReviewSettings, Settings
from core.tables.rules import RuleContent
from core.views.policies import dry_run

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
AUTO = Settings(_env_file=None, lifecycle=LifecycleSettings(approval="auto"))
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
HANDBOOK = PolicyTerms("handbook", "", 0.8, 1.0, Decision.APPROVE)
WEAK = PolicyTerms("", "", 0.0, 0.75, Decision.REFUSE)
RISKY = PolicyTerms("", "billing", 0.0, 1.0, Decision.PERSON)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def add(database: Database, rule_id: str, *, origin: str = "handbook", confidence: float = 0.9, domain: str = "desk",
        at: datetime = NOW, verified: int = 3) -> None:  # fmt: skip
    draft = RuleContent(
        name=f"Rule {rule_id}",
        condition=f"a reader of shelf {rule_id} renews for the third time",
        action="look up the reservations first and offer the earliest free copy",
        domain=domain,
        confidence=confidence,
    )
    with database.write() as session:
        rule = create_rule(session, draft, Change(SYSTEM, lambda: at, round_number=1), origin=origin, id=rule_id)
        rule.verified, rule.last_retrieved_round = verified, 1
        session.add(rule)


def set_policies(database: Database, *policies: PolicyTerms) -> None:
    curation.set_policies(database, policies=policies, seen=[], **WHO)


def settle(database: Database, settings: Settings = SETTINGS, *, testable: bool = True) -> dict[str, str]:
    """Run the lifecycle step of a round; return the states after it."""
    with database.write() as session:
        for domain in ("desk", "billing"):
            candidates = rules_in(session, domain, (State.CANDIDATE,))
            decisions = policy_decisions(session, candidates, settings)
            evidence = gather_evidence(session, domain, 2, {})
            change = Change(SYSTEM, lambda: NOW, round_number=2)
            apply_transitions(
                session, domain, evidence, settings.lifecycle, change, testable=testable, decisions=decisions
            )
    with database.read() as session:
        found = [rule for domain in ("desk", "billing") for rule in rules_in(session, domain, tuple(State))]
        return {rule.id: rule.state for rule in found}


def test_the_first_that_fits_decides_and_both_ends_of_a_range_count() -> None:
    policies = [RISKY, HANDBOOK, WEAK]
    assert decide(policies, "handbook", "billing", 0.9) is Decision.PERSON
    assert decide(policies, "handbook", "desk", 0.8) is Decision.APPROVE
    assert decide(policies, "handbook", "desk", 0.75) is Decision.REFUSE
    assert decide(policies, "reflection", "desk", 0.9) is None


def test_a_policy_lets_verified_rules_go_live_and_refuses_others(database: Database) -> None:
    set_policies(database, HANDBOOK, WEAK)
    add(database, "a")
    add(database, "b", verified=2)
    add(database, "c", origin="reflection")
    add(database, "d", origin="reflection", confidence=0.7)
    assert settle(database) == {"a": "active", "b": "candidate", "c": "candidate", "d": "archived"}
    with database.read() as session:
        assert get_rule(session, "a").approved_by is None


def test_nothing_goes_live_by_itself_where_nothing_is_tested(database: Database) -> None:
    set_policies(database, HANDBOOK)
    add(database, "a")
    assert settle(database, testable=False) == {"a": "candidate"}


def test_an_open_conflict_needs_a_person_whatever_the_policy(database: Database) -> None:
    set_policies(database, HANDBOOK, WEAK)
    add(database, "a")
    add(database, "d", origin="reflection", confidence=0.7)
    with database.write() as session:
        finding = ConflictFinding("d", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "a"), [finding], Change(SYSTEM, lambda: NOW))
    assert settle(database) == {"a": "candidate", "d": "candidate"}


def test_approval_auto_means_what_it_meant_where_no_policy_fits(database: Database) -> None:
    add(database, "a", origin="reflection")
    add(database, "b", domain="billing")
    assert settle(database, AUTO) == {"a": "active", "b": "active"}
    add(database, "c", origin="reflection")
    add(database, "d", domain="billing")
    set_policies(database, RISKY)
    assert settle(database, AUTO) == {"a": "active", "b": "active", "c": "active", "d": "candidate"}


def test_what_a_person_has_taken_up_is_left_to_people(database: Database) -> None:
    set_policies(database, HANDBOOK, WEAK)
    for rule_id in "abc":
        add(database, rule_id)
    add(database, "d", origin="reflection", confidence=0.7)
    curation.ask_for_evidence(database, rule_id="a", version=1, unit="rounds", count=5, **WHO)
    curation.refuse(database, rule_id="d", version=1, reason="no", **WHO)
    curation.restore(database, rule_id="d", version=2, reason="after all", **WHO)
    two_eyes = Settings(_env_file=None, review=ReviewSettings(second_opinion="billing"))
    add(database, "e", domain="billing")
    assert settle(database, two_eyes) == {
        "a": "candidate", "b": "active", "c": "active", "d": "candidate", "e": "candidate"
    }  # fmt: skip


def test_a_person_can_still_refuse_and_approve_under_a_policy(database: Database) -> None:
    set_policies(database, WEAK)
    add(database, "d", origin="reflection", confidence=0.7, verified=0)
    curation.approve(database, rule_id="d", version=1, settings=SETTINGS, **WHO)
    assert settle(database) == {"d": "candidate"}


def test_policies_are_changed_as_a_list_that_was_seen(database: Database) -> None:
    set_policies(database, HANDBOOK)
    with pytest.raises(ConcurrentChangeError, match="changed the policies"):
        curation.set_policies(database, policies=[WEAK], seen=[], **WHO)
    with pytest.raises(UserError, match="both between 0 and 1"):
        curation.set_policies(
            database, policies=[PolicyTerms("", "", 0.9, 0.2, Decision.REFUSE)], seen=[HANDBOOK], **WHO
        )
    with pytest.raises(UserError, match="30 policies"):
        curation.set_policies(database, policies=[WEAK] * 31, seen=[HANDBOOK], **WHO)


def test_the_dry_run_sets_policies_against_what_people_did(database: Database) -> None:
    for rule_id in "abcd":
        add(database, rule_id, verified=0)
    add(database, "old", at=NOW - timedelta(days=40))
    add(database, "weak", origin="reflection", confidence=0.7, verified=0)
    for rule_id in "ab":
        curation.approve(database, rule_id=rule_id, version=1, settings=SETTINGS, **WHO)
    for rule_id in ("c", "weak"):
        curation.refuse(database, rule_id=rule_id, version=1, reason="no", **WHO)
    with database.read() as session:
        found = dry_run(session, [HANDBOOK, WEAK], SETTINGS, now=NOW)
    assert found.counts == {
        ("approve", "approve"): 2, ("approve", "refuse"): 1, ("approve", "none"): 1, ("refuse", "refuse"): 1
    }  # fmt: skip
    assert [(one.rule_id, one.policy, one.person) for one in found.against] == [("c", "approve", "refuse")]
    assert (found.total, found.kept_back) == (5, 0)


def test_the_dry_run_judges_a_rule_as_it_was_and_keeps_conflicts_for_people(database: Database) -> None:
    for rule_id in "ab":
        add(database, rule_id, verified=0)
    with database.write() as session:
        finding = ConflictFinding("b", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "a"), [finding], Change(SYSTEM, lambda: NOW))
    with database.read() as session:
        found = dry_run(session, [HANDBOOK], SETTINGS, now=NOW)
    assert (found.counts, found.kept_back) == ({("person", "none"): 2}, 2)
