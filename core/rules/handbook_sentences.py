"""Reads one sentence of a handbook as a rule: when, do, except. English and Chinese, by form alone.

What has no such form is not guessed at: whoever imports sees it listed, with the reason.
"""

import re
from dataclasses import dataclass

from core.i18n import mark
from core.text import has_cjk

NO_CONDITION = mark("It says no condition. Write it as “When …, …” to have it read.")
NO_ACTION = mark("A condition with nothing to do.")
QUESTION = mark("It is a question.")

_END = " \t\n.。;；,，:：!！"
_WORD = r"(?:when(?:ever)?|if|in case(?: that)?|each time|every time|once|as soon as|while|where)"
_OPENER = re.compile(rf"^{_WORD}\b\s*,?\s*", re.IGNORECASE)
_SPLIT = re.compile(r",\s+(?:then\s+)?(?=\S)|\s+then\s+|:\s+", re.IGNORECASE)
_JOINER = re.compile(r"(?:and|or|but|which|who|such as|e\.g\.|for example)\b", re.IGNORECASE)
_SHORT = 2
_TRAILING = re.compile(
    r"^(?P<action>.+?)(?<!\bask)(?<!\bsee)(?<!\bcheck)(?<!\btell)(?<!\btest)(?<!\bknow)(?<!\bfind out)(?<!\bverify)"
    r"(?<!\bdecide)(?<!\bconfirm)(?<!\bdetermine)(?<!\beven)(?<!\bonly),?\s+"
    r"(?:when(?:ever)?|if|in case|as soon as|each time|every time)\s+(?P<condition>.+)$",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"^before\s+(?:(?P<you>you|we)\s+)?(?P<what>[^,]+?),\s+(?P<action>\S.*)$", re.IGNORECASE)
_AFTER = re.compile(r"^after\s+(?P<what>\w+ing\b[^,]*?),\s+(?P<action>\S.*)$", re.IGNORECASE)
_EXCEPT = re.compile(
    r"[,;]?\s+(?P<word>unless|except(?:\s+(?:when|if|for|that))?|but not (?:when|if|for))\s+(?P<exclusion>.+)$",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"^(?P<word>except(?:ion)?(?:\s+(?:when|if|for|that))?|unless|this does not apply (?:when|if|to|for))\b[\s:,]*"
    r"(?P<exclusion>.+)$",
    re.IGNORECASE,
)

_CJK_OPENER = re.compile(r"^(?:当|如果|若是|若|假如|一旦|每当|倘若|遇到(?=.))")
_CJK_WHEN = re.compile(
    r"^(?P<condition>.+?)(?:的时候|的情况下|的话|之时|(?<![超延实定及同耗用计即临按小准暂限过当平届])时)[,，:：]\s*(?P<action>.+)$"
)
_CJK_COMMA = re.compile(r"^(?P<condition>[^,，]+?)(?:的话|后)?[,，:：]\s*(?P<action>.+)$")
_CJK_BEFORE = re.compile(r"^在?(?P<what>[^,，\d]+?)(?:之前|以前|前)[,，]\s*(?P<action>.+)$")
_CJK_AFTER = re.compile(r"^在?(?P<what>[^,，\d]+?)(?:完成)?(?:之后|以后|后)[,，]\s*(?P<action>.+)$")
_CJK_THEN = re.compile(r"^(?:则|那么|就(?!近|地)|应当|应该|应(?![对急变]))")
_CJK_EXCEPT = re.compile(r"[,，;；(（]\s*(?:除非|例外是|例外[:：])\s*(?P<exclusion>[^()（）]+?)[)）]?$")
_CJK_EXCEPT_END = re.compile(r"[,，;；(（]\s*但?(?P<exclusion>[^,，;；()（）]+?)(?:时)?除外[)）]?$")
_CJK_ALONE = re.compile(r"^(?:例外(?:情况)?(?:是)?[:：]?|除非|但不适用于)\s*(?P<exclusion>.+)$")


@dataclass(frozen=True)
class Statement:
    """What a sentence says. Only a condition: it leads to what follows; only an exclusion: it limits what was before.

    ``problem`` says why a sentence is none of these; a template to translate.
    """

    condition: str = ""
    action: str = ""
    exclusion: str = ""
    problem: str = ""


def read_sentence(sentence: str, condition: str = "") -> Statement:
    """Read a sentence.

    Args:
        sentence: on one line; its end mark may be missing.
        condition: of the heading or line that it stands below, which holds unless the sentence has its own.
    """
    text = sentence.strip()
    if text.endswith(("?", "？")):
        return Statement(problem=QUESTION)
    leads = text.endswith((":", "："))
    text = text.strip(_END)
    read = _read_cjk if has_cjk(text) else _read_english
    found = read(text, leads)
    if found.problem == NO_CONDITION and condition:
        action, exclusion = _without_exclusion(text)
        return Statement(condition, action, exclusion)
    return found


