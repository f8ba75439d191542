"""What the README tells people to type works as it stands there."""

import re
import shlex
from pathlib import Path

import pytest
from sqlmodel import col, select

from core.cli.main import main
from core.db import open_database
from core.environments.recorded import read_recorded
from core.environments.registry import environment_factory
from core.learning.service import run_rounds
from core.settings import Settings, load_settings
from core.tables import Episode, Round

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORLD = ROOT / "tests" / "data" / "my_world.py"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every command line of ours, from code blocks and from running text."""
    found = re.findall(r"^python -m core [^\n#]+|`python -m core [^`]+`", README, flags=re.MULTILINE)
    return sorted({each.strip("` ") for each in found})


def given_name() -> str:
    """The name under which the README has people run their own environment."""
    return re.findall(r"RULEWRIGHT_ENVIRONMENT__NAME=(my_world:\w+)", README)[0]


def test_the_environment_in_the_readme_is_the_tested_one() -> None:
    assert blocks("python") == [WORLD.read_text(encoding="utf-8")]


def test_the_environment_of_the_readme_learns_in_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(WORLD.parent))
    name = given_name()
    assert environment_factory(name)().name == "help_desk"
    settings = load_settings(
        environment={"name": name}, round={"tasks": 6}, agent={"rollouts_per_task": 2}, lifecycle={"approval": "auto"}
    )
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    run_rounds(settings, database, rounds=1)
    with database.read() as session:
        (row,) = session.exec(select(Round)).all()
        learned = session.exec(select(Episode).where(col(Episode.arm) == "learn")).all()
    database.close()
    assert (row.environment, row.phase) == ("help_desk", "finished")
    assert row.status in ("committed", "rolled_back")  # enough held-out tasks for a verdict
    assert len(learned) == 12


def test_the_recorded_line_of_the_readme_can_be_imported(tmp_path: Path) -> None:
    (line,) = blocks("json")
    (tmp_path / "mine.jsonl").write_text(line, encoding="utf-8")
    read = read_recorded(tmp_path / "mine.jsonl")
    assert ([each.id for each in read.episodes], read.problems) == (["e1"], [])


def test_the_message_the_readme_quotes_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('\n\n{"id": "e1", "task_id": "t1", "messages": []}\n', encoding="utf-8")
    (problem,) = read_recorded(tmp_path / "mine.jsonl").problems
    assert f"`{problem}`" in README


def test_all_commands_are_there() -> None:
    named = {shlex.split(each)[3] for each in commands()}
    assert named == {"run", "import", "report", "plan", "check-positions", "demo-reset"}


@pytest.mark.parametrize("command", commands())
def test_each_command_of_the_readme_is_understood(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` at the end: options and values before it are checked, then the help is shown and nothing done."""
    with pytest.raises(SystemExit) as stopped:
        main([*shlex.split(command)[3:], "--help"])
    assert stopped.value.code == 0, capsys.readouterr().err


def _exists(name: str) -> bool:
    group, _, field = name.lower().partition("__")
    annotation = Settings.model_fields[group].annotation if group in Settings.model_fields else None
    return field in getattr(annotation, "model_fields", {})


@pytest.mark.parametrize("file", ["README.md", ".env.example"])
def test_each_setting_that_is_named_exists(file: str) -> None:
    names = re.findall(r"RULEWRIGHT_([A-Z_]+__[A-Z_]+)", (ROOT / file).read_text(encoding="utf-8"))
    named = [name for name in names if name != "GROUP__NAME"]
    assert named
    assert [name for name in named if not _exists(name)] == []


def test_each_file_the_readme_names_is_there() -> None:
    named = re.findall(r"\]\((data/[^)]+)\)|`((?:core|tests|data)/[\w./-]+\.(?:py|jsonl))`", README)
    paths = {path for pair in named for path in pair if path} | {"tests/data/library-desk.jsonl"}
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert (ROOT / "data/readme/overview.png").stat().st_size <= 300_000
