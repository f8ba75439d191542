"""A small real model behind the real client: one tiny round on incidents has to finish by itself.

It need not learn anything. What a simulated model never does (prose around JSON, tools that do not exist,
answers that run on) happens here by itself.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from core.db import open_database
from core.tables import Episode, LedgerEntry, Round
from tests.conftest import ROOT
from tests.support.small_model import serving

pytestmark = [pytest.mark.real_model, pytest.mark.slow]

_ROUND_S = 3600
_TINY = {
    "RULEWRIGHT_MODEL__ACTION_MODE": "json",
    "RULEWRIGHT_MODEL__TIMEOUT_S": "300",
    "RULEWRIGHT_MODEL__CONCURRENCY": "1",
    "RULEWRIGHT_MODEL__MAX_OUTPUT_TOKENS": "400",
    "RULEWRIGHT_AGENT__MAX_TURNS": "5",
    "RULEWRIGHT_AGENT__ROLLOUTS_PER_TASK": "1",
    "RULEWRIGHT_ROUND__TASKS": "4",
    "RULEWRIGHT_GATE__TASKS": "4",
}


@pytest.fixture
def served(tmp_path: Path, outer_environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Address and name of a small real model, served for this test."""
    if not outer_environment.get("RULEWRIGHT_REAL_MODEL"):
        pytest.skip("takes many minutes on a small machine; set RULEWRIGHT_REAL_MODEL=1 to run it")
    with serving("0.5b", outer_environment, tmp_path / "server.log") as address_and_name:
        yield address_and_name


def test_one_tiny_round_on_a_real_small_model_finishes_by_itself(served: tuple[str, str], tmp_path: Path) -> None:
    address, model = served
    database_url = f"sqlite:///{tmp_path}/round.db"
    done = subprocess.run(
        [sys.executable, "-m", "core", "run", "--rounds", "1", "--seed", "1", "--database", database_url, "--verbose"],
        cwd=ROOT,
        env={**os.environ, **_TINY, **_every_purpose(model), "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "local"},
        capture_output=True,
        text=True,
        timeout=_ROUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]

    database = open_database(database_url)
    with database.read() as session:
        (row,) = session.exec(select(Round)).all()
        episodes = session.exec(select(Episode)).all()
        models = {entry.model for entry in session.exec(select(LedgerEntry))}
    database.close()
    assert row.status in {"committed", "rolled_back", "untested"}, row.error
    assert row.ended_at is not None
    assert models == {model}
    assert len([episode for episode in episodes if episode.arm == "learn"]) == 4


def _every_purpose(model: str) -> dict[str, str]:
    return {f"RULEWRIGHT_MODEL__{purpose}": model for purpose in ("ACT", "DIGEST", "REFLECT", "JUDGE")}
