"""The prompt keeps hitting its limit: rules that were found fitting are cut, round after round."""

from collections import Counter

from sqlalchemy import case, func, select
from sqlmodel import col

from core.i18n import mark
from core.statistics import Interval, wilson
from core.tables import Episode, RuleUse
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Window

_EXPLANATION = mark(
    "In most prompts of rounds {rounds} the token budget cut rules that fitted the task. Which ones is decided by "
    "utility over the whole library, not by what this task needs."
)
_ADVICE = mark(
    "Ask for {fits} rules, which is what three prompts in four have room for: then the best fitting ones are chosen."
)
_CUT = mark("Prompts that lost a rule, round {round}")
_SERVED = mark("Rules a prompt had room for, mean")
_ROUNDS = 2
_OFTEN = 0.5


def detect(window: Window) -> list[Trouble]:
    """Report if in each of the last two rounds more than half of the prompts with rules were cut."""
    rounds = window.newest(_ROUNDS)
    prompts = {number: _prompts(window, number) for number in rounds}
    shares = {
        number: wilson(sum(n for (_, cut), n in found.items() if cut), found.total())
        for number, found in prompts.items()
    }
    if len(rounds) < _ROUNDS or any(share.low is None or share.low <= _OFTEN for share in shares.values()):
        return []
    whole = sum(prompts.values(), Counter())
    served = sorted(count for count, _ in whole.elements())
    fits = max(1, served[len(served) // 4])
    facts = [Fact(_CUT, share, values={"round": number}, round=number) for number, share in shares.items()]
    mean = Interval(sum(served) / len(served), None, None, len(served))
    return [
        Trouble(
            Kind.PROMPT_LIMIT,
            _EXPLANATION,
            (*facts, Fact(_SERVED, mean, "number")),
            Remedy(_ADVICE, {"fits": fits}, {"retrieval.top_k": fits}),
            values={"rounds": ", ".join(map(str, rounds))},
        )
    ]


def _prompts(window: Window, number: int) -> Counter[tuple[int, int]]:
    """Count the training prompts that had any rule, by rules served and rules cut."""
    served, cut = (func.sum(case((col(RuleUse.disposition) == kind, 1), else_=0)) for kind in ("served", "trimmed"))
    each = (
        select(served.label("served"), cut.label("cut"))
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(
            col(Episode.round_number) == number,
            col(Episode.arm) == "learn",
            col(Episode.library_left_out).is_(False),
        )
        .group_by(col(RuleUse.episode_id))
        .subquery()
    )
    rows = window.session.execute(select(each.c.served, each.c.cut, func.count()).group_by(each.c.served, each.c.cut))
    return Counter({(int(kept), int(lost)): int(n) for kept, lost, n in rows})
