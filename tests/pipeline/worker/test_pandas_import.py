"""Workers whose operators are all ours do without pandas."""

import subprocess
import sys

import pytest

from jinx_pipeline.worker.pandas_import import is_spared

SPARED = """
import sys
from jinx_pipeline.worker.pandas_import import spare
spare()
import pyarrow as pa
assert pa.array(["a", None]).to_pylist() == ["a", None]
assert "pandas" not in sys.modules
import pandas
print(pandas.DataFrame({"a": [1]}).shape)
"""

ON_RAY = """
import sys
from jinx_pipeline.engines.ray.actor import RayActor, RunSettings
actor = RayActor(threads=1, sees_gpus=False)
assert actor._load(RunSettings("run", ".", [], (), sys.argv[1] == "spared", None, None)) is None
import pyarrow as pa
pa.array(["a"])
print("pandas" in sys.modules)
"""


def test_pyarrow_works_without_pandas_and_others_may_import_it():
    pytest.importorskip("pandas", reason="pandas is not installed")
    done = subprocess.run([sys.executable, "-c", SPARED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "(1, 1)\n"), done.stderr


@pytest.mark.parametrize(("whose", "imported"), [("spared", "False"), ("of users", "True")])
def test_workers_on_ray_do_without_it_too(whose, imported):
    pytest.importorskip("pandas", reason="pandas is not installed")
    command = [sys.executable, "-c", ON_RAY, whose]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, imported), done.stderr


def test_only_operators_of_the_package_are_known_to_need_none():
    own = "jinx_pipeline.operators.text.text_length_filter"
    assert is_spared([own])
    assert not is_spared([own, "jinx_pipeline.operators.script.function_op"])
    assert not is_spared(["somebody.else"])
