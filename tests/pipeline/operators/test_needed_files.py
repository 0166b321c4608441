"""Files that parameters name count with their content."""

import json
import os
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import operator_class
from jinx_pipeline.sample import file_facts


def words(folder: Path, name: str, word: str) -> None:
    (folder / name).write_text(json.dumps({"en": [word]}), "utf-8")


@pytest.mark.parametrize(
    ("operator", "parameter", "file"),
    [
        ("flagged_words_filter", "flagged_words_dir", "my_flagged_words.json"),
        ("stopwords_filter", "stopwords_dir", "stopwords.json"),
    ],
)
def test_an_edited_list_of_words_is_another_operator(operator, parameter, file, tmp_path):
    words(tmp_path, file, "foo")
    made = jp.create(operator, max_ratio=0.1, min_ratio=0.0, **{parameter: tmp_path})
    digest, stats_digest = made.digest, made.stats_digest
    assert made([{"text": "foo"}, {"text": "bar"}]) == [{"text": "bar"}]
    (tmp_path / "output.jinx").write_bytes(b"no list")
    assert made.digest == digest
    words(tmp_path, file, "bar")
    assert made.digest != digest
    assert made.stats_digest != stats_digest
    assert made([{"text": "foo"}, {"text": "bar"}]) == [{"text": "foo"}]  # also in the same process


@pytest.mark.parametrize("name", ["test.jsonl", "test.jinx", "test"])
def test_an_evaluation_set_that_took_the_place_of_another_is_another_operator(name, tmp_path):
    def write(text: str) -> None:
        path = tmp_path / name
        file = path / "0.jinx" if name == "test" else path
        file.parent.mkdir(exist_ok=True)
        jinx.convert([{"text": text}], file, overwrite=True)
        os.utime(file, (1, 1))
        os.utime(path, (1, 1))

    made = jp.create("decontaminate_deduplicator", evaluation_paths=[str(tmp_path / name)], method="exact")
    write("the first")
    digest = made.digest
    assert made.digest == digest
    assert made([{"text": "the first"}, {"text": "the other"}]) == [{"text": "the other"}]
    write("the other")
    assert made.digest != digest
    assert made([{"text": "the first"}, {"text": "the other"}]) == [{"text": "the first"}]


def test_a_tokenizer_counts_with_its_file(tmp_path):
    made = jp.create("token_num_filter", hf_tokenizer=str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    digest = made.digest
    (tmp_path / "weights.bin").write_bytes(b"not read")
    assert made.digest == digest
    (tmp_path / "tokenizer.json").write_text("[]", "utf-8")
    assert made.digest != digest


@pytest.mark.parametrize("max_files", [100, 0])
def test_a_directory_counts_with_its_files(tmp_path, monkeypatch, max_files):
    monkeypatch.setattr(file_facts, "_MAX_FILES", max_files)
    model = tmp_path / "clip"
    (model / "vision").mkdir(parents=True)
    (model / "vision" / "weights.bin").write_bytes(b"one")
    made = operator_class("image_text_similarity_filter")(hf_clip=str(model))
    digest = made.digest
    (model / ".cache").mkdir()
    (model / ".cache" / "lock").touch()
    assert made.digest == digest
    (model / "vision" / "weights.bin").write_bytes(b"other")
    assert made.digest != digest


def test_a_large_file_counts_with_samples_of_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr(file_facts, "_MAX_READ", 1000)
    monkeypatch.setattr(file_facts, "_SAMPLE_BYTES", 4)
    path = tmp_path / "model"
    digests = []
    for byte in b"ab":
        path.write_bytes(bytes([byte]) * 2000)
        os.utime(path, (1, 1))
        digests.append(file_facts.file_facts(str(path)))
    assert len({str(facts) for facts in digests}) == 2
