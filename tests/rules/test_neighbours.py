"""What a draft meets in the library: near duplicates, contradictions, or nothing; whatever happens to the library."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.embeddings import Embedder
from core.rules.library import Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import IN_USE, Cause, State
from core.rules.neighbours import ComparedRules, Neighbours
from core.tables.rules import RuleContent
from tests.support.embedding import WordEmbedder, packaged_embedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CHANGE = Change("ada", lambda: NOW)
FULL = ("the log volume is nearly full", "rotate the logs and delete archives older than a week")
OPPOSITE = (FULL[0], "do not rotate the logs and do not delete archives")
OTHER = ("a certificate expires", "renew the whole chain")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def draft(condition: str, action: str, domain: str = "desk") -> RuleContent:
    return RuleContent(name="A draft", condition=condition, action=action, domain=domain)


def add(database: Database, rule_id: str, condition: str, action: str, domain: str = "desk") -> None:
    with database.write() as session:
        create_rule(session, draft(condition, action, domain), CHANGE, origin="human", id=rule_id)


def compared(database: Database, embedder: Embedder) -> ComparedRules:
    return ComparedRules(database, embedder, "desk", IN_USE)


def names(found: Neighbours) -> tuple[list[str], list[str]]:
    return [rule.id for rule in found.duplicates], [conflict.other_id for conflict in found.conflicts]


def test_an_empty_library_has_no_neighbours(database: Database) -> None:
    library = compared(database, WordEmbedder())
    assert library.compare(draft(*FULL)) == Neighbours()
    assert library.duplicates(draft(*FULL)) == []


def test_the_same_words_are_a_duplicate_and_others_are_not(database: Database) -> None:
    add(database, "other", *OTHER)
    add(database, "same", *FULL)
    add(database, "same elsewhere", *FULL, domain="shop")
    library = compared(database, WordEmbedder())
    assert names(library.compare(draft(*FULL))) == (["same"], [])
    assert names(library.compare(draft(*FULL), without={"same"})) == ([], [])


def test_the_opposite_in_the_same_case_is_a_conflict_and_no_duplicate(database: Database) -> None:
    add(database, "opposite", *OPPOSITE)
    found = compared(database, packaged_embedder()).compare(draft(*FULL))
    assert names(found) == ([], ["opposite"])
    assert found.rules["opposite"].action == OPPOSITE[1]


def test_a_paraphrase_is_near_by_meaning(database: Database) -> None:
    add(database, "paraphrase", "the log disk is almost full", "delete archives older than a week and rotate the logs")
    add(database, "other", "older clients fail the handshake", "renew the intermediate certificate")
    assert names(compared(database, packaged_embedder()).compare(draft(*FULL)))[0] == ["paraphrase"]


def test_what_happens_to_the_library_is_seen_by_the_next_comparison(database: Database) -> None:
    library, archive = (
        compared(database, WordEmbedder()),
        ComparedRules(database, WordEmbedder(), "desk", (State.ARCHIVED,)),
    )

    def seen() -> tuple[list[str], list[str]]:
        again = compared(database, WordEmbedder())
        for one in (FULL, OPPOSITE, OTHER):
            assert names(library.compare(draft(*one))) == names(again.compare(draft(*one))), "as if read afresh"
        return names(library.compare(draft(*FULL)))

    assert seen() == ([], [])
    for number in range(3):
        add(database, f"r{number}", *FULL)
    assert seen() == (["r0", "r1", "r2"], [])
    with database.write() as session:
        edit_rule(session, get_rule(session, "r1"), {"action": OPPOSITE[1]}, CHANGE)
        move_rule(session, get_rule(session, "r0"), State.ARCHIVED, Cause.PERSON, CHANGE)
    assert seen() == (["r2"], ["r1"])
    assert [rule.id for rule in archive.duplicates(draft(*FULL))] == ["r0"]
    with database.write() as session:
        move_rule(session, get_rule(session, "r0"), State.CANDIDATE, Cause.PERSON, CHANGE)
        edit_rule(session, get_rule(session, "r2"), {"condition": OTHER[0], "action": OTHER[1]}, CHANGE)
    assert seen() == (["r0"], ["r1"])
    assert archive.duplicates(draft(*FULL)) == []
    for number in range(3, 150):
        add(database, f"r{number}", *(FULL if number % 2 else OTHER))
    assert len(seen()[0]) == 64


def test_what_came_to_nothing_is_not_seen(database: Database) -> None:
    library = compared(database, WordEmbedder())
    with pytest.raises(RuntimeError), database.write() as session:
        create_rule(session, draft(*FULL), CHANGE, origin="human", id="lost")
        raise RuntimeError
    assert names(library.compare(draft(*FULL))) == ([], [])
    add(database, "kept", *OTHER)
    assert names(library.compare(draft(*FULL))) == ([], [])
    assert names(library.compare(draft(*OTHER))) == (["kept"], [])
