"""Which rules have to go after a round (design section 6). Decides; core.learning applies."""

from collections.abc import Collection, Mapping, Sequence

from core.rules.lifecycle import State
from core.rules.terms import terms
from core.settings import LifecycleSettings
from core.tables import Rule


def rules_to_retire(
    rules: Sequence[Rule],
    utilities: Mapping[str, float],
    settings: LifecycleSettings,
    pinned: Collection[str] = (),
) -> list[Rule]:
    """Return the rules to archive: those over capacity, then the lowest share by utility.

    Over capacity the lowest utility goes first, among equals the longest unused. The forced share touches
    only rules that have been used often enough for their figures to mean something. Pinned rules take up room
    like any other, but are never among those that go.

    Args:
        rules: all rules of a domain that are not archived.
        utilities: by rule id; infinite while a rule is unused.
        settings: capacity, share and minimum of uses.
        pinned: ids of rules that people want kept.
    """
    loose = [rule for rule in rules if rule.id not in pinned]
    ordered = sorted(loose, key=lambda rule: (utilities[rule.id], rule.last_retrieved_round or 0, rule.id))
    surplus = max(0, len(rules) - settings.capacity)
    retired, kept = ordered[:surplus], ordered[surplus:]
    mature = [rule for rule in kept if rule.n_used >= settings.prune_min_uses and rule.state != State.CANDIDATE]
    return retired + mature[: int(len(mature) * settings.prune_share)]


def with_diversity(rules: Sequence[Rule], utilities: Mapping[str, float], bonus: float) -> dict[str, float]:
    """Add up to ``bonus`` to each utility, the more the less a rule's condition shares words with any other's.

    The only rule for a rare case has few uses and a modest record; what it knows is nowhere else.
    """
    words = {rule.id: frozenset(terms(rule.condition)) for rule in rules}
    return {rule.id: utilities[rule.id] + bonus * (1 - _nearest(rule.id, words)) for rule in rules}


def _nearest(rule_id: str, words: Mapping[str, frozenset[str]]) -> float:
    """Return the largest share of words in common (Jaccard) with any other rule, in [0, 1]."""
    own = words[rule_id]
    shares = (len(own & other) / len(own | other) for key, other in words.items() if key != rule_id and own | other)
    return max(shares, default=0.0)
