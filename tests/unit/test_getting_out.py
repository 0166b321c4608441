"""The ways out: tars, directories of Parquet, and a reader that needs nothing of the package."""

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import jinx
import samples
from jinx._reference import reader


def test_parquet_as_the_hub_expects_it(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "a.jinx")
    out = tmp_path / "out"
    assert jinx.convert(tmp_path / "a.jinx", out, output_format="parquet", shard_size="300kB").samples == 60
    files = sorted(out.iterdir())
    assert [file.name for file in files] == [f"train-{k:05}-of-{len(files):05}.parquet" for k in range(len(files))]
    assert len(files) > 1
    whole = pq.read_table(chat_parquet)
    assert pq.read_table(out).equals(whole)
    assert pq.read_schema(files[-1]).metadata[b"huggingface"] == whole.schema.metadata[b"huggingface"]
    import datasets

    loaded = datasets.load_dataset(str(out), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded[59]["image"].size[0] >= 300
    with pytest.raises(FileExistsError):
        jinx.convert(tmp_path / "a.jinx", out, output_format="parquet")


def test_files_of_rows_without_a_schema_agree(tmp_path):
    rows = [{"n": k, "late": None if k < 900 else "x"} for k in range(1000)]
    jinx.convert(rows, tmp_path / "a.jinx")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "out", output_format="parquet", shard_size="5kB", split="test")
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) > 2
    assert len({pq.read_schema(file) for file in files}) == 1
    assert pq.read_table(tmp_path / "out").to_pylist() == rows


@pytest.mark.parametrize("name", ["out.tar", "out.tar.gz", "out.tgz"])
def test_tar_and_back(chat_parquet, tmp_path, name):
    done = jinx.convert(chat_parquet, tmp_path / name, limit=10)
    assert done.samples == 10
    with tarfile.open(tmp_path / name) as tar:
        assert tar.getnames()[:2] == ["000000000.image.jpg", "000000000.json"]
    jinx.convert(tmp_path / name, tmp_path / "back.jinx")
    jinx.convert(chat_parquet, tmp_path / "a.jinx")
    first = jinx.open(tmp_path / "a.jinx")[:10]
    assert [sample.to_dict() for sample in jinx.open(tmp_path / "back.jinx")] == [sample.to_dict() for sample in first]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    jinx.convert(tmp_path / "back.jinx", tmp_path / "again.tar")
    assert next(jinx.stream(tmp_path / "again.tar")) == next(jinx.stream(tmp_path / name))


def test_the_plain_reader_needs_nothing_of_the_package(tmp_path):
    samples.write(tmp_path / "a.jinx", 5)
    for name in ("reader.py", "typed_columns.py"):
        (tmp_path / name).write_bytes(Path(reader.__file__).with_name(name).read_bytes())
    code = "import sys, reader; print(reader.open_pairs('a.jinx')[0][4]['id'], 'jinx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "s004 False\n"


def test_a_tar_keeps_what_json_does_not_have(tmp_path):
    rows = [{"n": 0}, {"n": 1, "taken": {"when": np.datetime64("2024-05-01")}}]
    jinx.convert(rows, tmp_path / "a.jinx")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "a.tar")
    back = list(jinx.stream(tmp_path / "a.tar"))
    assert back == rows
    assert type(back[1]["taken"]["when"]) is np.datetime64
    assert back[1]["taken"]["when"].dtype == rows[1]["taken"]["when"].dtype
