"""Environments by name, and a person's own."""

import sys

import pytest

from core.environments.incidents import Incidents
from core.environments.protocol import Action
from core.environments.registry import environment_factory
from core.errors import UserError

GOOD = """
from datetime import UTC, datetime
from core.environments.protocol import StepResult, TaskSpec, ToolSpec


class Coin:
    name = "coin"
    background = "A coin lies under one of two cups."
    scoring = "1 for the right cup."
    tools = (ToolSpec("lift", "Lift a cup."),)
    task_types = ("cups",)

    def tasks(self):
        yield TaskSpec("c1", "cups", "Where is it?", datetime(2026, 1, 1, tzinfo=UTC), "train")
        yield TaskSpec("c2", "cups", "Where is it?", datetime(2026, 1, 2, tzinfo=UTC), "held_out")

    def reset(self, task, seed):
        return ""

    def step(self, action):
        return StepResult("There it is.", reward=1.0, done=True)
"""


@pytest.fixture
def load(tmp_path, monkeypatch, request):
    """Write a module into a working directory and load its class Coin."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"world_{abs(hash(request.node.name))}"
    monkeypatch.delitem(sys.modules, name, raising=False)

    def run(text: str, attribute: str = "Coin"):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return environment_factory(f"{name}:{attribute}")

    return run


def test_the_bundled_world_is_found_by_name():
    assert environment_factory("incidents") is Incidents


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match="Known: incidents, incidents_lettered, textworld, or your own as module:Class"):
        environment_factory("accidents")


def test_recorded_episodes_cannot_be_rolled_out():
    with pytest.raises(UserError, match="not rolled out"):
        environment_factory("recorded:airline")


def test_a_class_in_the_working_directory_is_loaded(load):
    factory = load(GOOD)
    environment = factory()
    assert environment is not factory()
    assert [task.id for task in environment.tasks()] == ["c1", "c2"]
    assert environment.step(Action("lift")).done


def test_the_bundled_world_passes_the_same_checks():
    assert environment_factory("core.environments.incidents:Incidents") is Incidents


BROKEN = [
    ('    background = "A coin lies under one of two cups."\n', "", "background must be a text"),
    ('scoring = "1 for the right cup."', "scoring = 1", "scoring must be a text"),
    ('name = "coin"', 'name = ""', "name must be a text"),
    ('(ToolSpec("lift", "Lift a cup."),)', '("lift",)', "tools must be a tuple"),
    ('task_types = ("cups",)', 'task_types = "cups"', "task_types must be a tuple"),
    ("def step(self, action)", "def stepp(self, action)", r"needs a method step\(action\)"),
    ("def reset(self, task, seed)", "def reset(self, task)", r"needs a method reset\(task, seed\)"),
    ('task_types = ("cups",)', 'task_types = ("dice",)', "c1 has type cups"),
    ('tzinfo=UTC), "train"', '), "train"', "created_at of task c1 must be in UTC"),
    ('"held_out")', '"test")', "c2 has split test"),
    ('"held_out")', '"train"); yield 3', "must yield TaskSpec, not int"),
    ("datetime(2026, 1, 2, tzinfo=UTC)", "datetime(2025, 1, 2, tzinfo=UTC)", "in order of created_at"),
    ('"c2", "cups"', '"c1", "cups"', "c1 occurs twice"),
    ("datetime(2026, 1, 2, tzinfo=UTC)", "datetime(2026, 1, 1, tzinfo=UTC)", "c2 overlaps with training"),
    (
        "    def tasks(self):",
        "    def __init__(self, size):\n        pass\n\n    def tasks(self):",
        "without arguments",
    ),
    ("class Coin:", "class Dice:", "no class Coin; it has: Dice"),
    ("class Coin:", "class Coin", "cannot be imported"),
    ("from datetime import", "from no_such_module import", "no_such_module"),
]


@pytest.mark.parametrize(("found", "instead", "message"), BROKEN)
def test_what_is_missing_or_wrong_is_named(load, found, instead, message):
    assert found in GOOD
    with pytest.raises(UserError, match=message):
        load(GOOD.replace(found, instead))


def test_all_problems_are_named_at_once(load):
    with pytest.raises(UserError, match=r"name must be.*tools must be.*method tasks\(\).*method step"):
        load("class Coin:\n    pass\n")


@pytest.mark.parametrize("name", [":Coin", "world:"])
def test_half_a_name_is_refused(name):
    with pytest.raises(UserError, match="module:Class"):
        environment_factory(name)


def test_a_module_that_does_not_exist_is_named():
    with pytest.raises(UserError, match="no_such_world"):
        environment_factory("no_such_world:World")
