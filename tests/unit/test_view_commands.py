"""The commands, and conversion, on saved views."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import jinx
import samples
from jinx._cli.program import run

ORDER = [8, 3, 3, 0, 11]
CAPTIONS = ["eight", "three", "again", "zero", "eleven"]


def stored(n: int) -> dict[str, Any]:
    return {**samples.sample(n), "image": samples.PNG + bytes(n)}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with jinx.Writer(tmp_path / "base.jinx", media={"image": "Image"}, meta={"made": "here"}) as writer:
        writer.write_many(stored(n) for n in range(12))
    return tmp_path / "base.jinx"


@pytest.fixture
def view(base: Path, tmp_path: Path) -> Path:
    ds = jinx.open(base)[ORDER].with_columns({"caption": CAPTIONS, "score": np.arange(5) / 4, "mask": [b"\0" * 99] * 5})
    ds.drop_columns("flag").save(tmp_path / "view.jinx")
    return tmp_path / "view.jinx"


def expected() -> list[dict[str, Any]]:
    """The samples of the view."""
    found: list[dict[str, Any]] = []
    for place, (n, caption) in enumerate(zip(ORDER, CAPTIONS, strict=True)):
        sample = stored(n)
        del sample["flag"], sample["score"]
        found.append({**sample, "caption": caption, "score": place / 4, "mask": b"\0" * 99})
    return found


def plain(path: Path) -> list[Any]:
    return [samples.plain(sample) for sample in jinx.open(path).to_list()]


def test_head_and_cat(view, capsysbinary):
    assert run(["head", "-2", str(view), "--columns", "id,caption"]) == 0
    out = capsysbinary.readouterr().out.splitlines()
    assert [json.loads(line) for line in out] == [
        {"id": "s008", "caption": "eight"},
        {"id": "s003", "caption": "three"},
    ]
    assert run(["cat", str(view), "--no-binary"]) == 0
    rows = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [row["caption"] for row in rows] == CAPTIONS
    assert sorted(rows[0]) == sorted(expected()[0])


def test_get(view, capsysbinary):
    for place, column, value in [
        ("0", "caption", b"eight"),
        ("-1", "image", expected()[-1]["image"]),
        ("0", "n", b"8\n"),
    ]:
        assert run(["get", str(view), place, column]) == 0
        assert capsysbinary.readouterr().out == value


def test_extract(view, tmp_path):
    assert run(["extract", str(view), str(tmp_path / "images"), "--column", "image"]) == 0
    files = sorted((tmp_path / "images").iterdir())
    assert [file.read_bytes() for file in files] == [sample["image"] for sample in expected()]
    assert run(["extract", str(view), str(tmp_path / "captions"), "--column", "caption", "--limit", "2"]) == 0
    assert [file.read_text("utf-8") for file in sorted((tmp_path / "captions").iterdir())] == CAPTIONS[:2]


def test_info(view, base, capsys):
    assert run(["info", str(view)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {line.split()[0]: line for line in lines if line}
    assert "a saved view" in said["format"]
    identity = jinx.open(base).info().ids[0]
    assert f"4 of 12 samples of {base} (pair, " in said["shows"]
    assert said["shows"].endswith(f"id {identity})")
    assert said["order"].split(maxsplit=1)[1] == "its own"
    assert said["own"].split(maxsplit=2)[2] == "caption, mask, score"
    assert run(["info", "--json", str(view)]) == 0
    said = json.loads(capsys.readouterr().out)
    sizes = [path.stat().st_size for path in (view, view.with_suffix(".binx"))]
    assert [said["bytes"], said["sidecar_bytes"]] == sizes
    whole = base.stat().st_size + base.with_suffix(".binx").stat().st_size
    shown = {"path": str(base), "kind": "pair", "id": identity, "samples": 12, "selected": 4, "bytes": whole}
    assert said["bases"] == [{**shown, "location": None, "version": None}]
    assert said["own_columns"] == ["caption", "mask", "score"]
    assert said["has_positions"] is True


@pytest.mark.parametrize("given", ["path", "dataset"])
@pytest.mark.parametrize("out", ["out.jinx", "outdir", "out.jsonl", "out.msgpack", "out.tar", "out.parquet", "mds"])
def test_conversion_to_every_format(out, given, view, tmp_path):
    source = str(view) if given == "path" else jinx.open(view)
    options = {"output_format": "mds"} if out == "mds" else {}
    if out == "mds":
        source = jinx.open(view).select_columns(["id", "caption", "score", "image"])
        want = [{name: sample[name] for name in ("id", "caption", "score", "image")} for sample in expected()]
    else:
        want = expected()
    done = jinx.convert(source, tmp_path / out, **options)
    assert done.samples == 5
    if out == "out.parquet":
        table = pq.read_table(tmp_path / out)
        assert table["caption"].to_pylist() == CAPTIONS
        assert [row["bytes"] for row in table["image"].to_pylist()] == [sample["image"] for sample in want]
        return
    again = list(jinx.stream(tmp_path / out)) if out not in {"out.jinx", "outdir", "mds"} else jinx.open(tmp_path / out)
    rows = [{name: value for name, value in dict(sample).items() if name != "__key__"} for sample in again]
    assert [samples.plain(dict(sorted(one.items()))) for one in rows] == [
        samples.plain(dict(sorted(one.items()))) for one in want
    ]
    if out in {"out.jinx", "outdir"}:
        assert jinx.verify(tmp_path / out) == []
        assert jinx.open(tmp_path / out).info().bases == []


@pytest.mark.parametrize("out", ["out.jinx", "outdir", "out.jsonl", "out.parquet"])
def test_conversion_of_some_columns_and_samples(out, view, tmp_path):
    pairs = list(zip(ORDER, CAPTIONS, strict=True))[:3]
    command = ["convert", str(view), str(tmp_path / out), "--limit", "3", "--overwrite"]
    assert run([*command, "--columns", "caption,id"]) == 0
    assert found(tmp_path / out) == [{"caption": text, "id": f"s{n:03d}"} for n, text in pairs]
    assert run([*command, "--columns", "caption,id", "--rename", "caption=text"]) == 0
    assert found(tmp_path / out) == [{"text": text, "id": f"s{n:03d}"} for n, text in pairs]
    assert run([*command, "--drop", "image,array,mask,messages,meta,score"]) == 0
    assert found(tmp_path / out) == [{"caption": text, "id": f"s{n:03d}", "n": n} for n, text in pairs]


def found(path: Path) -> list[dict[str, Any]]:
    return [dict(sample) for sample in jinx.stream(path)]


def test_a_converted_view_keeps_what_its_base_says(view, tmp_path):
    jinx.convert(view, tmp_path / "out.jinx")
    copy = jinx.open(tmp_path / "out.jinx")
    assert copy.info().meta == {"made": "here"}
    assert copy.schema["image"].startswith("bytes (")
    assert "score" in {one.path for one in copy.info().indexed}
    assert copy.column_names == jinx.open(view).column_names


def test_a_whole_pair_copied_unchanged_keeps_its_id(base, tmp_path):
    jinx.convert(base, tmp_path / "copy.jinx")
    assert jinx.open(tmp_path / "copy.jinx").info().ids == jinx.open(base).info().ids
    jinx.open(base).save(tmp_path / "all.jinx")
    jinx.convert(tmp_path / "all.jinx", tmp_path / "again.jinx")
    assert jinx.open(tmp_path / "again.jinx").info().ids == jinx.open(base).info().ids
    jinx.convert(base, tmp_path / "part.jinx", limit=11)
    assert jinx.open(tmp_path / "part.jinx").info().ids != jinx.open(base).info().ids


def test_several_views_become_one_dataset(view, base, tmp_path):
    assert run(["convert", str(view), str(base), str(tmp_path / "out.jinx")]) == 0
    assert [sample["n"] for sample in jinx.open(tmp_path / "out.jinx")] == [*ORDER, *range(12)]


def test_a_converted_view_needs_its_base_no_more(view, base, tmp_path):
    jinx.convert(view, tmp_path / "out.jinx")
    assert run(["rm", str(base), str(view)]) == 0
    assert plain(tmp_path / "out.jinx") == [samples.plain(sample) for sample in expected()]


def test_a_base_that_is_gone_is_one_line(view, base, capsys):
    assert run(["rm", str(base)]) == 0
    for command in (["head"], ["cat"], ["info"], ["get", "0", "id"]):
        assert run([command[0], str(view), *command[1:]]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert f"jinx rebase {view} NEW\n" in error


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (2, "base=[NEW1, NEW2]) or run: jinx rebase {} NEW1 NEW2, the paths of all 2 datasets"),
        (5, "base=[NEW1, ..., NEW5]) or run: jinx rebase {} NEW1 ... NEW5, the paths of all 5 datasets"),
    ],
)
def test_a_missing_base_of_several_is_named_with_all_paths(tmp_path, count, says):
    paths = [tmp_path / f"{i}.jinx" for i in range(count)]
    for path in paths:
        with jinx.Writer(path) as writer:
            writer.write({"n": 1})
    jinx.concat([jinx.open(path) for path in paths]).save(tmp_path / "view.jinx")
    paths[1].rename(tmp_path / "moved.jinx")
    with pytest.raises(jinx.MismatchError) as missing:
        jinx.open(tmp_path / "view.jinx")
    assert says.format(tmp_path / "view.jinx") in str(missing.value)
    paths[1] = tmp_path / "moved.jinx"
    assert len(jinx.open(tmp_path / "view.jinx", base=paths)) == count
