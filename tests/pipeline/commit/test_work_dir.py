"""The working directory: what it may be, and what a refused run leaves."""

import errno

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.commit.work_dir import WorkDir
from jinx_pipeline.dataset import Dataset
from pipeline.made import digest, rows_of, write_input


def test_a_folder_of_somebody_else_is_refused_and_stays_as_it_is(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    theirs = tmp_path / "project"
    (theirs / "parts").mkdir(parents=True)
    (theirs / "parts" / "mine.txt").write_text("mine")
    (theirs / "recipe.json").write_text("{}")
    with pytest.raises(ValueError, match="not the working directory of a run"):
        Dataset.load(data).export(tmp_path / "out.jinx", work_dir=str(theirs), restart=True, workers=1)
    assert sorted(str(one.relative_to(theirs)) for one in theirs.rglob("*")) == [
        "parts",
        "parts/mine.txt",
        "recipe.json",
    ]


def test_an_empty_folder_and_an_earlier_one_are_taken(tmp_path):
    for _ in range(2):
        (tmp_path / "work").mkdir(exist_ok=True)
        with WorkDir(tmp_path / "work") as work_dir:
            work_dir.write_plan({})
            assert work_dir.read_plan() == {}


def test_a_refused_run_leaves_no_folder(tmp_path):
    data = write_input(tmp_path / "in.jinx", 5)
    (tmp_path / "out.jinx").write_text("here")
    with pytest.raises(FileExistsError):
        Dataset.load(data).export(tmp_path / "out.jinx", workers=1)
    assert not (tmp_path / "out.jinx.work").exists()


@pytest.mark.parametrize("kind", ["jinx", "view"])
def test_an_output_never_replaces_an_input(tmp_path, kind):
    data = write_input(tmp_path / "in.jinx", 5)
    before = digest(data)
    jinx.open(data)[:3].save(tmp_path / "view.jinx")
    drop = jp.ops.TextLengthFilter(min_len=1000)
    for source in (data, tmp_path / "view.jinx", str(tmp_path / "in*.jinx")):
        with pytest.raises(ValueError, match="is also an input"):
            Dataset.load(source).process(drop).export(data, kind=kind, overwrite=True, workers=1)
    assert digest(data) == before
    assert len(rows_of(tmp_path / "view.jinx")) == 3


def test_a_full_disk_is_said_to_be_that_of_the_work_dir(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, WorkDir(tmp_path / "out.work"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "out.work")
