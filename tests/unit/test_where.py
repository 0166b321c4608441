"""`where` of convert and stream, and `--where` of the commands."""

import json

import pytest

import jinx
from jinx._cli.program import run
from jinx.errors import InvalidError, JinxError, MismatchError

ROWS = [
    {
        "id": index,
        "score": index / 10,
        "tags": ["x"] * (index % 3),
        "meta": {"w": index % 5},
        "image": bytes([index] * 9),
    }
    for index in range(50)
]
WHERE = "score >= 1 and len(tags) == 2 and meta.w in (0, 1)"
SELECTED = [row["id"] for row in ROWS if row["score"] >= 1 and len(row["tags"]) == 2 and row["meta"]["w"] in {0, 1}]
FORMATS = ["jinx", "jsonl", "jsonl.gz", "parquet", "msgpack", "tar", "mds", "shards"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    out = tmp_path_factory.mktemp("where")
    with jinx.Writer(out / "a.jinx") as writer:
        writer.write_many(ROWS)
    for name in FORMATS[1:-1]:
        if name == "mds":
            jinx.convert(out / "a.jinx", out / "a.mds", output_format="mds")
        else:
            jinx.convert(out / "a.jinx", out / f"a.{name}")
    jinx.convert(out / "a.jinx", out / "a.shards", output_format="jinx", shard_size=400)
    return out


def lines(text: str) -> list[int]:
    return [json.loads(line)["id"] for line in text.splitlines()]


@pytest.mark.parametrize("name", FORMATS)
def test_every_input_is_filtered(directory, name, tmp_path, capsys):
    source = directory / f"a.{name}"
    done = jinx.convert(source, tmp_path / "out.jinx", where=WHERE)
    assert done.samples == len(SELECTED)
    assert jinx.open(tmp_path / "out.jinx")["id"].tolist() == SELECTED
    assert [sample["id"] for sample in jinx.stream(source, ["id"], where=WHERE)] == SELECTED
    assert run(["cat", str(source), "--where", WHERE, "--columns", "id"]) == 0
    assert lines(capsys.readouterr().out) == SELECTED
    assert run(["head", "-2", str(source), "--where", WHERE, "--no-binary"]) == 0
    assert lines(capsys.readouterr().out) == SELECTED[:2]


@pytest.mark.parametrize("name", ["out.jinx", "out.jsonl", "out.parquet", "out.tar", "out", "mds"])
@pytest.mark.parametrize("source", ["a.jinx", "a.jsonl", "a.parquet"])
def test_every_output_gets_the_selected(directory, source, name, tmp_path):
    options = {"output_format": "mds"} if name == "mds" else {}
    jinx.convert(
        directory / source, tmp_path / name, where=WHERE, limit=3, columns=["id"], rename={"id": "n"}, **options
    )
    assert [sample["n"] for sample in jinx.stream(tmp_path / name)] == SELECTED[:3]


def test_a_directory_of_parquet_files(directory, tmp_path):
    for source in ("a.jinx", "a.jsonl"):
        out = tmp_path / source.replace(".", "-")
        jinx.convert(directory / source, out, output_format="parquet", where=WHERE, limit=2)
        assert [sample["id"] for sample in jinx.stream(out)] == SELECTED[:2]


def test_what_is_in_memory_is_filtered_too(directory, tmp_path):
    ds = jinx.open(directory / "a.jinx")
    jinx.convert(ds[::-1], tmp_path / "a.jinx", where=WHERE)
    assert jinx.open(tmp_path / "a.jinx")["id"].tolist() == SELECTED[::-1]
    jinx.convert(ds.to_arrow(), tmp_path / "b.jinx", where=WHERE)
    assert jinx.open(tmp_path / "b.jinx")["id"].tolist() == SELECTED
    with pytest.raises(ValueError, match="where is for files, tables and datasets"):
        jinx.convert(iter(ROWS), tmp_path / "c.jinx", where=WHERE)


def test_columns_that_are_only_looked_at_are_not_written(directory, tmp_path):
    for name in ("jinx", "parquet", "mds", "jsonl"):
        out = tmp_path / f"{name}.jinx"
        jinx.convert(directory / f"a.{name}", out, where="score > 4.5 and len(image) == 9", drop=["score", "image"])
        assert jinx.open(out)["id"].tolist() == [46, 47, 48, 49]
        assert sorted(jinx.open(out).column_names) == ["id", "meta", "tags"]


@pytest.mark.parametrize("name", ["jinx", "jsonl", "parquet"])
def test_mistakes_are_named_and_nothing_is_written(directory, name, tmp_path):
    source, out = directory / f"a.{name}", tmp_path / "out.jinx"
    with pytest.raises(InvalidError, match=r"column 7 of the expression, at '= 3'"):
        jinx.convert(source, out, where="score = 3")
    with pytest.raises(InvalidError, match="no column 'scor'; did you mean 'score'"):
        jinx.convert(source, out, where="scor > 3")
    with pytest.raises(InvalidError, match=r"no column 'meta.ww'; did you mean .*'meta.w'"):
        jinx.convert(source, out, where="id > 1 and meta.ww > 3")
    with pytest.raises(
        InvalidError, match=r"(sample 0|line 1), column 'id': a number where a string is needed, in: contains\(id"
    ):
        jinx.convert(source, out, where="contains(id, 'x')")
    with pytest.raises((InvalidError, MismatchError), match=r"column 'id': .* no length"):
        jinx.convert(source, out, where="len(id) > 2")
    for limit in (None, 5):
        with pytest.raises(JinxError, match="no column 'scor'"):
            list(jinx.stream(source, where="scor > 3"))
        with pytest.raises(InvalidError, match="a list cannot be compared with a number"):
            jinx.convert(source, out, where="tags > 3", limit=limit)
    assert not list(tmp_path.iterdir())


def test_samples_that_cannot_be_compared_may_be_skipped(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x":1}\n{"x":"one"}\n{"x":3}\n{"x":null}\n{}\n')
    for limit in (None, 10):
        done = jinx.convert(
            tmp_path / "a.jsonl", tmp_path / "out.jinx", where="x > 0", limit=limit, on_error="skip", overwrite=True
        )
        assert (done.samples, done.skipped) == (2, 1)
        reason = json.loads((tmp_path / "out.jinx.rejected.jsonl").read_text())
        assert (reason["line"], reason["column"]) == (2, "x")


def test_a_name_with_dots_beats_a_path(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n":0,"a.b":1,"a":{"b":2}}\n{"n":1,"a":{"b":1},"a.b":2}\n')
    assert [row["n"] for row in jinx.stream(tmp_path / "a.jsonl", where="a.b == 1")] == [0]
    assert [row["n"] for row in jinx.stream(tmp_path / "a.jsonl", where='"a"."b" == 1')] == [1]


def test_interrupted_conversions_resume_with_the_same_selection(directory, tmp_path):
    options = {"where": "len(tags) > 0", "shard_size": 300}
    jinx.convert(directory / "a.jsonl", tmp_path / "whole", **options)
    assert [s["id"] for s in jinx.open(tmp_path / "whole")] == [row["id"] for row in ROWS if row["tags"]]


def test_get_counts_the_selected(directory, capfdbinary):
    source = str(directory / "a.jinx")
    assert run(["get", source, "1", "id", "--where", WHERE]) == 0
    assert run(["get", source, "-1", "id", "--where", WHERE]) == 0
    assert capfdbinary.readouterr().out.split() == [str(SELECTED[1]).encode(), str(SELECTED[-1]).encode()]
    assert run(["get", source, "0", "id", "--where", "id > 100"]) == 2
    assert run(["get", source, "0", "id", "--where", "id >"]) == 2
    assert b"column 5 of the expression, at its end: a value is missing" in capfdbinary.readouterr().err


def test_extract_names_files_by_their_number_in_the_file(directory, tmp_path):
    source = str(directory / "a.jinx")
    assert run(["extract", source, str(tmp_path / "a"), "--column", "image", "--where", WHERE, "--limit", "2"]) == 0
    assert sorted(path.stem for path in (tmp_path / "a").iterdir()) == [str(number) for number in SELECTED[:2]]
