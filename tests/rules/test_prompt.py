"""Order and room of the rules in a prompt (design section 6)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf

import pytest

from core.rules.lifecycle import State
from core.rules.prompt import Prompt, assemble, rule_budget
from core.rules.retrieval import Hit
from core.settings import RetrievalSettings
from core.tables import Rule
from core.text import estimate_tokens

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = RetrievalSettings()
LONG = "You operate a service desk. " * 500
WORDS = ("north", "south", "east", "west", "up", "down")


def make_hit(
    name: str, score: float = 0.5, utility: float = 0.5, *, words: int = 2, state: State = State.ACTIVE
) -> Hit:
    action = " ".join(["turn", *[name] * words])
    rule = Rule(
        id=name, name=name, condition=f"{name} is lost", action=action, origin="human", created_at=NOW, state=state
    )
    return Hit(rule, score, score, score, score, utility)


def lines(prompt: Prompt) -> list[str]:
    """The rules' labels in the order in which the text shows them."""
    return [line.split()[0] for line in prompt.text.splitlines() if line.startswith("[R")]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.rule.id for hit in hits]


def test_without_rules_the_prompt_is_its_stable_part() -> None:
    assert assemble(LONG, [], SETTINGS) == Prompt(LONG, (), (), 0)


def test_the_best_three_stand_at_both_ends() -> None:
    prompt = assemble(LONG, [make_hit(word) for word in WORDS], SETTINGS)
    assert lines(prompt) == ["[R1]", "[R2]", "[R3]", "[R4]", "[R5]", "[R6]", "[R1]", "[R2]", "[R3]"]
    assert ids(prompt.served) == list(WORDS)
    assert "[R1] When north is lost, turn north north." in prompt.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_three_or_fewer_are_not_repeated(count: int) -> None:
    prompt = assemble(LONG, [make_hit(word) for word in WORDS[:count]], SETTINGS)
    assert len(lines(prompt)) == count


def test_the_stable_part_comes_first_and_is_the_same_whatever_follows() -> None:
    one = assemble(LONG, [make_hit("north")], SETTINGS)
    other = assemble(LONG, [make_hit("south"), make_hit("east")], SETTINGS)
    assert one.text.startswith(LONG)
    assert other.text.startswith(LONG)
    assert "[R1]" not in LONG


@pytest.mark.parametrize(
    ("stable_tokens", "room"),
    [
        (300, 200),  # 200 of 500 is 40 %
        (1500, 1000),
        (2250, 1500),
        (9000, 1500),
    ],
)
def test_rules_get_1500_tokens_and_40_percent_of_the_prompt(stable_tokens: int, room: int) -> None:
    stable = "word " * stable_tokens
    assert estimate_tokens(stable) == stable_tokens
    assert rule_budget(stable, SETTINGS) == room


@pytest.mark.parametrize("stable_words", [60, 150, 600, 2000, 6000])
def test_no_prompt_exceeds_either_limit(stable_words: int) -> None:
    hits = [make_hit(f"n{i}", utility=i / 20, words=100) for i in range(20)]
    prompt = assemble("word " * stable_words, hits, SETTINGS)
    assert prompt.rule_tokens <= 1500
    assert prompt.rule_tokens <= 0.4 * estimate_tokens(prompt.text)
    assert len(prompt.served) + len(prompt.trimmed) == 20


def test_the_lowest_utility_is_cut_first_and_the_order_by_score_stays() -> None:
    hits = [
        make_hit("north", 0.9, utility=0.1, words=300),
        make_hit("south", 0.8, utility=1.4, words=300),
        make_hit("east", 0.7, utility=inf, words=300),
        make_hit("west", 0.6, utility=0.2, words=300),
        make_hit("up", 0.5, utility=0.9, words=300),
    ]
    prompt = assemble(LONG, hits, RetrievalSettings(max_tokens=1000, doubled=0))
    assert ids(prompt.served) == ["south", "east", "up"]
    assert ids(prompt.trimmed) == ["north", "west"]
    assert "north" not in prompt.text


def test_candidates_are_cut_before_live_rules_but_for_one() -> None:
    hits = [
        make_hit("north", 0.9, utility=inf, words=300, state=State.CANDIDATE),
        make_hit("south", 0.8, utility=0.4, words=300),
        make_hit("east", 0.7, utility=inf, words=300, state=State.CANDIDATE),
        make_hit("west", 0.6, utility=0.2, words=300),
        make_hit("up", 0.5, utility=inf, words=300, state=State.CANDIDATE),
    ]
    room_for = {3: 1000, 2: 700, 1: 350}
    kept = {n: ids(assemble(LONG, hits, RetrievalSettings(max_tokens=room)).served) for n, room in room_for.items()}
    assert kept == {3: ["north", "south", "west"], 2: ["north", "south"], 1: ["south"]}
    none = RetrievalSettings(max_tokens=700, min_candidates=0)
    assert ids(assemble(LONG, hits, none).served) == ["south", "west"]


def test_no_rule_is_cut_so_that_others_can_be_repeated() -> None:
    hits = [make_hit(word, words=60) for word in WORDS]
    room = assemble(LONG, hits, RetrievalSettings(doubled=0)).rule_tokens
    prompt = assemble(LONG, hits, RetrievalSettings(max_tokens=room + 20))
    assert (ids(prompt.served), prompt.trimmed) == (list(WORDS), ())
    assert lines(prompt) == ["[R1]", "[R2]", "[R3]", "[R4]", "[R5]", "[R6]"]


def test_of_equal_utility_the_lower_score_is_cut_first() -> None:
    hits = [make_hit("north", 0.9, words=300), make_hit("south", 0.2, words=300)]
    assert ids(assemble(LONG, hits, RetrievalSettings(max_tokens=400, doubled=0)).trimmed) == ["south"]
