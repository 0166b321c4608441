"""What the reference is made from: docstrings of everything public, and a stub that agrees with the binary."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jinx
import jinx.errors
import jinx.kernels
import jinx.mds
import jinx_pipeline
from documented import undocumented

STUB = Path(jinx.__file__).with_name("_core.pyi")
# What pyo3 adds to every module.
NOT_IN_THE_STUB = r"jinx\._core\.__all__"
# tests/drop_in looks at these, in an environment that has Streaming.
ABOUT_STREAMING = {"MDSReader", "patch_streaming", "unpatch", "unpatch_streaming"}


def test_everything_public_has_a_docstring():
    assert undocumented(jinx, set(jinx.__all__) - {"__version__"}) == []
    assert undocumented(jinx.errors, jinx.errors.__all__) == []
    assert undocumented(jinx.mds, set(jinx.mds.__all__) - ABOUT_STREAMING) == []
    assert undocumented(jinx.kernels, jinx.kernels.__all__) == []
    assert undocumented(jinx_pipeline, jinx_pipeline.__all__) == []


@pytest.mark.torch
def test_everything_public_of_torch_has_a_docstring():
    pytest.importorskip("torch")
    import jinx.torch

    assert undocumented(jinx.torch, jinx.torch.__all__) == []


def test_docstrings_of_lazydict_and_the_errors_are_in_the_stub():
    """Editors and the reference read the stub, `help` reads the binary."""
    classes = {node.name: node for node in ast.parse(STUB.read_text("utf-8")).body if isinstance(node, ast.ClassDef)}
    names = {*jinx.errors.__all__, "LazyDict"}
    assert {name: words(ast.get_docstring(classes[name])) for name in names} == {
        name: words(getattr(jinx.errors, name, jinx.LazyDict).__doc__) for name in names
    }
    methods = [node for node in classes["LazyDict"].body if isinstance(node, ast.FunctionDef)]
    public = {node.name: words(ast.get_docstring(node)) for node in methods if not node.name.startswith("_")}
    assert public == {name: words(getattr(jinx.LazyDict, name).__doc__) for name in public}
    assert set(public) == {name for name in dir(jinx.LazyDict) if not name.startswith("_")}


def words(text: str | None) -> list[str]:
    assert text, "a docstring is missing"
    return text.split()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_stub_agrees_with_the_binary(tmp_path):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(NOT_IN_THE_STUB, "utf-8")
    command = [sys.executable, "-m", "mypy.stubtest", "jinx._core", "--concise", "--allowlist", str(allowed)]
    root = str(STUB.parents[1])
    environment = {"MYPYPATH": root, "PYTHONPATH": root, "MYPY_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
