"""Was a rule followed in an episode? By checking where its action names tools or values, else by a model.

Design section 8: complied / judged rule-episode pairs; pairs to which the rule did not apply are kept apart.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from core.errors import ModelCallError
from core.llm.client import CallContext, ModelClient
from core.rules.names import prescribed_names
from core.text import search_terms

Verdict = Literal["complied", "violated", "not_applicable", "unjudged"]

_APPLIES = 0.6
_DOES_NOT_APPLY = 0.35
_VOTES = 3

JUDGE_PROMPT = (
    "You check whether an agent followed a rule in an episode. Answer not_applicable if the rule's condition "
    "never came up, complied if it came up and the agent did what the rule says, violated if it came up and "
    "the agent did not. Judge only what the digest shows. Give the reason first."
)


class ComplianceJudgement(BaseModel):
    """The judge's answer."""

    reason: str
    verdict: Literal["complied", "violated", "not_applicable"]


def check_compliance(
    condition: str, action: str, messages: Sequence[Mapping[str, Any]], names: frozenset[str]
) -> Verdict:
    """Judge without a model, or return ``unjudged`` where that cannot be done.

    Args:
        condition: of the rule.
        action: of the rule.
        messages: of the episode, OpenAI chat format.
        names: identifiers the rule may name: tools and enumerated argument values.
    """
    wanted, forbidden = prescribed_names(action, names)
    if not wanted and not forbidden:
        return "unjudged"
    applies = condition_share(condition, messages)
    if applies < _DOES_NOT_APPLY:
        return "not_applicable"
    used = _names_used(messages)
    if forbidden & used or not wanted <= used:
        # A rule whose condition may or may not have come up is not called violated on lexical grounds alone.
        return "violated" if applies >= _APPLIES else "unjudged"
    return "complied"


def judge_compliance(client: ModelClient, context: CallContext, rule_text: str, digest: str, seed: int) -> Verdict:
    """Ask the model three times and take the majority; ``unjudged`` if there is none or the calls fail."""
    messages = [
        {"role": "system", "content": JUDGE_PROMPT},
        {"role": "user", "content": f"RULE: {rule_text}\n\n### P1\n{digest}"},
    ]
    votes: Counter[Verdict] = Counter()
    for vote in range(_VOTES):
        try:
            answer = client.structured(context, messages, ComplianceJudgement, temperature=0.0, seed=seed + vote)
        except ModelCallError:
            continue
        votes[answer.verdict] += 1
        if votes[answer.verdict] > _VOTES // 2:
            return answer.verdict
    return "unjudged"


def condition_share(condition: str, messages: Sequence[Mapping[str, Any]]) -> float:
    """Share of the condition's terms that came up in what the agent was told, in [0, 1]."""
    needed = set(search_terms(condition))
    told: set[str] = set()
    for message in messages:
        if message["role"] in ("user", "tool"):
            told.update(search_terms(str(message.get("content") or "")))
    return len(needed & told) / len(needed) if needed else 0.0


def _names_used(messages: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    used: set[str] = set()
    for message in messages:
        for call in message.get("tool_calls") or []:
            used.add(call["function"]["name"])
            try:
                arguments = json.loads(call["function"]["arguments"] or "{}")
            except json.JSONDecodeError:
                continue
            if isinstance(arguments, dict):
                used.update(str(value) for value in arguments.values())
    return frozenset(used)
