"""Whether a dataset holds what it held: for inputs, for statistics of them, and for what a join adds."""

import json
import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import run
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.plan.inputs import has_grown
from jinx_pipeline.sample.content_identity import content_identity
from pipeline.made import rows_of


def write(path, texts):
    """MDS or JSON lines, of the same size and with the same index for texts of the same lengths."""
    samples = [{"id": number, "y": text} for number, text in enumerate(texts)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    else:
        jinx.convert(samples, path, output_format="mds", overwrite=True)
    return path


@pytest.mark.parametrize("name", ["other", "other.jsonl"])
def test_other_content_of_the_same_size_is_another_dataset(tmp_path, name):
    path = write(tmp_path / name, ["aaa", "aaa"])
    jinx.open(path).select([0]).save(tmp_path / "view.jinx")
    both = [content_identity(jinx.open(sample)) for sample in (path, tmp_path / "view.jinx")]
    assert [content_identity(jinx.open(sample)) for sample in (path, tmp_path / "view.jinx")] == both
    moved = path.rename(tmp_path / f"moved_{name}")
    assert content_identity(jinx.open(moved)) == both[0]
    moved.rename(path)
    write(path, ["bbb", "bbb"])
    assert content_identity(jinx.open(path)) != both[0]
    if name == "other":  # the view itself finds out that JSON lines have changed
        assert content_identity(jinx.open(tmp_path / "view.jinx")) != both[1]


@pytest.mark.parametrize("name", ["other", "other.jsonl"])
def test_other_content_with_the_same_times_is_another_dataset(tmp_path, name):
    path = write(tmp_path / name, ["aaa", "aaa"])
    files = [path] if path.is_file() else sorted(path.iterdir())
    times = [(file.stat().st_atime_ns, file.stat().st_mtime_ns) for file in files]
    before = content_identity(jinx.open(path))
    write(path, ["bbb", "bbb"])
    for file, ns in zip(files, times, strict=True):
        os.utime(file, ns=ns)
    assert content_identity(jinx.open(path)) != before


def test_the_identity_of_jinx_needs_no_times(tmp_path):
    path = tmp_path / "in.jinx"
    before = content_identity(jinx.open(write_jinx(path)))
    path.touch()
    assert content_identity(jinx.open(path)) == before
    assert "files" not in before


def write_jinx(path):
    with jinx.Writer(path) as writer:
        writer.write({"y": "aaa"})
    return path


@pytest.mark.parametrize("name", ["other", "other.jsonl"])
def test_a_join_with_a_changed_dataset_is_not_resumed(tmp_path, name):
    other = write(tmp_path / name, ["aaa", "aaa"])
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"id": number} for number in range(2))
    flow = Dataset.load(tmp_path / "in.jinx")
    flow.process(jp.ops.Join(path=str(other), on="id")).export(tmp_path / "out", workers=1)
    write(other, ["bbb", "bbb"])
    join = jp.ops.Join(path=str(other), on="id")
    with pytest.raises(jp.ChangedError, match="belongs to another recipe"):
        flow.process(join).export(tmp_path / "out", workers=1)
    flow.process(join).export(tmp_path / "out", workers=1, restart=True, overwrite=True)
    assert [row["y"] for row in rows_of(tmp_path / "out")] == ["bbb", "bbb"]


def test_mds_that_changed_is_another_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = write(tmp_path / "in", ["aaa", "aaa"])
    flow = Dataset.load(source, text="y").process(jp.ops.TextLengthFilter(min_len=1))
    flow.export(tmp_path / "out", workers=1)
    words = ["run", "recipe.yaml", "--from-stats", "stats.jinx", "--out", "chosen.jinx"]
    (tmp_path / "recipe.yaml").write_text(
        "dataset: {path: in, text: y}\nprocess: [text_length_filter: {min_len: 1}]\nexport: chosen.jinx\nworkers: 1\n"
    )
    assert run(["analyze", "recipe.yaml"]) == 0
    write(source, ["bbb", "bbb"])
    with pytest.raises(jp.ChangedError, match="the input changed"):
        flow.export(tmp_path / "out", workers=1)
    capsys.readouterr()
    assert run(words) == 2
    assert "the statistics in stats.jinx are not of" in capsys.readouterr().err


def test_more_directories_of_mds_are_growth(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, ["aaa"])
    one, both = (content_identity(jinx.open(paths)) for paths in ([tmp_path / "a"], [tmp_path / "a", tmp_path / "b"]))
    assert has_grown(one, both, str(tmp_path))
    write(tmp_path / "a", ["bbb"])
    changed = content_identity(jinx.open([tmp_path / "a", tmp_path / "b"]))
    assert not has_grown(one, changed, str(tmp_path))
