"""Real rounds that go wrong on purpose: each of the ten troubles, its remedy, and what the panel says of both.

A trouble is brought about by settings, changed as a person would, and where no setting can do it by a fault that
is put into the loop. Its remedy is what the page Diagnostics offers, applied through ``core.curation``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlmodel import Session, select

from core import curation
from core.clock import utc_now
from core.control import current_settings
from core.curation.conflicts import SeenConflict, keep_rule
from core.curation.rewind import preview_rewind, rewind_to_round
from core.db import Database, open_database
from core.episodes.agent import Trace
from core.learning.sampling import Sample, sample_tasks
from core.learning.service import run_rounds
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.learning.step_rules import StepRules
from core.learning.transitions import prune
from core.llm.simulated.reading import ReadRule, read_rules
from core.rules.library import Change, edit_rule, move_rule, rules_in
from core.rules.lifecycle import IN_USE, Cause, State
from core.rules.utility import Scorer
from core.rules.wording import rule_text
from core.settings import LifecycleSettings, RoundSettings, Settings, load_settings
from core.tables import Task
from core.views.conflicts import conflict_item, conflict_queue
from core.views.diagnostics.panel import domains, troubles
from core.views.diagnostics.trouble import Kind, Trouble

INCIDENTS, CUES = "incidents", "tests.support.worlds:Cues"
WITHIN = 3
"""Rounds in which a trouble has to be seen, and to be gone again."""


def settings_for(world: str, seed: int, **groups: Mapping[str, Any]) -> Settings:
    """Return settings of small rounds without a person's approval; what is given beats them."""
    given: dict[str, dict[str, Any]] = {
        "environment": {"name": world},
        "loop": {"seed": seed},
        "simulation": {"seed": seed},
        "model": {"backoff_initial_s": 0},
        "budget": {"per_day_usd": None, "total_usd": None},
        "lifecycle": {"approval": "auto"},
        "round": {"tasks": 14},
        "gate": {"tasks": 12, "bootstrap_samples": 200},
    }
    for name, values in groups.items():
        given[name] = {**given.get(name, {}), **values}
    return load_settings(_env_file=None, **given)


@dataclass
class Loop:
    """Rounds on a database of their own."""

    database: Database
    start: Settings
    rounds: int = 0

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        with self.database.read() as session:
            return current_settings(session, self.start)

    def run(self) -> None:
        """Run a round."""
        self.rounds += 1
        run_rounds(self.start, self.database, rounds=1)

    def change(self, changes: Mapping[str, Any]) -> None:
        """Change settings as a person does."""
        for name, value in changes.items():
            curation.change_setting(
                self.database, name=name, value=value, settings=self.start, actor="ada", clock=utc_now
            )

    def troubles(self) -> list[Trouble]:
        """Return what Diagnostics says now."""
        settings = self.settings
        with self.database.read() as session:
            return [one for domain in domains(session) for one in troubles(session, settings, domain)]

    def found(self, kind: Kind) -> list[Trouble]:
        """Return what it says of one kind."""
        return [one for one in self.troubles() if one.kind is kind]


Fault = Callable[[Loop], AbstractContextManager[Any]]
ByHand = Callable[[Loop, Trouble], None]


@dataclass(frozen=True)
class Ill:
    """How a trouble is brought about and cured.

    Attributes:
        how: it is brought about, in words.
        world: whose tasks.
        groups: settings of the whole run.
        healthy: rounds before it begins.
        changes: settings changed then.
        fault: put into the loop then.
        stays: the fault stays when the remedy is applied: settings alone have to cure it.
        by_hand: what a person does besides the settings that the remedy changes.
    """

    how: str
    world: str = INCIDENTS
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    healthy: int = 2
    changes: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault = lambda _loop: nullcontext()
    stays: bool = False
    by_hand: ByHand = lambda _loop, _trouble: None


@dataclass(frozen=True)
class Course:
    """What became of a trouble.

    Attributes:
        before: kinds reported while nothing was wrong.
        seen: rounds until it was seen; None: not within three.
        remedies: what the remedies changed, in the order applied.
        gone: rounds from the remedy until it was not seen any more; None: not within three.
        besides: other kinds reported while it was there.
    """

    before: frozenset[Kind]
    seen: int | None
    remedies: tuple[Mapping[str, Any], ...]
    gone: int | None
    besides: frozenset[Kind]


