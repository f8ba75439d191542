"""Environments by name (design section 2)."""

from core.environments.custom import load_custom
from core.environments.incidents import Incidents
from core.environments.incidents_lettered import LetteredIncidents
from core.environments.protocol import EnvironmentFactory
from core.environments.textworld import TextWorld
from core.errors import UserError

_BUNDLED: dict[str, EnvironmentFactory] = {
    "incidents": Incidents,
    "incidents_lettered": LetteredIncidents,
    "textworld": TextWorld,
}


def environment_factory(name: str) -> EnvironmentFactory:
    """Return what makes environments of a name.

    Args:
        name: a bundled world's name, or ``module:Class``.

    Raises:
        UserError: the name is unknown, cannot be loaded, or stands for recorded episodes, which are past and
            cannot be rolled out.
    """
    if name in _BUNDLED:
        return _BUNDLED[name]
    if name == "recorded" or name.startswith("recorded:"):
        raise UserError(
            "{name} stands for recorded episodes: they can be imported and learned from, but not rolled out.",
            name=name,
        )
    if ":" in name:
        return load_custom(name)
    raise UserError(
        "There is no environment {name}. Known: {known}, or your own as module:Class.",
        name=name,
        known=", ".join(_BUNDLED),
    )
