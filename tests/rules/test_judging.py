"""What the model is asked about two rules, and what happens when it cannot answer."""

from typing import Any

from core.errors import ModelCallError
from core.llm.client import CallContext
from core.rules.judging import judge_conflicts, judge_equivalence
from core.rules.wording import rule_text
from core.tables.rules import RuleContent

A = RuleContent(name="A", condition="the disk is full", action="rotate the logs")
B = RuleContent(name="B", condition="no disk space is left", action="do not rotate the logs")
CONTEXT = CallContext("judge")


class Answering:
    """Stands in for the model client: gives the answers in turn, fails where one is None."""

    def __init__(self, *answers: dict[str, object] | None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def structured(self, context: CallContext, messages: Any, schema: Any, **_sampling: Any) -> Any:
        self.asked.append(messages[-1]["content"])
        answer = self.answers.pop(0)
        if answer is None:
            raise ModelCallError("No usable answer")
        return schema.model_validate(answer)


def test_conflicts_are_judged_pair_by_pair_and_a_failed_call_counts_as_a_conflict() -> None:
    client: Any = Answering({"reason": "both can be done", "conflict": False}, None)
    answers = judge_conflicts(client, [(A, B), (B, A)], CONTEXT)
    assert [answer.conflict for answer in answers] == [False, True]
    assert client.asked[0] == f"A: {rule_text(A)}\nB: {rule_text(B)}"


def test_equivalence_brings_a_draft_or_nothing() -> None:
    client: Any = Answering({"reason": "same", "equivalent": True, "condition": "c", "action": "a"}, None)
    judgement = judge_equivalence(client, A, B, CONTEXT)
    assert judgement is not None
    assert (judgement.equivalent, judgement.condition, judgement.exclusion) == (True, "c", "")
    assert judge_equivalence(client, A, B, CONTEXT) is None
