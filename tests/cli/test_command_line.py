"""The command line as scripts and people meet it: exit codes, streams, and files on disk."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlmodel import SQLModel

from core.cli.main import main
from core.clock import utc_now
from core.db import open_database
from core.tables import Episode, Lease, LedgerEntry, Reflection, Round, Rule, RuleUse
from core.tables.tallies import TALLIES

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, in English, away from any .env; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("DATABASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def recorded_line(name: str, reward: float) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": f"Please do {name}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "Done."},
    ]
    return {"id": name, "task_id": f"task-{name}", "reward": reward, "messages": messages}


def write_lines(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_help_teaches() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "core", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for word in ("run", "import", "report", "plan", "demo-reset", "For example:", "Exit codes"):
        assert word in shown.stdout


def test_help_imports_nothing_heavy() -> None:
    """What makes help slow; wall time on a shared machine would only be noise."""
    code = (
        "import sys\nfrom core.cli.main import main\n"
        "try:\n    main(['run', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'sqlalchemy', 'numpy', 'openai', 'babel', 'torch'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["run", "import", "report", "plan", "demo-reset"])
def test_each_command_explains_itself_with_an_example(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"python -m core {command}" in out.split("For example:")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("unknown",),
        ("run", "--rounds", "0"),
        ("run", "--approve", "maybe"),
        ("run", "--seed", "-1"),
        ("import",),
        ("import", "/no/such/file.jsonl"),
        ("report", "--database", "nonsense"),
        ("plan", "tasks"),
        ("plan", "tasks=many"),
        ("plan", "heads=3"),
    ],
)
def test_bad_usage_and_bad_input_exit_with_2(run: Run, url: str, arguments: tuple[str, ...]) -> None:
    known = [*arguments, "--database", url] if arguments[0] == "import" else list(arguments)
    code, out, err = run(*known)
    assert code == 2
    assert err.strip()
    assert "Traceback" not in out + err


def test_an_unusable_setting_is_named(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEWRIGHT_LOOP__LEASE_TTL_S", "-5")
    code, _, err = run("report", "--database", url)
    assert code == 2
    assert "loop.lease_ttl_s" in err


def test_plan_prints_the_reference_table(run: Run) -> None:
    code, out, _ = run("plan")
    assert code == 0
    for figure in ("58.2", "1.8", "6.5", "3.6", "70.1", "28.0", "98.1", "3,360.0", "174.6"):
        assert figure in out


def test_plan_takes_other_figures(run: Run) -> None:
    code, out, _ = run("plan", "iterations=6", "gate_tasks=10", "--json")
    plans = json.loads(out)
    assert code == 0
    assert plans["with_gate"]["workload"]["gate_tasks"] == 10
    assert plans["with_gate"]["workload"]["rollouts_per_task"] == 3
    lines = {line["name"]: line["cost_usd"] for line in plans["reference"]["lines"]}
    assert lines["rollouts"] == pytest.approx(2 * 58.212)


def test_report_as_json_is_json_alone(run: Run, url: str) -> None:
    code, out, _ = run("report", "--json", "--database", url)
    assert code == 0
    assert json.loads(out)["rules"] == {"candidate": 0, "active": 0, "probation": 0, "archived": 0}


def test_report_takes_the_database_from_the_environment(
    run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("import", write_lines(tmp_path / "a.jsonl", json.dumps(recorded_line("a", 1.0))), "--database", url)
    monkeypatch.setenv("DATABASE_URL", url)
    _, out, _ = run("report", "--json")
    assert json.loads(out)["episodes"] == 1


def test_report_as_text_says_what_is_known_and_what_is_not(run: Run, url: str, tmp_path: Path) -> None:
    lines = [json.dumps(recorded_line(str(index), float(index < 6))) for index in range(12)]
    run("import", write_lines(tmp_path / "a.jsonl", *lines), "--database", url)
    code, out, _ = run("report", "--database", url)
    assert code == 0
    assert "0.50 (" in out
    assert "n = 12" in out
    assert "not measured yet" in out


def test_import_says_what_came_in(run: Run, url: str, tmp_path: Path) -> None:
    lines = [json.dumps(recorded_line(str(index), float(index < 3))) for index in range(12)]
    path = tmp_path / "shop-2026.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))

    code, out, err = run("import", str(path), "--database", url)

    assert (code, err) == (0, "")
    assert "shop: 12 episodes added, 0 already there, 12 tasks." in out
    assert "success rate 0.250" in out
    assert "24 turns; 12 tool calls, 0 failed" in out
    code, out, _ = run("import", str(path), "--database", url)
    assert code == 0
    assert "0 episodes added, 12 already there" in out


def test_import_names_each_bad_line_and_keeps_the_good_ones(run: Run, url: str, tmp_path: Path) -> None:
    bad_reward = {**recorded_line("b", 1.0), "reward": "high"}
    path = write_lines(tmp_path / "a.jsonl", json.dumps(recorded_line("a", 1.0)), json.dumps(bad_reward), "{not json")

    code, out, err = run("import", path, "--database", url, "--environment", "desk")

    assert code == 2
    assert "desk: 1 episodes added" in out
    assert "Line 2" in err
    assert "reward" in err
    assert "Line 3" in err


def fill(url: str, *, simulated: bool = True, arm: str = "learn", lease_age_s: float | None = None) -> None:
    now = utc_now()
    with open_database(url).write() as session:
        session.add(Round(number=1, environment="incidents", seed=1, trigger="test", started_at=now))
        session.add(Rule(id="r", name="r", condition="c", action="a", origin="human", created_at=now))
        session.flush()
        session.add(Reflection(id="f", round_number=1, batch=0, status="done", created_at=now))
        session.add(
            Episode(
                id="e", environment="incidents", task_id="t", task_type="disk", query="q", split="train",
                arm=arm, round_number=1, reward=1, grade="pass", turns=1, tool_calls=0, tool_errors=0,
                messages=[], started_at=now, ended_at=now,
            )
        )  # fmt: skip
        session.flush()
        session.add(RuleUse(episode_id="e", rule_id="r", rule_version=1, disposition="served", score=1))
        session.add(
            LedgerEntry(
                request_id="q",
                attempt=1,
                purpose="act",
                model="m",
                simulated=simulated,
                outcome="ok",
                created_at=now,
            )
        )
        if lease_age_s is not None:
            session.add(Lease(name="loop", owner="somebody", heartbeat_at=now - timedelta(seconds=lease_age_s)))


def rows(url: str, *, tallies: bool = False) -> int:
    counted = {tally.__tablename__ for tally in TALLIES}
    with open_database(url).read() as session:
        tables = [table for table in SQLModel.metadata.sorted_tables if (table.name in counted) == tallies]
        return sum(session.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)


def test_demo_reset_empties_every_table(run: Run, url: str) -> None:
    fill(url, lease_age_s=3600)
    code, out, _ = run("demo-reset", "--yes", "--database", url)
    assert code == 0
    assert "7 rows" in out
    assert rows(url) + rows(url, tallies=True) == 0


@pytest.mark.parametrize("precious", [{"simulated": False}, {"arm": "external"}])
def test_demo_reset_spares_what_is_not_a_demo_unless_forced(run: Run, url: str, precious: dict[str, Any]) -> None:
    fill(url, **precious)
    code, _, err = run("demo-reset", "--yes", "--database", url)
    assert code == 2
    assert "--force" in err
    assert rows(url) == 6

    code, _, _ = run("demo-reset", "--yes", "--force", "--database", url)
    assert code == 0
    assert rows(url) == 0


def test_demo_reset_waits_for_nobody_while_the_loop_runs(run: Run, url: str) -> None:
    fill(url, lease_age_s=1)
    code, _, err = run("demo-reset", "--yes", "--force", "--database", url)
    assert code == 2
    assert "somebody" in err
    assert rows(url) == 7


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 1, 6), ("", 1, 6), ("y\n", 0, 0)])
def test_demo_reset_asks_first(url: str, answer: str, code: int, left: int) -> None:
    fill(url)
    asked = subprocess.run(
        [sys.executable, "-m", "core", "demo-reset", "--database", url],
        cwd=ROOT, input=answer, capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert asked.returncode == code
    assert "Traceback" not in asked.stderr
    assert rows(url) == left
