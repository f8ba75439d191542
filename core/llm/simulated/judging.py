"""How the stand-in model judges: equivalence, conflict, compliance, episodes; and how it condenses."""

import re
from typing import Any

from core.llm.simulated.conditions import ReadCondition
from core.llm.simulated.digests import clauses, read_digests
from core.llm.simulated.reading import read_rule, split_rule

_SIDE = re.compile(r"^([AB]): (.+)$", re.MULTILINE)
_SAID = re.compile(r"^USER: (.+)$", re.MULTILINE)
_THANKS = re.compile(
    r"\b(?:thank|thanks|great|perfect|wonderful|works now|solved)\b|谢|太好了|好的|解决了|可以了", re.IGNORECASE
)
_COMPLAINT = re.compile(
    r"\b(?:not|still|wrong|never|again|unacceptable|ridiculous|useless|terrible|complaint|supervisor|manager)\b|n't"
    r"|不|没|差|投诉|失望|生气|浪费",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def judge_merge(request: str) -> dict[str, Any]:
    """Say whether rules A and B are equivalent, and draft one that covers both."""
    a, b = _sides(request)
    names = tuple(sorted(set(_NAME.findall(a + " " + b)), key=len, reverse=True))
    first, second = read_rule(a, names), read_rule(b, names)
    near = first.match(second.terms) >= 0.5 or second.match(first.terms) >= 0.5
    equivalent = bool(first.wants) and first.wants == second.wants and near
    condition, action = split_rule(a)
    return {
        "equivalent": equivalent,
        "name": action.partition(" ")[2].split(", not ")[0][:80],
        "condition": _general(condition, split_rule(b)[0]),
        "action": action,
        "exclusion": "",
        "reason": "They ask for the same step" if equivalent else "They ask for different steps or cases",
    }


def judge_conflict(request: str) -> dict[str, Any]:
    """Say whether one rule forbids what the other asks for."""
    a, b = _sides(request)
    names = tuple(sorted(set(_NAME.findall(a + " " + b)), key=len, reverse=True))
    first, second = read_rule(a, names), read_rule(b, names)
    clash = (set(first.wants) & second.forbids) | (set(second.wants) & first.forbids)
    near = first.match(second.terms) >= 0.5 or second.match(first.terms) >= 0.5
    reason = f"One asks for {sorted(clash)[0]}, the other forbids it" if clash else "Both can be followed"
    return {"conflict": bool(clash) and near, "reason": reason}


def judge_compliance(request: str) -> dict[str, Any]:
    """Say whether an episode followed a rule."""
    rule_line = next((line[6:] for line in request.splitlines() if line.startswith("RULE: ")), "")
    digests = read_digests(request)
    if not rule_line or not digests:
        return {"reason": "nothing to judge", "verdict": "not_applicable"}
    digest = digests[0]
    names = tuple({call.tool for call in digest.calls} | {v for call in digest.calls for _, v in call.arguments if v})
    rule = read_rule(rule_line, tuple(sorted(names, key=len, reverse=True)))
    used = {call.tool for call in digest.calls} | {v for call in digest.calls for _, v in call.arguments}
    if rule.match(digest.terms) < 0.5:
        return {"reason": "its condition did not come up", "verdict": "not_applicable"}
    followed = bool(rule.wants) and set(rule.wants) <= used and not rule.forbids & used
    return {
        "reason": "its step was " + ("taken" if followed else "not taken"),
        "verdict": "complied" if followed else "violated",
    }


def judge_episode(request: str) -> dict[str, Any]:
    """Say how an episode ended for its user, by what the user said last."""
    later = _SAID.findall(request)[1:]
    if not later:
        return {"reason": "the user said nothing after the task", "verdict": "unclear"}
    if _THANKS.search(later[-1]):
        return {"reason": "the user ended with thanks", "verdict": "high"}
    if _COMPLAINT.search(later[-1]):
        return {"reason": "the user ended with a complaint", "verdict": "negative"}
    return {"reason": "the user's last words do not show it", "verdict": "unclear"}


def condense(request: str) -> str:
    """Shorten a digest: the stand-in keeps it, tidied, since it is already an extraction."""
    start = request.find("TASK: ")
    return "\n".join(line.rstrip() for line in request[max(0, start) :].splitlines() if line.strip())


def shorten(request: str) -> dict[str, Any]:
    """Shorten a rule that was too long: keep the first symptoms and the step."""
    line = next((line[6:] for line in request.splitlines() if line.startswith("RULE: ")), "")
    condition, action = split_rule(line)
    return {
        "condition": ReadCondition.parse(condition).shortened().text,
        "action": " ".join(action.split()[:18]),
        "exclusion": "",
    }


def name_intent(request: str) -> dict[str, Any]:
    """Name what a task is about: what it says first, without what belongs to one case."""
    task = next((line[6:] for line in request.splitlines() if line.startswith("TASK: ")), "")
    return {"tags": [" ".join(clause.split()[:5]) for clause in clauses(task)[:4]] or ["task"]}


def _sides(request: str) -> tuple[str, str]:
    sides = dict(_SIDE.findall(request))
    return sides.get("A", ""), sides.get("B", "")


def _general(a: str, b: str) -> str:
    """Cover both conditions: the alternatives of both, and what was to be found, if either says so."""
    return ReadCondition.parse(a).joined(ReadCondition.parse(b)).text
