"""What the reference is made from: docstrings of everything public, and stubs that agree with the binaries."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jinx
import jinx.errors
import jinx.mds
import jinx_pipeline
import jinx_pipeline.kernels
from documented import undocumented

STUB = Path(jinx.__file__).with_name("_core.pyi")
# What pyo3 adds to every module.
NOT_IN_A_STUB = r"jinx\._core\.__all__|jinx_pipeline\._kernels\.__all__"
# tests/drop_in looks at these, in an environment that has Streaming.
ABOUT_STREAMING = {"MDSReader", "patch_streaming", "unpatch", "unpatch_streaming"}


def test_everything_public_has_a_docstring():
    assert undocumented(jinx, set(jinx.__all__) - {"__version__"}) == []
    assert undocumented(jinx.errors, jinx.errors.__all__) == []
    assert undocumented(jinx.mds, set(jinx.mds.__all__) - ABOUT_STREAMING) == []
    assert undocumented(jinx_pipeline, jinx_pipeline.__all__) == []
    assert undocumented(jinx_pipeline.kernels, jinx_pipeline.kernels.__all__) == []


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
def test_the_stubs_agree_with_the_binaries(tmp_path):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(NOT_IN_A_STUB, "utf-8")
    modules = ["jinx._core", "jinx_pipeline._kernels"]
    command = [sys.executable, "-m", "mypy.stubtest", *modules, "--concise", "--allowlist", str(allowed)]
    roots = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (jinx, jinx_pipeline))
    environment = {"MYPYPATH": roots, "PYTHONPATH": roots, "MYPY_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
