"""The one re-ask for a rule that is too long (design section 3)."""

from pydantic import BaseModel

from core.errors import ModelCallError
from core.llm.client import CallContext, ModelClient
from core.rules.quality import Finding, check_quality
from core.rules.wording import rule_text
from core.settings import RuleSettings
from core.tables.rules import RuleContent

SHORTEN_PROMPT = (
    "Shorten a rule without changing what it asks for. Condition, action and exclusion together may have at "
    "most {max_units} words, or {max_units} characters in Chinese. Keep tool names and argument values."
)


class ShortenedRule(BaseModel):
    """The answer."""

    condition: str
    action: str
    exclusion: str = ""


def checked(
    client: ModelClient, context: CallContext, draft: RuleContent, settings: RuleSettings
) -> tuple[RuleContent, list[Finding]]:
    """Check a draft, letting the model shorten it once if that is all that is wrong.

    Returns:
        The draft, shortened if that was needed and possible, and what still stands against it.
    """
    findings = check_quality(draft, settings)
    if not findings or any(finding.refuses for finding in findings):
        return draft, findings
    messages = [
        {"role": "system", "content": SHORTEN_PROMPT.format(max_units=settings.max_units)},
        {"role": "user", "content": f"RULE: {rule_text(draft)}"},
    ]
    try:
        answer = client.structured(context, messages, ShortenedRule)
    except ModelCallError:
        return draft, findings
    shorter = draft.model_copy(update=answer.model_dump())
    return shorter, check_quality(shorter, settings)
