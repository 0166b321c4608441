"""decontaminate_deduplicator."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import jinx
import jinx_pipeline as jp

QUESTION = "which of the seven wonders of the ancient world is the only one that still stands today"
NOISE = "some other words that come before and after the question in a web page"


def write(path: Path, rows: list[dict]) -> str:
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with jinx.Writer(path) as writer:
            for row in rows:
                writer.write(row)
    return str(path)


def stats_of(operator: jp.Operator, texts: list[str | None]) -> list[tuple]:
    samples = operator([{"text": text} for text in texts], keep_stats=True, drop=False)
    return [tuple(sample["__dj__stats__"].values()) for sample in samples]


@pytest.mark.parametrize("name", ["test.jsonl", "test.parquet", "test.jinx"])
def test_ngrams(tmp_path, name):
    path = write(tmp_path / name, [{"q": "short one", "a": "x"}, {"q": QUESTION, "a": "y"}])
    operator = jp.create("decontaminate_deduplicator", evaluation_paths=[path], evaluation_fields=["q"])
    texts = [f"{NOISE} {QUESTION.upper()}! {NOISE}", NOISE, "Short, one", "", None, QUESTION[:40], "一个问题 😀"]
    assert stats_of(operator, texts) == [(f"{path}:1", 14), *[(None, None)], (f"{path}:0", 0), *[(None, None)] * 4]
    assert [item["text"] for item in operator([{"text": text} for text in texts])] == [texts[1], *texts[3:]]


def test_scripts_without_spaces(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"text": "世界七大奇迹中唯一现存的是哪一个建筑"}])
    operator = jp.create("decontaminate_deduplicator", evaluation_paths=[path], tokenization=True, ngram_size=8)
    assert stats_of(operator, ["请问世界七大奇迹中唯一现存的是什么", "你好"]) == [(f"{path}:0", 2), (None, None)]


def test_exact_and_near_texts(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"text": QUESTION}, {"text": "..."}])
    texts = [QUESTION.title() + "?", f"{QUESTION} now", NOISE, "...", ""]
    exact = jp.create("decontaminate_deduplicator", evaluation_paths=[path], method="exact")
    assert [by for by, _ in stats_of(exact, texts)] == [f"{path}:0", None, None, None, None]
    near = jp.create("decontaminate_deduplicator", evaluation_paths=[path], method="minhash", jaccard_threshold=0.5)
    assert [by for by, _ in stats_of(near, texts)][1:] == [f"{path}:0", None, None, None]


def test_what_is_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"text": QUESTION}])
    with pytest.raises(ValueError, match="no text at q; name the fields"):
        jp.create("decontaminate_deduplicator", evaluation_paths=[path], evaluation_fields=["q"])([{"text": ""}])
    with pytest.raises(FileNotFoundError, match="no such evaluation set"):
        jp.create("decontaminate_deduplicator", evaluation_paths=["none.jsonl"])([{"text": ""}])
    with pytest.raises(jp.ParameterError, match=r"evaluation_paths.*not empty"):
        jp.create("decontaminate_deduplicator", evaluation_paths=[])


def test_another_file_of_the_name_is_read_again(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path, [{"text": "one two"}])
    operator = jp.create("decontaminate_deduplicator", evaluation_paths=[str(path)])
    digest = operator.digest
    assert stats_of(operator, ["three four"]) == [(None, None)]
    write(path, [{"text": "three four"}])
    assert stats_of(operator, ["three four"]) == [(f"{path}:0", 0)]
    assert operator.digest != digest
