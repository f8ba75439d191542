"""What the HTML report says of a database whose every figure can be told by hand."""

import re
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from pathlib import Path

import pytest
from sqlmodel import select

from core.cli.report_files import html_page
from core.db import Database, open_database
from core.i18n import Translator
from core.tables import Episode, LedgerEntry, Round, RuleEvent
from core.views.period import Period, period_figures
from tests.support.sample_data import fill

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
EACH = 20
WHOLE = Period()
ROUNDS = {  # number -> the arm that ran what the round left standing, passes of each arm out of twenty
    1: ("after", {"learn": 6, "before": 5, "after": 12, "empty": 4}),
    2: ("before", {"learn": 11, "before": 14, "after": 9, "empty": 4}),
    3: ("second", {"learn": 13, "before": 13, "after": 10, "second": 16, "empty": 5}),
    4: (None, {"learn": 15, "after": 20}),
}
"""Round 4 has not been measured yet: it has no gain, so nobody knows which arm stands."""
NAMES = {
    "learn": ("Training tasks", "Training"),
    "before": ("Held-out tasks", "Library before the round"),
    "after": ("Held-out tasks", "Library after the round"),
    "second": ("Held-out tasks", "Library after the round, blamed changes dropped"),
    "empty": ("Held-out tasks", "Empty library"),
}


def wilson_by_hand(passed: int, n: int) -> tuple[float, float]:
    """Wilson (1927): the score interval with z = 1.96."""
    z, p = 1.959963984540054, passed / n
    middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        for number, (standing, arms) in ROUNDS.items():
            began = START + timedelta(days=number)
            gain = {}
            if standing is not None:
                value = (arms[standing] - arms["empty"]) / EACH
                gain = {"arm": standing, "value": value, "low": value - 0.2, "high": value + 0.2, "n": EACH}
                gain |= {"repaired": arms[standing] - arms["empty"], "regressed": 0, "noise_floor": 0.05}
            session.add(
                Round(
                    number=number, environment="desk", seed=number, trigger="schedule", phase="measured",
                    status="committed" if gain else "running", gain=gain, started_at=began,
                )
            )  # fmt: skip
            session.flush()
            session.add_all(
                _episode(number, arm, place, passed) for arm, passed in arms.items() for place in range(EACH)
            )
            session.add(
                LedgerEntry(
                    request_id=f"q{number}", attempt=1, purpose="act", model="m", simulated=False, input_tokens=1000,
                    cached_tokens=400, output_tokens=30, cost_usd=0.25 * number, outcome="ok", created_at=began,
                    round_number=number,
                )
            )  # fmt: skip
    return database


def _episode(number: int, arm: str, place: int, passed: int) -> Episode:
    return Episode(
        id=f"{number}-{arm}-{place}", environment="desk", task_id=f"desk/{place}", task_type="queue", query="full",
        split="train" if arm == "learn" else "held_out", arm=arm, round_number=number, reward=float(place < passed),
        grade="pass" if place < passed else "fail", turns=4, tool_calls=5, tool_errors=int(place < 2), messages=[],
        started_at=START + timedelta(days=number), ended_at=START + timedelta(days=number, minutes=1),
    )  # fmt: skip


def page_of(database: Database, period: Period = WHOLE, language: str = "en") -> str:
    with database.read() as session:
        return html_page(Translator(language), period_figures(session, period, now=START + timedelta(days=30)))


def rows_of(page: str) -> list[list[str]]:
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", page)]


def test_each_rate_stands_there_with_its_interval_and_count(database: Database) -> None:
    rows = rows_of(page_of(database))
    for number, (_, arms) in ROUNDS.items():
        for arm, passed in arms.items():
            low, high = wilson_by_hand(passed, EACH)
            said = f"{passed / EACH:.2f} ({low:.2f}–{high:.2f}, n = {EACH})"
            assert [str(number), *NAMES[arm], said] in rows
            low, high = wilson_by_hand(2, 100)
            errors = f"0.02 ({low:.2f}–{high:.2f}, n = 100)"
            assert [str(number), *NAMES[arm], errors] in rows


def test_splits_and_arms_have_names_in_every_language(database: Database) -> None:
    cells = {cell for row in rows_of(page_of(database, language="zh")) for cell in row}
    assert "训练" in cells
    assert not cells & {"train", "held_out", *NAMES}


def test_the_line_goes_through_what_each_round_left_standing_and_nothing_else(database: Database) -> None:
    (line, *_) = re.findall(r'<polyline points="([^"]*)"', page_of(database))
    heights = [float(point.split(",")[1]) for point in line.split()]
    standing = [arms[arm] / EACH for arm, arms in ROUNDS.values() if arm is not None]
    top = max(wilson_by_hand(arms[arm], EACH)[1] for arm, arms in ROUNDS.values() if arm is not None)
    assert len(heights) == len(standing) == 3
    # 180 high with an edge of 24: the highest end of an interval is drawn at 24, nothing at 156.
    assert heights == pytest.approx([156 - share / top * 132 for share in standing], abs=0.06)


def test_gains_and_money_are_those_of_the_period(database: Database) -> None:
    whole = page_of(database)
    assert "4 rounds; $2.5000 spent on 4 model calls." in whole
    assert ["3", "0.55 (0.35–0.75, n = 20)", "11", "0", "0.050"] in rows_of(whole)
    assert ["2026-03-04", "1", "1,000", "400", "30", "$0.7500"] in rows_of(whole)
    part = page_of(database, Period(date(2026, 3, 2), date(2026, 3, 3)))
    assert "2 rounds; $0.7500 spent on 2 model calls." in part
    assert {row[0] for row in rows_of(part)} == {"1", "2", "2026-03-02", "2026-03-03"}


def test_rule_changes_equal_a_count_of_the_events(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    fill(database, now=START)
    counts: dict[int, list[int]] = {}
    with database.read() as session:
        for event in session.exec(select(RuleEvent)):
            one = counts.setdefault(event.round_number or 0, [0, 0, 0, 0])
            one[0] += event.from_state is None
            one[2] += event.from_state not in (None, "active") and event.to_state == "active"
            one[3] += event.from_state != "archived" and event.to_state == "archived"
        known = {row.number for row in session.exec(select(Round))}
    rows = rows_of(page_of(database))
    changed = [number for number in known & counts.keys() if any(counts[number])]
    assert changed
    for number in changed:
        assert [str(number), *map(str, counts[number])] in rows
