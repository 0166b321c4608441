"""Sorting, joining, grouping and deduplicating on Ray: the bytes of the local engine, whatever dies."""

import os

import pytest

import jinx_pipeline as jp
from pipeline.global_ops.everything import OPTIONS, chain, divide_much, looks_of, write_data
from pipeline.made import digest

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    ray.shutdown()


def test_a_death_in_each_phase_changes_nothing(tmp_path, monkeypatch):
    data = write_data(tmp_path)
    assert chain(data).export(tmp_path / "calm", workers=1, **OPTIONS).ok
    divide_much(monkeypatch)
    result = chain(data).export(tmp_path / "out", engine=jp.Ray(workers=2), **OPTIONS)
    assert result.ok
    assert digest(tmp_path / "out") == digest(tmp_path / "calm")
    # Actors take seconds to start, so few of them die.
    divided = looks_of(tmp_path / "out.work")
    for operator, looks in divided.items():
        assert looks > 1
        for look in range(1, looks):
            (tmp_path / f"died.{operator}.{look}").touch()
    result = chain(data, str(tmp_path / "died")).export(tmp_path / "killed", engine=jp.Ray(workers=2), **OPTIONS)
    assert result.ok
    assert len(list(tmp_path.glob("died.*.0"))) == len(divided)
    assert digest(tmp_path / "killed") == digest(tmp_path / "calm")
