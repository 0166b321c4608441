"""What a run does before its first row: it imports what it needs, and looks for no garbage meanwhile."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from jinx_pipeline.engines.local import fork_loop, fork_server

# What only some recipes need, or only workers; each takes milliseconds.
UNNEEDED = {
    "difflib",
    "numpy.random",
    "pandas",
    "pyarrow.compute",
    "jinx_pipeline.annotation.tasks",
    "jinx_pipeline.operators.api.response_cache",
    "jinx_pipeline.operators.join.join",
    "jinx_pipeline.sample.dialogs",
    "jinx_pipeline.sample.http_client",
    "jinx_pipeline.sample.validators",
    "jinx_pipeline.worker.probe_work",
}
RUN = """
import gc, json, os, sys

from jinx_pipeline.cli.program import run

gc.set_threshold(50_000)
collections, is_starting = [], True

def look(phase, facts):
    if is_starting and phase == "start" and "numpy" in sys.modules:
        collections.append(len(sys.modules))

def forks():
    global is_starting
    is_starting = False

gc.callbacks.append(look)
os.register_at_fork(before=forks)
code = run(["run", "recipe.yaml", "--progress", "none", "--json"])
print(json.dumps({"code": code, "collections": collections, "forked": not is_starting, "modules": [*sys.modules]}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux are workers forked")
def test_a_run_imports_no_module_in_vain_and_collects_no_garbage_before_the_fork(tmp_path):
    rows = [json.dumps({"text": f"some  words about {number % 15} things"}) for number in range(20)]
    (tmp_path / "in.jsonl").write_text("\n".join(rows))
    recipe = {
        "dataset": {"path": "in.jsonl"},
        "process": [
            {"whitespace_normalization_mapper": {}},
            {"words_num_filter": {"min_num": 2}},
            {"document_minhash_deduplicator": {}},
        ],
        "export": {"path": "out.jinx"},
        "workers": 1,
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["code"], found["forked"]) == (0, True), done.stderr
    assert found["collections"] == []
    assert "jinx_pipeline.run" in found["modules"]
    assert UNNEEDED & set(found["modules"]) == set()


def test_what_is_imported_early_exists():
    """Otherwise each worker would import it, without a word."""
    for name in (*fork_server._COMMON, *fork_loop._OF_WORKERS):
        if name.startswith("dateutil") and find_spec("dateutil") is None:
            continue
        import_module(name)
