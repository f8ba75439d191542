"""How the stand-in model reflects: from the digests it is given, by contrast, with the slips models make."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.llm.simulated.conditions import ReadCondition
from core.llm.simulated.dice import uniform
from core.llm.simulated.digests import Call, ReadDigest, clauses, common_phrases, read_digests, read_known, trimmed
from core.llm.simulated.reading import content_terms, coverage, split_rule
from core.settings import SimulationSettings

_ORDINARY = re.compile(
    r"\b(?:usual|within the|no step|no trend|quiet|answered|nothing|equal|none above|normal|reachable|no alarms"
    r"|no difference|no kernel|came through|colours|unused|above yesterday|last changed?|this month)\b",
    re.IGNORECASE,
)
_SLOGAN_RATE = 0.06
_ONE_CASE_RATE = 0.06
_SLOGANS = (
    ("handling an incident", "be careful and pay attention to every detail"),
    ("working on a task", "stay vigilant and always do your best"),
)


def reflect(request: str, settings: SimulationSettings) -> dict[str, Any]:
    """Answer a reflection request with differences and operations."""
    digests = read_digests(request)
    known = read_known(request)
    passing = [digest for digest in digests if digest.passing and digest.key_call and digest.key_call.complete]
    failing = [digest for digest in digests if not digest.passing]
    differences: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    for group in _groups(passing):
        rivals = _rivals(group, failing)
        foreign = [digest for digest in digests if digest not in group and digest not in rivals]
        differences.append(_difference(group[0], rivals))
        operations.extend(_operations(Contrast(group, rivals, foreign), known, settings))
    operations.extend(_error_rules(failing, passing, settings.seed))
    return {"differences": differences, "operations": operations[:8]}


@dataclass(frozen=True)
class Contrast:
    """Passing episodes settled by one call, failing ones with the same symptoms, and all others."""

    group: Sequence[ReadDigest]
    rivals: Sequence[ReadDigest]
    foreign: Sequence[ReadDigest]

    @property
    def alike(self) -> list[ReadDigest]:
        """All episodes with these symptoms."""
        return [*self.group, *self.rivals]


def _groups(passing: Sequence[ReadDigest]) -> list[list[ReadDigest]]:
    """Put passing episodes together that were settled by the same call."""
    groups: list[list[ReadDigest]] = []
    for digest in passing:
        home = next((group for group in groups if _same_call(group[0].key_call, digest.key_call)), None)
        if home is None:
            groups.append([digest])
        else:
            home.append(digest)
    return groups


def _same_call(a: Call | None, b: Call | None) -> bool:
    if a is None or b is None or a.tool != b.tool:
        return False
    return _enumerable(a) == _enumerable(b)


def _enumerable(call: Call) -> tuple[tuple[str, str], ...]:
    """Arguments that could be the same in another case: identifiers, not values with digits or blanks."""
    return tuple((k, v) for k, v in call.arguments if v.replace("_", "").isalpha() and v.islower())


def _rivals(group: Sequence[ReadDigest], failing: Sequence[ReadDigest]) -> list[ReadDigest]:
    """Failing episodes of the same tasks, or whose tasks use the same words for what happens."""
    tasks = {digest.task for digest in group}
    return [
        digest
        for digest in failing
        if digest.task in tasks
        or any(_alike(digest.task, task) or common_phrases([digest.task, task]) for task in tasks)
    ]


def _alike(a: str, b: str) -> bool:
    first, second = content_terms(a), content_terms(b)
    return len(first & second) >= 0.35 * len(first | second)


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


def _operations(contrast: Contrast, known: dict[str, str], settings: SimulationSettings) -> list[dict[str, Any]]:
    first = contrast.group[0]
    call = first.key_call
    if call is None:
        return []
    others = [rival.key_call for rival in contrast.rivals]
    wrong = [other for other in others if other and other.complete and not _same_call(other, call)]
    condition = _condition(contrast, wrong)
    for label, text in known.items():
        if set(_values(call)) <= content_words(text):
            return [_slip(_revise(label, text, condition, call, wrong, contrast), first, wrong, settings)]
    rule = _draft(condition.text, _action(call, wrong, condition), contrast)
    return [_slip(rule, first, wrong, settings)]


def _revise(
    label: str, text: str, condition: ReadCondition, call: Call, wrong: Sequence[Call], contrast: Contrast
) -> dict[str, Any]:
    """A known rule already asks for this call: vote for it, or widen or sharpen its condition."""
    old = ReadCondition.parse(split_rule(text)[0])
    joined = replace(old.joined(condition), finding=_more_telling(old.finding, condition.finding, contrast))
    same = set(joined.alternatives) == set(old.alternatives) and joined.finding == old.finding
    rule = _draft(joined.text, _action(call, wrong, joined), contrast)
    return {**rule, "op": "UPVOTE" if same else "EDIT", "target": label}


def _more_telling(old: str, new: str, contrast: Contrast) -> str:
    """Keep a known rule's finding unless these episodes speak for another one."""
    return max((old, new), key=lambda finding: _support(finding, contrast)) if old and new else old or new


