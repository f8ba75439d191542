"""The part of the agent's prompt that is the same for all tasks of an environment (design section 6)."""

import json

from core.environments.protocol import Environment

_ROLE = (
    "You are an agent working in production. Work step by step: look before you act, and act only through "
    "the tools. Each turn make exactly one tool call. Stop as soon as the task is done."
)
_TOOLS_FORMAT = "Answer each turn with one tool call and no other text."
_JSON_FORMAT = (
    'Answer each turn with one JSON object and no other text: {"reason": why, in one sentence, '
    '"tool": the tool\'s name, "arguments": an object with its arguments}.'
)
_LETTERS_FORMAT = (
    "Each turn lists the actions at hand, each with a letter. Answer with the letter of one action and no other text."
)
_FORMATS = {"tools": _TOOLS_FORMAT, "json": _JSON_FORMAT, "letters": _LETTERS_FORMAT}


def stable_part(environment: Environment, action_mode: str) -> str:
    """Return the part that is the same for all tasks of an environment: role, background, tools, format."""
    tools = "\n".join(
        f"- {tool.name}: {tool.description} Arguments: {json.dumps(dict(tool.parameters), ensure_ascii=False)}"
        for tool in environment.tools
    )
    return "\n\n".join(
        [
            f"# Role\n{_ROLE}",
            f"# Background\n{environment.background}",
            f"# Scoring\n{environment.scoring}",
            f"# Tools\n{tools}",
            f"# Output\n{_FORMATS[action_mode]}",
        ]
    )
