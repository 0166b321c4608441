"""The Python of README passes type checkers as users run them."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BEFORE = """
from typing import Any
import numpy as np
import jinx
indices: list[int] = [3, 1]
"""


@pytest.mark.timeout(240)
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_page(page, checker, tmp_path):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed; run: make setup")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    (tmp_path / "page.py").write_text(BEFORE + "".join(blocks), "utf-8")
    python = {"pyright": "--pythonpath", "mypy": "--python-executable"}[checker]
    options = [] if checker == "pyright" else ["--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", checker, python, sys.executable, *options, "page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
