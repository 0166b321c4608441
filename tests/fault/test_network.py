"""Network file systems, by a shim: no maps there, and a handle that goes stale is a clear error or none at all."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest

import jinx
from fault.rows import rows
from fault.staling import READS


@pytest.fixture(scope="module")
def found(shim, tmp_path_factory, child_environment):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    directory = tmp_path_factory.mktemp("under-test")
    for path, options in ((directory / "a.jinx", {}), (directory / "data", {"shard_size": 8000})):
        with jinx.Writer(path, **options) as writer:
            writer.write_many(rows(1))
    # A directory of which no manifest says how many shards it has.
    shutil.copytree(directory / "data", directory / "bare")
    (directory / "bare" / "jinx.json").unlink()
    words = [shim, "--reads", sys.executable, "-m", "fault.staling", directory]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


DATASETS = ("a.jinx", "data", "bare")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_where_nothing_can_be_mapped_files_are_read(dataset, name, found):
    end, _, tried = found[f"{dataset}, {name}, no maps, io=auto"]
    assert (end, tried > 0) == ("right", name != "get")
    if name != "get":  # opened before
        end, text, tried = found[f"{dataset}, {name}, no maps, io=mmap"]
        assert (end, tried > 0) == ("ENODEV", True)
        assert dataset in text


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_files_of_another_machine_are_not_mapped(dataset, name, found):
    assert found[f"{dataset}, {name}, remote, io=auto"] == ["right", "", 0]


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_stale_handle_is_opened_again_or_named(dataset, name, found, record_property):
    once, always = (found[f"{dataset}, {name}, {action}"] for action in ("stale", "stays stale"))
    record_property("ends", [once["ends"], always["ends"]])
    assert once["unclear"] == always["unclear"] == []
    assert set(once["ends"]) <= {"right", "ESTALE"}
    # Reading continued, through a new handle; opening did not.
    assert once["ends"]["right"] >= 1
    assert set(always["ends"]) == {"ESTALE"}
