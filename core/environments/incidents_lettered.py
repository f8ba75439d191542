"""The operations-diagnosis world with the actions at hand listed, for models that choose by letter (section 10)."""

import random

from core.environments.incidents import Incidents, solution
from core.environments.incidents_content import load_world
from core.environments.incidents_schedule import load_cases
from core.environments.protocol import Action, StepResult, TaskSpec
from core.ids import derive_seed

_CHOICES = 12
_REMEDIES = 5
"""Of the choices, so many are remedies: the right one, the one that harms, and others that do nothing."""


class LetteredIncidents(Incidents):
    """Incidents where a task's twelve sensible actions are listed; what was done is not offered again."""

    name = "incidents_lettered"

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[Action, ...] = ()
        self._done: list[Action] = []
        self._over = True

    def reset(self, task: TaskSpec, seed: int) -> str:
        """Begin a task; see Incidents.reset. The list hangs on the task alone."""
        opening = super().reset(task, seed)
        self._listed, self._done, self._over = _listed(task.id), [], False
        return opening

    def step(self, action: Action) -> StepResult:
        """Carry out an action; see Environment.step."""
        result = super().step(action)
        self._done.append(action)
        self._over = result.done
        return result

    def choices(self) -> tuple[Action, ...]:
        """Return what is left of the list; see ChoosingEnvironment.choices."""
        if self._over:
            return ()
        return tuple(action for action in self._listed if action not in self._done)


def _listed(task_id: str) -> tuple[Action, ...]:
    """Draw a task's list: looks that tell and looks that do not, the right remedy and others, in random order."""
    world, kind, hidden = load_world(), load_cases()[task_id].kind, solution(task_id)
    rng = random.Random(derive_seed(world.seed, "choices", task_id))
    present = set(kind.topology)
    telling = [(place.tool, place.component) for place in (*kind.decisive, *kind.red_herrings)]
    looks = [(tool, part) for tool, spec in world.tools.items() for part in spec.components if part in present]
    remedies = [(name, part) for name, spec in world.remedies.items() for part in spec.components if part in present]
    right = (hidden.remedy, hidden.component)
    harmful = [one for one in remedies if one[0] == hidden.wrong]
    others = [one for one in remedies if one[0] not in (hidden.remedy, hidden.wrong)]
    rng.shuffle(others)
    chosen = [right, *harmful[:1], *others][:_REMEDIES]
    rest = [look for look in looks if look not in telling]
    rng.shuffle(rest)
    seen = [*dict.fromkeys(telling), *rest][: _CHOICES - len(chosen)]
    tool = world.remedy_tool.name
    actions = [Action(name, {"component": part}) for name, part in seen]
    actions += [Action(tool, {"remedy": name, "component": part}) for name, part in chosen]
    rng.shuffle(actions)
    return tuple(actions)
