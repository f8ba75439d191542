"""Reflection talks without saying anything: its drafts are slogans, and the quality step refuses them."""

from typing import Any

from sqlalchemy import select
from sqlmodel import col

from core.i18n import mark
from core.tables import Reflection
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window

_EXPLANATION = mark(
    "Of the rules that reflection wrote in the last rounds, {empty} of {drafts} were refused because they say nothing "
    "to do. Such rounds cost money and teach nothing."
)
_ADVICE = mark(
    "Give each reflection more digests to contrast. If that does not help, another model may: set "
    "RULEWRIGHT_MODEL__REFLECT and start again."
)
_SHARE = mark("Drafts refused as empty talk, round {round}")
_EMPTY = {"vacuous", "empty"}
_DRAFTED = {"ADD", "EDIT"}
_DRAFTS = 6
_OFTEN = 0.3


def detect(window: Window) -> list[Trouble]:
    """Report if clearly more than three drafts in ten were refused as empty."""
    by_round = {number: _empty(window, number) for number in window.newest()}
    whole = sum(by_round.values(), Passes(0, 0))
    if whole.n < _DRAFTS or (whole.rate.low or 0.0) <= _OFTEN or not by_round[window.newest(1)[0]].passed:
        return []
    facts = [Fact(_SHARE, found.rate, values={"round": n}, round=n) for n, found in by_round.items() if found.n]
    more = window.settings.round.digests_max + 3
    return [
        Trouble(
            Kind.EMPTY_TALK,
            _EXPLANATION,
            tuple(facts),
            Remedy(_ADVICE, changes={"round.digests_max": more}),
            values={"empty": whole.passed, "drafts": whole.n},
        )
    ]


def _empty(window: Window, number: int) -> Passes:
    """Return drafts refused as empty talk, out of all drafts of a round."""
    rows = window.session.execute(
        select(col(Reflection.operations), col(Reflection.outcomes)).where(col(Reflection.round_number) == number)
    )
    empty = drafts = 0
    for operations, outcomes in rows:
        for operation, outcome in zip(operations, outcomes, strict=False):
            if operation.get("op") in _DRAFTED:
                drafts += 1
                empty += outcome.get("result") == "refused" and any(map(_is_empty, outcome.get("reasons", [])))
    return Passes(empty, drafts)


def _is_empty(reason: dict[str, Any]) -> bool:
    values = reason.get("values", {})
    slogan = reason.get("detector") == "length" and values.get("units", 0) < values.get("limit", 0)
    return slogan or reason.get("detector") in _EMPTY
