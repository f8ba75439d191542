"""Which cooking games there are, and their files (design section 2, TextWorld).

Each task is one generated house of the TextWorld package: a cookbook tells the recipe, and the meal has to be
cooked and eaten. Levels differ in rooms, ingredients and what has to be done to them. Held-out games come after
all training games, draw foods and ways to prepare them that no training game has, and one level is held out as
a whole.

Task lists generate nothing. A game's file is made when it is first played, and kept.
"""

import importlib
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.environments.protocol import Split, TaskSpec
from core.errors import RunFailedError, UserError
from core.ids import derive_seed, stable_id
from core.text import clip

OBJECTIVE = (
    "You are hungry! Let's cook a delicious meal. Check the cookbook in the kitchen for the recipe. "
    "Once done, enjoy your meal!"
)
"""The objective of every cooking game, in the game's own words."""

INSTALL = "pip install textworld==1.7.0"
_TRAIN_TASKS = 24
_HELD_OUT_TASKS = 10
_HELD_OUT_LEVEL_TASKS = 20
_START = datetime(2026, 1, 5, tzinfo=UTC)
_STEP = timedelta(hours=1)
_NAME = "game.z8"

PACKAGE = threading.Lock()
"""One thread at a time inside the package: it has one parser and one set of lists for all."""


@dataclass(frozen=True)
class Level:
    """How hard a game is.

    Attributes:
        name: the task type.
        rooms: 1, 6, 9 or 12.
        ingredients: 1 to 5, each to be found and cooked.
        cut: ingredients have to be cut too, each in its own way.
        closed: containers and doors have to be opened.
        trained: there are training games of this level.
    """

    name: str
    rooms: int
    ingredients: int
    cut: bool
    closed: bool
    trained: bool = True


LEVELS = (
    Level("one_ingredient", rooms=1, ingredients=1, cut=False, closed=False),
    Level("cutting", rooms=1, ingredients=1, cut=True, closed=True),
    Level("two_ingredients", rooms=1, ingredients=2, cut=False, closed=True),
    Level("six_rooms", rooms=6, ingredients=1, cut=False, closed=True),
    Level("nine_rooms", rooms=9, ingredients=2, cut=False, closed=True, trained=False),
)
"""From easy to hard; the last one is held out as a whole."""


@dataclass(frozen=True)
class Game:
    """A task with what it takes to make its game."""

    task: TaskSpec
    level: Level
    seed: int


def check_installed() -> None:
    """Refuse to go on without the TextWorld package.

    Raises:
        UserError: it is not installed; says how to install it.
    """
    if find_spec("textworld") is None:
        raise UserError("The environment textworld needs the package textworld. Install it: {command}", command=INSTALL)


@lru_cache(maxsize=1)
def load_games() -> Mapping[str, Game]:
    """Return all games by task id, in order of time; always the same ones. Makes no game."""
    games: dict[str, Game] = {}
    for number, (level, split, place) in enumerate(_schedule()):
        task = TaskSpec(f"tw-{number + 1:04d}", level.name, OBJECTIVE, _START + number * _STEP, split)
        games[task.id] = Game(task, level, derive_seed("textworld", level.name, split, place))
    return games


def _schedule() -> Iterator[tuple[Level, Split, int]]:
    """Levels take turns, so that each comes up all through its period; held-out games come last."""
    for place in range(_TRAIN_TASKS):
        yield from ((level, "train", place) for level in LEVELS if level.trained)
    for place in range(_HELD_OUT_LEVEL_TASKS):
        yield from ((level, "held_out", place) for level in LEVELS if place < _HELD_OUT_TASKS or not level.trained)


def cache_folder() -> Path:
    """Return where games are kept: the user's own cache, which no other user can put files into."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rulewright" / "textworld"


def game_file(game: Game, folder: Path) -> Path:
    """Return the file of a game, making it first if need be (about 2 s).

    Threads and processes may ask at once: a game appears whole, in one rename, and whoever comes second takes
    the first one's.

    Args:
        game: which one.
        folder: where games are kept; made if missing.

    Raises:
        RunFailedError: the game cannot be made, or not be kept in the folder.
    """
    target = folder / stable_id("game", version("textworld"), sorted(_settings(game).items()), game.seed)
    if not (target / _NAME).is_file():
        try:
            _make_whole(game, folder, target)
        except OSError as error:
            raise RunFailedError(
                "The game of task {task} cannot be kept in {folder}: {problem}. "
                "Set XDG_CACHE_HOME to a folder that can be written to.",
                task=game.task.id,
                folder=str(folder),
                problem=str(error),
            ) from error
    return target / _NAME


def _settings(game: Game) -> dict[str, Any]:
    """Return what the package calls these: its cooking challenge's settings."""
    level = game.level
    return {
        "recipe": level.ingredients,
        "take": level.ingredients,
        "cook": True,
        "cut": level.cut,
        "open": level.closed,
        "drop": False,
        "go": level.rooms,
        "recipe_seed": 0,
        "split": "train" if game.task.split == "train" else "test",
    }


def _make_whole(game: Game, folder: Path, target: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=folder) as scratch:
        made = Path(scratch) / target.name
        with PACKAGE:
            _make(game, made / _NAME)
        try:
            made.rename(target)
        except OSError:
            if not (target / _NAME).is_file():
                raise


def _make(game: Game, path: Path) -> None:
    """Generate and compile a game; to be called with PACKAGE held."""
    from textworld import GameOptions
    from textworld.challenges import CHALLENGES, cooking
    from textworld.generator import compile_game
    from textworld.generator.inform7 import CouldNotCompileGameError

    # The challenge shuffles its own lists of foods and places. Read anew, a game does not depend on those before.
    CHALLENGES.pop("tw-cooking", None)
    fresh = importlib.reload(cooking)
    options = GameOptions()
    options.seeds = game.seed
    options.path = str(path)
    try:
        compile_game(fresh.make(_settings(game), options), options)
    except CouldNotCompileGameError as error:
        raise RunFailedError(
            "The game of task {task} could not be compiled: {problem}", task=game.task.id, problem=clip(str(error), 500)
        ) from error