def take_course(kind: Kind, ill: Ill, database: Database, seed: int) -> Course:
    """Run healthy rounds, then ill ones until the trouble is seen, then cured ones until it is not."""
    loop = Loop(database, settings_for(ill.world, seed, **ill.groups))
    before: set[Kind] = set()
    for _ in range(ill.healthy):
        loop.run()
        before |= {one.kind for one in loop.troubles()}
    with ExitStack() as faults:
        loop.change(ill.changes)
        faults.enter_context(ill.fault(loop))
        seen = _rounds_until(loop, lambda: bool(loop.found(kind)))
        besides = frozenset(one.kind for one in loop.troubles()) - {kind}
        if seen is None:
            return Course(frozenset(before), None, (), None, besides)
        if not ill.stays:
            faults.close()
        remedies: list[Mapping[str, Any]] = []

        def cured() -> bool:
            found = loop.found(kind)
            for trouble in found:
                if trouble.remedy.changes not in remedies:
                    remedies.append(trouble.remedy.changes)
                    loop.change(trouble.remedy.changes)
                ill.by_hand(loop, trouble)
            return not found

        cured()
        gone = _rounds_until(loop, cured)
    return Course(frozenset(before), seen, tuple(remedies), gone, besides)


def _rounds_until(loop: Loop, condition: Callable[[], bool]) -> int | None:
    for passed in range(1, WITHIN + 1):
        loop.run()
        if condition():
            return passed
    return None


def healthy_reports(database: Database, seed: int, rounds: int, world: str = INCIDENTS) -> list[tuple[int, Trouble]]:
    """Run rounds in which nothing is wrong; return what was reported, with the round after which it was."""
    loop = Loop(database, settings_for(world, seed, round={"tasks": 20}, gate={"tasks": 24}))
    reports = []
    for number in range(1, rounds + 1):
        loop.run()
        reports += [(number, one) for one in loop.troubles()]
    return reports


def fresh(folder: Path, name: str) -> Database:
    """Return an empty database in a folder."""
    return open_database(f"sqlite:///{folder}/{name}.db")


def _only_types(*kinds: str) -> Callable[[Session, str, RoundSettings, int], Sample]:
    """Sample as ever, but from a few types; again and again if there are no more."""

    def sample(session: Session, environment: str, settings: RoundSettings, seed: int) -> Sample:
        tasks = session.exec(select(Task).where(Task.environment == environment, Task.split == "train"))
        known = [task.id for task in tasks if task.type in kinds]
        wide = sample_tasks(session, environment, settings, seed)
        return Sample(tuple(known[: len(wide.all)]), (), ())

    return sample


@contextmanager
def _narrow_and_careless(_loop: Loop) -> Iterator[None]:
    """Train on draughts alone; let the rules for bells go, and take for the cue what all trained tasks share."""

    def widen(session: Session, domain: str, scorer: Scorer, settings: LifecycleSettings, change: Change) -> None:
        prune(session, domain, scorer, settings, change)
        for rule in rules_in(session, domain, IN_USE):
            if "open_blue_door" in rule.action:
                move_rule(session, rule, State.ARCHIVED, Cause.PRUNED, change.because("Not trained on any more"))
            else:
                edit_rule(session, rule, {"condition": "you are to leave hall"}, change)

    with (
        patch("core.learning.round.sample_tasks", _only_types("draught")),
        patch("core.learning.round.prune", widen),
        patch("core.learning.gate.commits", lambda *_: True),
    ):
        yield


def _rewind(loop: Loop, trouble: Trouble) -> None:
    """Take the library to where it was at the peak, as Library offers."""
    (domain, *_), peak = _domains(loop), int(trouble.values["peak"])
    seen = preview_rewind(loop.database, domain=domain, round_number=peak, clock=utc_now)
    if seen.rules:
        rewind_to_round(
            loop.database, domain=domain, round_number=peak, seen=seen.seen, reason="", actor="ada", clock=utc_now
        )


def _domains(loop: Loop) -> list[str]:
    with loop.database.read() as session:
        return domains(session)


def _all_in_the_middle(_loop: Loop) -> AbstractContextManager[Any]:
    """As if a long text stood before the rules and another behind them."""

    def middling(system: str, identifiers: tuple[str, ...]) -> tuple[ReadRule, ...]:
        return tuple(replace(rule, at_end=False) for rule in read_rules(system, identifiers))

    return patch("core.llm.simulated.acting.read_rules", middling)


def _slogans(_loop: Loop) -> AbstractContextManager[Any]:
    return patch("core.llm.simulated.reflecting._SLOGAN_RATE", 0.9)


def _again_at_every_step(_loop: Loop) -> AbstractContextManager[Any]:
    """Every step says all rules again, once for each message there is."""

    def everything(self: StepRules, trace: Trace) -> str:
        return "\n".join([rule_text(rule) for rule in self._library.rules] * len(trace.messages))

    return patch.object(StepRules, "__call__", everything)


