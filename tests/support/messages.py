"""Collects every English text that people may see, straight from the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from core.rules.lexicon import lexicon
from core.settings import ADJUSTABLE, Settings

ROOT = Path(__file__).resolve().parents[2]
_FUNCTIONS = {"t", "mark", "self", "because"}
_ERRORS = {
    "UserError",
    "ClaimedError",
    "ConcurrentChangeError",
    "NotAllowedError",
    "IllegalTransitionError",
    "RunFailedError",
    "ModelCallError",
    "BudgetExceededError",
}


@dataclass(frozen=True, order=True)
class Text:
    """A text in use; ``many`` is its plural, '' if it has none."""

    one: str
    many: str = ""


def texts_in_use() -> dict[Text, str]:
    """Return each text with the place it was found first."""
    found: dict[Text, str] = {}
    for folder in ("pages", "core"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault(text, str(path.relative_to(ROOT)))
    for pattern in lexicon("patterns")["pattern"]:
        found.setdefault(Text(pattern["what"]), "data/lexicon/patterns.toml")
    for group in ADJUSTABLE:
        for name, field in type(getattr(Settings(_env_file=None), group)).model_fields.items():
            found.setdefault(Text(field.description or name), f"core/settings.py {group}.{name}")
    return found


def _texts(tree: ast.Module) -> Iterator[Text]:
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _called(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and _targets(node) & {"template", "_TEMPLATES"}:
            yield from (Text(one) for one in _literals(node.value or ast.Constant("")))
        yield from _before_values(node, constants)


def _called(node: ast.Call) -> Iterator[Text]:
    name = _name(node.func)
    if name == "plural" and len(node.args) > 1:
        pairs = zip(_literals(node.args[0]), _literals(node.args[1]), strict=True)
        yield from (Text(one, many) for one, many in pairs)
    elif name in _FUNCTIONS | _ERRORS and node.args:
        yield from (Text(one) for one in _literals(node.args[0]))
    elif name == "UnusableLineError" and len(node.args) > 1:
        yield from (Text(one) for one in _literals(node.args[1]))


def _before_values(node: ast.AST, constants: dict[str, ast.expr]) -> Iterator[Text]:
    """Yield templates that stand right before a dictionary of their values, as stored messages do."""
    parts = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
    for first, second in pairwise(parts):
        named = isinstance(second, ast.Name) and second.id == "values"
        if isinstance(second, ast.Dict) or named:
            text = constants.get(first.id, first) if isinstance(first, ast.Name) else first
            without_places = isinstance(second, ast.Dict) and not second.keys
            yield from (Text(one) for one in _literals(text) if "{" in one or (without_places and " " in one))
    if isinstance(node, ast.Dict) and [key.value for key in node.keys if isinstance(key, ast.Constant)] == [
        "template",
        "values",
    ]:
        text = node.values[0]
        text = constants.get(text.id, text) if isinstance(text, ast.Name) else text
        yield from (Text(one) for one in _literals(text))


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    return {_name(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])}


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _literals(value)
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
