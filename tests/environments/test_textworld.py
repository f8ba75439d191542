"""The TextWorld environment, with real games of the package."""

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.environments.protocol import MOST_CHOICES, Action, ChoosingEnvironment, StepResult, TaskSpec
from core.environments.registry import environment_factory
from core.environments.splits import check_splits
from core.environments.textworld import MAX_COMMANDS, TextWorld
from core.environments.textworld_games import INSTALL, LEVELS, cache_folder, game_file, load_games
from core.errors import RunFailedError, UserError

ROOT = Path(__file__).resolve().parents[2]
TASKS = list(TextWorld().tasks())


def _first(kind: str, split: str) -> TaskSpec:
    return next(task for task in TASKS if (task.type, task.split) == (kind, split))


LARGE = _first("nine_rooms", "held_out")
SMALL = _first("one_ingredient", "train")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two games; the small one is made after the large one."""
    made = tmp_path_factory.mktemp("games")
    for task in (LARGE, SMALL):
        game_file(load_games()[task.id], made)
    return made


def _opened(folder: Path, task: TaskSpec) -> TextWorld:
    environment = TextWorld(folder)
    environment.reset(task, seed=1)
    return environment


def _say(command: str) -> Action:
    return Action("act", {"command": command})


def _commands(environment: TextWorld) -> list[str]:
    return [action.arguments["command"] for action in environment.choices()]


def _walkthrough(folder: Path, task: TaskSpec) -> list[str]:
    """The winning commands that the package keeps with a game; it does not look whether a door is open already."""
    kept = json.loads(game_file(load_games()[task.id], folder).with_suffix(".json").read_text(encoding="utf-8"))
    commands = kept["metadata"]["walkthrough"]
    return [
        command for place, command in enumerate(commands) if command not in commands[:place] or "open" not in command
    ]


def _play(environment: TextWorld, task: TaskSpec, seed: int) -> list[object]:
    """Play at random among the choices to the end and return all that could be seen."""
    rng = random.Random(seed)
    seen: list[object] = [environment.reset(task, seed)]
    while choices := environment.choices():
        seen += [choices, environment.step(rng.choice(choices))]
    return seen


def _rewards(seen: list[object]) -> list[float]:
    return [each.reward for each in seen if isinstance(each, StepResult)]


def test_it_is_an_environment_that_can_list_its_choices():
    environment: ChoosingEnvironment = environment_factory("textworld")()
    assert environment.task_types == tuple(level.name for level in LEVELS)
    (tool,) = environment.tools
    assert (tool.name, tool.parameters["required"]) == ("act", ["command"])
    assert environment.choices() == ()
    assert environment.step(_say("look")).failed


def test_listing_tasks_makes_no_game_and_is_always_the_same(tmp_path):
    environment = TextWorld(tmp_path / "games")
    assert list(environment.tasks()) == TASKS
    assert not (tmp_path / "games").exists()
    assert [task.created_at for task in TASKS] == sorted({task.created_at for task in TASKS})


def test_held_out_games_are_later_than_training_and_one_level_has_no_training():
    check_splits(TASKS)
    last = max(task.created_at for task in TASKS if task.split == "train")
    held_out = [task for task in TASKS if task.split == "held_out"]
    assert all(task.created_at > last for task in held_out)
    assert len(held_out) >= 40
    trained = {task.type for task in TASKS if task.split == "train"}
    assert set(TextWorld.task_types) - trained == {"nine_rooms"}
    seeds = {load_games()[task.id].seed for task in TASKS}
    assert len(seeds) == len(TASKS)


def test_a_task_tells_the_objective_and_nothing_of_its_level():
    for task in TASKS:
        assert "cook" in task.query
        assert not any(level.name in task.id + task.query for level in LEVELS)


@pytest.mark.parametrize("task", [SMALL, LARGE], ids=["small", "large"])
def test_the_way_through_wins_the_whole_score_and_is_among_the_choices(folder, task):
    environment = _opened(folder, task)
    results = []
    for command in _walkthrough(folder, task):
        assert command == "inventory" or command in _commands(environment)
        results.append(environment.step(_say(command)))
    assert not any(result.failed for result in results)
    assert [result.done for result in results] == [False] * (len(results) - 1) + [True]
    assert sum(result.reward for result in results) == 1.0
    assert environment.choices() == ()
    after = environment.step(_say("look"))
    assert (after.failed, after.done, after.reward) == (True, True, 0.0)


@pytest.mark.parametrize("task", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(2))
def test_every_choice_is_accepted_and_rewards_stay_in_range(folder, task, seed):
    seen = _play(TextWorld(folder), task, seed)
    results = [each for each in seen if isinstance(each, StepResult)]
    assert not any(result.failed for result in results)
    assert [result.done for result in results] == [False] * (len(results) - 1) + [True]
    assert all(reward >= 0 for reward in _rewards(seen))
    assert 0 <= sum(_rewards(seen)) <= 1
    assert len(results) <= MAX_COMMANDS


def test_the_same_commands_give_the_same_episode_also_side_by_side(folder):
    one, other = _opened(folder, SMALL), TextWorld(folder)
    other.reset(SMALL, seed=2)
    rng = random.Random(5)
    while choices := one.choices():
        assert other.choices() == choices
        action = rng.choice(choices)
        assert one.step(action) == other.step(action)
    assert _play(one, SMALL, 3) == _play(TextWorld(folder), SMALL, 3)


def test_threads_may_play_at_once(folder):
    with ThreadPoolExecutor(max_workers=4) as pool:
        played = list(pool.map(lambda _: _play(TextWorld(folder), SMALL, 4), range(4)))
    assert played == [_play(TextWorld(folder), SMALL, 4)] * 4


def test_what_only_looks_is_left_out_where_there_is_too_much_to_choose_from(folder):
    environment = _opened(folder, SMALL)
    for command in _walkthrough(folder, SMALL)[:3]:  # looked, read, taken: the ingredient is in hand
        environment.step(_say(command))
    chosen = _commands(environment)
    assert len(chosen) == MOST_CHOICES
    assert chosen == sorted(set(chosen))
    assert "examine cookbook" in chosen
    assert not {"look", "inventory"} & set(chosen)
    assert not environment.step(_say("look")).failed  # admitted all the same


BAD = [
    (Action("look", {}), "known tool: act"),
    (Action("act", {}), "needs the argument command"),
    (Action("act", "look"), "needs the argument command"),
    (Action("act", {"command": 3}), "needs the argument command"),
    (Action("act", {"command": "look", "twice": True}), "has no argument 'twice'"),
    (_say(""), "it admits: "),
    (_say("fly to the moon"), "it admits: "),
    (_say("eat meal"), "it admits: "),
    (_say("restart"), "it admits: "),
    (_say("tw-extra-infos score"), "it admits: "),
]


@pytest.mark.parametrize(("action", "said"), BAD)
def test_a_bad_command_fails_says_what_is_known_and_changes_nothing(folder, action, said):
    environment = _opened(folder, SMALL)
    before = environment.choices()
    failed = environment.step(action)
    assert (failed.failed, failed.reward, failed.done) == (True, 0.0, False)
    assert failed.observation.startswith("error: ")
    assert said in failed.observation
    assert environment.choices() == before
    assert sum(environment.step(_say(command)).reward for command in _walkthrough(folder, SMALL)) == 1.0


def test_case_and_blanks_of_a_command_do_not_matter(folder):
    assert not _opened(folder, SMALL).step(_say("  Examine   COOKBOOK ")).failed


def test_a_burned_ingredient_loses_the_game_and_keeps_what_was_earned(folder):
    environment = _opened(folder, SMALL)
    way = _walkthrough(folder, SMALL)
    cooked = next(place for place, command in enumerate(way) if command.startswith("cook "))
    earned = sum(environment.step(_say(command)).reward for command in way[: cooked + 1])
    burned = environment.step(_say(way[cooked]))
    assert (burned.reward, burned.done, burned.failed) == (0.0, True, False)
    assert "You lost" in burned.observation
    assert "RESTART" not in burned.observation
    assert 0 < earned < 1
    assert environment.choices() == ()


def test_a_game_is_cut_at_its_limit(folder):
    environment = _opened(folder, SMALL)
    results = [environment.step(_say("look")) for _ in range(MAX_COMMANDS)]
    assert [result.done for result in results] == [False] * (MAX_COMMANDS - 1) + [True]
    assert f"{MAX_COMMANDS} commands" in results[-1].observation
    assert environment.step(_say("look")).failed


def test_each_text_ends_with_place_and_hands_and_hides_the_game_s_prompt(folder):
    environment = TextWorld(folder)
    texts = [environment.reset(SMALL, seed=1)]
    texts += [environment.step(_say(command)).observation for command in _walkthrough(folder, SMALL)[:-1]]
    for text in texts:
        assert text.splitlines()[-1].startswith("Kitchen. You are carrying")
        assert not any(line.startswith(">") or "$$" in line for line in text.splitlines())
    assert "Directions" not in texts[0]


_OTHER_PROCESS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from core.environments.textworld_games import game_file, load_games
print(game_file(load_games()[sys.argv[1]], Path(sys.argv[2])))
"""


