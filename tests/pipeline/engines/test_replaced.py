"""Inputs that are replaced while a run reads them: no row of the other dataset comes into the output."""

import os
import signal

import pytest

import jinx
import jinx_pipeline as jp


def write(path, text, count=40):
    with jinx.Writer(path, overwrite=True) as writer:
        writer.write_many({"n": n, "text": f"{text} {n}"} for n in range(count))


class Meddling:
    """At one row, do something to a file; the worker dies, and the next one opens the file."""

    def __init__(self, path, action, *, kills=True):
        self.path, self.action, self.kills = path, action, kills

    def __call__(self, sample):
        mark = self.path.with_suffix(".done")
        if sample["n"] == 25 and not mark.exists():
            mark.touch()
            if self.action == "replace":
                self.path.with_suffix(".other.jinx").replace(self.path)
            elif self.action == "cut":
                os.truncate(self.path, self.path.stat().st_size // 2)
            else:
                self.path.unlink()
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
        return sample

    def __repr__(self):
        return self.action


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "in.jinx", "old")
    write(tmp_path / "in.other.jinx", "new")
    return tmp_path


CHANGED = "was replaced or changed during the run; restore it and run again"
OPTIONS = {"workers": 1, "block_rows": 10, "batch_rows": 1}


@pytest.mark.parametrize("action", ["replace", "cut", "remove"])
@pytest.mark.parametrize("kills", [True, False])
def test_the_run_stops_and_names_the_input(place, action, kills):
    meddling = Meddling(place / "in.jinx", action, kills=kills)
    with pytest.raises(RuntimeError, match=f"in.jinx {CHANGED}"):
        jp.Dataset.load(place / "in.jinx").process(meddling).export(place / "out.jinx", **OPTIONS)
    assert not (place / "out.jinx").exists()


def test_samples_of_both_never_mix(place):
    """A splitter's parts hold their rows, and do not say of what they are."""
    steps = [Meddling(place / "in.jinx", "replace"), jp.ops.TextChunkMapper(max_len=2)]
    with pytest.raises(RuntimeError, match=CHANGED):
        jp.Dataset.load(place / "in.jinx").process(steps).export(place / "out.jinx", **OPTIONS)


def test_of_several_inputs_the_changed_one_is_named(place):
    write(place / "more.jinx", "more", 3)
    sources = [str(place / "more.jinx"), str(place / "in.jinx")]
    flow = jp.Dataset.load(sources).process(Meddling(place / "in.jinx", "replace"))
    with pytest.raises(RuntimeError, match=f"in.jinx {CHANGED}"):
        flow.export(place / "out.jinx", **OPTIONS)


def test_a_joined_dataset_that_is_replaced_adds_no_column(tmp_path):
    write(tmp_path / "in.jinx", "base")
    write(tmp_path / "there.jinx", "old")
    write(tmp_path / "there.other.jinx", "new")
    join = jp.ops.Join(path=str(tmp_path / "there.jinx"), on="n", columns=["text"], prefix="other_")
    flow = jp.Dataset.load(tmp_path / "in.jinx").process([Meddling(tmp_path / "there.jinx", "replace"), join])
    with pytest.raises(RuntimeError, match=rf"there\.jinx {CHANGED}"):
        flow.export(tmp_path / "out.jinx", **OPTIONS)


def test_a_list_of_words_that_is_edited_stops_the_run(place):
    """A worker reads it again, and rows of both lists would mix."""
    words = place / "flagged_words.en.txt"
    words.write_text("none\n")
    keep = jp.create("flagged_words_filter", flagged_words_dir=place, max_ratio=0.1)

    def edit(sample):
        if sample["n"] == 25:
            words.write_text("old\n")
        return sample

    flow = jp.Dataset.load(place / "in.jinx").process([edit, keep])
    with pytest.raises(RuntimeError, match=rf"flagged_words\.en\.txt {CHANGED}"):
        flow.export(place / "out.jinx", **OPTIONS)
    assert not (place / "out.jinx").exists()
