"""Options that are wrong are refused where they are given, in recipes, on the command line and in Python."""

import json

import pytest

import jinx_pipeline as jp
from jinx_pipeline.cli.program import run
from jinx_pipeline.recipe.read import recipe_of
from pipeline.made import write_input


@pytest.fixture
def flow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jinx", 20)
    (tmp_path / "recipe.yaml").write_text(
        "dataset: in.jinx\nprocess: [{text_length_filter: {max_len: 60}}]\nexport: out.jinx\nworkers: 1\n"
    )
    return jp.Dataset.load("in.jinx").process("clean_links_mapper")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shard_size": "x"}, "shard_size is for a directory"),
        ({"shard_size": "1GB", "kind": "view"}, "shard_size is for a directory"),
        ({"keep_stats": "no"}, "keep_stats is bool, not 'no'"),
        ({"overwrite": "no"}, "overwrite is bool, not 'no'"),
        ({"progress": "loud"}, "progress is one of auto, plain, none, not 'loud'"),
        ({"stop_after_bad": -1}, "stop_after_bad is at least 0"),
        ({"kind": "vew"}, "kind is one of .*, not 'vew'; did you mean 'view'"),
        ({"engine": "local", "ray_address": "x:1"}, "ray_address is for the engine ray"),
    ],
)
def test_options_of_export(flow, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        flow.export("out.jinx", **options)


@pytest.mark.parametrize("size", ["x", 0, -1])
def test_the_size_of_shards_is_a_size(flow, size):
    with pytest.raises(ValueError, match="size"):
        flow.export("out", shard_size=size)


def test_a_role_is_a_path(flow):
    with pytest.raises(TypeError, match=r"text is str, a column or a path, not 3 \(int\)"):
        jp.Dataset.load("in.jinx", text=3)  # type: ignore[arg-type]


def test_options_of_a_recipe(flow):
    with pytest.raises(jp.RecipeError, match="shard_size is for a directory"):
        recipe_of({"dataset": "in.jinx", "export": {"path": "out.jinx", "kind": "view", "shard_size": "1GB"}})
    with pytest.raises(jp.RecipeError, match=r"--engine ray"):
        recipe_of({"dataset": "in.jinx"}, engine="local", ray_address="x:1")


def test_a_trial_prints_json(flow, capsys):
    assert run(["run", "recipe.yaml", "--limit", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows_in"] == 5
    assert [one["operator"] for one in found["operators"]] == ["text_length_filter"]
    assert "work_dir" not in found


def test_a_trial_says_why_a_row_was_dropped(flow, capsys):
    assert run(["run", "recipe.yaml", "--limit", "20"]) == 0
    assert "(text_len is 6" in capsys.readouterr().out