def test_two_processes_may_make_a_game_at_once_and_it_does_not_depend_on_those_made_before(folder, tmp_path):
    shared = tmp_path / "shared"
    command = [sys.executable, "-c", _OTHER_PROCESS, SMALL.id, str(shared)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    finished = [(process.communicate(timeout=300), process.returncode) for process in running]
    assert [code for _, code in finished] == [0, 0], finished
    (path,) = {printed.strip() for (printed, _), _ in finished}
    assert [each.name for each in shared.iterdir()] == [Path(path).parent.name]  # whole, and nothing left over
    for seed in range(2):
        assert _play(TextWorld(shared), SMALL, seed) == _play(TextWorld(folder), SMALL, seed)


def test_a_made_game_is_kept(folder):
    path = game_file(load_games()[SMALL.id], folder)
    before = path.stat().st_mtime_ns
    _opened(folder, SMALL)
    assert path.stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunFailedError, match=r"cannot be kept in .*file.*XDG_CACHE_HOME"):
        TextWorld(tmp_path / "file").reset(SMALL, seed=1)


def test_games_are_kept_in_the_cache_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "rulewright" / "textworld"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache_folder() == tmp_path / "elsewhere" / "rulewright" / "textworld"


def test_a_task_of_another_world_is_refused(folder):
    other = TaskSpec("inc-0001", "cutting", "?", SMALL.created_at, "train")
    with pytest.raises(UserError, match="no task inc-0001"):
        TextWorld(folder).reset(other, seed=1)


def test_without_the_package_it_says_how_to_install_the_version_that_is_tested(monkeypatch):
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(UserError, match="needs the package textworld") as caught:
        environment_factory("textworld")()
    assert str(caught.value).endswith(INSTALL)
    pinned = (ROOT / ".ci/requirements-test.txt").read_text(encoding="utf-8")
    assert INSTALL.removeprefix("pip install ") in pinned.split()
