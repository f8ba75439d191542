"""Rolling tasks out, several at a time; each episode is committed as it ends and never run twice."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from sqlmodel import Session, col, select

from core.environments.protocol import Environment, EnvironmentFactory, TaskSpec
from core.episodes.agent import OWN_AGENT, RolloutPlan, Trace, run_episode
from core.episodes.digest import extract_digest
from core.episodes.grading import grade
from core.episodes.system_prompt import stable_part
from core.episodes.trajectory import count_tool_calls, count_tool_errors, count_turns
from core.ids import derive_seed, stable_id
from core.learning.bench import Bench
from core.learning.experience import Adviser, Experience
from core.learning.holdout import Holdout, draw_holdout, no_holdout
from core.learning.queries import QueryRewriter, Rewriting, as_it_stands
from core.learning.snapshot import LibrarySnapshot
from core.learning.step_rules import StepRules
from core.rules.compliance import check_compliance
from core.rules.prompt import Prompt, assemble
from core.rules.retrieval import Hit
from core.tables import ArmName, Episode, MemoryUse, RuleUse, Task


@dataclass(frozen=True)
class Arm:
    """One way of running tasks.

    Attributes:
        name: as stored with the episodes.
        seed: of the tasks' rollouts; arms that are compared pairwise have the same one.
        rollouts: per task.
        learning: at the learning temperature and with hold-outs; else evaluation at temperature 0.
        placebo: its rules are no rules of the library, so their uses are not recorded.
    """

    name: ArmName
    seed: int
    rollouts: int = 1
    learning: bool = False
    placebo: bool = False


@dataclass(frozen=True)
class _Job:
    episode_id: str
    task: TaskSpec
    rollout: int
    seed: int


def load_tasks(session: Session, environment: str, task_ids: Sequence[str]) -> list[TaskSpec]:
    """Return the environment's own form of stored tasks, in the given order."""
    prefix = f"{environment}/"
    rows = {task.id: task for task in session.exec(select(Task).where(col(Task.id).in_(task_ids)))}
    return [
        TaskSpec(
            id=rows[key].id.removeprefix(prefix),
            type=rows[key].type,
            query=rows[key].query,
            created_at=rows[key].created_at,
            split="held_out" if rows[key].split == "held_out" else "train",
        )
        for key in task_ids
    ]


