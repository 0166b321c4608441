"""Exports in formats of others, read without our readers where that is possible."""

import json
import tarfile

import pytest

import jinx
import jinx_pipeline as jp

IMAGE = b"\xff\xd8\xff\xe0 not really a picture"


@pytest.fixture
def flow(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "text": f"text {n}", "jpg": IMAGE + bytes([n])} for n in range(30))
    return jp.Dataset.load(tmp_path / "in.jinx").process(lambda sample: sample if sample["n"] % 3 else None)


def test_an_export_to_webdataset_is_a_tar_of_files(flow, tmp_path):
    result = flow.export(tmp_path / "out.tar", workers=2, block_rows=7)
    kept = [n for n in range(30) if n % 3]
    assert result.rows_out == len(kept)
    with tarfile.open(tmp_path / "out.tar") as tar:
        files = {item.name: tar.extractfile(item).read() for item in tar if item.isfile()}
    keys = list(dict.fromkeys(name.split(".")[0] for name in files))
    assert len(keys) == len(kept)
    assert [files[f"{key}.jpg"] for key in keys] == [IMAGE + bytes([n]) for n in kept]
    assert [json.loads(files[f"{key}.json"])["n"] for key in keys] == kept


def test_an_export_to_mds_has_an_index_of_its_shards(flow, tmp_path):
    result = flow.export(tmp_path / "out", kind="mds", workers=2, block_rows=7)
    assert result.rows_out == 20
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert sum(shard["samples"] for shard in index["shards"]) == 20
    assert {"n", "text", "jpg"} <= set(index["shards"][0]["column_names"])
    assert [(sample["n"], sample["text"], sample["jpg"]) for sample in jinx.open(tmp_path / "out")] == [
        (n, f"text {n}", IMAGE + bytes([n])) for n in range(30) if n % 3
    ]


def test_mosaicml_streaming_reads_an_export_to_mds(flow, tmp_path):
    streaming = pytest.importorskip("streaming", reason="mosaicml-streaming is not installed")
    flow.export(tmp_path / "out", kind="mds", workers=2, block_rows=7)
    theirs = streaming.StreamingDataset(local=str(tmp_path / "out"), shuffle=False, batch_size=1)
    assert [their["n"] for their in theirs] == [n for n in range(30) if n % 3]


@pytest.mark.parametrize("name", ["out.jinx", "out", "out.jsonl", "out.parquet", "out.tar"])
def test_no_group_remains(tmp_path, name):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"text": f"text {n % 3}"} for n in range(9))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process(
        [jp.create("key_value_grouper", group_by_keys=["text"]), jp.create("random_selector", select_num=0)]
    )
    assert flow.export(tmp_path / name, workers=1).rows_out == 0
    assert (tmp_path / name).exists()
    assert flow.export(tmp_path / name, workers=1).resumed


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.tar"])
def test_no_sample_remains_of_columns_that_mix_kinds(tmp_path, name):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n if n % 2 else str(n)} for n in range(9))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process([lambda _: None, jp.create("shuffle")])
    assert flow.export(tmp_path / name, workers=1).rows_out == 0
    assert flow.export(tmp_path / name, workers=1).resumed
