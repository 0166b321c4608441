"""Addresses at which there is no Ray cluster."""

import socket
from types import SimpleNamespace

import pytest

import jinx_pipeline as jp
from jinx_pipeline.cli.program import run as run_program
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.ray.cluster import connected
from pipeline.made import write_input

RECIPE = "dataset: {{path: {data}}}\nprocess:\n  - text_length_filter: {{min_len: 1}}\nexport: {{path: {out}}}\n"


@pytest.fixture
def data(tmp_path):
    return write_input(tmp_path / "in.jinx", rows=5)


@pytest.fixture
def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_an_address_nobody_answers(data, tmp_path, closed_port):
    pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
    with pytest.raises(ConnectionError, match=rf"no Ray cluster answers at 127.0.0.1:{closed_port}"):
        Dataset.load(data).export(tmp_path / "out.jinx", engine=jp.Ray(f"127.0.0.1:{closed_port}"))
    assert not (tmp_path / "out.jinx").exists()


def test_the_command_line_says_it_in_one_line(data, tmp_path, closed_port, capfd):
    pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.format(data=data, out=tmp_path / "out.jinx"))
    address = f"127.0.0.1:{closed_port}"
    assert run_program(["run", str(recipe), "--engine", "ray", "--ray-address", address, "--progress", "none"]) == 1
    error = capfd.readouterr().err.strip()
    assert "\n" not in error
    assert f"no Ray cluster answers at {address}" in error


def test_a_cluster_that_asks_for_a_token(data, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

    def refuse(**_):  # as `ray.init` does after 20 s
        reason = RuntimeError("Failed to connect to GCS. Last connection error: ray.exceptions.AuthenticationError: no")
        raise ConnectionError("Failed to connect to Ray cluster") from reason

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ConnectionError, match=r"cannot be used: Failed .*; it asks for a token: set RAY_AUTH"):
        Dataset.load(data).export(tmp_path / "out.jinx", engine=jp.Ray("auto"))


def test_a_cluster_that_does_not_start(data, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

    def refuse(**_):
        raise Exception("The current node timed out during startup.")  # noqa: TRY002 - as `ray.init` does

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ConnectionError, match=r"address 'local' cannot be used: The current node timed out"):
        Dataset.load(data).export(tmp_path / "out.jinx", engine=jp.Ray("local"))


def test_without_ray_installed_the_error_says_what_to_install(data, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ImportError, match=r"engine: ray needs ray, .* pip install 'jinx-pipeline\[ray\]'"):
        Dataset.load(data).export(tmp_path / "out.jinx", engine="ray")


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [
        ("auto", False),
        ("10.0.0.1:6379", False),
        ("10.0.0.1:6380", True),
        ("10.0.0.2:6379", True),
        ("ray://10.0.0.1:10001", True),
        ("local", True),
    ],
)
def test_a_process_that_is_connected_to_another_cluster(monkeypatch, address, is_refused):
    ray = connected_to("10.0.0.1:6379")
    monkeypatch.setattr("jinx_pipeline.engines.ray.cluster.require", lambda *_, **__: ray)
    if not is_refused:
        with connected(address) as cluster:
            assert cluster.nodes() == []
        return
    what = rf"connected to the Ray cluster at 10.0.0.1:6379 already, .* to use {address}; call ray.shutdown\(\).*'auto'"
    with pytest.raises(ConnectionError, match=what), connected(address):
        pass


def connected_to(gcs_address):
    """Ray as far as it tells about a connection."""
    return SimpleNamespace(
        is_initialized=lambda: True,
        get_runtime_context=lambda: SimpleNamespace(gcs_address=gcs_address),
        util=SimpleNamespace(
            client=SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: False)),
            get_node_ip_address=lambda: "10.0.0.9",
        ),
        nodes=list,
        exceptions=SimpleNamespace(RayError=RuntimeError),
    )
