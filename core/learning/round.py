"""One learning round, phase by phase (design section 8).

Each phase commits its work together with its name, so that a killed round goes on where it stopped:
episodes have computed ids and are run once, statistics carry a flag, and whatever changes the library
happens in one transaction a phase.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.control import LOOP
from core.db import Database
from core.embeddings import Embedder
from core.ids import derive_seed
from core.learning.adapting import evaluate_policy, update_adapter
from core.learning.bench import Bench, InterruptedRound
from core.learning.compliance_phase import judge_open_pairs
from core.learning.credit import baselines, credit_episodes, mark_retrieved
from core.learning.experience import Experience, candidate_floor, make_experience, sources_of
from core.learning.gate import Evaluator, run_ablation, run_gate
from core.learning.harm import records
from core.learning.reflection_phase import run_reflections
from core.learning.remembering import remember_episodes
from core.learning.rewarding import reward_episodes
from core.learning.rollback import contents_without_round, roll_back_round
from core.learning.rollouts import Arm, RolloutRunner, load_tasks
from core.learning.sampling import sample_tasks
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.learning.transitions import apply_transitions, gather_evidence, prune
from core.learning.verdict import Verdict
from core.policy.snapshots import current_adapter
from core.rules.library import SYSTEM, Change, rules_in
from core.rules.lifecycle import State
from core.rules.policies import policy_decisions
from core.rules.utility import Scorer, adapt_exploration, make_scorer
from core.settings import ADJUSTABLE, Settings
from core.tables import ArmName, Lease, Round, Task

PHASES = ("planned", "rolled_out", "reflected", "judged", "remembered", "settled", "gated", "measured", "finished")


@dataclass(frozen=True)
class RoundOptions:
    """What one round does beyond the settings."""

    random_arm: bool = False


def start_round(bench: Bench, trigger: str) -> int:
    """Plan a round: sample its tasks and write it down; returns its number.

    Raises:
        InterruptedRound: somebody else holds the lease by now; checked in the transaction that begins the
            round, so that no two loops can.
    """
    settings = bench.settings
    with bench.database.write() as session:
        lease = session.get(Lease, LOOP)
        if lease is None or lease.owner != bench.owner:
            raise InterruptedRound
        number = next_round_number(session)
        seed = derive_seed(settings.loop.seed, "round", number)
        plan: dict[str, Any] = {}
        if bench.make_environment is not None:
            sample = sample_tasks(session, bench.domain, settings.round, seed)
            plan = {"current": sample.current, "history": sample.history, "edge": sample.edge}
            for task_id in sample.all:
                task = session.get_one(Task, task_id)
                task.times_sampled += 1
                session.add(task)
        session.add(
            Round(
                number=number,
                environment=bench.domain,
                seed=seed,
                trigger=trigger,
                plan=plan,
                settings={name: getattr(settings, name).model_dump() for name in ADJUSTABLE},
                started_at=bench.clock(),
            )
        )
    return number


def next_round_number(session: Session) -> int:
    """Return the number the next round will have; rounds of all domains count together."""
    return (session.exec(select(func.max(Round.number))).one() or 0) + 1


def open_round(session: Session) -> Round | None:
    """Return the round that was begun and not ended, if any."""
    return session.exec(select(Round).where(Round.status == "running").order_by(col(Round.number))).first()


class RoundRunner:
    """Takes one round through its remaining phases."""

    def __init__(self, bench: Bench, number: int, options: RoundOptions) -> None:
        self._bench = bench
        self._number = number
        self._options = options
        self._change = Change(SYSTEM, bench.clock, round_number=number)
        with bench.database.read() as session:
            self._scorer = scorer_of_round(session, bench.settings, bench.domain, number)
        self._maker = SnapshotMaker(bench.embedder, self._scorer, bench.settings.retrieval)

    def run(self) -> None:
        """Run all phases that are not in the database yet.

        Raises:
            InterruptedRound: a person paused the loop.
            BudgetExceededError: the limit on spend is reached.
        """
        steps: dict[str, Callable[[], None]] = {
            "rolled_out": self._roll_out,
            "reflected": self._reflect,
            "judged": self._judge,
            "remembered": self._remember,
            "settled": self._settle,
            "gated": self._gate,
            "measured": self._measure,
            "finished": self._finish,
        }
        done = PHASES.index(self._row().phase)
        for phase in PHASES[done + 1 :]:
            self._bench.report(self._number, phase, 0, 0)
            steps[phase]()

    def _row(self) -> Round:
        with self._bench.database.read() as session:
            return session.get_one(Round, self._number)

    def _advance(self, session: Session, phase: str, **values: Any) -> None:
        row = session.get_one(Round, self._number)
        row.phase = phase
        for name, value in values.items():
            setattr(row, name, value)
        session.add(row)

    def _roll_out(self) -> None:
        bench, row = self._bench, self._row()
        if bench.make_environment is not None:
            with bench.database.read() as session:
                ids = dict.fromkeys(i for kind in ("current", "history", "edge") for i in row.plan.get(kind, []))
                tasks = load_tasks(session, bench.domain, list(ids))
                library = self._maker.current(session, bench.domain)
            runner = RolloutRunner(bench, bench.make_environment, self._number, self._experience())
            arm = Arm(ArmName.LEARN, row.seed, bench.settings.agent.rollouts_per_task, learning=True)
            runner.run(arm, tasks, library)
        with bench.database.write() as session:
            self._advance(session, "rolled_out")

    def _reflect(self) -> None:
        notes = run_reflections(self._bench, self._change)
        with self._bench.database.write() as session:
            row = session.get_one(Round, self._number)
            self._advance(session, "reflected", notes=[*row.notes, *notes])

    def _judge(self) -> None:
        judge_open_pairs(self._bench, self._number)
        with self._bench.database.write() as session:
            self._advance(session, "judged")

    def _remember(self) -> None:
        """Rewards, memories, and the adapter's updates, so that the held-out test meets what was learned."""
        reward_episodes(self._bench, self._number)
        done = remember_episodes(self._bench)
        if sources_of(self._bench.settings).adapter:
            self._bench.memories.follow()
            update_adapter(self._bench, self._bench.memories, self._number, done.episodes)
        with self._bench.database.write() as session:
            self._advance(session, "remembered")

    def _settle(self) -> None:
        """Credit, lifecycle and pruning, in one transaction."""
        bench = self._bench
        with bench.database.write() as session:
            credit_episodes(session, bench.domain)
            mark_retrieved(session, self._number)
            figures = records(session, bench.domain, baselines(session, bench.domain))
            candidates = rules_in(session, bench.domain, (State.CANDIDATE,))
            evidence = gather_evidence(session, bench.domain, self._number, figures)
            apply_transitions(
                session,
                bench.domain,
                evidence,
                bench.settings.lifecycle,
                self._change,
                testable=bench.testable,
                decisions=policy_decisions(session, candidates, bench.settings),
            )
            prune(session, bench.domain, self._scorer, bench.settings.lifecycle, self._change)
            self._advance(session, "settled")

    def _gate(self) -> None:
        bench = self._bench
        evaluator = self._evaluator()
        with bench.database.read() as session:
            undone = contents_without_round(session, self._number)
        if evaluator is None:
            with bench.database.write() as session:
                self._advance(session, "gated", verdict={"verdict": Verdict.UNTESTED.value, "commit": True, "n": 0})
            return
        result = run_gate(evaluator, bench, self._maker, undone)
        with bench.database.write() as session:
            # People may have acted while the gate ran: what they touched meanwhile is left alone.
            undone = contents_without_round(session, self._number)
            if result.commit:
                undone = {rule_id: content for rule_id, content in undone.items() if rule_id in result.dropped}
            reason = self._change.because("Taken back by the held-out test of round {round}", round=self._number)
            roll_back_round(session, undone, reason)
            self._advance(session, "gated", verdict=result.as_json())

    def _measure(self) -> None:
        bench = self._bench
        evaluator = self._evaluator()
        gain: dict[str, Any] = {}
        if evaluator is not None:
            with bench.database.read() as session:
                library = self._maker.current(session, bench.domain)
            kept = ArmName(self._row().verdict["arm"])
            gain = run_ablation(evaluator, bench, self._maker, library, kept, random_arm=self._options.random_arm)
            if sources_of(bench.settings).adapter:
                evaluate_policy(bench, self._number, kept)
        with bench.database.write() as session:
            self._advance(session, "measured", gain=gain)

    def _finish(self) -> None:
        verdict = self._row().verdict
        status = "committed" if verdict["commit"] else "rolled_back"
        if not self._bench.testable or verdict["verdict"] == Verdict.TOO_FEW:
            status = "untested"
        with self._bench.database.write() as session:
            self._advance(session, "finished", status=status, ended_at=self._bench.clock())

    def _experience(self) -> Experience | None:
        """Return what the agent is told besides rules, as it is now; None where people have unlocked nothing."""
        bench = self._bench
        sources = sources_of(bench.settings)
        if not sources.any:
            return None
        bench.memories.follow()
        with bench.database.read() as session:
            adapter = current_adapter(session, bench.domain, bench.settings.policy) if sources.adapter else None
        return make_experience(bench.memories, sources, adapter, bench.settings, candidate_floor(bench.embedder))

    def _evaluator(self) -> Evaluator | None:
        if self._bench.make_environment is None:
            return None
        evaluator = Evaluator(self._bench, self._bench.make_environment, self._number, self._experience())
        return evaluator if evaluator.tasks else None


