"""The recipe of docs/how-to/models.md runs."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_clip, save_vit

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "models.md"
RECIPE = re.compile(r"Save this as `quality.yaml`:\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_recipe_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (recipe,) = RECIPE.findall(PAGE.read_text("utf-8"))
    save_clip(tmp_path / "clip-vit-base-patch32")
    save_vit(tmp_path / "nsfw_image_detection", ["normal", "nsfw"])
    # Random weights keep nothing for certain.
    recipe = recipe.replace("/models", str(tmp_path)).replace("min_score: 0.2", "min_score: -1").replace("0.5}", "1}")
    Path("quality.yaml").write_text(f"{recipe}workers: 1\n", "utf-8")
    with jinx.Writer("photos.jinx") as writer:
        writer.write_many({"text": "a red cat", "images": [encoded(photo(seed=seed))]} for seed in range(3))
    done = CliRunner().invoke(pipeline, ["run", "quality.yaml", "--progress", "none"])
    assert done.exit_code == 0, done.output
    samples = jinx.open("good.jinx").to_list()
    assert len(samples) == 3
    assert [len(sample["image_embeddings"][0]) for sample in samples] == [8, 8, 8]
