"""Looks at all keys as tasks: the same for any number of partitions and workers, and when workers and drivers die."""

import subprocess
import sys
from pathlib import Path

import pytest

import jinx_pipeline as jp
from pipeline.global_ops.everything import OPTIONS, alone, chain, divide_much, looks_of, steps, write_data
from pipeline.made import digest, rows_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def calm(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "out"
    assert chain(data).export(out, workers=1, **OPTIONS).ok
    return out


def test_one_partition_is_as_each_operator_alone(data, calm):
    assert [row["ids"].split() for row in rows_of(calm)] == alone(data)
    assert 100 < sum(row["rows"] for row in rows_of(calm)) < 300


def test_many_partitions_and_a_death_in_each_change_nothing(data, calm, tmp_path, monkeypatch):
    divide_much(monkeypatch)
    result = chain(data, str(tmp_path / "died")).export(tmp_path / "out", workers=4, **OPTIONS)
    looks = looks_of(tmp_path / "out.work")
    assert min(looks.values()) > 1
    died = [path.name for path in tmp_path.iterdir() if path.name.startswith("died.")]
    assert len(died) == sum(looks.values())
    assert digest(tmp_path / "out") == digest(calm)
    assert result.ok
    figures = {operator.operator: (operator.rows_in, operator.rows_out) for operator in result.operators}
    assert figures["mortal_join"][0] == figures["mortal_document_minhash_deduplicator"][1]
    assert figures["mortal_join"][1] == figures["mortal_topk_specified_field_selector"][0]
    assert figures["mortal_topk_specified_field_selector"][1] < figures["mortal_join"][1]
    assert figures["mortal_sort"][0] == figures["mortal_sort"][1]


SCRIPT = """
import sys
from pathlib import Path

import pytest

sys.path.insert(0, {tests!r})
from pipeline.global_ops import everything

everything.divide_much(pytest.MonkeyPatch())
everything.chain(Path({data!r}), {marker!r}).export({out!r}, workers=2, **everything.OPTIONS)
"""


KILLED = (
    "document_minhash_deduplicator.3",
    "join.1",
    "range_specified_field_selector.1",
    "frequency_specified_field_selector.0",
    "sort.1",
    "key_value_grouper.0",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_a_killed_driver_is_resumed_within_a_phase(data, calm, tmp_path, name):
    work = tmp_path / "markers"
    work.mkdir()
    out, marker = tmp_path / "out", work / "died"
    code = SCRIPT.format(tests=str(Path(__file__).parents[2]), data=str(data), marker=str(marker), out=str(out))
    # No task dies but the one that takes the driver with it.
    for operator, _ in steps(data):
        for look in range(200):
            (work / f"died.mortal_{operator}.{look}").touch()
    (work / f"died.mortal_{name}").unlink()
    (work / "driver").touch()
    done = [subprocess.run([sys.executable, "-c", code], check=False).returncode for _ in range(2)]
    assert done == [-9, 0]
    assert digest(out) == digest(calm)


def test_a_look_that_kills_every_worker_stops_the_run(data, tmp_path):
    marker = tmp_path / "nowhere" / "died"
    with pytest.raises(jp.StoppedError, match="at the keys of all samples: the task failed: FileNotFoundError"):
        chain(data, str(marker)).export(tmp_path / "out", workers=1, **OPTIONS)
    assert not (tmp_path / "out").exists()
