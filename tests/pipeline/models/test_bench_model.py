"""`bench-model` says how busy models are, and what limits them."""

import json

import pytest
from click.testing import CliRunner

import jinx_pipeline as jp
from jinx_pipeline.bench_model import ModelUse
from jinx_pipeline.cli.program import pipeline
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_clip

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]


def recipe(folder, process):
    for number in range(20):
        (folder / f"{number}.png").write_bytes(encoded(photo(64, 48, number)))
    lines = [json.dumps({"text": f"a red cat {n}", "images": [str(folder / f"{n}.png")]}) + "\n" for n in range(20)]
    (folder / "in.jsonl").write_text("".join(lines))
    data = {"dataset": str(folder / "in.jsonl"), "process": process, "export": str(folder / "out.jinx")}
    (folder / "recipe.yaml").write_text(json.dumps(data))
    return str(folder / "recipe.yaml")


def test_shares_of_the_time(tmp_path):
    clip = save_clip(tmp_path / "clip")
    similar = {"image_text_similarity_filter": {"hf_clip": clip, "min_score": -1}}
    file = recipe(tmp_path, [{"text_length_filter": {"min_len": 1}}, similar, {"document_deduplicator": {}}])
    words = ["bench-model", file, "--samples", "15", "--device", "cpu"]
    result = CliRunner().invoke(pipeline, [*words, "--json"], standalone_mode=False, catch_exceptions=False)
    (use,) = json.loads(result.output)
    assert use["operator"] == "image_text_similarity_filter"
    assert use["models"] == [clip]
    assert use["samples"] == 15
    assert use["inputs"] == 30  # images and texts
    assert 0 < use["running"] <= 1
    assert 0 <= use["waiting"] <= 1 - use["running"]
    assert not (tmp_path / "out.jinx").exists()
    shown = CliRunner().invoke(pipeline, words, standalone_mode=False, catch_exceptions=False).output
    assert "15" not in shown.partition(":")[0]
    assert "limited by" in shown


@pytest.mark.parametrize(
    ("running", "waiting", "limit"),
    [
        (0.95, 0.01, "the model"),
        (0.3, 0.6, "preparing inputs"),
        (0.4, 0.1, "around the model"),
        (0.85, 0.08, "nothing"),
    ],
)
def test_the_larger_share_limits(running, waiting, limit):
    assert limit in ModelUse("x", (), 1, 1, 1, 1.0, running, waiting, None).limit


def test_a_recipe_without_models_is_refused(tmp_path):
    file = recipe(tmp_path, [{"text_length_filter": {}}])
    with pytest.raises(jp.RecipeError, match="no operator has a model that a worker loads"):
        CliRunner().invoke(pipeline, ["bench-model", file], standalone_mode=False, catch_exceptions=False)
