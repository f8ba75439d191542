"""One name for each kind of action: the tool, and those of its arguments that are chosen from a list.

Memories, advantages and the adapter count by this name. Arguments that are free text or name one case (an order,
a user) are left out of it, or no two decisions would ever be alike.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from core.environments.protocol import Action, ChoosingEnvironment, Environment, ToolSpec


class ActionNames:
    """Names actions of a set of tools.

    Args:
        tools: as an environment names them; a tool that is not among them is named with all its argument's names.
        whole: all arguments belong to the name, since the environment lists the actions at hand one by one.
    """

    def __init__(self, tools: Iterable[ToolSpec], *, whole: bool = False) -> None:
        self._whole = whole
        self._listed = {
            tool.name: frozenset(
                name for name, spec in tool.parameters.get("properties", {}).items() if spec.get("enum")
            )
            for tool in tools
        }

    def of(self, action: Action) -> str:
        """Return the name, such as ``apply_remedy(remedy=restart_pool, component=database)``."""
        return self.named(action.tool, action.arguments)

    def named(self, tool: str, arguments: Mapping[str, Any] | str) -> str:
        """Return the name of a recorded call, whose arguments may have been no JSON object."""
        given = arguments if isinstance(arguments, Mapping) else {}
        if self._whole:
            shown = [f"{name}={value}" for name, value in given.items()]
        elif tool in self._listed:
            shown = [f"{name}={value}" for name, value in given.items() if name in self._listed[tool]]
        else:
            shown = [str(name) for name in given]
        return f"{tool}({', '.join(shown)})"


def names_of(environment: Environment) -> ActionNames:
    """Return the names of an environment's actions."""
    return ActionNames(environment.tools, whole=isinstance(environment, ChoosingEnvironment))
