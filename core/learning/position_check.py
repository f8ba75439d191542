"""Does it matter where in the prompt a rule stands? The same rules at both ends, and in the middle (section 8)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from core.environments.protocol import EnvironmentFactory, TaskSpec
from core.episodes.agent import RolloutPlan, run_episode
from core.episodes.grading import grade
from core.episodes.system_prompt import stable_part
from core.errors import UserError
from core.ids import derive_seed
from core.learning.bench import Bench
from core.learning.gate import held_out_tasks
from core.learning.rollouts import load_tasks
from core.learning.round import standing_library
from core.learning.snapshot import LibrarySnapshot
from core.rules.prompt import assemble
from core.rules.retrieval import Hit
from core.statistics import Interval, paired_bootstrap, wilson

_SAMPLES = 2000


@dataclass(frozen=True)
class PositionCheck:
    """Success rates with the best rules at both ends of the rules' part and in its middle, on the same tasks.

    Attributes:
        ends: with the best three first and once more last, as prompts are served.
        middle: with the same rules, the best three in the middle and said once.
        difference: ends minus middle, paired by task, with a bootstrap interval.
    """

    ends: Interval
    middle: Interval
    difference: Interval


def check_positions(
    bench: Bench, factory: EnvironmentFactory, library: LibrarySnapshot, tasks: Sequence[TaskSpec]
) -> PositionCheck:
    """Run each task once either way, at temperature 0 and with the same seed; costs two evaluations a task.

    Episodes are not stored, calls are in the ledger. Tasks with fewer than nine rules in their prompt tell
    nothing about places and are left out.
    """
    settings, stable = bench.settings.retrieval, stable_part(factory(), bench.settings.action_mode)
    in_middle = settings.model_copy(update={"doubled": 0})
    prompts: list[tuple[TaskSpec, str, str]] = []
    for task in tasks:
        hits = assemble(stable, library.retrieve(task.query).hits, settings).served
        if len(hits) >= 3 * settings.doubled:
            ends = assemble(stable, hits, settings).text
            prompts.append((task, ends, assemble(stable, best_in_the_middle(hits, settings.doubled), in_middle).text))
    with ThreadPoolExecutor(bench.settings.model.concurrency) as pool:
        passed = list(pool.map(lambda one: _both(bench, factory, *one), prompts))
    first, second = [float(ends) for ends, _ in passed], [float(middle) for _, middle in passed]
    return PositionCheck(
        ends=wilson(int(sum(first)), len(first)),
        middle=wilson(int(sum(second)), len(second)),
        difference=paired_bootstrap(second, first, seed=bench.settings.loop.seed, samples=_SAMPLES),
    )


def check_standing_library(bench: Bench, tasks: int) -> PositionCheck:
    """Check the library as it stands on held-out tasks.

    Raises:
        UserError: the environment cannot be rolled out.
    """
    if bench.make_environment is None:
        raise UserError("Recorded episodes cannot be run again. Choose an environment whose tasks can be rolled out.")
    with bench.database.read() as session:
        library = standing_library(session, bench.settings, bench.domain, bench.embedder)
        chosen = load_tasks(session, bench.domain, held_out_tasks(session, bench.domain, tasks))
    return check_positions(bench, bench.make_environment, library, chosen)


def best_in_the_middle(hits: Sequence[Hit], best: int) -> list[Hit]:
    """Return the hits with the best ones moved into the middle; the order is that of the prompt."""
    rest = list(hits[best:])
    half = len(rest) // 2
    return rest[:half] + list(hits[:best]) + rest[half:]


def _both(bench: Bench, factory: EnvironmentFactory, task: TaskSpec, ends: str, middle: str) -> tuple[bool, bool]:
    plan = RolloutPlan(
        episode_id="position_check",
        task=task,
        system=ends,
        seed=derive_seed(bench.settings.loop.seed, "position_check", task.id),
        temperature=0.0,
        max_turns=bench.settings.agent.max_turns,
        action_mode=bench.settings.action_mode,
    )
    return _passes(bench, factory, plan), _passes(bench, factory, replace(plan, system=middle))


def _passes(bench: Bench, factory: EnvironmentFactory, plan: RolloutPlan) -> bool:
    trace = run_episode(bench.client, factory(), plan)
    return grade(trace.reward, bench.settings.agent) == "pass"
