"""Static, rules, advantage and adapter by a real small model on lettered incidents.

``python -m tests.bench.small_model --url http://127.0.0.1:8099/v1 --model NAME --folder F``; without ``--url`` the
stand-in plays. All arms learn from the same episodes, played once without any experience; then each plays the same
held-out tasks at temperature 0. Rules are those that the stand-in writes from those episodes, since a model of this
size writes few worth testing.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from sqlmodel import Session, col, func, select

from core.clock import utc_now
from core.db import Database, open_database
from core.environments.protocol import TaskSpec
from core.ids import derive_seed
from core.learning.adapting import update_adapter
from core.learning.bench import Bench
from core.learning.benching import BenchMaker
from core.learning.experience import Experience, Sources, candidate_floor, make_experience
from core.learning.gate import held_out_tasks
from core.learning.reflection_phase import run_reflections
from core.learning.remembering import remember_episodes
from core.learning.rewarding import reward_episodes
from core.learning.rollouts import Arm, RolloutRunner, load_tasks
from core.learning.round import standing_library
from core.learning.snapshot import LibrarySnapshot
from core.llm.build import build_client
from core.policy.snapshots import current_adapter
from core.rules.library import SYSTEM, Change
from core.settings import Settings, load_settings
from core.statistics import mcnemar_exact, wilson
from core.tables import ArmName, Episode, LedgerEntry, Round, Task
from tests.bench.machine import machine

LEARNING = 1
ROUNDS = {"static": 2, "rules": 3, "advantage": 4, "adapter": 5}
"""Each arm's episodes are kept under a round of their own."""


@dataclass(frozen=True)
class Stage:
    """What all arms share."""

    bench: Bench
    seed: int
    tasks: tuple[TaskSpec, ...]


