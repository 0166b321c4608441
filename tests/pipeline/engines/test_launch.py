"""The environment of worker processes."""

import pytest

from jinx_pipeline.engines.local.launch import worker_environment


@pytest.mark.parametrize(("threads", "policy"), [(1, None), (2, "passive"), (8, "passive")])
def test_several_threads_of_a_model_wait_without_work(threads, policy, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    environment = worker_environment(threads)
    assert environment.get("OMP_WAIT_POLICY") == policy
    assert environment["OMP_NUM_THREADS"] == environment["RAYON_NUM_THREADS"] == str(threads)


def test_the_policy_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert worker_environment(4)["OMP_WAIT_POLICY"] == "active"