def _support(finding: str, contrast: Contrast) -> int:
    """Count the episodes with these symptoms that saw a finding, less the others that saw it."""
    terms = content_terms(finding.partition(" shows ")[2])

    def seen(digests: Sequence[ReadDigest]) -> int:
        return sum(coverage(terms, content_terms(digest.findings)) >= 0.75 for digest in digests)

    return seen(contrast.alike) - seen(contrast.foreign)


def content_words(text: str) -> set[str]:
    """Return the words of a rule, without marks."""
    return {word.strip(".,;") for word in text.split()}


def _condition(contrast: Contrast, wrong: Sequence[Call]) -> ReadCondition:
    """Take the symptoms that these episodes share, and what a look showed that tells them from others."""
    finding = _finding(contrast, wrong)
    tasks = list(dict.fromkeys(digest.task for digest in contrast.alike))
    foreign = [_words(digest.task) for digest in contrast.foreign]
    passed = [_words(digest.task) for digest in contrast.group]
    shared = [phrase for phrase, _ in common_phrases(tasks) if any(_words(phrase) in text for text in passed)]
    own = [phrase for phrase in shared if not any(_words(phrase) in text for text in foreign)]
    symptoms = _apart(own or (shared if finding else []), 2)
    if symptoms:
        return ReadCondition(tuple(symptoms), finding, confirmed=True)
    return ReadCondition(tuple(_first_symptoms(tasks[0])), finding)


def _first_symptoms(task: str) -> list[str]:
    """Take the longest clause of the first sentence: there people say what happens, later what they suspect."""
    sentence = re.split(r"(?<=[.;])\s", task)[0]
    found = [trimmed(clause) for clause in clauses(sentence) or clauses(task)]
    return sorted(found, key=lambda clause: -len(content_terms(clause)))[:1] or ["the task is of this kind"]


def _finding(contrast: Contrast, wrong: Sequence[Call]) -> str:
    """Return the most telling thing that a look of a passing episode showed, '' if all looked ordinary.

    Telling: seen in most of these episodes and in no other, not a word of ordinary, and not about what the
    wrong step is named after.
    """
    foreign = [content_terms(digest.findings) for digest in contrast.foreign]
    own = [content_terms(digest.findings) for digest in contrast.alike]
    tempting = content_terms(" ".join(name.replace("_", " ") for call in wrong for name in _values(call)[:1]))
    ranked: list[tuple[int, int, str]] = []
    for digest in contrast.group:
        for look in digest.calls[:-1]:
            place = look.arguments[0][1] if len(look.arguments) == 1 and look.arguments[0][1].isalpha() else ""
            for clause in () if look.failed or not place or _ORDINARY.search(look.result) else clauses(look.result):
                terms = content_terms(clause)
                elsewhere = any(coverage(terms, text) >= 0.75 for text in foreign)
                if len(terms) >= 3 and not elsewhere and not terms & tempting:
                    support = sum(coverage(terms, text) >= 0.75 for text in own)
                    ranked.append((support, -len(terms), f"{look.tool} on the {place} shows {trimmed(clause)}"))
    return max(ranked)[2] if ranked else ""


