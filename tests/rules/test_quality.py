"""The deterministic check of drafts against labelled texts (design section 3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.rules.quality import check_quality
from core.rules.quality_patterns import looks_random, passes_luhn
from core.settings import RuleSettings
from core.tables.rules import RuleContent

DATA = Path(__file__).resolve().parents[1] / "data"
SETTINGS = RuleSettings()


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def draft(**fields: Any) -> RuleContent:
    return RuleContent(**{"name": "A rule", "confidence": 0.8, **fields})


def words(n: int) -> str:
    return " ".join(["restart", "consumer"] * (n // 2) + ["queue"] * (n % 2))


GOOD, BAD = read("quality_good.jsonl"), read("quality_bad.jsonl")


@pytest.mark.parametrize("fields", GOOD, ids=[each["action"][:40] for each in GOOD])
def test_good_rules_pass(fields: dict[str, Any]) -> None:
    assert [str(finding) for finding in check_quality(draft(**fields), SETTINGS)] == []


@pytest.mark.parametrize("fields", BAD, ids=[f"{each['detector']}-{i}" for i, each in enumerate(BAD)])
def test_bad_texts_are_refused_by_the_right_detector(fields: dict[str, Any]) -> None:
    content = {name: value for name, value in fields.items() if name != "detector"}
    findings = check_quality(draft(**content), SETTINGS)
    assert fields["detector"] in {finding.detector for finding in findings if finding.refuses}


def test_labelled_sets_are_large_enough() -> None:
    assert len(GOOD) >= 40
    assert len(BAD) >= 60


@pytest.mark.parametrize(
    ("units", "detectors"),
    [(7, ["length"]), (8, []), (40, []), (41, ["too_long"]), (80, ["too_long"]), (81, ["length"])],
)
def test_length_limits(units: int, detectors: list[str]) -> None:
    rule = draft(condition="the queue grows", action=words(units - 3))
    found = check_quality(rule, SETTINGS)
    assert [finding.detector for finding in found] == detectors
    assert all(finding.refuses == (finding.detector == "length") for finding in found)


def test_confidence_below_the_limit_is_refused() -> None:
    fields = GOOD[0]
    assert check_quality(draft(**fields, confidence=0.7), SETTINGS) == []
    assert [f.detector for f in check_quality(draft(**fields, confidence=0.69), SETTINGS)] == ["confidence"]


def test_secrets_are_searched_in_every_field_and_not_repeated() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    findings = check_quality(draft(**GOOD[0], rationale=f"It worked with {key}"), SETTINGS)
    assert {finding.detector for finding in findings} == {"secret"}
    assert all(key not in str(finding) for finding in findings)


def test_rationale_may_speak_of_one_case() -> None:
    assert check_quality(draft(**GOOD[0], rationale="Seen on db-03.prod.example twice."), SETTINGS) == []


def test_card_numbers_by_check_digit() -> None:
    assert passes_luhn("4111111111111111")
    assert not passes_luhn("4111111111111112")


def test_long_names_are_not_random_strings() -> None:
    assert not looks_random("update_reservation_flights")
    assert looks_random("9fQ2xL7vTz01bKe8")
