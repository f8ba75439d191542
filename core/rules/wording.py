"""How a rule reads in a prompt: the one place that renders it."""

import re
from functools import lru_cache

from core.tables.rules import RuleContent
from core.text import has_cjk, length_units

_LEADING_WHEN = re.compile(r"^(?:(?:when(?:ever)?|if|in case(?: that)?|each time|every time)\b[\s,:]*)+", re.IGNORECASE)
_LEADING_THEN = re.compile(r"^then\b[\s,:]*", re.IGNORECASE)
_LEADING_EXCEPT = re.compile(r"^(?:except(?: that| for)?|but not)\b[\s,:]*", re.IGNORECASE)
_LEADING_UNLESS = re.compile(r"^unless\b[\s,:]*", re.IGNORECASE)
_CJK_WHEN = re.compile(r"^(?:当|如果|若是|若|每当|一旦)")
# "超时", "延时" and the like are words that end in the character for "when".
_CJK_WHEN_END = re.compile(r"(?:的时候|之时|(?<![超延实定及同耗用计即临按小准暂限过当平届])时)$")
_CJK_THEN = re.compile(r"^(?:则|那么|就|应当|应该|应)(?![对急变])")
_CJK_EXCEPT = re.compile(r"^(?:例外|除外|除非|除了)[：:]?")
_CJK_EXCEPT_END = re.compile(r"(?:除外|例外)$")
_END = " \t\r\n.。;；,，:：!！"


def rule_text(rule: RuleContent) -> str:
    """Return the rule's prompt text, in the language its condition and action are written in.

    English: "When {condition}, {action}. Except {exclusion}."; Chinese: "当{condition}时，{action}。
    例外：{exclusion}。". Doubled openers ("When if ...") and trailing marks are trimmed, empty parts left
    out.
    """
    condition, action, exclusion = _parts(rule)
    if has_cjk(rule.condition + rule.action):
        text = f"当{condition}时，{action}。" if condition else f"{action}。"
        return text + (f"例外：{exclusion}。" if exclusion else "")
    if condition:
        text = f"When {_lower_first(condition)}, {_lower_first(action)}."
    else:
        text = f"{action[:1].upper()}{action[1:]}."
    return text + (f" Except {_lower_first(exclusion)}." if exclusion else "")


def action_with_exception(rule: RuleContent, exception: RuleContent) -> str:
    """Return a rule's action with what another rule asks for in its own case: "{action}; if {condition}, {action}"."""
    (_, action, _), (condition, other, _) = _parts(rule), _parts(exception)
    if has_cjk(action + other):
        return f"{action}；若{condition}，则{other}"
    return f"{action}; if {_lower_first(condition)}, {_lower_first(other)}"


def rule_units(rule: RuleContent) -> int:
    """Count the length units of what the rule says, without the words that join its parts."""
    return sum(length_units(part) for part in _parts(rule))


def condition_text(rule: RuleContent) -> str:
    """Return the condition alone as it is compared with other conditions; the action if there is none."""
    condition, action, _ = _parts(rule)
    return condition or action


def _parts(rule: RuleContent) -> tuple[str, str, str]:
    return _trimmed(rule.condition, rule.action, rule.exclusion)


@lru_cache(maxsize=20_000)
def _trimmed(condition: str, action: str, exclusion: str) -> tuple[str, str, str]:
    condition, action, exclusion = (_one_line(part) for part in (condition, action, exclusion))
    condition = _CJK_WHEN_END.sub("", _CJK_WHEN.sub("", _LEADING_WHEN.sub("", condition)))
    action = _CJK_THEN.sub("", _LEADING_THEN.sub("", action))
    exclusion = _LEADING_UNLESS.sub("if ", _LEADING_EXCEPT.sub("", exclusion))
    exclusion = _CJK_EXCEPT_END.sub("", _CJK_EXCEPT.sub("", exclusion))
    return condition.strip(_END), action.strip(_END), exclusion.strip(_END)


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip(_END)


def _lower_first(text: str) -> str:
    """Lower the first letter, unless the word is an abbreviation or a name such as ``TLS`` or ``GitLab``."""
    first = text.split(maxsplit=1)[0] if text else ""
    ordinary = first[1:].islower() or first == "A"
    return text[:1].lower() + text[1:] if ordinary else text
