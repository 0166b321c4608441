"""Recipes with nodes and flows on Ray: the bytes, clips and tables of the local engine."""

import os
import shutil

import pytest

import jinx_pipeline as jp
from jinx_pipeline.recipe.read import read_recipe
from pipeline.execute.graph_recipes import OUTPUTS, listed, write_data
from pipeline.execute.media_runs import result_of, run_all
from pipeline.made import digest

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    ray.shutdown()


def both(tmp_path):
    """Two directories with the same data, for the two engines."""
    return tmp_path / "local", tmp_path / "ray"


def test_a_graph_with_every_feature(tmp_path, monkeypatch):
    found = []
    for folder, engine in zip(both(tmp_path), ("local", "ray"), strict=True):
        write_data(folder)
        monkeypatch.chdir(folder)
        assert jp.Run(read_recipe("recipe.yaml", engine=engine, workers=2))().ok
        found.append(({name: digest(folder / name) for name in OUTPUTS}, listed(folder)))
    assert found[0] == found[1]


def test_clips_of_videos_and_recordings(tmp_path, monkeypatch):
    pytest.importorskip("av")
    pytest.importorskip("soundfile")
    demo_media = pytest.importorskip("demo_media")
    local, cluster = both(tmp_path)
    scenes, sounds = demo_media.make_media(local, 2)
    shutil.copytree(local, cluster)
    for folder, engine in ((local, "local"), (cluster, "ray")):
        monkeypatch.chdir(folder)
        run_all("--engine", engine, "--workers", "2")
    assert result_of(cluster) == result_of(local)
    assert demo_media.rows_of_table(cluster / "clips.db") == scenes
    assert demo_media.spans_of(cluster / "speech.jinx") == sounds
