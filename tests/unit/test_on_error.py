"""`on_error="skip"`: a sample that only the output refuses is left out like one that cannot be read."""

import json

import pytest

import jinx

REFUSED = [
    # Two samples in a row of one name would be one in a tar.
    ("tar", [{"__key__": "a", "txt": "one"}, {"__key__": "a", "txt": "two"}, {"__key__": "b", "txt": "three"}], [1]),
    # The kinds of the column are known only after a first pass. What a sample that is left out holds in other columns
    # does not count: `b` holds integers.
    (
        "parquet",
        [{"a": 1, "b": None}, {"a": "x", "b": "y"}, {"a": 3, "b": 4}, {"a": [5], "b": 6}, {"a": 7, "b": 8}],
        [1, 3],
    ),
]


@pytest.mark.parametrize(("kind", "rows", "refused"), REFUSED, ids=[kind for kind, *_ in REFUSED])
def test_a_sample_that_the_output_refuses_is_skipped_and_listed(kind, rows, refused, tmp_path):
    source, out = tmp_path / "rows.jsonl", tmp_path / f"out.{kind}"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(jinx.JinxError, match=f"rows.jsonl: line {refused[0] + 1}"):
        jinx.convert(source, out, output_format=kind, threads=1)
    assert not out.exists()
    done = jinx.convert(source, out, output_format=kind, on_error="skip")
    assert (done.samples, done.skipped) == (len(rows) - len(refused), len(refused))
    listed = [json.loads(line) for line in (tmp_path / f"{out.name}.rejected.jsonl").read_text("utf-8").splitlines()]
    assert [(entry["source"], entry["line"], entry["sample"]) for entry in listed] == [
        (str(source), i + 1, None) for i in refused
    ]
    kept = [row for i, row in enumerate(rows) if i not in refused]
    assert [dict(sample) for sample in jinx.stream(out)] == kept


def test_a_sample_of_a_kind_that_its_column_has_no_encoding_for_is_skipped(tmp_path):
    with jinx.Writer(tmp_path / "rows.jinx") as writer:
        for value in (b"one", b"two", 3, b"four"):
            writer.write({"a": value})
    with pytest.raises(jinx.JinxError, match=r"rows.jinx: sample 2"):
        jinx.convert(tmp_path / "rows.jinx", tmp_path / "out", output_format="mds")
    done = jinx.convert(tmp_path / "rows.jinx", tmp_path / "out", output_format="mds", on_error="skip")
    assert (done.samples, done.skipped) == (3, 1)
    assert [sample["a"] for sample in jinx.open(tmp_path / "out")] == [b"one", b"two", b"four"]
    (entry,) = [json.loads(line) for line in (tmp_path / "out.rejected.jsonl").read_text("utf-8").splitlines()]
    assert (entry["sample"], entry["column"]) == (2, "a")


def test_a_sample_that_the_footer_has_no_room_for_is_skipped(tmp_path):
    rows = [{"n": 1}, {"x" * 3_000_000: 2}, {"n": 3}, {"y" * 3_000_000: 4}, {"n": 5}]
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.jinx"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = jinx.convert(source, out, on_error="skip", meta={"filling": "f" * 30_000_000})
    assert (done.samples, done.skipped) == (3, 2)
    assert list(jinx.open(out)["n"]) == [1, 3, 5]
    listed = [json.loads(line) for line in (tmp_path / "out.jinx.rejected.jsonl").read_text("utf-8").splitlines()]
    assert [entry["line"] for entry in listed] == [2, 4]
    assert all("the footer" in entry["reason"] for entry in listed)


@pytest.mark.parametrize("name", ["out.jinx", "out.parquet"])
def test_samples_that_are_given_as_dicts_are_not_skipped(tmp_path, name):
    with pytest.raises(ValueError, match="on_error='skip' is for files, tables and datasets"):
        jinx.convert([{"a": 1}, {"a": {1}}], tmp_path / name, on_error="skip")
    assert list(tmp_path.iterdir()) == []
