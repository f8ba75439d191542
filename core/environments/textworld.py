"""TextWorld: generated text adventures with admissible commands (design section 2).

The world behind ``textworld``: cooking games of the package of that name (Cote et al. 2018, arXiv 1806.11532).
Which games there are is said in ``textworld_games``. The package is large and not everybody's, so nothing here
imports it before a game is played.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.environments.protocol import MOST_CHOICES, Action, StepResult, TaskSpec, ToolSpec
from core.environments.textworld_games import (
    LEVELS,
    PACKAGE,
    cache_folder,
    check_installed,
    game_file,
    load_games,
)
from core.errors import UserError
from core.text import clip

MAX_COMMANDS = 40
"""Commands after which a game is cut; half of the games can be won in 9, all in 29."""

_TOOL = ToolSpec(
    "act",
    "Give the game one command.",
    {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "For example: go north."}},
        "required": ["command"],
        "additionalProperties": False,
    },
)
_BACKGROUND = """You play a text adventure in a house. Each turn you give the game one command of these forms:
look; inventory; examine THING; go north, south, east or west; open THING; close THING;
take THING; take THING from PLACE; drop THING; put THING on PLACE; insert THING into PLACE;
cook FOOD with APPLIANCE; chop, slice or dice FOOD with THING; eat THING; drink THING; prepare meal.
Use the game's own names of things. A command that is not possible now fails and changes nothing."""
_SCORING = f"""Points earned, divided by all points of the game: 1 for a meal that is made as the recipe says and eaten.
A game can be lost by a mistake; what was earned before counts. It is cut after {MAX_COMMANDS} commands."""
_VERBS = (
    "prepare", "go", "open", "take", "cook", "chop", "slice", "dice", "eat", "drink", "drop", "put", "insert", "close",
    "examine", "inventory", "look",
)  # fmt: skip
"""From what moves a game on to what only looks; where there are too many choices, the last go first."""

_READ = "examine cookbook"


@dataclass
class _Episode:
    game: Any
    state: Any
    total: float = 0.0
    commands: int = 0
    done: bool = False


class TextWorld:
    """The environment; cheap to make. A task is one game, and games leave nothing to chance, whatever the seed."""

    name = "textworld"
    background = _BACKGROUND
    scoring = _SCORING
    tools: tuple[ToolSpec, ...] = (_TOOL,)
    task_types: tuple[str, ...] = tuple(level.name for level in LEVELS)

    def __init__(self, folder: Path | None = None) -> None:
        """Check that the package is there.

        Args:
            folder: where made games are kept; the user's cache if None.

        Raises:
            UserError: the package is not installed; says how to install it.
        """
        check_installed()
        self._folder = folder or cache_folder()
        self._episode: _Episode | None = None

    def tasks(self) -> Iterable[TaskSpec]:
        """Yield all tasks in order of time, without making their games; see Environment.tasks."""
        return (game.task for game in load_games().values())

    def reset(self, task: TaskSpec, seed: int) -> str:
        """Begin a task and describe the first room; the task's game is made when it is played for the first time.

        Raises:
            UserError: the task is not one of this world's.
            RunFailedError: its game cannot be made or kept.
        """
        game = load_games().get(task.id)
        if game is None:
            raise UserError("The environment textworld has no task {task}.", task=task.id)
        if self._episode is not None:
            self._episode.game.close()
            self._episode = None
        path = game_file(game, self._folder)
        with PACKAGE:
            played = _start(path, seed)
            self._episode = _Episode(played, played.reset())
        return _situation(self._episode.state.description, self._episode.state)

    def step(self, action: Action) -> StepResult:
        """Give the game a command; see Environment.step."""
        episode = self._episode
        if episode is None:
            return _failure("no game is open; one begins with a reset")
        if episode.done:
            return _failure("this game is over; nothing more can be done", done=True)
        command, problem = _command(action, episode.state)
        if problem:
            return _failure(problem)
        return _play(episode, command)

    def choices(self) -> tuple[Action, ...]:
        """Return the commands that the game admits now, in alphabetical order; see ChoosingEnvironment.

        At most MOST_CHOICES: where a game admits more, what only looks is left out first (reading the cookbook is
        not mere looking), then putting things down.
        """
        if self._episode is None or self._episode.done:
            return ()
        return tuple(Action(_TOOL.name, {"command": command}) for command in _narrowed(_admitted(self._episode.state)))


def _start(path: Path, seed: int) -> Any:
    import textworld
    from jericho import UnsupportedGameWarning

    # The interpreter knows no scores of generated games; TextWorld reads them from what the game prints.
    warnings.simplefilter("ignore", UnsupportedGameWarning)
    wanted = textworld.EnvInfos(
        description=True, inventory=True, admissible_commands=True, score=True, max_score=True, won=True, lost=True
    )
    game = textworld.start(str(path), wanted)
    game.seed(seed)
    return game


def _play(episode: _Episode, command: str) -> StepResult:
    with PACKAGE:
        episode.state, _, over = episode.game.step(command)
    episode.commands += 1
    cut = not over and episode.commands >= MAX_COMMANDS
    episode.done = over or cut
    # Against the total so far, not the last score: then the rewards add up to it without rounding errors.
    reward = episode.state.score / episode.state.max_score - episode.total
    episode.total += reward
    observation = _cleaned(episode.state.feedback) if over else _situation(episode.state.feedback, episode.state)
    if cut:
        observation += f"\nThe game is cut: {MAX_COMMANDS} commands were given."
    return StepResult(observation, reward=reward, done=episode.done)


def _command(action: Action, state: Any) -> tuple[str, str]:
    """Return the command as the game writes it, or '' and what is wrong with the call."""
    if action.tool != _TOOL.name:
        return "", f"there is no tool {_shown(action.tool)}; known tool: {_TOOL.name}"
    arguments = action.arguments
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get("command"), str):
        return "", f"{_TOOL.name} needs the argument command, a text"
    extra = [name for name in arguments if name != "command"]
    if extra:
        return "", f"{_TOOL.name} has no argument {_shown(extra[0])}; it has: command"
    admitted = {command.casefold(): command for command in _admitted(state)}
    command = admitted.get(" ".join(arguments["command"].split()).casefold())
    if command is None:
        some = ", ".join(_narrowed(list(admitted.values())))
        return "", f"the game does not admit {_shown(arguments['command'])} now; it admits: {some}"
    return command, ""


def _admitted(state: Any) -> list[str]:
    return list(state.admissible_commands)


def _narrowed(commands: list[str]) -> list[str]:
    return sorted(sorted(commands, key=_rank)[:MOST_CHOICES])


def _rank(command: str) -> tuple[int, str]:
    verb = command.split()[0]
    if command == _READ:
        return -1, command
    return _VERBS.index(verb) if verb in _VERBS else 0, command


def _situation(text: str, state: Any) -> str:
    """Say what the game said, and in a last line where the player is and what is in hand."""
    room = state.description.split("=-")[0].strip("-= \n")
    return f"{_cleaned(text)}\n{room}. {_cleaned(state.inventory)}"


def _cleaned(text: str) -> str:
    """Drop the game's prompt with its status line, its offer to start again, and blank lines."""
    said = re.split(r"^\s*>|Would you like to RESTART", text, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(line.strip() for line in said.splitlines() if line.strip())


def _failure(problem: str, *, done: bool = False) -> StepResult:
    return StepResult(f"error: {problem}", done=done, failed=True)


def _shown(value: object) -> str:
    return repr(clip(str(value), 60))
