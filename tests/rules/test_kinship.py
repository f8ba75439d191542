"""Which rules come from which, by merges and by being learned with them in the prompt."""

from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from core.db import Database, open_database
from core.rules.kinship import descendants, learned_from, merge_kin_in_use, merged_from
from core.tables import Rule
from core.views import library as view
from tests.learning.rows import a_rule

FAMILY: dict[str, dict[str, Any]] = {
    "root": {},
    "stranger": {},
    "learned": {"lineage": ["root", "learned"]},
    "merged": {"parents": ["learned", "stranger"], "state": "archived"},
    "of_merged": {"parents": ["merged"], "lineage": ["stranger"]},
    "cousin": {"parents": ["stranger"]},
    "circle_a": {"lineage": ["circle_b", "root"]},
    "circle_b": {"lineage": ["circle_a"]},
    "roots_own_past": {"lineage": []},
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add_all([a_rule(name, **columns) for name, columns in FAMILY.items()])
    return opened


def names(rules: list[Rule]) -> set[str]:
    return {rule.id for rule in rules}


@pytest.mark.parametrize(
    ("rule_id", "found"),
    [
        ("root", {"learned", "merged", "of_merged", "circle_a", "circle_b"}),
        ("learned", {"merged", "of_merged"}),
        ("circle_b", {"circle_a"}),
        ("of_merged", set()),
        ("roots_own_past", set()),
        ("nobody", set()),
    ],
)
def test_descendants_by_any_way_and_without_end(database: Database, rule_id: str, found: set[str]) -> None:
    with database.read() as session:
        assert names(descendants(session, rule_id)) == found
        assert {row.id for row in view.descendants(session, rule_id)} == found


def test_what_went_into_a_merge_over_several_merges(database: Database) -> None:
    with database.read() as session:
        assert merged_from(session, ["of_merged"]) == {"merged", "learned", "stranger"}
        assert merged_from(session, ["learned", "root"]) == set()


@pytest.mark.parametrize(
    ("rule_id", "found"),
    [
        ("merged", {"learned", "stranger", "of_merged", "cousin"}),
        ("learned", {"of_merged"}),
        ("cousin", {"stranger", "of_merged"}),
        ("root", set()),
    ],
)
def test_kin_by_merges_shares_statistics_if_it_is_in_use(database: Database, rule_id: str, found: set[str]) -> None:
    def kin(session: Session) -> set[str]:
        return names(merge_kin_in_use(session, rule_id))

    with database.read() as session:
        assert kin(session) == found


def test_what_a_text_was_changed_for_is_among_its_origins_once() -> None:
    rule = a_rule("r", evidence=["e1"], lineage=["a"])
    assert learned_from(rule, ["e2", "e1"], ["b", "r", "a"]) == {"evidence": ["e1", "e2"], "lineage": ["a", "b"]}
