"""Held-out evaluation of a library, arm by arm, and the gate and ablation built on it (design section 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, col, select

from core.environments.protocol import EnvironmentFactory, TaskSpec
from core.ids import derive_seed
from core.learning.bench import Bench
from core.learning.experience import Experience
from core.learning.placebo import placebo_library
from core.learning.rollouts import Arm, RolloutRunner, load_tasks
from core.learning.second_try import changes_to_blame
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.learning.verdict import Comparison, Outcome, Verdict, commits, compare, judge
from core.statistics import noise_floor
from core.tables import ArmName, Episode, Task


@dataclass(frozen=True)
class GateResult:
    """A verdict with its figures; ``commit`` says what is to happen.

    Attributes:
        verdict: of the changes that are kept or, if none are, of all.
        commit: the changes stay, but for the dropped ones.
        comparison: without and with the changes.
        noise_floor: of the library without them.
        arm: the arm that ran with the changes.
        dropped: rules whose changes were dropped before the second try.
    """

    verdict: Verdict
    commit: bool
    comparison: Comparison
    noise_floor: float
    arm: ArmName = ArmName.AFTER
    dropped: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it for storage with the round."""
        figures = self.comparison.as_json()
        return {
            "verdict": self.verdict.value,
            "commit": self.commit,
            "noise_floor": self.noise_floor,
            "arm": (self.arm if self.commit else ArmName.BEFORE).value,
            "dropped": list(self.dropped),
            **figures,
        }


class Evaluator:
    """Runs held-out tasks for one round; results are read back from the database.

    The same tasks and seeds are used in every arm and round, so that differences are paired; only the
    ``repeat`` arm has other seeds, as it measures how far one library differs from itself.
    """

    def __init__(
        self, bench: Bench, factory: EnvironmentFactory, round_number: int, experience: Experience | None = None
    ) -> None:
        self._bench = bench
        self._runner = RolloutRunner(bench, factory, round_number, experience)
        self._round = self.round_number = round_number
        self._seed = derive_seed(bench.settings.loop.seed, "held-out")
        with bench.database.read() as session:
            ids = held_out_tasks(session, bench.domain, bench.settings.gate.tasks)
            self.tasks: list[TaskSpec] = load_tasks(session, bench.domain, ids)

    def run(self, arm: ArmName, library: LibrarySnapshot | None) -> list[Outcome]:
        """Run an arm and return its outcomes; tasks that a failing model call ended are left out."""
        seed = derive_seed(self._seed, "repeat") if arm is ArmName.REPEAT else self._seed
        self._runner.run(Arm(arm, seed, placebo=arm is ArmName.RANDOM), self.tasks, library)
        with self._bench.database.read() as session:
            rows = session.exec(
                select(Episode.task_id, Episode.task_type, Episode.reward, Episode.grade).where(
                    Episode.round_number == self._round, Episode.arm == arm, Episode.status == "done"
                )
            ).all()
        return [Outcome(task, kind, reward, grade == "pass") for task, kind, reward, grade in rows]

    def compare(self, before: Sequence[Outcome], after: Sequence[Outcome]) -> Comparison:
        """Compare two arms with the round's resampling seed."""
        settings = self._bench.settings
        seed = derive_seed(settings.loop.seed, self._round, "bootstrap")
        return compare(before, after, seed=seed, samples=settings.gate.bootstrap_samples)

    def noise(self, first: Sequence[Outcome], second: Sequence[Outcome]) -> float:
        """Return the noise floor from a library's run and its repeat."""
        again = {outcome.task_id: outcome.reward for outcome in second}
        pairs = [(o.reward, again[o.task_id]) for o in first if o.task_id in again]
        seed = derive_seed(self._bench.settings.loop.seed, self._round, "noise")
        return noise_floor([a for a, _ in pairs], [b for _, b in pairs], seed=seed)


