"""The bundled operations-diagnosis world (design section 2).

An alert tells symptoms and suspicions. Diagnosis tools look at one part of the system; a few places show what
tells this cause from others. One remedy on one part ends the incident, a tempting other one makes it worse.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.environments.incidents_content import DiagnosisTool, Observation, fill, load_types, load_world
from core.environments.incidents_schedule import Case, load_cases
from core.environments.incidents_scoring import Effect, Score
from core.environments.protocol import Action, StepResult, TaskSpec, ToolSpec
from core.errors import UserError
from core.ids import derive_seed
from core.text import clip


@dataclass(frozen=True)
class Solution:
    """What is hidden from the agent; for tests and oracles only.

    Attributes:
        remedy: the right remedy.
        component: where it has to be applied.
        wrong: the remedy that makes things worse.
        decisive: (tool, component) places that show decisive evidence.
        overt: the alert shares everyday words with the right remedy's name.
    """

    remedy: str
    component: str
    wrong: str
    decisive: tuple[tuple[str, str], ...]
    overt: bool


@dataclass
class _Episode:
    case: Case
    seed: int
    score: Score = field(default_factory=Score)


class Incidents:
    """The environment; cheap to make, since all instances share the parsed content."""

    name = "incidents"

    def __init__(self) -> None:
        self._world = load_world()
        self.background = self._world.background
        self.scoring = self._world.scoring
        self.tools = _tool_specs()
        self.task_types = tuple(load_types())
        self._episode: _Episode | None = None

    def tasks(self) -> Iterable[TaskSpec]:
        """Yield all tasks in order of time; see Environment.tasks."""
        return (case.task for case in load_cases().values())

    def reset(self, task: TaskSpec, seed: int) -> str:
        """Begin a task; the first observation names the parts involved.

        Raises:
            UserError: the task is not one of this world's.
        """
        case = load_cases().get(task.id)
        if case is None:
            raise UserError("The environment incidents has no task {task}.", task=task.id)
        self._episode = _Episode(case, seed)
        return self._world.opening.format(parts=", ".join(case.kind.topology))

    def step(self, action: Action) -> StepResult:
        """Look at a component or apply a remedy; see Environment.step."""
        episode = self._episode
        if episode is None:
            return _failure("no incident is open; one begins with a reset")
        if episode.score.done:
            return _failure("this incident is closed; nothing more can be done", done=True)
        problem = self._problem(action, episode.case)
        if problem:
            return _failure(problem)
        if action.tool == self._world.remedy_tool.name:
            return self._remedy(episode, str(action.arguments["remedy"]), str(action.arguments["component"]))
        return self._look(episode, action.tool, str(action.arguments["component"]))

    def _look(self, episode: _Episode, tool: str, component: str) -> StepResult:
        kind = episode.case.kind
        evidence = _shown_at(kind.decisive, tool, component)
        texts = evidence or _shown_at(kind.red_herrings, tool, component) or self._world.noise[tool]
        reward = episode.score.see_evidence() if evidence else 0.0
        return StepResult(_text(episode, texts, component, tool), reward=reward)

    def _remedy(self, episode: _Episode, remedy: str, component: str) -> StepResult:
        kind = episode.case.kind
        effect: Effect = "harmless"
        texts = self._world.unchanged
        if remedy == kind.wrong.name:
            effect, texts = "harmful", (kind.wrong.worse,)
        elif (remedy, component) == (kind.remedy.name, kind.remedy.component):
            effect, texts = "right", self._world.resolved
        observation = _text(episode, texts, component, remedy, episode.score.wrong)
        reward = episode.score.apply(effect)
        return StepResult(observation, reward=reward, done=episode.score.done)

    def _problem(self, action: Action, case: Case) -> str:
        """Say what is wrong with a call and what is known, or return ''."""
        spec = next((tool for tool in self.tools if tool.name == action.tool), None)
        if spec is None:
            known = ", ".join(tool.name for tool in self.tools)
            return f"there is no tool {_shown(action.tool)}; known tools: {known}"
        problem = _argument_problem(spec, action.arguments)
        if problem:
            return problem
        component, remedy = action.arguments["component"], action.arguments.get("remedy")
        kind = self._world.remedies[remedy] if remedy else self._world.tools[spec.name]
        if component not in kind.components:
            return f"{remedy or spec.name} does not work on {component}; it works on: {', '.join(kind.components)}"
        if component not in case.kind.topology:
            return f"this incident involves no {component}; it involves: {', '.join(case.kind.topology)}"
        return ""


def solution(task_id: str) -> Solution:
    """Return the hidden solution of a task, for tests and oracles; no text an agent sees is made from it.

    Raises:
        KeyError: no such task.
    """
    case = load_cases()[task_id]
    kind = case.kind
    return Solution(
        remedy=kind.remedy.name,
        component=kind.remedy.component,
        wrong=kind.wrong.name,
        decisive=tuple((place.tool, place.component) for place in kind.decisive),
        overt=case.alert.overt,
    )


def _tool_specs() -> tuple[ToolSpec, ...]:
    world = load_world()
    component = {"type": "string", "enum": list(world.components), "description": "Role of the part."}
    remedy = {
        "type": "string",
        "enum": list(world.remedies),
        "description": " ".join(
            f"{name} (on {' or '.join(kind.components)}): {kind.description}" for name, kind in world.remedies.items()
        ),
    }
    looks = [
        ToolSpec(name, _look_description(name, tool), _object_schema({"component": component}))
        for name, tool in world.tools.items()
    ]
    apply = world.remedy_tool
    schema = _object_schema({"remedy": remedy, "component": component})
    return (*looks, ToolSpec(apply.name, apply.description, schema))


def _look_description(name: str, tool: DiagnosisTool) -> str:
    """Say where a tool works if it works on few parts; the rest an agent finds out."""
    few = len(tool.components) <= 3
    return tool.description + (f" {name} (on {' or '.join(tool.components)})." if few else "")


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _argument_problem(spec: ToolSpec, arguments: object) -> str:
    properties = spec.parameters["properties"]
    if not isinstance(arguments, Mapping):
        return f"{spec.name} needs the arguments {', '.join(properties)}"
    for name, schema in properties.items():
        known = ", ".join(schema["enum"])
        if name not in arguments:
            return f"{spec.name} needs the argument {name}, one of: {known}"
        if arguments[name] not in schema["enum"]:
            return f"there is no {name} {_shown(arguments[name])}; known: {known}"
    extra = [name for name in arguments if name not in properties]
    if extra:
        return f"{spec.name} has no argument {_shown(extra[0])}; it has: {', '.join(properties)}"
    return ""


def _shown_at(places: tuple[Observation, ...], tool: str, component: str) -> tuple[str, ...]:
    found = [place.texts for place in places if (place.tool, place.component) == (tool, component)]
    return found[0] if found else ()


def _text(episode: _Episode, texts: tuple[str, ...], component: str, *place: object) -> str:
    rng = random.Random(derive_seed(episode.seed, episode.case.task.id, component, *place))
    names = {**episode.case.names, "component": component}
    return fill(rng.choice(texts), names, rng)


def _failure(problem: str, *, done: bool = False) -> StepResult:
    return StepResult(f"error: {problem}", done=done, failed=True)


def _shown(value: object) -> str:
    return repr(clip(str(value), 60))
