"""Where nobody watches a terminal, progress is plain lines that a log can keep."""

import pytest

from core.cli.progress import counted_lines, shown_progress
from core.learning.bench import ProgressEvent


def test_plain_lines_name_a_phase_when_it_begins_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress(2) as progress:
        for done in range(4):
            progress(ProgressEvent(1, "rollouts", done, 3))
        progress(ProgressEvent(1, "reflection", 0, 0))
        progress(ProgressEvent(2, "rollouts", 0, 3))

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "round 1: rollouts 0/3",
        "round 1: rollouts 3/3",
        "round 1: reflection",
        "round 2: rollouts 0/3",
    ]


def test_bars_are_drawn_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown_progress(2) as progress:
        progress(ProgressEvent(1, "rollouts", 2, 3))
        progress(ProgressEvent(2, "rollouts", 1, 3))

    drawn = capsys.readouterr().err
    assert "2: rollouts" in drawn
    assert "1/3" in drawn


def test_counting_lines_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with counted_lines("Lines read") as count:
        count(200)
    assert capsys.readouterr().err == ""
