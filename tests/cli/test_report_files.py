"""Reports as files: one self-contained page for a period, and a table for spreadsheets."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.cli.main import main
from core.db import open_database
from core.tables import LedgerEntry, Rule
from core.views.health import health_rows
from core.views.report import report as report_figures
from tests.support.sample_data import fill

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
"""The sample's eight rounds are 55 minutes apart: all of them begin on 10 March."""

Report = Callable[..., tuple[int, str]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    fill(database, now=NOW)
    database.close()
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def report(url: str, capsys: pytest.CaptureFixture[str]) -> Report:
    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["report", "--database", url, *arguments])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    return call


def test_the_page_needs_nothing_else_and_has_the_figures(report: Report, url: str, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    code, said = report("--html", str(target))
    assert (code, str(target) in said) == (0, True)
    page = target.read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|src=|url\(|@import|https?://", page)
    database = open_database(url)
    with database.read() as session:
        shown = [row for row in health_rows(session) if row.metric == "success_rate" and row.round is not None]
    for row in shown:
        assert f"{row.value:.2f} ({row.low:.2f}–{row.high:.2f}, n = {row.n})" in page
    assert page.count("<svg") == 4
    assert "8 rounds;" in page


def test_a_period_holds_its_own_rounds_alone(report: Report, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report("--html", str(target), "--since", "2026-03-11", "--until", "2026-03-12")
    page = target.read_text(encoding="utf-8")
    assert "2026-03-11 – 2026-03-12" in page
    assert "0 rounds; $0.0000 spent on 0 model calls." in page
    report("--html", str(target), "--since", "2026-03-10")
    assert "8 rounds;" in target.read_text(encoding="utf-8")


def test_the_table_has_a_row_for_each_metric_of_each_round(report: Report, url: str, tmp_path: Path) -> None:
    target = tmp_path / "health.csv"
    assert report("--csv", str(target))[0] == 0
    with target.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    database = open_database(url)
    with database.read() as session:
        expected = [row for row in health_rows(session) if row.round is not None]
    assert [(row["metric"], float(row["value"]), int(row["n"])) for row in rows] == [
        (row.metric, row.value, row.n) for row in expected
    ]


def test_the_table_of_spend_adds_up_and_holds_no_formula(report: Report, url: str, tmp_path: Path) -> None:
    database = open_database(url)
    with database.write() as session:
        session.add(
            LedgerEntry(
                request_id="q", attempt=1, purpose="act", model="m", agent="=HYPERLINK(1)", simulated=False,
                cost_usd=0.5, outcome="ok", created_at=NOW,
            )
        )  # fmt: skip
    with database.read() as session:
        expected = report_figures(session, now=NOW)["spend"]
    target = tmp_path / "spend.csv"
    assert report("--spend-csv", str(target))[0] == 0
    with target.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    assert sum(int(row["calls"]) for row in rows) == expected["calls"]
    assert sum(float(row["cost_usd"]) for row in rows) == pytest.approx(expected["total_usd"])
    assert {row["agent"] for row in rows} == {"'=HYPERLINK(1)", *(set(expected["by_agent"]) - {"=HYPERLINK(1)"})}
    report("--spend-csv", str(target), "--since", "2026-03-12")
    assert len(target.read_text(encoding="utf-8").splitlines()) == 1


def test_a_wrong_period_or_place_is_said_plainly(report: Report, tmp_path: Path) -> None:
    code, said = report("--html", str(tmp_path / "x.html"), "--since", "2026-03-12", "--until", "2026-03-11")
    assert (code, "before the first" in said) == (2, True)
    code, said = report("--csv", str(tmp_path / "nowhere" / "x.csv"))
    assert (code, "cannot be written" in said) == (2, True)


def test_words_of_models_cannot_become_markup(report: Report, url: str, tmp_path: Path) -> None:
    database = open_database(url)
    with database.write() as session:
        rule = session.get_one(Rule, "rule_0000000000000002")
        rule.name = "<script>alert(1)</script>"
        session.add(rule)
    target = tmp_path / "report.html"
    report("--html", str(target))
    assert "<script" not in target.read_text(encoding="utf-8")
