"""Many rounds on the bundled world with drift: does what was learned last? ``python -m tests.bench.drift --help``

Each run takes some ten minutes; figures are printed, and the database is kept where ``--folder`` says.
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlmodel import Session, col, select

from core.db import Database, open_database
from core.effects import Finding
from core.environments.incidents_content import load_types
from core.learning.service import run_rounds
from core.rules.library import contents_at
from core.settings import load_settings
from core.tables import Episode, Round, RuleEvent
from core.views.effects import effects_by_rule
from tests.bench.machine import machine

IN_USE = ("candidate", "active", "probation")
_NO_ELIMINATION: dict[str, Any] = {
    "prune_share": 0.0,
    "capacity": 100_000,
    "harmful_probability": 0.999_999,
    "unretrieved_rounds": 100_000,
    "probation_rounds": 100_000,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "all": {},
    "gate_off": {},
    "elimination_off": _NO_ELIMINATION,
    "both_off": _NO_ELIMINATION,
}
WITHOUT_GATE = ("gate_off", "both_off")


@dataclass(frozen=True)
class State:
    """One round's end: held-out success (None if not measured), rules in use, tokens of the longest prompt's rules."""

    number: int
    success: float | None
    rules: int


def run(variant: str, seed: int, given: argparse.Namespace) -> Database:
    """Run the loop; a run that is in the folder already goes on."""
    database = open_database(f"sqlite:///{given.folder}/{variant}_{given.mix_up:g}_{seed}.db")
    settings = load_settings(
        loop={"seed": seed},
        simulation={"seed": seed, "mix_up_rate": given.mix_up},
        budget={"per_day_usd": None, "total_usd": None},
        lifecycle={"approval": "auto", **VARIANTS[variant]},
    )
    with database.read() as session:
        done = len(session.exec(select(Round.number).where(Round.phase == "finished")).all())
    keep_all = patch("core.learning.gate.commits", lambda *_: True)
    if variant in WITHOUT_GATE:
        keep_all.start()
    try:
        run_rounds(settings, database, rounds=max(0, given.rounds - done))
    finally:
        if variant in WITHOUT_GATE:
            keep_all.stop()
    return database


def states(session: Session) -> list[State]:
    """Return how each round ended."""
    found = []
    for row in session.exec(select(Round).order_by(col(Round.number))):
        last = session.exec(
            select(RuleEvent.id).where(col(RuleEvent.round_number) <= row.number).order_by(col(RuleEvent.id).desc())
        ).first()
        contents = contents_at(session, last or 0).values()
        in_use = sum(content["state"] in IN_USE for content in contents)
        found.append(State(row.number, row.gain.get("success_after"), in_use))
    return found


def learned_after(session: Session, kind: str) -> tuple[int | None, int | None]:
    """Return the first round that met a task type, and how many rounds later half of its held-out tasks passed."""
    met = session.exec(
        select(Episode.round_number)
        .where(Episode.arm == "learn", Episode.task_type == kind)
        .order_by(col(Episode.round_number))
    ).first()
    if met is None:
        return None, None
    arms = {row.number: row.gain.get("arm", "after") for row in session.exec(select(Round))}
    passes: defaultdict[int, list[bool]] = defaultdict(list)
    rows = select(Episode).where(Episode.split == "held_out", Episode.task_type == kind)
    for episode in session.exec(rows):
        number = episode.round_number or 0
        if number >= met and episode.arm == arms.get(number):
            passes[number].append(episode.grade == "pass")
    good = [number for number, passed in sorted(passes.items()) if 2 * sum(passed) >= len(passed)]
    return met, (good[0] - met if good else None)


def helping(session: Session) -> str:
    """Say how many rules in use help or cannot be told to harm."""
    contents = contents_at(session, 10**12)
    in_use = [rule_id for rule_id, content in contents.items() if content["state"] in IN_USE]
    effects = effects_by_rule(session, in_use)
    harmless = sum(effect.finding is not Finding.BELOW for effect in effects.values())
    return f"{harmless} of {len(in_use)} rules in use help or are too few to tell"


def show(variant: str, seed: int, database: Database) -> None:
    """Print one run's figures."""
    with database.read() as session:
        ends = states(session)
        scores = [state.success for state in ends if state.success is not None]
        print(f"{variant} seed {seed}: " + " ".join(f"{score:.2f}" for score in scores))
        print(f"  best {max(scores):.3f}, last {scores[-1]:.3f}, fall {max(scores) - scores[-1]:.3f}")
        print(f"  rules in use at most {max(state.rules for state in ends)}; {helping(session)}")
        for kind, content in load_types().items():
            if content.phase == "late":
                met, after = learned_after(session, kind)
                print(f"  {kind}: met in round {met}, learned {after} rounds later")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", choices=VARIANTS, default="all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--mix-up", type=float, default=0.04, help="share of lessons that are the wrong way round")
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    for seed in given.seeds:
        show(given.variant, seed, run(given.variant, seed, given))


if __name__ == "__main__":
    main()
