"""The texts of the incidents world: their shape, reading them, filling their places (design section 2).

Content is YAML under ``data/incidents``, one file per incident type and ``_world.yaml`` for what they share,
read once per process. Nothing here decides rewards; that is core.environments.incidents_scoring.
"""

import random
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

CONTENT_DIRECTORY = Path(__file__).parents[2] / "data" / "incidents"

Component = Literal["service", "database", "cache", "upstream", "gateway", "host"]
Phase = Literal["early", "late", "held_out"]
Texts = Annotated[tuple[str, ...], Field(min_length=1)]

_PLACE = re.compile(r"\{([^{}]+)\}")


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DiagnosisTool(_Content):
    """A tool that looks at one component, and the components on which it makes sense."""

    description: str
    components: tuple[Component, ...]


class RemedyKind(_Content):
    """A remedy, and the components it can be applied to."""

    description: str
    components: tuple[Component, ...]


class RemedyTool(_Content):
    """The one tool that changes something."""

    name: str
    description: str


class World(_Content):
    """What all incident types share (``_world.yaml``)."""

    background: str
    scoring: str
    seed: int
    start: datetime
    step_minutes: int = Field(gt=0)
    late_starts: tuple[float, ...] = Field(description="Shares of the training period, one per late type.")
    overt_train: int
    overt_held_out: int
    components: dict[Component, str]
    tools: dict[str, DiagnosisTool]
    remedy_tool: RemedyTool
    remedies: dict[str, RemedyKind] = Field(description="By name; descriptions are neutral.")
    names: dict[str, Texts] = Field(description="Pools of flavour names.")
    noise: dict[str, Texts] = Field(description="By tool, what a look at an uninvolved component shows.")
    opening: str
    unchanged: Texts
    resolved: Texts


class Alert(_Content):
    """A variant of the alert; ``overt`` if it shares everyday words with the right remedy's name."""

    overt: bool
    text: str


class Remedy(_Content):
    """The right remedy and where it has to be applied."""

    name: str
    component: Component


class WrongFix(_Content):
    """The tempting remedy, which harms wherever it is applied, and what is seen then."""

    name: str
    worse: str


class Observation(_Content):
    """What one tool shows on one component."""

    tool: str
    component: Component
    texts: Texts


class Signatures(_Content):
    """Phrases by which the type can be told, in alerts and in the decisive evidence."""

    alert: Texts
    evidence: Texts


class IncidentType(_Content):
    """One incident type (one file)."""

    name: str
    title: str
    phase: Phase
    look_alike: str | None = Field(None, description="A type with the same alert phrases and another remedy.")
    topology: tuple[Component, ...]
    remedy: Remedy
    wrong: WrongFix
    signatures: Signatures
    alerts: tuple[Alert, ...]
    decisive: tuple[Observation, ...]
    red_herrings: tuple[Observation, ...]


@lru_cache(maxsize=1)
def load_world() -> World:
    """Read ``_world.yaml``."""
    return World.model_validate(_read(CONTENT_DIRECTORY / "_world.yaml"))


@lru_cache(maxsize=1)
def load_types() -> Mapping[str, IncidentType]:
    """Read all incident types, by name, in the order of their names."""
    paths = sorted(CONTENT_DIRECTORY.glob("[!_]*.yaml"))
    types = (IncidentType.model_validate(_read(path)) for path in paths)
    return {kind.name: kind for kind in types}


def draw_names(world: World, rng: random.Random) -> dict[str, str]:
    """Draw one flavour name from every pool."""
    return {place: rng.choice(pool) for place, pool in world.names.items()}


def fill(text: str, names: Mapping[str, str], rng: random.Random) -> str:
    """Fill a text's places: ``{name}`` from the names, ``{3..9}`` or ``{0.1..0.4}`` by a drawn number."""

    def replacement(match: re.Match[str]) -> str:
        low, dots, high = match[1].partition("..")
        if not dots:
            return names[match[1]]
        if "." not in low:
            return str(rng.randint(int(low), int(high)))
        return f"{rng.uniform(float(low), float(high)):.{len(low.partition('.')[2])}f}"

    return _PLACE.sub(replacement, text)


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
