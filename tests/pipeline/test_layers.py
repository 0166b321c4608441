"""Operators know no engine, engines know no operator, and nothing imports what is above it."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import jinx_pipeline

PACKAGE = Path(jinx_pipeline.__file__).parent
# What operators may import: their own kind, and what says where things are in a sample.
BELOW_OPERATORS = {"operators", "sample", "dedup", "optional"}
BASE = {"base", "batch", "busy", "context", "filter", "kinds", "registry", "returned", "parameters", "source"}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("jinx_pipeline")}


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py"))


def test_operators_import_nothing_above_them():
    for path in modules("operators", "sample", "dedup"):
        above = {name for name in imports(path) if name.split(".")[1] not in BELOW_OPERATORS}
        assert not above, path


def test_engines_know_no_operator():
    for path in modules("engines", "schedule", "commit"):
        of_operators = [name.split(".") for name in imports(path) if name.startswith("jinx_pipeline.operators.")]
        assert {parts[2] for parts in of_operators} <= BASE, path


def test_the_scheduler_knows_nothing_else():
    for path in modules("schedule"):
        assert all(name.startswith("jinx_pipeline.schedule.") for name in imports(path)), path
        tree = ast.parse(path.read_text("utf-8"))
        plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not plain & {"time", "os", "random", "threading", "asyncio", "ray"}, path


def test_no_module_imports_one_that_imports_it():
    paths = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}
    graph = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text("utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        wanted = {one for node in top for alias in node.names for one in (node.module, f"{node.module}.{alias.name}")}
        graph[name] = wanted & set(names)
    TopologicalSorter(graph).prepare()  # raises CycleError
