"""Addresses at which there is no Ray cluster."""

import socket

import pytest

import jinx_pipeline as jp
from jinx_pipeline.cli.program import run as run_program
from jinx_pipeline.dataset import Dataset
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


def test_without_ray_installed_the_error_says_what_to_install(data, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ImportError, match=r"engine: ray needs ray, .* pip install 'jinx-pipeline\[ray\]'"):
        Dataset.load(data).export(tmp_path / "out.jinx", engine="ray")
