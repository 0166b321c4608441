"""Copies keep the columns that only `indexed` adds: strings, and paths inside dicts."""

from pathlib import Path

import pytest

import jinx

EXTRA = [("meta.width", "value"), ("source", "value")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.jinx"
    with jinx.Writer(path, indexed=["source", "meta.width"]) as writer:
        writer.write_many({"n": i, "source": f"s{i % 3}", "meta": {"width": i * 10}} for i in range(20))
    return path


def extra(path: Path) -> list[tuple[str, str]]:
    indexed = {(column.path, column.kind) for column in jinx.open(path).info().indexed}
    return sorted(indexed & set(EXTRA))


def test_they_are_there(source):
    assert extra(source) == EXTRA


@pytest.mark.parametrize("name", ["out.jinx", "out"])
def test_copies_keep_them(source, tmp_path, name):
    out = tmp_path / name
    for write in (
        lambda: jinx.convert(source, out, overwrite=True),
        lambda: jinx.convert(jinx.open(source)[::2], out, overwrite=True),
        lambda: jinx.convert([source, source], out, overwrite=True),
        lambda: jinx.select(source, out, where="n > 3", overwrite=True),
        lambda: jinx.concat([source, source], out, overwrite=True),
        lambda: jinx.shuffle(source, out, seed=1, overwrite=True),
        lambda: jinx.sort(source, out, by="-n", overwrite=True),
    ):
        write()
        assert extra(out) == EXTRA
        assert [sample["source"] for sample in jinx.open(out).filter("meta.width == 60")][:1] == ["s0"]
        assert jinx.verify(out) == []


def test_only_those_of_shown_columns(source, tmp_path):
    jinx.convert(jinx.open(source).select_columns(["n", "meta"]), tmp_path / "out.jinx")
    assert extra(tmp_path / "out.jinx") == EXTRA[:1]
    jinx.convert(source, tmp_path / "chosen.jinx", indexed=["source"])
    assert extra(tmp_path / "chosen.jinx") == EXTRA[1:]


@pytest.mark.parametrize("form", ["jsonl", "msgpack", "jinx"])
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"indexed": ["nope"]}, "nope"),
        ({"indexed": ["nope.x", "a"]}, "nope.x"),
        ({"indexed": ["a"], "rename": {"a": "z"}}, "a"),
        ({"indexed": ["a"], "drop": ["a"]}, "a"),
    ],
)
def test_a_column_that_no_sample_has_is_refused(tmp_path, form, options, name):
    lines, rows, out = tmp_path / "rows.jsonl", tmp_path / f"rows.{form}", tmp_path / "out.jinx"
    lines.write_text('{"n": 1, "b": 1}\n{"a": null, "n": {"x": 2}}\n', "utf-8")
    jinx.convert(lines, rows, overwrite=True)
    what = "there is no column" if form == "jinx" else "no sample that was written has the column"
    with pytest.raises(jinx.InvalidError, match=f"{what} '{name}'; (did you mean|the file has|there are) "):
        jinx.convert(rows, out, **options)
    assert not out.exists()
    for known in (["a"], ["n.x", "n"], []):
        jinx.convert(rows, out, indexed=known, overwrite=True)
    # Another part may have the column.
    for part in ({"limit": 0}, {"limit": 1}, {"where": "b == 1"}):
        jinx.convert(rows, out, indexed=["a"], overwrite=True, **part)
