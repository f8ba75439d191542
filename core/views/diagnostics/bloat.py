"""Bloat: the library grows, and a smaller share of it helps."""

from sqlalchemy import select
from sqlmodel import col

from core.i18n import mark
from core.settings import LifecycleSettings
from core.tables import RuleTally
from core.views.diagnostics.library_before import LibraryBefore, library_before, state_before
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window

_EXPLANATION = mark(
    "The library grew from {before} to {now} rules, and the share that helped at least one episode fell. The rest "
    "takes room in prompts and attention in Review."
)
_ADVICE = mark(
    "Let the weakest rules go each round, archive candidates that nobody's prompt asks for, and limit the library to "
    "{capacity} rules: the next round keeps those of highest utility."
)
_HELPED = mark("Rules that helped, of those in the library, round {round}")
_PROMPTS_FULL = 3
_GROWTH = 1.2
_SURE = 0.99
_HALF = 0.5


def detect(window: Window) -> list[Trouble]:
    """Compare the newest round with the one that far back that a trouble has to show."""
    rounds = [one.number for one in window.rounds][-4:]
    if len(rounds) < 2:
        return []
    library = library_before(window, rounds)
    last = rounds[-1]
    earlier = min(rounds[:-1], key=lambda number: (library[number].size < window.settings.retrieval.top_k, number))
    before, now = (_helped(window, number, library[number]) for number in (earlier, last))
    large = now.n > _PROMPTS_FULL * window.settings.retrieval.top_k and now.n >= _GROWTH * before.n
    if not large or not before.n or now.is_below(before) < _SURE or now.passed >= _HALF * now.n:
        return []
    usual = LifecycleSettings()
    capacity = max(_PROMPTS_FULL * window.settings.retrieval.top_k, 2 * now.passed)
    changes = {
        "lifecycle.capacity": min(capacity, window.settings.lifecycle.capacity),
        "lifecycle.prune_share": max(usual.prune_share, window.settings.lifecycle.prune_share),
        "lifecycle.unretrieved_rounds": min(usual.unretrieved_rounds, window.settings.lifecycle.unretrieved_rounds),
    }
    facts = tuple(
        Fact(_HELPED, passes.rate, values={"round": number}, round=number)
        for number, passes in ((earlier, before), (last, now))
    )
    return [
        Trouble(
            Kind.BLOAT,
            _EXPLANATION,
            facts,
            Remedy(_ADVICE, {"capacity": changes["lifecycle.capacity"]}, changes),
            values={"before": before.n, "now": now.n},
        )
    ]


def _helped(window: Window, number: int, library: LibraryBefore) -> Passes:
    """Count the rules of a round's library that a verified success of the round is owed to."""
    helpful = set(
        window.session.execute(
            select(col(RuleTally.rule_id))
            .where(col(RuleTally.round_number) == number, col(RuleTally.arm) == "learn", col(RuleTally.verified) > 0)
            .distinct()
        ).scalars()
    )
    states = state_before(window, library, helpful)
    return Passes(sum(state not in (None, "archived") for state in states.values()), library.size)
