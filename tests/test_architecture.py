"""Imports go one way, nothing loops, and nothing grows past what a reader holds in mind.

Imports inside functions and under TYPE_CHECKING count like any other: hiding one does not untie a knot.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 400
FUNCTION_LINES = 60

LAYERS = (
    ("core", "core.clock", "core.errors", "core.ids", "core.text"),
    ("core.attribution", "core.differences", "core.effects", "core.statistics"),
    ("core.settings", "core.settings_experience", "core.i18n", "core.packaged_e5"),
    ("core.planning", "core.tables"),
    ("core.audit", "core.control", "core.db", "core.migrations"),
    ("core.calibration", "core.embeddings", "core.environments", "core.llm"),
    ("core.episodes", "core.policy", "core.rules"),
    ("core.learning",),
    ("core.people",),
    ("core.curation", "core.experience_preview", "core.preview", "core.views"),
    ("core.conflict_preview",),
    ("core.api", "core.cli"),
    ("core.__main__",),
    ("pages",),
    ("app",),
)
"""From the bottom up. A layer may import from those below it and from its own."""

FORBIDDEN = (
    ("core", "streamlit", "the interface reads the core, never the other way round"),
    ("core", "pages", "the interface reads the core, never the other way round"),
    ("pages", "core.tables", "pages read core.views and act through core.curation"),
    ("pages", "core.llm", "pages read core.views and act through core.curation"),
    ("pages", "core.learning", "pages meet the loop in the database"),
    ("pages", "sqlmodel", "pages read core.views and act through core.curation"),
    ("pages", "sqlalchemy", "pages read core.views and act through core.curation"),
    ("core.llm.simulated", "core.environments", "the stand-in sees only the messages that it is sent"),
    ("core.views", "core.learning", "views read the database alone"),
    ("core.views", "core.llm", "views read the database alone"),
    ("core.views", "core.episodes", "views read the database alone"),
    ("core.curation", "core.learning", "people and the loop meet in the database"),
)
"""Who must not import what, and why."""

MAY_IMPORT_ENVIRONMENTS = ("core.environments", "core.episodes", "core.learning", "core.preview", "app")


@dataclass(frozen=True)
class Import:
    source: str
    target: str
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.source} imports {self.target}"


def source_files() -> list[Path]:
    found = [*(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), *ROOT.glob("app.py")]
    return sorted(path for path in found if "versions" not in path.parts)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in source_files()}


def imports() -> list[Import]:
    return [
        Import(source, target, str(path.relative_to(ROOT)), line)
        for source, path in MODULES.items()
        for target, line in targets(source, path)
    ]


def targets(source: str, path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, source, path)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield (name if name in MODULES else base), node.lineno


def absolute(node: ast.ImportFrom, source: str, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = source.split(".")
    steps = node.level - (path.name == "__init__.py")
    return ".".join([*package[: len(package) - steps], *filter(None, [node.module])])


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def layer(module: str) -> int | None:
    """Return the level that holds the module; 'core' as a name stands for core/__init__.py alone."""
    for level, names in enumerate(LAYERS):
        if any(module == name or (name != "core" and within(module, name)) for name in names):
            return level
    return None


def test_every_module_has_a_layer() -> None:
    homeless = [module for module in MODULES if layer(module) is None]
    assert homeless == [], "name their place in LAYERS"


def test_imports_go_one_way() -> None:
    wrong = [
        each
        for each in imports()
        if (upper := layer(each.source)) is not None and (lower := layer(each.target)) is not None and lower > upper
    ]
    assert wrong == [], "\n" + "\n".join(f"{each}, which is above it" for each in wrong)


@pytest.mark.parametrize(("source", "target", "reason"), FORBIDDEN)
def test_forbidden_imports(source: str, target: str, reason: str) -> None:
    wrong = [each for each in imports() if within(each.source, source) and within(each.target, target)]
    assert wrong == [], f"\n{reason}:\n" + "\n".join(map(str, wrong))


def test_only_the_loop_and_its_episodes_know_worlds() -> None:
    wrong = [
        each
        for each in imports()
        if within(each.target, "core.environments")
        and not any(within(each.source, package) for package in MAY_IMPORT_ENVIRONMENTS)
    ]
    assert wrong == [], "\n" + "\n".join(map(str, wrong))


def test_no_import_loops() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in imports():
        if each.target in MODULES and each.target != each.source:
            graph[each.source].add(each.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " <- ".join(error.args[1]))


def test_no_file_is_too_long() -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()
    }
    assert {name: lines for name, lines in sizes.items() if lines > FILE_LINES} == {}, f"over {FILE_LINES} lines"


def test_no_function_is_too_long() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert long == {}, f"over {FUNCTION_LINES} lines"


def test_the_checks_see_the_project() -> None:
    """A check that finds no files, or cannot follow an import, would pass whatever the code did."""
    found = {(each.source, each.target) for each in imports()}
    assert ("core.db", "core.errors") in found
    assert ("core.tables", "core.tables.ledger") in found
