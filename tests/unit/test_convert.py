"""Conversion between formats, from objects in memory, and what happens to the output."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx
import samples
from jinx._convert.formats import format_of, output_format

ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{i}",
        "n": i if i % 4 else None,
        "x": i / 3,
        "tags": [f"t{k}" for k in range(i % 3)],
        "meta": {"w": i, "deep": [{"a": None if i % 2 else i}]},
        "text": "é" * i,
    }
    for i in range(30)
]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), "utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return list(jinx.stream(path))


def test_headline(chat_parquet, tmp_path):
    done = jinx.convert(chat_parquet, tmp_path / "out.jinx")
    assert done.samples == 60
    ds = jinx.open(tmp_path / "out.jinx")
    table = pq.read_table(chat_parquet).to_pylist()
    assert ds[42]["image"] == table[42]["image"]["bytes"]
    assert ds[42]["messages"] == table[42]["messages"]
    assert ds.schema["image"] == "bytes (image/jpeg)"


def test_parquet_and_back_is_equal_with_features(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "out.jinx")
    jinx.convert(tmp_path / "out.jinx", tmp_path / "back.parquet")
    one, two = pq.read_table(chat_parquet), pq.read_table(tmp_path / "back.parquet")
    assert two.equals(one)
    assert two.schema.metadata[b"huggingface"] == one.schema.metadata[b"huggingface"]


@pytest.mark.parametrize(
    "middle", ["a.jinx", "a.parquet", "a.msgpack", "a.jsonl", "a.jsonl.gz", "a.msgpack.zst", "directory"]
)
@pytest.mark.parametrize("last", ["b.jinx", "b.parquet", "b.msgpack", "b.jsonl", "b.jsonl.zst"])
def test_any_to_any(lines, tmp_path, middle, last):
    assert jinx.convert(lines, tmp_path / middle).samples == 30
    assert jinx.convert(tmp_path / middle, tmp_path / last).samples == 30
    assert rows_of(tmp_path / last) == ROWS


def test_several_inputs_in_natural_order(tmp_path):
    for number in (10, 2, 1):
        (tmp_path / f"part-{number}.jsonl").write_text(f'{{"n":{number}}}\n', "utf-8")
    for name, source in {
        "pattern": str(tmp_path / "part-*.jsonl"),
        "list": [tmp_path / f"part-{number}.jsonl" for number in (1, 2, 10)],
        "directory": tmp_path,
    }.items():
        out = tmp_path.parent / f"{tmp_path.name}-{name}.jinx"
        jinx.convert(source, out)
        assert jinx.open(out)["n"].tolist() == [1, 2, 10]


def test_limit_columns_rename(lines, tmp_path):
    jinx.convert(lines, tmp_path / "a.jinx", limit=5, columns=["n", "id"], rename={"id": "name"})
    ds = jinx.open(tmp_path / "a.jinx")
    assert len(ds) == 5
    assert dict(ds[1]) == {"name": "r1", "n": 1}
    with pytest.raises((jinx.JinxError, KeyError), match="'nn'"):
        jinx.convert(lines, tmp_path / "b.jinx", columns=["nn"])
    assert not (tmp_path / "b.jinx").exists()


def test_options_reach_the_file(lines, tmp_path):
    jinx.convert(lines, tmp_path / "a.jinx", indexed=["meta.w"], split="train", meta={"by": "me"}, sidecar=False)
    info = jinx.open(tmp_path / "a.jinx").info()
    assert "meta.w" in {column.path for column in info.indexed}
    assert (info.split, info.meta) == ("train", {"by": "me"})
    assert not (tmp_path / "a.binx").exists()


def test_shards_and_append(lines, tmp_path):
    out = tmp_path / "out"
    done = jinx.convert(lines, out, shard_size="1kB")
    assert done.shards > 1
    jinx.convert(lines, out, append=True)
    assert rows_of(out) == ROWS * 2
    jinx.open(out).save(tmp_path / "view.jinx")
    for source in (out, [out], next(out.glob("*.jinx")), jinx.open(out), tmp_path / "view.jinx"):
        with pytest.raises(ValueError, match="out is also an input"):
            jinx.convert(source, out, append=True)
    assert rows_of(out) == ROWS * 2


def test_the_same_input_gives_the_same_bytes(chat_parquet, tmp_path):
    for threads in (1, 2):
        jinx.convert(chat_parquet, tmp_path / f"a{threads}.jinx", threads=threads)
    ids = {tuple(jinx.open(tmp_path / f"a{threads}.jinx").info().ids) for threads in (1, 2)}
    assert len(ids) == 1
    assert (tmp_path / "a1.binx").read_bytes() == (tmp_path / "a2.binx").read_bytes()


def test_a_failing_conversion_leaves_the_old_output(tmp_path):
    (tmp_path / "good.jsonl").write_text('{"a":1}\n', "utf-8")
    (tmp_path / "bad.jsonl").write_text('{"a":1}\n{"a":\n', "utf-8")
    out = tmp_path / "out.jinx"
    jinx.convert(tmp_path / "good.jsonl", out)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(jinx.JinxError, match=r"bad\.jsonl"):
        jinx.convert(tmp_path / "bad.jsonl", out, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(FileExistsError, match="overwrite"):
        jinx.convert(tmp_path / "good.jsonl", out)


def test_an_interrupt_leaves_nothing(lines, tmp_path):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    big = tmp_path / "big.jsonl"
    big.write_bytes(lines.read_bytes() * 20_000)
    with pytest.raises(KeyboardInterrupt):
        jinx.convert(big, tmp_path / "out.jinx", progress=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.jsonl", "rows.jsonl"]


def test_dicts_from_python(tmp_path):
    for name in ("a.jinx", "a.jsonl", "a.parquet"):
        assert jinx.convert(iter(ROWS), tmp_path / name).samples == 30
        assert rows_of(tmp_path / name) == ROWS
    assert jinx.convert(ROWS, tmp_path / "b.jinx", limit=2, columns=["n"], rename={"n": "m"}).samples == 2
    assert jinx.open(tmp_path / "b.jinx")[1] == {"m": 1}
    for source in (7, {"a": 1}, b"bytes"):
        with pytest.raises(TypeError, match="cannot be converted"):
            jinx.convert(source, tmp_path / "c.jinx")


def test_tables(tmp_path):
    table = pa.Table.from_pylist(ROWS)
    jinx.convert(table, tmp_path / "a.jinx")
    jinx.convert(table, tmp_path / "a.parquet")
    assert jinx.open(tmp_path / "a.jinx").to_arrow().equals(table)
    assert pq.read_table(tmp_path / "a.parquet").equals(table)


def test_views_of_a_dataset(tmp_path):
    ds = jinx.open(samples.write(tmp_path / "a.jinx"))
    jinx.convert(ds.sort("-n")[:7], tmp_path / "b.jinx")
    copy = jinx.open(tmp_path / "b.jinx")
    assert [samples.plain(sample) for sample in copy] == [samples.plain(samples.sample(i)) for i in range(49, 42, -1)]
    jinx.convert(ds.drop_columns("array").filter(ds["n"] < 3), tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet")["n"].to_pylist() == [0, 1, 2]


def test_a_view_of_converted_parquet_keeps_its_types(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "a.jinx")
    jinx.convert(jinx.open(tmp_path / "a.jinx")[10:20], tmp_path / "b.jinx")
    view = jinx.open(tmp_path / "b.jinx")
    assert view.schema["image"] == "bytes (image/jpeg)"
    assert view.to_arrow().equals(pq.read_table(chat_parquet).slice(10, 10))


def test_hugging_face_datasets(chat_parquet, tmp_path):
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset(pq.read_table(chat_parquet))
    chosen = whole.select([5, 3, 50])
    jinx.convert(chosen, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    raw = pq.read_table(chat_parquet).to_pylist()
    assert ds["id"] == [raw[i]["id"] for i in (5, 3, 50)]
    assert ds[1]["image"] == raw[3]["image"]["bytes"]
    assert ds.to_hf().features == whole.features
    assert next(iter(ds.to_hf(streaming=True)))["image"].size == (raw[5]["width"], raw[5]["height"])

    both = datasets.DatasetDict(train=chosen, test=whole.select([1]))
    with pytest.raises(ValueError, match="the splits train, test, which become a directory"):
        jinx.convert(both, tmp_path / "b.jinx")
    assert jinx.convert(both, tmp_path / "both").samples == 4
    assert jinx.open(tmp_path / "both", split="test")["id"] == [raw[1]["id"]]
    assert jinx.open(tmp_path / "both" / "train").info().split == "train"

    jinx.convert(both, tmp_path / "tables", output_format="parquet")
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["test.parquet", "train.parquet"]

    jinx.convert(chosen.to_iterable_dataset(), tmp_path / "c.jinx")
    assert jinx.open(tmp_path / "c.jinx")["id"] == ds["id"]


def test_hugging_face_rows_without_features(chat_parquet, tmp_path):
    datasets = pytest.importorskip("datasets")
    raw = datasets.Dataset(pq.read_table(chat_parquet)).select(range(3))
    mapped = raw.to_iterable_dataset().map(lambda row: {"more": None if row["id"] == raw[0]["id"] else 1})
    assert mapped.features is None
    jinx.convert(mapped, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds["more"].tolist() == [None, 1, 1]
    assert ds[1]["image"]["bytes"][:3] == b"\xff\xd8\xff"


def test_stream(lines, tmp_path):
    assert list(jinx.stream(lines, columns=["n"])) == [{"n": row["n"]} for row in ROWS]
    (tmp_path / "rows.data").write_bytes(gzip.compress(lines.read_bytes()))
    assert list(jinx.stream(tmp_path / "rows.data", input_format="jsonl")) == ROWS


def test_bad_sources_are_named(lines, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"did you mean 'rows\.jsonl'"):
        jinx.convert(tmp_path / "row.jsonl", tmp_path / "a.jinx")
    with pytest.raises(ValueError, match="names no format"):
        jinx.convert(lines, tmp_path / "a.txt")
    with pytest.raises(ValueError, match="'csv' is not known"):
        jinx.convert(lines, tmp_path / "a.jinx", input_format="csv")
    (tmp_path / "table.csv").write_text("a,b\n", "utf-8")
    with pytest.raises(jinx.UnsupportedError, match="names no format"):
        jinx.convert(tmp_path / "table.csv", tmp_path / "a.jinx")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="different formats"):
        jinx.convert([lines, tmp_path / "a.parquet"], tmp_path / "a.jinx")
    with pytest.raises(ValueError, match="standard input"):
        jinx.convert("-", tmp_path / "a.jinx")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(FileNotFoundError, match="no file in this directory"):
        jinx.convert(tmp_path / "nothing", tmp_path / "a.jinx")
    assert not (tmp_path / "a.jinx").exists()


def test_types_that_parquet_lacks_come_back_as_pyarrow_writes_them(tmp_path):
    zone = pa.timestamp("s", tz="Europe/Paris")
    table = pa.table(
        {
            "s": pa.array([1_700_000_000, None], pa.timestamp("s")),
            "zone": pa.array([1_700_000_000, None], zone),
            "deep": pa.array([[{"t": 5}], None], pa.list_(pa.struct([("t", zone)]))),
            "day": pa.array([86_400_000, None], pa.date64()),
            "time": pa.array([61, None], pa.time32("s")),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    expected = pq.read_table(tmp_path / "in.parquet")
    jinx.convert(table, tmp_path / "a.jinx")
    assert pa.table(jinx.open(tmp_path / "a.jinx")).equals(table)
    jinx.convert(tmp_path / "in.parquet", tmp_path / "b.jinx")
    for source in (tmp_path / "a.jinx", tmp_path / "b.jinx", table):
        jinx.convert(source, tmp_path / "out.parquet", overwrite=True)
        assert pq.read_table(tmp_path / "out.parquet").equals(expected)


def test_rows_without_columns_are_not_lost_in_parquet(tmp_path):
    with pytest.raises(jinx.UnsupportedError, match="no row has a column"):
        jinx.convert([{}, {}], tmp_path / "a.parquet")


def test_what_parquet_cannot_hold_names_the_column(tmp_path):
    with pytest.raises(jinx.JinxError, match="'odd'"):
        jinx.convert([{"odd": 1}, {"odd": "a"}], tmp_path / "a.parquet")
    jinx.convert([{"odd": 1}, {"odd": "a"}], tmp_path / "a.parquet", mixed="json")
    assert pq.read_table(tmp_path / "a.parquet")["odd"].to_pylist() == ["1", '"a"']
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.JSONL.gz", "jsonl"),
        ("b/a.parquet", "parquet"),
        ("a.tar.gz", "tar"),
        ("a.zip", None),
        ("a.msgpack.zst", "msgpack"),
        ("a", None),
    ],
)
def test_formats_by_suffix(name, format):
    assert format_of(name) == format


def test_a_name_without_a_suffix_is_a_directory_of_shards():
    assert output_format("out") == "jinx"


@pytest.mark.parametrize("split", ["../evil", "a/b", "", ".", ".hidden"])
def test_a_split_never_leads_out_of_the_output(tmp_path, split):
    with jinx.Writer(tmp_path / "a.jinx", split=split) as writer:
        writer.write({"n": 1})
    before = sorted(tmp_path.iterdir())
    if split:
        with pytest.raises(ValueError, match="cannot be a file name"):
            jinx.convert(tmp_path / "a.jinx", tmp_path / "out", output_format="parquet")
    else:
        jinx.convert(tmp_path / "a.jinx", tmp_path / "out", output_format="parquet")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["train-00000-of-00001.parquet"]
        before.append(tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_an_opened_dataset_is_compared_with_its_checksums(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", compression=None) as writer:
        writer.write({"value": b"x" * 200})
    damaged = bytearray((tmp_path / "a.binx").read_bytes())
    damaged[100] ^= 1
    (tmp_path / "a.binx").write_bytes(damaged)
    for verify in ("rows", "none", "full"):
        with pytest.raises(jinx.CorruptFileError):
            jinx.convert(jinx.open(tmp_path / "a.jinx", verify=verify), tmp_path / "b.jinx")


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.msgpack"])
def test_two_conversions_to_one_output_are_told_its_name(tmp_path, name):
    out = tmp_path / name

    def rows():
        yield {"n": 1}
        with pytest.raises(OSError, match="another process is writing") as refused:
            jinx.convert([{"n": 2}], out)
        assert str(refused.value).startswith(f"{out}: ")

    assert jinx.convert(rows(), out).samples == 1
