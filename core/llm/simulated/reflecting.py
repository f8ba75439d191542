"""How the stand-in model reflects: from the digests it is given, by contrast, with the slips models make."""

from collections.abc import Sequence
from typing import Any

from core.llm.simulated.dice import uniform
from core.llm.simulated.digests import Call, ReadDigest, clauses, common_clauses, read_digests, read_known
from core.llm.simulated.reading import content_terms, coverage

_SLOGAN_RATE = 0.06
_ONE_CASE_RATE = 0.06
_MIX_UP_RATE = 0.04
_SLOGANS = (
    ("handling an incident", "be careful and pay attention to every detail"),
    ("working on a task", "stay vigilant and always do your best"),
)


def reflect(request: str, seed: int) -> dict[str, Any]:
    """Answer a reflection request with differences and operations."""
    digests = read_digests(request)
    known = read_known(request)
    passing = [d for d in digests if d.passing and d.key_call]
    failing = [d for d in digests if not d.passing]
    differences: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    for group in _groups(passing):
        rivals = _rivals(group, failing)
        differences.append(_difference(group[0], rivals))
        operations.extend(_operations(group, rivals, passing, known, seed))
    operations.extend(_error_rules(failing, passing, seed))
    return {"differences": differences, "operations": operations[:8]}


def _groups(passing: Sequence[ReadDigest]) -> list[list[ReadDigest]]:
    """Put passing episodes together that were settled by the same call and have symptoms in common."""
    groups: list[list[ReadDigest]] = []
    for digest in passing:
        for group in groups:
            if _same_call(group[0].key_call, digest.key_call) and _alike(group[0], digest) >= 0.3:
                group.append(digest)
                break
        else:
            groups.append([digest])
    return groups


def _same_call(a: Call | None, b: Call | None) -> bool:
    if a is None or b is None or a.tool != b.tool:
        return False
    return _enumerable(a) == _enumerable(b)


def _enumerable(call: Call) -> tuple[tuple[str, str], ...]:
    """Arguments that could be the same in another case: identifiers, not values with digits or blanks."""
    return tuple((k, v) for k, v in call.arguments if v.replace("_", "").isalpha() and v.islower())


def _alike(a: ReadDigest, b: ReadDigest) -> float:
    union = content_terms(a.task) | content_terms(b.task)
    return len(content_terms(a.task) & content_terms(b.task)) / len(union) if union else 0.0


def _rivals(group: Sequence[ReadDigest], failing: Sequence[ReadDigest]) -> list[ReadDigest]:
    """Failing episodes of the same tasks; else the one most like them."""
    tasks = {digest.task for digest in group}
    same = [digest for digest in failing if digest.task in tasks]
    return same or sorted(failing, key=lambda digest: -_alike(group[0], digest))[:1]


def _difference(digest: ReadDigest, rivals: Sequence[ReadDigest]) -> dict[str, Any]:
    did = digest.key_call
    other = rivals[0].key_call if rivals else None
    return {
        "task": digest.label + ("/" + rivals[0].label if rivals else ""),
        "decision_point": f"after {len(digest.calls) - 1} steps",
        "passing_did": _say(did) if did else "",
        "failing_did": _say(other) if other else "nothing that settled it",
        "why": "the symptoms were the same, the remedy was not",
    }


def _operations(
    group: list[ReadDigest], rivals: Sequence[ReadDigest], passing: Sequence[ReadDigest], known: dict[str, str], seed: int
) -> list[dict[str, Any]]:
    first = group[0]
    call = first.key_call
    if call is None:
        return []
    wrong = [r.key_call for r in rivals if r.key_call and not _same_call(r.key_call, call)]
    condition = _condition(group, passing)
    rule = _draft(condition, _action(call, wrong), group, rivals)
    rule = _slip(rule, first, wrong, seed)
    for label, text in known.items():
        if set(_names(call)) <= content_names(text) and coverage(content_terms(text), first.terms) >= 0.35:
            return [_vote(label, rule, text, first)]
    return [rule]


def content_names(text: str) -> set[str]:
    """Return the identifiers a rule text names."""
    return {word.strip(".,;") for word in text.split() if "_" in word or word.islower()}


def _vote(label: str, rule: dict[str, Any], text: str, digest: ReadDigest) -> dict[str, Any]:
    """A known rule already says it: vote for it, or widen its condition if it would have missed this case."""
    head = text.split(",")[0]
    if coverage(content_terms(head), digest.terms) >= 0.6 or rule["confidence"] < 0.7:
        return {**rule, "op": "UPVOTE", "target": label}
    return {**rule, "op": "EDIT", "target": label}