def opens_sentence(text: str) -> bool:
    """Say whether a line begins a statement of its own, whatever stands at the end of the line before."""
    return bool(_OPENER.match(text) or _CJK_OPENER.match(text) or _BEFORE.match(text))


def _read_english(text: str, leads: bool) -> Statement:
    alone = _ALONE.match(text)
    if alone:
        return Statement(exclusion=_english_exclusion(alone))
    rest, exclusion = _without_exclusion(text)
    timed = _timed(rest, exclusion)
    if timed is not None:
        return timed
    opener = _OPENER.match(rest)
    if opener is None:
        return _trailing(rest, exclusion)
    body = rest[opener.end() :]
    cut = _comma(body)
    if cut is None:
        return Statement(condition=body) if leads else Statement(problem=NO_ACTION)
    return Statement(body[: cut.start()].strip(_END), body[cut.end() :].strip(_END), exclusion)


def _trailing(text: str, exclusion: str) -> Statement:
    match = _TRAILING.match(text)
    if match is None:
        return Statement(problem=NO_CONDITION)
    return Statement(match["condition"].strip(_END), match["action"].strip(_END), exclusion)


def _timed(text: str, exclusion: str) -> Statement | None:
    """Read "before doing X, do Y" and "after doing X, do Y", whose conditions are moments."""
    before, after = _BEFORE.match(text), _AFTER.match(text)
    if before and before["you"]:
        return Statement(f"you are about to {before['what']}", before["action"].strip(_END), exclusion)
    if before and before["what"].split()[0].lower().endswith("ing"):
        return Statement(f"the next step is {before['what']}", before["action"].strip(_END), exclusion)
    if after:
        return Statement(f"you have just finished {after['what']}", after["action"].strip(_END), exclusion)
    return None


def _comma(body: str) -> re.Match[str] | None:
    """Return where the condition ends: the first comma that goes on with neither a list nor an aside."""
    cuts = list(_SPLIT.finditer(body))
    joined = [bool(_JOINER.match(body[cut.end() :])) for cut in cuts]
    if len(cuts) > 2 and any(joined[1:-1]) and len(body[: cuts[0].start()].split()) <= _SHORT:
        return cuts[joined.index(True, 1) + 1]  # "CPU, memory, or disk is short, ..."
    return next((cut for cut, joins in zip(cuts, joined, strict=True) if not joins), cuts[0] if cuts else None)


def _read_cjk(text: str, leads: bool) -> Statement:
    alone = _CJK_ALONE.match(text)
    if alone:
        return Statement(exclusion=alone["exclusion"].strip(_END))
    rest, exclusion = _without_exclusion(text)
    opener = _CJK_OPENER.match(rest)
    body = rest[opener.end() :] if opener else rest
    match = _CJK_WHEN.match(body)
    if match is None and opener:
        match = _CJK_COMMA.match(body)
    if match is not None:
        return Statement(match["condition"].strip(_END), _then(match["action"]), exclusion)
    if opener:
        return Statement(condition=body) if leads else Statement(problem=NO_ACTION)
    before, after = _CJK_BEFORE.match(rest), _CJK_AFTER.match(rest)
    if before:
        return Statement(f"准备{before['what']}", _then(before["action"]), exclusion)
    if after:
        return Statement(f"{after['what']}完成", _then(after["action"]), exclusion)
    return Statement(problem=NO_CONDITION)


def _then(action: str) -> str:
    return _CJK_THEN.sub("", action.strip(_END)).strip(_END)


def _without_exclusion(text: str) -> tuple[str, str]:
    cjk = has_cjk(text)
    for pattern in (_CJK_EXCEPT, _CJK_EXCEPT_END) if cjk else (_EXCEPT,):
        match = pattern.search(text)
        if match and match.start() > 0:
            exclusion = match["exclusion"].strip(_END) if cjk else _english_exclusion(match)
            return text[: match.start()].strip(_END), exclusion
    return text, ""


def _english_exclusion(match: re.Match[str]) -> str:
    """Keep the word that a prompt needs after its "Except": when, if or for."""
    last = match["word"].lower().split()[-1]
    word = {"unless": "if", "when": "when", "if": "if", "for": "for"}.get(last, "")
    return f"{word} {match['exclusion'].strip(_END)}".strip()
