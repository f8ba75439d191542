"""From episodes to rules to a metric, as a flow that can be drawn (design section 12, Provenance)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import Session, col

from core.effects import Finding
from core.tables import Episode, Rule
from core.views.effects import effects_by_rule

_RULES = 15


@dataclass(frozen=True)
class RuleFlow:
    """One rule: what it came from, and what it does.

    Attributes:
        rule_id: of the rule.
        name: of the rule.
        sources: ids of the episodes that it rests on, by task type.
        used: episodes whose prompt carried it.
        finding: what its randomised effect on the metric says.
    """

    rule_id: str
    name: str
    sources: dict[str, tuple[str, ...]]
    used: int
    finding: Finding


def rule_flows(session: Session, domain: str, metric: str) -> list[RuleFlow]:
    """Return the most used rules in use of a domain, most used first, at most fifteen."""
    rules = session.execute(
        select(col(Rule.id), col(Rule.name), col(Rule.evidence), col(Rule.n_used))
        .where(col(Rule.domain) == domain, col(Rule.state) != "archived", col(Rule.n_used) > 0)
        .order_by(col(Rule.n_used).desc(), col(Rule.id))
        .limit(_RULES)
    ).all()
    cited = {episode for _, _, evidence, _ in rules for episode in evidence}
    rows = session.execute(select(col(Episode.id), col(Episode.task_type)).where(col(Episode.id).in_(cited)))
    kinds = {episode: kind for episode, kind in rows}
    effects = effects_by_rule(session, [rule_id for rule_id, *_ in rules], metric=metric)
    return [
        RuleFlow(
            rule_id,
            name,
            _by_type(evidence, kinds),
            used,
            effects[rule_id].finding,
        )
        for rule_id, name, evidence, used in rules
    ]


def _by_type(evidence: Sequence[str], kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for episode in evidence:
        if episode in kinds:
            found[kinds[episode]] += (episode,)
    return dict(sorted(found.items()))