class RolloutRunner:
    """Runs one arm over tasks with one library.

    Args:
        bench: settings, client, database.
        factory: makes one environment per thread's rollout.
        round_number: the round they belong to.
        experience: memories and policy besides the rules; None for none.
    """

    def __init__(
        self, bench: Bench, factory: EnvironmentFactory, round_number: int, experience: Experience | None = None
    ) -> None:
        self._bench = bench
        self._factory = factory
        self._round = round_number
        self._experience = experience

    def run(self, arm: Arm, tasks: Sequence[TaskSpec], library: LibrarySnapshot | None) -> None:
        """Run what is not in the database yet.

        Raises:
            BudgetExceededError: the limit on spend is reached.
            InterruptedRound: a person paused the loop; episodes that had begun were finished first.
        """
        jobs = self._open_jobs(arm, tasks)
        if library is not None and self._rewritten is as_it_stands:
            library.prepare([job.task.query for job in jobs])
        total = len(tasks) * arm.rollouts
        done = total - len(jobs)
        with ThreadPoolExecutor(self._bench.settings.model.concurrency) as pool:
            running: set[Future[None]] = set()
            waiting = iter(jobs)
            while True:
                self._bench.report(self._round, arm.name, done, total)
                while len(running) < self._bench.settings.model.concurrency and (job := next(waiting, None)):
                    running.add(pool.submit(self._run_one, arm, job, library))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                done += len(finished)

    def _open_jobs(self, arm: Arm, tasks: Sequence[TaskSpec]) -> list[_Job]:
        jobs = [
            _Job(
                stable_id("ep", self._bench.domain, self._round, arm.name, task.id, rollout),
                task,
                rollout,
                derive_seed(arm.seed, task.id, rollout),
            )
            for task in tasks
            for rollout in range(arm.rollouts)
        ]
        with self._bench.database.read() as session:
            known = set(
                session.exec(select(Episode.id).where(Episode.round_number == self._round, Episode.arm == arm.name))
            )
        return [job for job in jobs if job.episode_id not in known]

    def _run_one(self, arm: Arm, job: _Job, library: LibrarySnapshot | None) -> None:
        environment = self._factory()
        hits = library.retrieve(self._rewritten(job.task.query)).hits if library is not None else ()
        settings = self._bench.settings
        hold = draw_holdout(hits, settings.utility, job.seed) if arm.learning else no_holdout(hits)
        prompt = assemble(self._stable, hold.served, settings.retrieval)
        started = self._bench.clock()
        steps = self._step_rules(arm, job, library, prompt, hold)
        adviser = self._adviser(arm, job, steps)
        repeatable = not arm.learning and steps is None and adviser is None
        known = self._known_outcome(job, prompt.text) if repeatable else None
        if known is not None:
            trace = None
        else:
            trace = run_episode(self._bench.client, environment, self._plan(arm, job, prompt, adviser or steps))
        episode = self._episode(arm, job, trace, known, environment, started)
        if repeatable:
            episode.prompt_hash = self._identity(prompt.text)
        episode.library_left_out, episode.library_propensity = hold.library_left_out, hold.library_propensity
        uses = [] if arm.placebo else _uses(episode, hold, prompt, steps, self._names)
        with self._bench.database.write() as session:
            if session.get(Episode, episode.id) is not None:
                return  # whoever took the loop over meanwhile was faster
            session.add(episode)
            session.flush()
            session.add_all([*uses, *_memory_uses(episode, adviser)])

    def _step_rules(
        self, arm: Arm, job: _Job, library: LibrarySnapshot | None, prompt: Prompt, hold: Holdout
    ) -> StepRules | None:
        """Return who advises at every step; nobody where the whole library is left out.

        What an episode is told on its way hangs on more than its first prompt, so its outcome is never reused.
        """
        settings = self._bench.settings
        if not settings.retrieval.per_step or library is None or hold.library_left_out:
            return None
        chance = settings.utility.rule_holdout if arm.learning else 0.0
        return StepRules(
            library, self._stable, prompt, hold.left_out, settings.retrieval, holdout=chance, seed=job.seed
        )

    @cached_property
    def _rewritten(self) -> Rewriting:
        bench = self._bench
        if not bench.settings.retrieval.rewrite:
            return as_it_stands
        return QueryRewriter(bench.client, bench.database, bench.settings.model.digest, self._round)

    @cached_property
    def _stable(self) -> str:
        return stable_part(self._factory(), self._bench.settings.action_mode)

    @cached_property
    def _names(self) -> frozenset[str]:
        return rule_names(self._factory())

    def _adviser(self, arm: Arm, job: _Job, steps: StepRules | None) -> Adviser | None:
        """Return who tells an episode of experience; its outcome hangs on more than its first prompt, too."""
        if self._experience is None or not self._experience.sources.any:
            return None
        return self._experience.adviser(self._task_id(job), job.seed, steps, learning=arm.learning)

    def _task_id(self, job: _Job) -> str:
        return f"{self._bench.domain}/{job.task.id}"

    def _plan(self, arm: Arm, job: _Job, prompt: Prompt, adviser: Adviser | StepRules | None) -> RolloutPlan:
        settings = self._bench.settings
        return RolloutPlan(
            episode_id=job.episode_id,
            task=job.task,
            system=prompt.text,
            seed=job.seed,
            temperature=settings.agent.learn_temperature if arm.learning else 0.0,
            max_turns=settings.agent.max_turns,
            action_mode=self._bench.settings.action_mode,
            round_number=self._round,
            advise=adviser,
            bend=adviser.bend if isinstance(adviser, Adviser) and adviser.bends else None,
        )

    def _known_outcome(self, job: _Job, prompt: str) -> Episode | None:
        """Return an evaluation with the same prompt, task, seed and model.

        A change of the library that leaves a task's prompt alone cannot change its expected outcome; running
        it again would only add noise to the paired difference, and cost.
        """
        with self._bench.database.read() as session:
            return session.exec(
                select(Episode).where(
                    Episode.prompt_hash == self._identity(prompt),
                    Episode.task_id == self._task_id(job),
                    Episode.seed == job.seed,
                    Episode.model == self._bench.settings.model.act,
                    Episode.status == "done",
                    col(Episode.reused_from).is_(None),
                )
            ).first()

    def _identity(self, prompt: str) -> str:
        """Hash what an evaluation's outcome depends on besides task, seed and model: the stand-in may share a name."""
        settings = self._bench.settings
        model = settings.simulation.model_dump_json() if settings.simulated else settings.openai_base_url
        parts = (prompt, model, self._bench.settings.action_mode, settings.agent.max_turns)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _episode(
        self, arm: Arm, job: _Job, trace: Trace | None, known: Episode | None,
        environment: Environment, started: datetime,
    ) -> Episode:  # fmt: skip
        settings = self._bench.settings
        messages = trace.messages if trace is not None else known.messages if known is not None else []
        reward = trace.reward if trace is not None else known.reward if known is not None else 0.0
        verdict = grade(reward, settings.agent)
        digest = extract_digest(messages, job.task.query, reward, verdict, settings.digest, environment.scoring)
        return Episode(
            id=job.episode_id,
            environment=self._bench.domain,
            task_id=self._task_id(job),
            task_type=job.task.type,
            query=job.task.query,
            split=job.task.split,
            arm=arm.name.value,
            round_number=self._round,
            rollout=job.rollout,
            seed=job.seed,
            temperature=settings.agent.learn_temperature if arm.learning else 0.0,
            agent=OWN_AGENT,
            model=settings.model.act,
            status="failed" if trace is not None and trace.error else "done",
            error=trace.error if trace is not None else None,
            reward=reward,
            grade=verdict,
            turns=count_turns(messages),
            tool_calls=count_tool_calls(messages),
            tool_errors=count_tool_errors(messages),
            messages=messages,
            reused_from=known.id if known is not None else None,
            digest=digest.text,
            digest_source=digest.source,
            decisive_step=digest.decisive_step,
            started_at=started,
            ended_at=self._bench.clock(),
        )


