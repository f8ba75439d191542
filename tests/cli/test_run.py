"""``run`` with the real loop and the simulated model, as small as it gets."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.db import open_database
from core.tables import Lease, SettingOverride

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "LC_ALL": "C.UTF-8",
    "RULEWRIGHT_ROUND__TASKS": "4",
    "RULEWRIGHT_AGENT__ROLLOUTS_PER_TASK": "1",
    "RULEWRIGHT_GATE__TASKS": "10",
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    return {**kept, **SMALL}


def core(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "core", *arguments],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def report(url: str) -> dict[str, object]:
    figures: dict[str, object] = json.loads(core("report", "--json", "--database", url).stdout)
    return figures


def test_a_round_ends_with_scores_gain_and_spend(url: str) -> None:
    done = core("run", "--rounds", "1", "--seed", "1", "--approve", "auto", "--random-arm", "--database", url)

    assert done.returncode == 0, done.stderr
    assert "round 1: " in done.stderr
    for expected in (
        "Held-out success rate:",
        "Gain over the empty library (round 1)",
        "random rules",
        "Spend:",
    ):
        assert expected in done.stdout
    figures = report(url)
    assert figures["rounds"] == 1
    assert figures["gain"] is not None


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(url: str) -> None:
    started = subprocess.Popen(
        # A shell that starts the tests in the background has them ignore the signal, and children inherit that.
        ["env", "--default-signal=INT", sys.executable,
         "-m", "core", "run", "--rounds", "1", "--seed", "1", "--database", url],
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stderr is not None
    first = started.stderr.readline()
    started.send_signal(signal.SIGINT)
    _, rest = started.communicate(timeout=120)

    assert "round 1" in first
    assert started.returncode == 1
    assert "resumes" in rest
    assert "Traceback" not in rest
    assert core("run", "--rounds", "1", "--seed", "1", "--database", url).returncode == 0
    assert report(url)["rounds"] == 1


def test_a_loop_that_another_process_runs_is_named_not_doubled(url: str) -> None:
    with open_database(url).write() as session:
        session.add(Lease(name="loop", owner="other", heartbeat_at=datetime.now(UTC) + timedelta(minutes=5)))
    refused = core("run", "--database", url)
    assert refused.returncode == 2
    assert "Another process runs the loop" in refused.stderr


def test_an_unknown_environment_is_bad_input(url: str) -> None:
    refused = core("run", "--environment", "nowhere", "--database", url)
    assert refused.returncode == 2
    assert "nowhere" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_stored_setting_that_is_not_usable_is_explained(url: str) -> None:
    with open_database(url).write() as session:
        session.add(SettingOverride(name="round.tasks", value=-1, changed_by="me", changed_at=datetime.now(UTC)))
    refused = core("run", "--database", url)
    assert refused.returncode == 2
    assert "tasks" in refused.stderr