def fail_round(database: Database, clock: Clock, number: int, error: str, values: Mapping[str, Any]) -> None:
    """Record that a round broke down; what it did to the library was never tested, so it is taken back.

    Args:
        database: holds all state.
        clock: tells the time.
        number: of the round.
        error: why, as a template to translate.
        values: what goes into the template.
    """
    with database.write() as session:
        change = Change(SYSTEM, clock, round_number=number)
        why = change.because("Round {round} broke down before its held-out test", round=number)
        row = session.get_one(Round, number)
        if PHASES.index(row.phase) < PHASES.index("gated"):
            roll_back_round(session, contents_without_round(session, number), why)
        row.status, row.ended_at = "failed", clock()
        row.error, row.error_values = error, dict(values)
        session.add(row)


def scorer_of_round(session: Session, settings: Settings, domain: str, number: int) -> Scorer:
    """Return the scorer a round ranks rules with: its exploration follows the held-out score so far."""
    exploration = adapt_exploration(settings.utility, held_out_scores(session, domain))
    return make_scorer(settings.utility, exploration, derive_seed(settings.loop.seed, number))


def standing_library(session: Session, settings: Settings, domain: str, embedder: Embedder) -> LibrarySnapshot:
    """Return a domain's library as it is now, ranked as the next round would rank it."""
    scorer = scorer_of_round(session, settings, domain, next_round_number(session))
    return SnapshotMaker(embedder, scorer, settings.retrieval).current(session, domain)


def held_out_scores(session: Session, environment: str) -> list[float]:
    """Return the held-out success of the library that stood after each round, oldest first."""
    rounds = session.exec(
        select(Round).where(Round.environment == environment, Round.phase == "finished").order_by(col(Round.number))
    )
    scores = [row.gain.get("success_after") for row in rounds]
    return [float(score) for score in scores if score is not None]