def _condition(group: Sequence[ReadDigest], passing: Sequence[ReadDigest]) -> str:
    """Take the symptoms the group has in common and others have not; two from the task, one from the findings."""
    foreign = [d for d in passing if d not in group]
    task_part = _distinctive([d.task for d in group], foreign, 2)
    found = [" . ".join(c.result for c in d.calls[:-1] if not c.failed) for d in group]
    finding = _distinctive(found, foreign, 1)
    return " and ".join([*task_part, *finding]) or (clauses(group[0].task) or ["the task is of this kind"])[0]


def _distinctive(texts: Sequence[str], foreign: Sequence[ReadDigest], limit: int) -> list[str]:
    if not texts or not texts[0]:
        return []

    def rank(pair: tuple[str, int]) -> float:
        clause, support = pair
        terms = content_terms(clause)
        elsewhere = max((coverage(terms, other.terms) for other in foreign), default=0.0)
        return -(support / len(texts) - 0.7 * elsewhere + 0.02 * len(terms))

    ranked = sorted(common_clauses(texts), key=rank)
    return [clause[:1].lower() + clause[1:] for clause, _ in ranked[:limit]]


def _action(call: Call, wrong: Sequence[Call]) -> str:
    text = f"call {_say(call)}"
    avoided = [name for other in wrong for name in _names(other)[:2] if name not in _names(call)]
    return text + (f" and do not use {avoided[0]}" if avoided else "")


def _say(call: Call) -> str:
    values = [value for _, value in _enumerable(call)]
    if not values:
        return call.tool
    return f"{call.tool} with {values[0]}" + (f" on the {values[1]}" if len(values) > 1 else "")


def _names(call: Call) -> list[str]:
    values = [value for _, value in _enumerable(call)]
    return values[:1] or [call.tool]


def _draft(condition: str, action: str, group: Sequence[ReadDigest], rivals: Sequence[ReadDigest]) -> dict[str, Any]:
    words = action.removeprefix("call ").split(" and do not")[0]
    return {
        "op": "ADD",
        "target": "",
        "other": "",
        "name": words[:80],
        "condition": condition,
        "action": action,
        "exclusion": "",
        "rationale": f"{len(group)} passing and {len(rivals)} failing episodes parted here.",
        "tags": sorted(content_terms(condition))[:4],
        "priority": 0.6,
        "confidence": round(min(0.95, 0.74 + 0.05 * len(group)), 2),
        "evidence": [d.label for d in [*group, *rivals]],
    }


def _slip(rule: dict[str, Any], digest: ReadDigest, wrong: Sequence[Call], seed: int) -> dict[str, Any]:
    """Models also write slogans, rules about one case, and rules the wrong way round; so does this one."""
    draw = uniform(seed, "slip", digest.task, rule["condition"])
    if draw < _SLOGAN_RATE:
        condition, action = _SLOGANS[len(digest.task) % len(_SLOGANS)]
        return {**rule, "name": "Be careful", "condition": condition, "action": action}
    if draw < _SLOGAN_RATE + _ONE_CASE_RATE:
        return {**rule, "condition": " ".join(digest.task.split()[:18])}
    if draw < _SLOGAN_RATE + _ONE_CASE_RATE + _MIX_UP_RATE and wrong:
        return {**rule, "action": f"call {_say(wrong[0])}", "name": _say(wrong[0]), "confidence": 0.72}
    return rule


def _error_rules(failing: Sequence[ReadDigest], passing: Sequence[ReadDigest], seed: int) -> list[dict[str, Any]]:
    """Where a failing episode ran into an error, say what passing ones called before that tool."""
    rules = []
    for digest in failing:
        for index, call in enumerate(digest.calls):
            message = (clauses(call.result.removeprefix("ERROR")) or [""])[0]
            before = _tool_before(call.tool, passing) or (digest.calls[index - 1].tool if index else "")
            if call.failed and message and before and before != call.tool:
                condition = f"{call.tool} may answer with {message}"
                action = f"call {before} first and correct the arguments before calling {call.tool} once more"
                rules.append(_draft(condition, action, [], [digest]) | {"confidence": 0.75, "name": message[:80]})
                break
    unique = {rule["condition"]: rule for rule in rules}
    return [rule for rule in unique.values() if uniform(seed, rule["condition"]) > _SLOGAN_RATE]


def _tool_before(tool: str, passing: Sequence[ReadDigest]) -> str:
    for digest in passing:
        names = [call.tool for call in digest.calls]
        if tool in names and names.index(tool) > 0:
            return names[names.index(tool) - 1]
    return ""
