"""Directories that are not the model that an operator needs are refused before a run; plans list models."""

import json
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.plan.probe import Findings, Measured
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.model import needs_of
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.recipe.resolve import resolve

CLIP_FILES = ("model.safetensors", "tokenizer.json", "preprocessor_config.json")


def folder(path: Path, *files: str, **config) -> str:
    path.mkdir()
    if config:
        (path / "config.json").write_text(json.dumps(config), "utf-8")
    for name in files:
        (path / name).write_bytes(b"{}")
    return str(path)


def made(path, **model) -> jp.Operator:
    return jp.create("image_text_similarity_filter", hf_clip=jp.Model(path=path, **model))


def test_a_model_with_all_files(tmp_path):
    made(folder(tmp_path / "m", *CLIP_FILES, architectures=["CLIPModel"]))


@pytest.mark.parametrize(
    ("files", "config", "message"),
    [
        (CLIP_FILES, {}, "is not the directory of a model: it has no config.json"),
        (CLIP_FILES, {"architectures": ["BertModel"]}, "is not a CLIP model: its class is BertModel"),
        (CLIP_FILES, {"architectures": ["CLIPTextModel"]}, "its class is CLIPTextModel"),
        (CLIP_FILES, {"model_type": "clip"}, "its class is clip"),
        (CLIP_FILES[1:], {"architectures": ["CLIPModel"]}, "no weights; model.safetensors is missing"),
        (("pytorch_model.bin", *CLIP_FILES[1:]), {"architectures": ["CLIPModel"]}, "a pickle, which may run code"),
        ((CLIP_FILES[0], CLIP_FILES[2]), {"architectures": ["CLIPModel"]}, "no processor for texts: tokenizer.json"),
        (CLIP_FILES[:2], {"architectures": ["CLIPModel"]}, "no processor for images: preprocessor_config.json"),
    ],
)
def test_another_directory_is_refused(tmp_path, files, config, message):
    with pytest.raises(jp.ParameterError, match=message):
        made(folder(tmp_path / "m", *files, **config))


def test_a_broken_configuration_is_refused(tmp_path):
    path = folder(tmp_path / "m", *CLIP_FILES)
    for text, message in (("{", "cannot be read"), ("[]", "not an object")):
        (tmp_path / "m" / "config.json").write_text(text, "utf-8")
        with pytest.raises(jp.ParameterError, match=message):
            made(path)


def test_pickles_are_allowed_by_name(tmp_path):
    files = ("pytorch_model.bin", *CLIP_FILES[1:])
    made(folder(tmp_path / "m", *files, architectures=["CLIPModel"]), allow_pickle=True)


def test_a_recipe_with_a_wrong_model_names_the_place_and_the_near_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"text": "a", "images": []}\n', "utf-8")
    clip = folder(tmp_path / "m", *CLIP_FILES, architectures=["BertModel"])
    data = {"dataset": "in.jsonl", "models": {"clip": clip}, "export": "out.jinx"}
    step = "image_text_similarity_filter"
    with pytest.raises(jp.RecipeError, match=r"process\[0\].*filter: hf_clip: .*/m is not a CLIP model"):
        resolve(recipe_of({**data, "process": [{step: {"hf_clip": "clip"}}]}))
    with pytest.raises(jp.RecipeError, match="needs hf_clip: clap, which does not exist; did you mean 'clip'"):
        describe(recipe_of({**data, "process": [{step: {"hf_clip": "clap"}}]}))


def test_a_plan_lists_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"text": "a", "images": []}\n', "utf-8")
    clip = folder(tmp_path / "m", *CLIP_FILES, architectures=["CLIPModel"])
    process = [{name: {"hf_clip": "clip"}} for name in ("image_text_similarity_filter", "image_pair_similarity_filter")]
    judge = {"kind": "openai", "url": "http://host/v1", "model": "judge"}
    models = {"clip": {"path": clip, "dtype": "bfloat16"}, "judge": judge}
    facts = describe(recipe_of({"dataset": "in.jsonl", "models": models, "process": process, "export": "out.jinx"}))
    of_clip, of_judge = facts["models"]
    assert of_clip["operators"] == ["image_text_similarity_filter", "image_pair_similarity_filter"]
    assert (of_clip["weights_bytes"], of_clip["is_there"], of_clip["pools"]) == (2, True, ["cpu-2GiB"])
    assert of_judge["operators"] == []
    lines = [line for line in facts["lines"] if line.startswith("model")]
    assert lines[0].startswith(f"model      clip: {clip}, 2 B of weights: image_text_similarity_filter, image_pair")
    assert lines[1] == "model      judge: judge at http://host/v1: no operator"
    assert facts["files"] == []


def test_fused_operators_need_what_their_models_need(tmp_path):
    clip = jp.Model(path=folder(tmp_path / "m", *CLIP_FILES, architectures=["CLIPModel"]), per_gpu=2)
    fused = jp.FusedOp(operators=[jp.create("image_text_similarity_filter", hf_clip=clip)])
    assert list(fused.models.values()) == [clip]
    assert needs_of(fused).gpus == 0.5


def test_a_plan_says_how_long_measured_models_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write_many({"text": "a", "images": []} for _ in range(3000))
    path = folder(tmp_path / "m", *CLIP_FILES, architectures=["CLIPModel"])
    process = [{"text_length_filter": {}}, {"image_text_similarity_filter": {"hf_clip": "clip"}}]
    data = {"dataset": "in.jinx", "models": {"clip": {"path": path}}, "process": process, "export": "out.jinx"}
    found = Findings({0: Measured(1e6, 1, 1), 1: Measured(10.0, 1, 1)}, 1)
    monkeypatch.setattr("jinx_pipeline.engines.local.probe.run_probe", lambda *_: found)
    facts = describe(recipe_of(data))
    assert facts["model_times"] == [{"operator": "image_text_similarity_filter", "seconds": 300.0, "gpu_seconds": 0.0}]
    assert "time       image_text_similarity_filter: up to 5 min 0 s of workers" in facts["lines"]