def _memory_uses(episode: Episode, adviser: Adviser | None) -> list[MemoryUse]:
    """Write down which memories a training episode was shown; evaluations teach nothing."""
    if adviser is None or episode.arm != ArmName.LEARN:
        return []
    return [
        MemoryUse(episode_id=episode.id, memory_id=one.memory.id, step=turn, similarity=one.similarity, score=one.score)
        for turn, one in adviser.shown
    ]


def rule_names(environment: Environment) -> frozenset[str]:
    """Return the identifiers rules may name in an environment: its tools and their enumerated values."""
    names = {tool.name for tool in environment.tools}
    for tool in environment.tools:
        for spec in tool.parameters.get("properties", {}).values():
            names.update(str(value) for value in spec.get("enum", []))
    return frozenset(names)


def _uses(
    episode: Episode, hold: Holdout, prompt: Prompt, steps: StepRules | None, names: frozenset[str]
) -> list[RuleUse]:
    told = (*prompt.served, *(steps.served if steps else ()))
    served = [_use(episode, hit, "served", hold.rule_propensity, position) for position, hit in enumerate(told)]
    cut = (*prompt.trimmed, *(steps.trimmed if steps else ()))
    trimmed = [_use(episode, hit, "trimmed", hold.rule_propensity) for hit in cut]
    out = (*hold.left_out, *(steps.left_out if steps else ()))
    left_out = [_use(episode, hit, "left_out", hold.left_out_propensity) for hit in out]
    # What is done without being told is what following has to be measured against.
    for use, hit in zip((*served, *left_out), (*told, *out), strict=True):
        use.compliance = check_compliance(hit.rule.condition, hit.rule.action, episode.messages, names)
        use.judged_by = "" if use.compliance == "unjudged" else "check"
    return served + trimmed + left_out


def _use(episode: Episode, hit: Hit, disposition: str, propensity: float, position: int | None = None) -> RuleUse:
    return RuleUse(
        episode_id=episode.id,
        rule_id=hit.rule.id,
        rule_version=hit.rule.version,
        disposition=disposition,
        position=position,
        score=hit.score,
        propensity=propensity,
    )
