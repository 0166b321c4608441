"""The main job as a user does it: convert, look, open, train, convert back."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import jinx

JINX = Path(sys.executable).with_name("jinx")
CHILD_MEMORY = """
import sys, jinx
def private():
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
jinx.convert(sys.argv[1], sys.argv[2])
after = private()
widths = sum(len(sample["image"]) for sample in jinx.open(sys.argv[2]))
print(max(after, private()))
"""


def shell(command: str, directory: Path) -> str:
    environment = {**os.environ, "PATH": f"{JINX.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def directory(tmp_path_factory, chat_parquet) -> Path:
    directory = tmp_path_factory.mktemp("headline")
    shutil.copy(chat_parquet, directory / "in.parquet")
    shell("jinx convert in.parquet out.jinx --sidecar", directory)
    return directory


def test_the_papers_example(directory):
    picture = Image.open(io.BytesIO(jinx.open(directory / "out.jinx")[42]["image"]))
    row = pq.read_table(directory / "in.parquet").slice(42, 1).to_pylist()[0]
    assert picture.size == (row["width"], row["height"])


def test_rows_are_readable(directory):
    first = json.loads(shell("head -1 out.jinx", directory))
    assert first["id"].startswith("drawing")
    assert "offset" in next(value for name, value in first.items() if name.startswith("image."))


def test_head_is_json(directory):
    text = shell("jinx head out.jinx" + (" | jq -c ." if shutil.which("jq") else ""), directory)
    assert len([json.loads(line) for line in text.splitlines()]) == 10


def test_info_says_what_is_in_it(directory):
    text = shell("jinx info out.jinx", directory)
    for word in ("60", "image/jpeg", "messages", "list", "checksums"):
        assert word in text


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # there may be fewer cores than workers
@pytest.mark.parametrize(("workers", "method"), [(0, None), (4, "fork"), (4, "spawn")])
def test_training_reads_everything_once(directory, workers, method):
    data = pytest.importorskip("torch.utils.data")
    import jinx.torch

    ds = jinx.open(directory / "out.jinx")
    loader = data.DataLoader(
        ds,
        batch_size=8,
        shuffle=True,
        num_workers=workers,
        multiprocessing_context=method,
        collate_fn=jinx.torch.collate,
    )
    seen = [(name, image) for batch in loader for name, image in zip(batch["id"], batch["image"], strict=True)]
    raw = pq.read_table(directory / "in.parquet").to_pylist()
    assert sorted(seen) == sorted((row["id"], row["image"]["bytes"]) for row in raw)


def test_back_to_parquet(directory):
    shell("jinx convert out.jinx back.parquet", directory)
    one, two = pq.read_table(directory / "in.parquet"), pq.read_table(directory / "back.parquet")
    assert two.equals(one)
    assert two.schema.metadata[b"huggingface"] == one.schema.metadata[b"huggingface"]


def test_sql_over_the_dataset(directory):
    import duckdb
    import polars as pl

    ds = jinx.open(directory / "out.jinx")
    found = dict(duckdb.sql("select source, count(*) from ds group by source").fetchall())
    assert sum(found.values()) == len(ds)
    assert pl.DataFrame(ds.select_columns(["score"]))["score"].mean() == pytest.approx(ds["score"].mean())


def test_two_conversions_are_equal_byte_for_byte(directory):
    shell("jinx convert in.parquet one.jinx --threads 1 && jinx convert in.parquet two.jinx --threads 3", directory)
    shell("cmp one.binx two.binx", directory)
    assert jinx.open(directory / "one.jinx").info().ids == jinx.open(directory / "two.jinx").info().ids


def test_verify_and_a_flipped_bit(directory):
    shell("jinx verify out.jinx && cp out.jinx flipped.jinx && cp out.binx flipped.binx", directory)
    data = bytearray((directory / "flipped.binx").read_bytes())
    data[len(data) // 2] ^= 4
    (directory / "flipped.binx").write_bytes(data)
    assert jinx.verify(directory / "flipped.jinx") != []


def test_memory_does_not_grow_with_the_data(tmp_path):
    picture = os.urandom(100_000)
    schema = pa.schema([("id", pa.int64()), ("image", pa.binary())])
    with pq.ParquetWriter(tmp_path / "big.parquet", schema, compression="none") as writer:
        for group in range(50):
            rows = [{"id": group * 100 + i, "image": bytes([i]) + picture} for i in range(100)]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    size = (tmp_path / "big.parquet").stat().st_size
    command = [sys.executable, "-c", CHILD_MEMORY, tmp_path / "big.parquet", tmp_path / "big.jinx"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    private_kb = int(done.stdout)
    assert size > 450e6
    assert private_kb * 1024 < 200e6