def _wordy_handbook(loop: Loop) -> AbstractContextManager[Any]:
    """Somebody writes forty rules about what never happens."""
    for number in range(40):
        content = {
            "name": f"Alarm {number}",
            "condition": f"alarm {number} sounds in a wing of the building where nobody lives",
            "action": "call open_red_door and wait for the porter there",
            "domain": "cues",
            "confidence": 0.9,
        }
        curation.create(loop.database, content=content, settings=loop.start, actor="ada", clock=utc_now)
    return nullcontext()


def _library_comes_and_goes(loop: Loop) -> AbstractContextManager[Any]:
    """Every second round begins without its rules."""
    complete = SnapshotMaker.current

    def current(self: SnapshotMaker, session: Session, domain: str) -> LibrarySnapshot:
        return self.of([], []) if loop.rounds % 2 else complete(self, session, domain)

    return patch.object(SnapshotMaker, "current", current)


def _two_minds(loop: Loop) -> AbstractContextManager[Any]:
    actions = ("call open_blue_door at once and nothing else", "never call open_blue_door at all, call open_red_door")
    for place, action in enumerate(actions):
        content = {
            "name": f"Bell {place}",
            "condition": "a church bell rings behind the wall",
            "action": action,
            "domain": "cues",
            "confidence": 0.9,
        }
        curation.create(loop.database, content=content, settings=loop.start, actor="ada", clock=utc_now)
    return nullcontext()


def _keep_one(loop: Loop, _trouble: Trouble) -> None:
    """Decide every open conflict as the queue suggests."""
    while True:
        with loop.database.read() as session:
            rows = conflict_queue(session, limit=1).items
            item = conflict_item(session, rows[0].id) if rows else None
        if item is None:
            return
        versions = {side.row.id: side.row.version for side in item.sides}
        keep_rule(
            loop.database, seen=SeenConflict(item.id, versions), keep=item.suggestion.keep_id, reason="", actor="ada",
            clock=utc_now,
        )  # fmt: skip


_NO_ELIMINATION: dict[str, Any] = {
    "lifecycle.prune_share": 0.0,
    "lifecycle.capacity": 100_000,
    "lifecycle.harmful_probability": 0.999_999,
    "lifecycle.unretrieved_rounds": 100_000,
    "lifecycle.probation_rounds": 100_000,
}
ILLS: Mapping[Kind, Ill] = {
    Kind.OVER_FITTING: Ill(
        "one type of two is trained on, what its tasks share is taken for the cue, and the gate lets everything pass",
        CUES,
        {"gate": {"tasks": 36}},
        healthy=3,
        fault=_narrow_and_careless,
        by_hand=_rewind,
    ),
    Kind.PROMPT_LIMIT: Ill("120 tokens for the rules of a prompt", changes={"retrieval.max_tokens": 120}, healthy=3),
    Kind.IGNORED_RULES: Ill(
        "all rules stand in the middle of the prompt, and the model follows 1 in 20 there",
        CUES,
        {"simulation": {"follow_middle": 0.05}},
        changes={"retrieval.doubled": 0},
        fault=_all_in_the_middle,
    ),
    Kind.EMPTY_TALK: Ill("nine of ten lessons are slogans, until another model reflects", fault=_slogans),
    Kind.OVER_PLAN: Ill(
        "all rules are injected again at every step, over and over",
        groups={"round": {"tasks": 10}},
        changes={"retrieval.per_step": True},
        fault=_again_at_every_step,
        stays=True,
    ),
    Kind.FAILING_TYPE: Ill(
        "one rule a prompt, chosen by utility alone",
        groups={"round": {"tasks": 24}},
        changes={"retrieval.top_k": 1, "retrieval.semantic_weight": 0.0},
    ),
    Kind.RULES_FIGHT: Ill(
        "two people write the opposite about the same cue, and no rule is ever eliminated",
        CUES,
        healthy=0,
        changes=_NO_ELIMINATION,
        fault=_two_minds,
        by_hand=_keep_one,
    ),
    Kind.BLOAT: Ill(
        "forty useless rules are written, and no rule is ever eliminated",
        CUES,
        {"retrieval": {"top_k": 2}},
        changes=_NO_ELIMINATION,
        fault=_wordy_handbook,
    ),
    Kind.CONFLICT_VARIANCE: Ill(
        "every second round begins without the library", CUES, healthy=2, fault=_library_comes_and_goes
    ),
    Kind.OSSIFICATION: Ill(
        "no prompt may carry a candidate",
        changes={"retrieval.min_candidates": 0, "retrieval.max_candidates": 0},
    ),
}