def main() -> None:
    """Run what is not in the folder's database yet, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=None)
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--learn", type=int, default=40)
    parser.add_argument("--held-out", type=int, default=40)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    database = open_database(f"sqlite:///{given.folder}/{given.model}_{given.seed}.db")
    settings = _settings(given)
    maker = BenchMaker(settings, database, utc_now, "bench")
    domain = maker.own_domain()
    bench = maker.make(domain)
    _learn(bench, given)
    with database.read() as session:
        tasks = tuple(load_tasks(session, domain, held_out_tasks(session, domain, given.held_out)))
    stage = Stage(bench, given.seed, tasks)
    arms: dict[str, Callable[[], tuple[LibrarySnapshot | None, Experience | None]]] = {
        "static": lambda: (None, None),
        "rules": lambda: (_library(bench), None),
        "advantage": lambda: (None, _experience(bench, Sources(advantage=True))),
        "adapter": lambda: (None, _experience(bench, Sources(adapter=True))),
    }
    for name, prepare in arms.items():
        start = perf_counter()
        library, experience = prepare()
        _play(stage, ROUNDS[name], library, experience)
        print(f"{name}: {perf_counter() - start:.0f} s in this run", flush=True)
    _show(database, domain)


def _settings(given: argparse.Namespace) -> Settings:
    act = {} if given.url is None else {"act": given.model, "concurrency": 1, "timeout_s": 300}
    return load_settings(
        **({} if given.url is None else {"openai_base_url": given.url}),
        loop={"seed": given.seed},
        environment={"name": "incidents_lettered"},
        model={"action_mode": "letters", **act},
        agent={"max_turns": given.turns, "rollouts_per_task": 1},
        budget={"per_day_usd": None, "total_usd": None},
        policy={"way": "logit", "cold_hours": 0, "cold_episodes": 1},
    )


def _learn(bench: Bench, given: argparse.Namespace) -> None:
    """Play training tasks without experience; remember, update the adapter, reflect."""
    with bench.database.write() as session:
        for number in (LEARNING, *ROUNDS.values()):
            if session.get(Round, number) is None:
                session.add(
                    Round(number=number, environment=bench.domain, seed=1, trigger="bench", started_at=utc_now())
                )
        rows = select(Task.id).where(Task.environment == bench.domain, Task.split == "train")
        ids = session.exec(rows.order_by(col(Task.created_at))).all()
        tasks = load_tasks(session, bench.domain, ids[:: max(1, len(ids) // given.learn)][: given.learn])
    assert bench.make_environment is not None
    start = perf_counter()
    arm = Arm(ArmName.LEARN, derive_seed(given.seed, "learn"), learning=True)
    RolloutRunner(bench, bench.make_environment, LEARNING).run(arm, tasks, None)
    print(f"learning: {perf_counter() - start:.0f} s in this run", flush=True)
    reward_episodes(bench, LEARNING)
    done = remember_episodes(bench)
    bench.memories.follow()
    updates = update_adapter(bench, bench.memories, LEARNING, done.episodes)
    if not done.episodes:
        return
    stand_in = load_settings(loop={"seed": given.seed})
    client = build_client(stand_in, bench.database)
    run_reflections(replace(bench, client=client), Change(SYSTEM, utc_now, round_number=LEARNING))
    client.close()
    print(f"remembered {done.decisions} decisions of {done.episodes} episodes; {updates} updates", flush=True)


def _library(bench: Bench) -> LibrarySnapshot:
    with bench.database.read() as session:
        library = standing_library(session, bench.settings, bench.domain, bench.embedder)
    print(f"rules: {len(library.rules)}")
    return library


def _experience(bench: Bench, sources: Sources) -> Experience:
    with bench.database.read() as session:
        adapter = current_adapter(session, bench.domain, bench.settings.policy) if sources.adapter else None
    return make_experience(bench.memories, sources, adapter, bench.settings, candidate_floor(bench.embedder))


def _play(stage: Stage, number: int, library: LibrarySnapshot | None, experience: Experience | None) -> None:
    assert stage.bench.make_environment is not None
    runner = RolloutRunner(stage.bench, stage.bench.make_environment, number, experience)
    runner.run(Arm(ArmName.AFTER, derive_seed(stage.seed, "held-out")), stage.tasks, library)


def _show(database: Database, domain: str) -> None:
    with database.read() as session:
        found = {name: _outcomes(session, domain, number) for name, number in ROUNDS.items()}
        print(f"{'arm':10} {'success':>22} {'mean reward':>12} {'against static':>24} {'calls':>6} {'tokens':>7}")
        for name, outcomes in found.items():
            passed = [task for task, reward in outcomes.items() if reward >= load_settings().agent.pass_reward]
            interval = wilson(len(passed), len(outcomes))
            calls, tokens = _spent(session, ROUNDS[name])
            print(
                f"{name:10} {interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f}), n {len(outcomes)} "
                f"{sum(outcomes.values()) / len(outcomes):12.2f} {_against(found['static'], outcomes):>24} "
                f"{calls:6} {tokens:7}"
            )


def _outcomes(session: Session, domain: str, number: int) -> dict[str, float]:
    rows = select(Episode.task_id, Episode.reward).where(
        Episode.environment == domain, Episode.round_number == number, Episode.status == "done"
    )
    return dict(session.exec(rows).all())


def _spent(session: Session, number: int) -> tuple[int, int]:
    tokens = func.coalesce(func.sum(col(LedgerEntry.input_tokens) + col(LedgerEntry.output_tokens)), 0)
    return session.exec(select(func.count(), tokens).where(LedgerEntry.round_number == number)).one()


def _against(static: dict[str, float], outcomes: dict[str, float]) -> str:
    """Count tasks that came out better and worse by reward, with the exact sign test."""
    both = static.keys() & outcomes.keys()
    better = sum(outcomes[task] > static[task] for task in both)
    worse = sum(outcomes[task] < static[task] for task in both)
    return f"{better} better, {worse} worse, p {mcnemar_exact(better, worse):.2g}"


if __name__ == "__main__":
    main()
