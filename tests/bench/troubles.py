"""The ten troubles by real rounds: how fast each is seen, and gone. ``python -m tests.bench.troubles --help``"""

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

from core.views.diagnostics.trouble import Kind
from tests.bench.machine import machine
from tests.support.troubled import CUES, ILLS, INCIDENTS, fresh, healthy_reports, take_course


def provoke(kinds: list[Kind], seed: int, folder: Path) -> None:
    """Provoke some troubles, one after the other, and print what became of each."""
    for kind in kinds:
        began = perf_counter()
        course = take_course(kind, ILLS[kind], fresh(folder, f"{kind}_{seed}"), seed)
        print(f"{kind}, seed {seed}: {ILLS[kind].how}")
        print(f"  seen after {course.seen} rounds, gone {course.gone} after the remedy {list(course.remedies)}")
        print(f"  besides {sorted(course.besides)}; while healthy {sorted(course.before)}")
        print(f"  {perf_counter() - began:.1f} s", flush=True)


def watch(world: str, seeds: int, rounds: int, folder: Path) -> None:
    """Run healthy rounds, and print what was reported."""
    false = set()
    for seed in range(1, seeds + 1):
        reports = healthy_reports(fresh(folder, f"healthy_{seed}"), seed, rounds, world)
        for number, trouble in reports:
            false.add((seed, trouble.kind, trouble.subject))
            figures = ", ".join(f"{fact.what.format(**fact.values)} {fact.figure}" for fact in trouble.facts)
            print(f"  seed {seed}, round {number}: {trouble.kind} {trouble.subject}: {figures}", flush=True)
    print(f"{seeds} healthy runs of {rounds} rounds in {world}: {len(false)} reports")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", type=Kind, choices=list(Kind), nargs="*", default=list(Kind))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--healthy", type=int, default=20, help="healthy runs")
    parser.add_argument("--rounds", type=int, default=5, help="of a healthy run")
    parser.add_argument("--world", default=INCIDENTS, help=f"of the healthy runs; e.g. {CUES}, which is faster")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for seed in given.seeds:
            provoke(given.kinds, seed, Path(folder))
        if given.healthy:
            watch(given.world, given.healthy, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
