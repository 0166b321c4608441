"""The shipped recipes with models, each run with tiny ones."""

import json

import pytest
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_aesthetics, save_clip, save_vit

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]


def images():
    return "images", [encoded(photo(80, 72, seed)) for seed in range(3)] + [encoded(photo(20, 20))]


def films():
    videos = pytest.importorskip("make_media.videos")
    made = [videos.video(frames=50, cuts=(), size=(192, 128), first=first) for first in (0, 50)]
    return "videos", [*made, videos.video(frames=10, cuts=(), size=(192, 128))]


@pytest.mark.parametrize(("name", "made"), [("image-text-quality", images), ("video-quality", films)])
def test_a_recipe_judges_with_its_models(tmp_path, name, made):
    column, media = made()
    source = tmp_path / "in.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"id": at, "text": "a red cat", column: [one]} for at, one in enumerate(media))
    models = {
        "clip": save_clip(tmp_path / "clip"),
        "nsfw": save_vit(tmp_path / "nsfw", ["normal", "nsfw"]),
        "watermark": save_vit(tmp_path / "watermark", ["none", "watermark"]),
        "aesthetics": save_aesthetics(tmp_path / "aesthetics"),
    }
    named = [f"--model={key}={path}" for key, path in models.items()]
    command = ["run", name, "--in", str(source), "--out", str(tmp_path / "out.jinx"), "--workers", "1", "--json"]
    done = CliRunner().invoke(pipeline, [*command, *named])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["rows_in"], result["bad_rows"]) == (len(media), [])
    rows = {one["operator"]: one["rows_in"] for one in result["operators"]}
    assert set(rows) == {step.operator.name for step in jp.read_recipe(shipped_file(name)).steps}
    assert max(rows.values()) == len(media)


def shipped_file(name):
    from jinx_pipeline.recipe.shipped import shipped_or_file

    return shipped_or_file(name)


def test_a_model_that_the_recipe_does_not_have(tmp_path):
    command = ["plan", "image-text-quality", "--in", str(tmp_path / "in.jinx"), "--model=clipp=/models/clip"]
    done = CliRunner().invoke(pipeline, command)
    assert str(done.exception) == "the recipe has no model 'clipp'; did you mean 'clip'?"
    done = CliRunner().invoke(pipeline, [*command[:4], "--model=clip"])
    assert "--model clip: write NAME=VALUE" in done.output
