"""The prompt an agent gets: stable parts first, rules after them, in a set order and room (design section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.rules.lifecycle import State
from core.rules.retrieval import Hit
from core.rules.wording import rule_text
from core.settings import RetrievalSettings
from core.text import estimate_tokens

_RULES_HEADING = "## Rules learned from experience\nFollow each rule whenever its condition holds."
_AGAIN_HEADING = "## Once more, the most important rules"
_FURTHER_HEADING = "Rules that may hold for what you see now:"


@dataclass(frozen=True)
class Prompt:
    """A system prompt and what happened to the retrieved rules.

    Attributes:
        text: the system prompt.
        served: rules in it, in order of their first appearance.
        trimmed: rules the budget cut.
        rule_tokens: estimated tokens of the rules' part.
    """

    text: str
    served: tuple[Hit, ...]
    trimmed: tuple[Hit, ...]
    rule_tokens: int


def assemble(stable: str, hits: Sequence[Hit], settings: RetrievalSettings) -> Prompt:
    """Put rules behind the stable part, within the budget.

    Over it the repetition goes first, then candidates but for the least number, then the lowest utility: what nobody
    has confirmed takes no more than its own place from live rules, and never the last one's.
    """
    kept, trimmed = list(hits), []
    room = rule_budget(stable, settings)
    doubled = settings.doubled if estimate_tokens(_rules_part(kept, settings.doubled)) <= room else 0
    while kept and estimate_tokens(_rules_part(kept, doubled)) > room:
        loser = _first_to_go(kept, settings.min_candidates)
        kept.remove(loser)
        trimmed.append(loser)
    part = _rules_part(kept, doubled)
    text = f"{stable}\n\n{part}" if part else stable
    return Prompt(text, tuple(kept), tuple(trimmed), estimate_tokens(part))


def _first_to_go(hits: Sequence[Hit], min_candidates: int) -> Hit:
    candidates = [hit for hit in hits if hit.rule.state == State.CANDIDATE]
    live = [hit for hit in hits if hit.rule.state != State.CANDIDATE]
    pool = live if len(live) > 1 and len(candidates) <= min_candidates else candidates or live
    return min(pool, key=lambda hit: (hit.utility, hit.score, hit.rule.id))


def further_rules(hits: Sequence[Hit], numbered: int, room: int) -> tuple[str, int, list[Hit]]:
    """Write rules that come up on the way, as many of the best as there is room for.

    Args:
        hits: best first.
        numbered: rules the episode has been given so far; numbers go on from there.
        room: estimated tokens left.

    Returns:
        The text ('' for none), its estimated tokens, and the rules in it.
    """
    for count in range(len(hits), 0, -1):
        lines = [f"[R{number}] {rule_text(hit.rule)}" for number, hit in enumerate(hits[:count], numbered + 1)]
        text = "\n".join([_FURTHER_HEADING, *lines])
        if estimate_tokens(text) <= room:
            return text, estimate_tokens(text), list(hits[:count])
    return "", 0, []


def rule_budget(stable: str, settings: RetrievalSettings) -> int:
    """Return the tokens the rules may take: the absolute limit, or their share of the whole system prompt."""
    share = settings.max_share
    by_share = int(estimate_tokens(stable) * share / (1 - share)) if share < 1 else settings.max_tokens
    return min(settings.max_tokens, by_share)


def _rules_part(hits: Sequence[Hit], doubled: int) -> str:
    """Best rules first, the rest between, the best again at the end, where models follow most."""
    if not hits:
        return ""
    lines = [f"[R{number}] {rule_text(hit.rule)}" for number, hit in enumerate(hits, 1)]
    parts = [_RULES_HEADING, *lines]
    if 0 < doubled < len(lines):
        parts += [_AGAIN_HEADING, *lines[:doubled]]
    return "\n".join(parts)
