"""Contrastive reflection: first the differences, then operations on the rule pool (design section 8).

The operations ADD, EDIT, UPVOTE, DOWNVOTE, MERGE are those of the JERP paper (arXiv 2606.27136); the
contrast of success with failure is the JitRL articles'. What becomes of an operation is core.learning.intake's.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from core.learning.contrast import Batch
from core.llm.client import CallContext, ModelClient
from core.rules.wording import rule_text
from core.tables import Rule
from core.tables.rules import RuleContent

REFLECTION_PROMPT = """\
You improve an agent by writing short rules that go into its later prompts. You get digests of episodes that \
passed and of episodes that failed, and the rules that were in their prompts.

First compare: where, at which decision, did passing and failing episodes part, and what did each side do?
Then answer with at most {max_operations} operations on the rules:
- ADD a new rule.
- EDIT an existing rule (target: its label) that is right but too narrow, too broad or unclear.
- UPVOTE an existing rule (target) that passing episodes confirm; DOWNVOTE one that failing episodes followed.
- MERGE two existing rules (target and other) that say the same.

A rule has a condition (the general symptoms that the agent can see, not names, numbers, dates or ids of one \
case), an action (what to do, naming the tool and its argument values; if there is a tempting wrong step, \
forbid it), and an exclusion (when it does not apply; empty if none). Condition, action and exclusion together \
have at most {max_units} words, or {max_units} characters in Chinese. No attitudes ("be careful"), no web \
addresses, no code. Confidence is between 0 and 1. In evidence, list the labels of the episodes that support it.

How episodes are scored: {scoring}"""


class Difference(BaseModel):
    """Where a passing and a failing episode parted."""

    task: str
    decision_point: str
    passing_did: str
    failing_did: str
    why: str


class Operation(BaseModel):
    """One operation on the rule pool. Labels (P1, F1, K1) stand for episodes and rules of the request."""

    op: Literal["ADD", "EDIT", "UPVOTE", "DOWNVOTE", "MERGE"]
    target: str = ""
    other: str = ""
    name: str = ""
    condition: str = ""
    action: str = ""
    exclusion: str = ""
    rationale: str = ""
    tags: list[str] = Field(default_factory=list)
    priority: float = 0.5
    confidence: float = 0.0
    evidence: list[str] = Field(default_factory=list)

    def draft(self, domain: str) -> RuleContent:
        """Return what the rule would say; numbers are brought into range."""
        return RuleContent(
            name=self.name.strip() or self.action.strip()[:60],
            condition=self.condition.strip(),
            action=self.action.strip(),
            exclusion=self.exclusion.strip(),
            rationale=self.rationale.strip(),
            domain=domain,
            tags=[tag.strip() for tag in self.tags if tag.strip()][:8],
            priority=min(1.0, max(0.0, self.priority)),
            confidence=min(1.0, max(0.0, self.confidence)),
        )


class ReflectionOutput(BaseModel):
    """The answer: differences first, so that operations follow from them."""

    differences: list[Difference]
    operations: list[Operation]


class Labels:
    """The short names that episodes and rules have in one request."""

    def __init__(self, batch: Batch, rules: Sequence[Rule]) -> None:
        passing = {f"P{i}": episode.id for i, episode in enumerate(batch.passing, 1)}
        failing = {f"F{i}": episode.id for i, episode in enumerate(batch.failing, 1)}
        self.episodes: dict[str, str] = {**passing, **failing}
        self.rules: dict[str, str] = {f"K{i}": rule.id for i, rule in enumerate(rules, 1)}

    def resolve(self, operation: Operation) -> Operation:
        """Return the operation with ids in the place of labels; what stands for nothing is dropped."""
        evidence = [self.episodes.get(label.strip("[]"), "") for label in operation.evidence]
        return operation.model_copy(
            update={
                "target": self.rules.get(operation.target.strip("[]"), ""),
                "other": self.rules.get(operation.other.strip("[]"), ""),
                "evidence": [episode_id for episode_id in evidence if episode_id],
            }
        )


def reflect(
    client: ModelClient, context: CallContext, request: str, *, system: str, max_operations: int
) -> ReflectionOutput:
    """Ask the model and keep the first ``max_operations`` operations.

    Raises:
        ModelCallError: no usable answer.
    """
    messages = [{"role": "system", "content": system}, {"role": "user", "content": request}]
    answer = client.structured(context, messages, ReflectionOutput, temperature=0.0)
    return answer.model_copy(update={"operations": answer.operations[:max_operations]})


def system_prompt(scoring: str, max_operations: int, max_units: int) -> str:
    """Return the reflection's system prompt; the same for all batches of an environment."""
    return REFLECTION_PROMPT.format(max_operations=max_operations, max_units=max_units, scoring=scoring)


def request_text(batch: Batch, rules: Sequence[Rule], digests: Mapping[str, str]) -> str:
    """Return the request: known rules and digests, each under its label."""
    known = [f"[K{i}] {rule_text(rule)}" for i, rule in enumerate(rules, 1)] or ["none"]
    return "\n".join(
        [
            "## Rules that were in the prompts",
            *known,
            "## Passing episodes",
            *[f"### P{i}\n{digests[episode.id]}" for i, episode in enumerate(batch.passing, 1)],
            "## Failing episodes",
            *[f"### F{i}\n{digests[episode.id]}" for i, episode in enumerate(batch.failing, 1)],
        ]
    )