def run_gate(
    evaluator: Evaluator, bench: Bench, maker: SnapshotMaker, undone: Mapping[str, Mapping[str, Any]]
) -> GateResult:
    """Compare the library without and with the round's changes.

    Args:
        evaluator: of this round.
        bench: settings and database.
        maker: builds both libraries over the same statistics, so that only the changes differ.
        undone: rule id -> content before the round, for each rule the round changed.
    """
    with bench.database.read() as session:
        current = maker.current(session, bench.domain)
        previous = maker.with_contents(session, bench.domain, undone)
    after = evaluator.run(ArmName.AFTER, current)
    if not undone:
        comparison = evaluator.compare(after, after)
        return GateResult(Verdict.NO_CHANGE, True, comparison, 0.0)
    before = evaluator.run(ArmName.BEFORE, previous)
    noise = evaluator.noise(before, evaluator.run(ArmName.REPEAT, previous))
    result = _result(evaluator, bench, before, after, noise)
    if result.commit:
        return result
    with bench.database.read() as session:
        blamed = changes_to_blame(session, evaluator.round_number, before, after, undone)
        rest = maker.with_contents(session, bench.domain, blamed)
    if not blamed or len(blamed) == len(undone):
        return result
    second = _result(evaluator, bench, before, evaluator.run(ArmName.SECOND, rest), noise)
    return replace(second, arm=ArmName.SECOND, dropped=tuple(blamed)) if second.commit else result


def _result(
    evaluator: "Evaluator", bench: Bench, before: Sequence[Outcome], after: Sequence[Outcome], noise: float
) -> GateResult:
    comparison = evaluator.compare(before, after)
    verdict = judge(comparison, bench.settings.gate)
    return GateResult(verdict, commits(verdict, comparison, bench.settings.gate), comparison, noise)


def run_ablation(
    evaluator: Evaluator,
    bench: Bench,
    maker: SnapshotMaker,
    library: LibrarySnapshot,
    kept: ArmName,
    *,
    random_arm: bool,
) -> dict[str, Any]:
    """Compare the library that stands after the gate with the empty one, and on request with random rules.

    Args:
        evaluator: of this round.
        bench: settings.
        maker: builds the placebo library.
        library: the library that stands.
        kept: the arm that already ran it: ``after``, ``second`` or ``before``.
        random_arm: also run as many random rules.
    """
    with_rules = evaluator.run(kept, library)
    empty = evaluator.run(ArmName.EMPTY, None)
    gain = evaluator.compare(empty, with_rules)
    result = gain.as_json() | {"noise_floor": _empty_noise(evaluator, empty), "arm": kept.value}
    if random_arm:
        placebo = placebo_library(maker, bench, len(library.rules))
        result["random_arm"] = evaluator.compare(empty, evaluator.run(ArmName.RANDOM, placebo)).as_json()
    return result


def _empty_noise(evaluator: Evaluator, empty: Sequence[Outcome]) -> float:
    return evaluator.noise(empty, evaluator.run(ArmName.EMPTY_REPEAT, None))


def held_out_tasks(session: Session, environment: str, limit: int) -> list[str]:
    """Return held-out task ids: as many of each type as there is room for, spread evenly over the type's time."""
    rows = session.exec(
        select(Task.id, Task.type)
        .where(Task.environment == environment, Task.split == "held_out")
        .order_by(col(Task.created_at), col(Task.id))
    )
    by_type: dict[str, list[str]] = {}
    for task_id, kind in rows:
        by_type.setdefault(kind, []).append(task_id)
    each = -(-limit // max(1, len(by_type)))
    spread = [_spread(ids, each) for _, ids in sorted(by_type.items())]
    chosen = [ids[place] for place in range(each) for ids in spread if place < len(ids)]
    return chosen[:limit]


def _spread(ids: Sequence[str], count: int) -> list[str]:
    """Take ``count`` of the ids at even distances; all of them if there are no more."""
    if len(ids) <= count:
        return list(ids)
    return [ids[(2 * place + 1) * len(ids) // (2 * count)] for place in range(count)]