def _apart(phrases: Sequence[str], limit: int) -> list[str]:
    """Keep phrases that do not say the same."""
    kept: list[str] = []
    for phrase in phrases:
        terms = content_terms(phrase)
        if all(coverage(terms, content_terms(other)) < 0.6 for other in kept):
            kept.append(phrase)
    return kept[:limit]


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def _action(call: Call, wrong: Sequence[Call], condition: ReadCondition) -> str:
    """Say what to do, and what not to do unless a finding tells the cases apart already."""
    if condition.finding:
        return _say(call)
    avoided = [name for other in wrong if other.tool == call.tool and _enumerable(other) for name in _values(other)[:1]]
    avoided = [name for name in avoided if name not in _values(call)]
    return _say(call) + (f", not {avoided[0]}" if avoided else "")


def _say(call: Call) -> str:
    values = [value for _, value in _enumerable(call)]
    if not values:
        return f"call {call.tool}"
    return f"apply {values[0]}" + (f" on the {values[1]}" if len(values) > 1 else "")


def _values(call: Call) -> list[str]:
    return [value for _, value in _enumerable(call)] or [call.tool]


def _draft(condition: str, action: str, contrast: Contrast) -> dict[str, Any]:
    words = re.sub(r"^(?:call|apply) ", "", action).split(", not ")[0]
    return {
        "op": "ADD",
        "target": "",
        "other": "",
        "name": words[:80],
        "condition": condition,
        "action": action,
        "exclusion": "",
        "rationale": f"Seen in {len(contrast.group)} passing and {len(contrast.rivals)} failing episodes.",
        "tags": sorted(content_terms(condition))[:4],
        "priority": 0.6,
        "confidence": round(min(0.95, 0.74 + 0.05 * len(contrast.group)), 2),
        "evidence": [digest.label for digest in contrast.alike],
    }


def _slip(
    rule: dict[str, Any], digest: ReadDigest, wrong: Sequence[Call], settings: SimulationSettings
) -> dict[str, Any]:
    """Models also write slogans, rules about one case, and rules the wrong way round; so does this one."""
    if rule["op"] == "UPVOTE":
        return rule
    draw = uniform(settings.seed, "slip", digest.task, rule["condition"])
    if draw < _SLOGAN_RATE:
        condition, action = _SLOGANS[len(digest.task) % len(_SLOGANS)]
        return {**rule, "name": "Be careful", "condition": condition, "action": action}
    if draw < _SLOGAN_RATE + _ONE_CASE_RATE:
        return {**rule, "condition": " ".join(digest.task.split()[:18])}
    if draw < _SLOGAN_RATE + _ONE_CASE_RATE + settings.mix_up_rate and wrong:
        return {**rule, "action": _say(wrong[0]), "name": _say(wrong[0]), "confidence": 0.72}
    return rule


def _error_rules(failing: Sequence[ReadDigest], passing: Sequence[ReadDigest], seed: int) -> list[dict[str, Any]]:
    """Where two failing episodes ran into the same error, say what passing ones called before that tool."""
    seen: dict[tuple[str, str], list[ReadDigest]] = {}
    for digest in failing:
        for tool, message in {_complaint(call) for call in digest.calls if call.failed}:
            seen.setdefault((tool, message), []).append(digest)
    for (tool, message), digests in seen.items():
        before = _tool_before(tool, passing)
        if len(digests) < 3 or not message or not before or uniform(seed, message) < _SLOGAN_RATE:
            continue
        condition = f"{tool} was refused because {message.replace(tool, 'it')}"
        action = f"call {before} first and correct the arguments before calling {tool} once more"
        return [_draft(condition, action, Contrast([], digests, [])) | {"confidence": 0.75, "name": message[:80]}]
    return []


def _complaint(call: Call) -> tuple[str, str]:
    return call.tool, (clauses(call.result.removeprefix("ERROR")) or [""])[0]


def _tool_before(tool: str, passing: Sequence[ReadDigest]) -> str:
    for digest in passing:
        names = [call.tool for call in digest.calls]
        if tool in names[1:] and names[names.index(tool, 1) - 1] != tool:
            return names[names.index(tool, 1) - 1]
    return ""
