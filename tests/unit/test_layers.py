"""Each layer knows only the layers below it: core, formats, conversion, bindings, Python package."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JINX = ROOT / "python" / "jinx"
ABOVE_JINX = {"jinx_pipeline", "bench", "tests", "draw", "demo"}

# Third-party packages a directory of the package may import when it is itself imported.
AT_TOP_LEVEL = {
    "": set(),
    "_cli": {"click"},
    "torch": {"numpy", "torch"},
    "_viewer": {"numpy", "starlette", "uvicorn"},
    # Nothing else of the package imports it, and it imports nothing of the package.
    "_reference": {"brotli", "cramjam", "lz4", "numpy", "xxhash", "zstandard"},
}


def modules(package: Path) -> list[Path]:
    found = sorted([*package.rglob("*.py"), *package.rglob("*.pyi")])
    assert package / "__init__.py" in found
    return found


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


def test_jinx_imports_nothing_above_it():
    found = {
        (path.name, name) for path in modules(JINX) for name in all_imports(path, JINX) if root_of(name) in ABOVE_JINX
    }
    assert not found


def test_no_module_imports_one_that_imports_it():
    """Packages hand names on, so what a module takes from one counts as an import of the module that defines it."""
    paths = [path for path in modules(JINX) if path.name != "__init__.py"]
    names = {dotted(path, JINX) for path in paths}
    graph = {
        dotted(path, JINX): {known for name in all_imports(path, JINX) for known in (name, name.rpartition(".")[0])}
        & names
        for path in paths
    }
    assert graph["jinx._open"] >= {"jinx._core", "jinx._dataset.dataset"}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_importing_jinx_needs_the_standard_library_alone():
    found = set()
    for path in modules(JINX):
        if path.suffix == ".pyi":
            continue
        directory = path.relative_to(JINX).parts[0] if path.parent != JINX else ""
        allowed = AT_TOP_LEVEL.get(directory, set()) | {"jinx"} | set(sys.stdlib_module_names)
        names = {root_of(name) for name in top_level_imports(path, JINX)}
        found |= {(str(path.relative_to(JINX)), name) for name in names - allowed}
    assert not found


def test_import_jinx_loads_no_heavy_package():
    code = (
        "import sys, jinx; print(*sorted({'numpy', 'click', 'orjson', 'pyarrow', 'torch', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_only_four_modules_are_public():
    public = {"jinx", "jinx.errors", "jinx.mds", "jinx.torch"}
    found = {dotted(path, JINX) for path in modules(JINX) if "._" not in dotted(path, JINX)}
    assert found == public


def dependencies(crate: str) -> set[str]:
    manifest = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text("utf-8"))
    return set(manifest.get("dependencies", {}))


# Each crate and those it may build on; the direction is the architecture.
CRATES = {
    "jinx-core": set(),
    "jinx-format": {"jinx-core"},
    "jinx-kernels": {"jinx-core"},
    "jinx-mds": {"jinx-core"},
    "jinx-pack": {"jinx-core"},
    "jinx-convert": {"jinx-core", "jinx-format", "jinx-mds"},
    "jinx-order": {"jinx-core", "jinx-format"},
    "jinx-dataset": {"jinx-core", "jinx-format", "jinx-mds", "jinx-convert"},
    "jinx-fuzz": {"jinx-core", "jinx-format", "jinx-mds"},
    "jinx-pyo3": {"jinx-core"},
    "jinx-remote": {"jinx-core"},
    "jinx-py": {
        "jinx-core",
        "jinx-format",
        "jinx-mds",
        "jinx-pack",
        "jinx-convert",
        "jinx-order",
        "jinx-dataset",
        "jinx-pyo3",
        "jinx-remote",
    },
    "jinx-pipeline-py": {"jinx-core", "jinx-kernels", "jinx-pyo3"},
}
BINDINGS = {"jinx-pyo3", "jinx-py", "jinx-pipeline-py"}


def test_every_crate_has_its_place():
    assert {directory.name for directory in (ROOT / "rust").iterdir() if (directory / "Cargo.toml").exists()} == set(
        CRATES
    )


@pytest.mark.parametrize("crate", CRATES)
def test_crates_build_on_those_below_alone(crate: str):
    assert {name for name in dependencies(crate) if name.startswith("jinx-")} <= CRATES[crate]


@pytest.mark.parametrize("crate", sorted(set(CRATES) - BINDINGS))
def test_only_the_binding_crates_know_python(crate: str):
    assert not dependencies(crate) & {"pyo3", "numpy", "pyo3-bytes"}


def test_no_crate_below_conversion_knows_arrow_or_the_network():
    foreign = {"parquet", "tokio", "reqwest", "object_store", "log", "tracing"}
    for crate in ("jinx-core", "jinx-format", "jinx-kernels", "jinx-mds", "jinx-pack"):
        assert not {name for name in dependencies(crate) if name in foreign or name.startswith("arrow")}


@pytest.mark.parametrize(
    ("directory", "package", "module"), [(".", "jinx", "_core"), ("python/pipeline", "jinx_pipeline", "_kernels")]
)
def test_a_wheel_holds_one_package(directory, package, module):
    settings = tomllib.loads((ROOT / directory / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert settings["python-packages"] == [package]
    assert settings["module-name"] == f"{package}.{module}"


@pytest.mark.parametrize("crate", ["jinx-py", "jinx-pipeline-py"])
def test_an_extension_asks_for_the_gil(crate) -> None:
    """PyO3 says of a module that it needs no GIL unless it is told otherwise; ours are not tested without it."""
    assert "#[pymodule(gil_used = true)]" in (ROOT / "rust" / crate / "src/lib.rs").read_text("utf-8")


# Calls that change a directory; `fs::` alone misses nothing, because nobody imports them by name.
CHANGES_A_DIRECTORY = re.compile(
    r"\bfs::(rename|remove_\w+|create_dir\w*|hard_link|write|copy|soft_link|renameat\w*|unlinkat|mkdirat|linkat)\b"
    r"|\bFile::(create|create_new|options)\b|\bDirBuilder\b|\bos::unix::fs::symlink\b"
    r"|\.(create|create_new)\(true\)|\.(sync_all|sync_data)\("
)


def rust_code(path: Path) -> str:
    """What a Rust file does outside its tests and comments."""
    code = re.split(r"#\[cfg\(test\)\]\s*(?:#\[allow\([^)]*\)\]\s*)?mod \w+ \{", path.read_text("utf-8"))[0]
    return re.sub(r"//[^\n]*", "", code)


def rust_sources() -> list[Path]:
    """The files of the crates that are shipped, without those that hold tests only."""
    files = [
        path for crate in sorted(set(CRATES) - {"jinx-fuzz"}) for path in (ROOT / "rust" / crate / "src").rglob("*.rs")
    ]
    return [path for path in files if "tests" not in path.parts and not path.stem.endswith("tests")]


FETCHED = ("cache.rs", "cache_size.rs", "chunk_file.rs", "download.rs")


def test_directories_are_changed_through_the_publishing_layer_alone():
    """Faults and power cuts are tried on what goes through `FileOps`; anything else they would never see."""
    layer = ROOT / "rust/jinx-core/src/io/fs_calls.rs"
    # What a cache or a download loses is fetched again; its own tests kill its writers.
    fetched = {ROOT / "rust/jinx-remote/src" / name for name in FETCHED}
    found = {path for path in rust_sources() if CHANGES_A_DIRECTORY.search(rust_code(path))}
    assert found == {layer, *fetched}


def test_threads_are_started_in_one_place():
    """There a refusal of the system is met, and the threads of a call are waited for."""
    starts = re.compile(r"\bthread::(scope|spawn|Builder)\b|\.spawn_scoped\(")
    found = {path for path in rust_sources() if starts.search(rust_code(path))}
    assert found == {ROOT / "rust/jinx-core/src/threads.rs"}


def test_the_list_of_unsafe_files_is_whole():
    allowing = [path for path in (ROOT / "rust").rglob("*.rs") if "allow(unsafe_code)" in path.read_text("utf-8")]
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    start = text.index("`unsafe` only in")
    listed: set[str] = set()
    for place in re.findall("`(rust/[^`]+)`", text[start : text.index("Lengths", start)]):
        names = re.findall(r"\{(.+)\}", place)
        listed |= {re.sub(r"\{.+\}", name, place) for name in (names[0].split(",") if names else [""])}
    assert {str(path.relative_to(ROOT)) for path in allowing} == listed
