"""Each layer knows only the layers below it: core, Arrow, bindings, Python package, pipeline."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JINX = ROOT / "python" / "jinx"
PIPELINE = ROOT / "python" / "pipeline" / "jinx_pipeline"
ABOVE_JINX = {"jinx_pipeline", "bench", "tests", "draw", "demo"}

# Third-party packages a folder of the package may import when it is itself imported.
AT_TOP_LEVEL = {
    "": set(),
    "cli": {"click"},
    "torch": {"torch"},
    # Nothing else of the package imports it, and it imports nothing of the package.
    "reference": {"brotli", "cramjam", "lz4", "numpy", "xxhash", "zstandard"},
}


def modules(package: Path) -> list[Path]:
    return sorted([*package.rglob("*.py"), *package.rglob("*.pyi")])


def dotted(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.AST, path: Path, package: Path) -> Iterator[str]:
    """Absolute names of what one statement imports, relative imports resolved."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            anchor = dotted(path, package).split(".")
            here = anchor if path.stem == "__init__" else anchor[:-1]
            base = ".".join([*here[: len(here) - node.level + 1], *([base] if base else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def all_imports(path: Path, package: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {name for node in ast.walk(tree) for name in imported(node, path, package)}


def top_level_imports(path: Path, package: Path) -> set[str]:
    """Imports that run when the module is imported; those for type checkers only do not."""

    def walk(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        yield from imported(node, path, package)
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    return set(walk(ast.parse(path.read_text("utf-8"))))


def root_of(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def test_jinx_imports_nothing_above_it():
    found = {
        (path.name, name) for path in modules(JINX) for name in all_imports(path, JINX) if root_of(name) in ABOVE_JINX
    }
    assert not found


def test_importing_jinx_needs_the_standard_library_alone():
    found = set()
    for path in JINX.rglob("*.py"):
        folder = path.relative_to(JINX).parts[0] if path.parent != JINX else ""
        allowed = AT_TOP_LEVEL.get(folder, set()) | {"jinx"} | set(sys.stdlib_module_names)
        names = {root_of(name) for name in top_level_imports(path, JINX)}
        found |= {(str(path.relative_to(JINX)), name) for name in names - allowed}
    assert not found


def test_import_jinx_loads_no_heavy_package():
    code = (
        "import sys, jinx; print(*sorted({'numpy', 'click', 'orjson', 'pyarrow', 'torch', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_formats_do_not_import_each_other():
    names = {path.stem for path in (JINX / "formats").glob("*.py")} - {"__init__", "registry"}
    found = {
        (path.stem, name)
        for path in (JINX / "formats").glob("*.py")
        if path.stem in names
        for name in all_imports(path, JINX)
        for other in names - {path.stem}
        if within(name, f"jinx.formats.{other}")
    }
    assert not found


def test_the_pipeline_uses_public_names_of_jinx():
    found = {
        (path.name, name)
        for path in modules(PIPELINE)
        for name in all_imports(path, PIPELINE)
        if root_of(name) == "jinx" and any(part.startswith("_") for part in name.split("."))
    }
    assert not found


@pytest.mark.parametrize(("part", "forbidden"), [("ops", "exec"), ("exec", "ops")])
def test_operators_and_engines_do_not_know_each_other(part: str, forbidden: str):
    found = {
        (path.name, name)
        for path in modules(PIPELINE)
        if part in path.relative_to(PIPELINE).parts
        for name in all_imports(path, PIPELINE)
        if within(name, f"jinx_pipeline.{forbidden}")
    }
    assert not found


def dependencies(crate: str) -> set[str]:
    manifest = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text("utf-8"))
    return set(manifest.get("dependencies", {}))


def test_only_the_binding_crate_knows_python():
    for crate in ("jinx-core", "jinx-arrow"):
        assert not dependencies(crate) & {"pyo3", "numpy", "pyo3-bytes", "jinx-py"}


def test_the_core_knows_no_arrow_and_no_network():
    foreign = {"jinx-arrow", "parquet", "tokio", "reqwest", "object_store", "log", "tracing"}
    found = {name for name in dependencies("jinx-core") if name in foreign or name.startswith("arrow")}
    assert not found


def test_the_wheel_holds_jinx_alone():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert settings["python-packages"] == ["jinx"]
    assert settings["module-name"] == "jinx._core"


def test_the_extension_asks_for_the_gil() -> None:
    """PyO3 says of a module that it needs no GIL unless it is told otherwise; ours is not tested without it."""
    assert "#[pymodule(gil_used = true)]" in (ROOT / "rust/jinx-py/src/lib.rs").read_text("utf-8")
def test_the_list_of_unsafe_files_is_whole():
    allowing = [path for path in (ROOT / "rust").rglob("*.rs") if "allow(unsafe_code)" in path.read_text("utf-8")]
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    start = text.index("`unsafe` only in")
    listed: set[str] = set()
    for place in re.findall("`(rust/[^`]+)`", text[start : text.index("Lengths", start)]):
        names = re.findall(r"\{(.+)\}", place)
        listed |= {re.sub(r"\{.+\}", name, place) for name in (names[0].split(",") if names else [""])}
    assert {str(path.relative_to(ROOT)) for path in allowing} == listed
