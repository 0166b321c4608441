"""Operators know no engine, engines know no operator, and nothing imports what is above it."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import jinx_pipeline

PACKAGE = Path(jinx_pipeline.__file__).parent
# What operators may import: their own kind, and what says where things are in a sample.
BELOW_OPERATORS = {
    "operators",
    "sample",
    "dedup",
    "exchange",
    "optional",
    "model",
    "models",
    "llm",
    "external",
    "serving",
    "store",
    "kernels",
    "database",
}


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
    for path in modules("operators", "models", "sample", "dedup", "exchange"):
        above = {name for name in imports(path) if name.split(".")[1] not in BELOW_OPERATORS}
        assert not above, path


def test_engines_know_no_operator():
    for path in modules("engines", "worker", "schedule", "runlog", "publish"):
        of_operators = [name.split(".") for name in imports(path) if name.startswith("jinx_pipeline.operators.")]
        assert {parts[2] for parts in of_operators} <= {"api"}, path


def test_the_scheduler_knows_nothing_else():
    for path in modules("schedule"):
        assert all(name.startswith("jinx_pipeline.schedule.") for name in imports(path)), path
        tree = ast.parse(path.read_text("utf-8"))
        plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not plain & {"time", "os", "random", "threading", "asyncio", "ray"}, path


def test_no_package_imports_one_that_imports_it():
    """Also inside functions; a module next to the packages counts as one, and what operators are apart from them."""
    graph = {}
    for path in PACKAGE.rglob("*.py"):
        name = package_of(path.relative_to(PACKAGE).with_suffix("").parts)
        used = {package_of(known_module(item).parts) for item in imports(path)} if path.name != "__init__.py" else set()
        graph.setdefault(name, set()).update(used - {name, ""})
    TopologicalSorter(graph).prepare()  # raises CycleError


def known_module(name):
    """The module that an imported name is, or is in, from the package's directory."""
    parts = Path(*name.split(".")[1:])
    while parts.parts and not ((PACKAGE / parts).is_dir() or (PACKAGE / parts).with_suffix(".py").exists()):
        parts = parts.parent
    return parts


def package_of(parts):
    return ".".join(parts[:2] if parts[:2] == ("operators", "api") else parts[:1])


def test_no_module_imports_one_that_imports_it():
    paths = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}
    graph = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text("utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        wanted = {item for node in top for alias in node.names for item in (node.module, f"{node.module}.{alias.name}")}
        graph[name] = wanted & set(names)
    TopologicalSorter(graph).prepare()  # raises CycleError
