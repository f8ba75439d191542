"""A person's own environment, given as ``module:Class`` (design section 2).

What can be seen without running an episode is checked at once, so that a mistake shows at the start and
not in the middle of a round. The class is trusted code: it runs in this process.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import cast, get_args

from core.environments.protocol import Environment, EnvironmentFactory, Split, TaskSpec, ToolSpec
from core.environments.splits import check_splits
from core.errors import UserError

_TEXTS = ("name", "background", "scoring")
_METHODS = {"tasks": (), "reset": ("task", "seed"), "step": ("action",)}


def load_custom(spec: str) -> EnvironmentFactory:
    """Import ``module:Class`` and check that it is an environment.

    The current working directory is importable.

    Args:
        spec: module and class (or any callable without arguments), separated by a colon.

    Returns:
        The class; each call makes a fresh instance.

    Raises:
        UserError: it cannot be imported or made, lacks part of the protocol, or its splits overlap.
    """
    made = _import(spec)
    try:
        instance = made()
    except TypeError as error:
        raise UserError("{name} cannot be made without arguments: {problem}.", name=spec, problem=str(error)) from error
    problems = _problems(instance)
    if not problems:
        tasks = list(cast(Iterable[object], instance.tasks()))  # type: ignore[attr-defined]
        problems = _task_problems(tasks, instance.task_types)  # type: ignore[attr-defined]
    if problems:
        raise UserError(
            "{name} is not an environment: {problems}. See core/environments/protocol.py.",
            name=spec,
            problems="; ".join(problems),
        )
    check_splits(cast(list[TaskSpec], tasks))
    return cast(Callable[[], Environment], made)


def _import(spec: str) -> Callable[[], object]:
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise UserError("{name} is not of the form module:Class, for example my_world:HelpDesk.", name=spec)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (ImportError, SyntaxError, ValueError, TypeError) as error:
        raise UserError(
            "Module {module} cannot be imported: {problem}. It is looked for in {folder} and among the "
            "installed packages.",
            module=module_name,
            problem=str(error),
            folder=here,
        ) from error
    made = getattr(module, attribute, None)
    if not callable(made):
        raise UserError(
            "Module {module} has no class {attribute}; it has: {known}.",
            module=module_name,
            attribute=attribute,
            known=", ".join(_classes(module)) or "none",
        )
    return cast(Callable[[], object], made)


def _classes(module: ModuleType) -> list[str]:
    classes = (name for name, value in vars(module).items() if inspect.isclass(value))
    return sorted(name for name in classes if not name.startswith("_"))


def _problems(instance: object) -> list[str]:
    problems = [
        f"{name} must be a text that is not empty"
        for name in _TEXTS
        if not isinstance(getattr(instance, name, None), str) or not getattr(instance, name)
    ]
    if not _is_sequence_of(getattr(instance, "tools", None), ToolSpec):
        problems.append("tools must be a tuple of at least one ToolSpec")
    if not _is_sequence_of(getattr(instance, "task_types", None), str):
        problems.append("task_types must be a tuple of at least one text")
    problems += [
        f"it needs a method {name}({', '.join(parameters)})"
        for name, parameters in _METHODS.items()
        if not _accepts(getattr(instance, name, None), len(parameters))
    ]
    return problems


def _is_sequence_of(value: object, kind: type) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(item, kind) for item in value)
    )


def _accepts(method: object, count: int) -> bool:
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        return False
    return True


def _task_problems(tasks: list[object], task_types: Sequence[str]) -> list[str]:
    if not tasks:
        return ["tasks() yields no task"]
    for task in tasks:
        if not isinstance(task, TaskSpec):
            return [f"tasks() must yield TaskSpec, not {type(task).__name__}"]
        if task.type not in task_types:
            return [f"task {task.id} has type {task.type}, which is not in task_types"]
        if task.split not in get_args(Split):
            return [f"task {task.id} has split {task.split}; it must be one of {', '.join(get_args(Split))}"]
        if task.created_at.utcoffset() != timedelta(0):
            return [f"created_at of task {task.id} must be in UTC"]
    moments = [task.created_at for task in cast(list[TaskSpec], tasks)]
    return [] if moments == sorted(moments) else ["tasks() must be in order of created_at"]
