"""Runs in which the disk fills or media vanish: a clear message, and nothing of what was done is done again."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import RepairError, StoppedError
from jinx_pipeline.operators.api.resources import Resources
from pipeline.disks import disk_of, enlarge
from pipeline.made import rows_of


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 4 MB."""
    with disk_of(tmp_path / "small", "4m") as place:
        yield place


def test_a_full_disk_stops_the_run_and_it_goes_on_when_there_is_room(small_disk, tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"text": "x" * 20_000, "n": n} for n in range(400))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process([jp.ops.CleanLinksMapper(), jp.ops.TextLengthFilter()])
    options = {"workers": 2, "block_rows": 20, "work_dir": str(small_disk / "work")}
    with pytest.raises((StoppedError, OSError), match="No space left on device"):
        flow.export(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    enlarge(small_disk, "64m")
    events = small_disk / "work" / "events.jsonl"
    before = events.read_bytes().count(b"\n") if events.exists() else 0
    result = flow.export(tmp_path / "out", **options)
    assert result.resumed
    assert result.ok
    assert [row["n"] for row in rows_of(tmp_path / "out")] == list(range(400))
    again = [json.loads(line) for line in events.read_text().splitlines()[before:] if '"block"' in line]
    assert 0 < len({item["block"] for item in again if item["kind"] == "block"}) < 20


def test_media_that_vanish_cost_their_rows_alone(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for n in range(40):
        Image.fromarray(np.full((8, 8 + n, 3), n, dtype=np.uint8)).save(pictures / f"{n}.png")
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"n": n, "images": [f"pictures/{n}.png"]}) + "\n" for n in range(40)))
    flow = jp.Dataset.load(source).process(jp.ops.ImageShapeFilter(min_width=1))
    for n in (3, 17):
        (pictures / f"{n}.png").unlink()
    with pytest.warns(jp.BadRowsWarning, match="2 of 40 rows"):
        result = flow.export(tmp_path / "out.jinx", workers=1)
    assert sorted((bad.row, bad.operator) for bad in result.bad_rows) == [
        (3, "image_shape_filter"),
        (17, "image_shape_filter"),
    ]
    assert all("pictures/3.png" in bad.error or "pictures/17.png" in bad.error for bad in result.bad_rows)
    assert result.rows_out == 38
    shutil.rmtree(pictures)
    with pytest.warns(jp.BadRowsWarning, match="40 of 40 rows"):
        result = flow.export(tmp_path / "none.jinx", workers=1)
    assert (result.rows_out, len(result.bad_rows)) == (0, 40)


def test_a_column_that_is_dropped_is_not_read(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx", sidecar=True) as writer:
        writer.write_many({"n": n, "image": b"%d" % n * 5000} for n in range(20))
    sidecar = tmp_path / "in.binx"
    damaged = bytearray(sidecar.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    sidecar.write_bytes(damaged)

    def dropped(sample):
        del sample["image"]
        return sample

    result = jp.Dataset.load(tmp_path / "in.jinx").process([dropped]).export(tmp_path / "out", shard_size=10**6)
    assert result.bad_rows == []
    assert rows_of(tmp_path / "out") == [{"n": n} for n in range(20)]


def at_hang(sample):
    """Row 17 waits for a pipe into which nobody writes."""
    if sample["n"] == 17:
        Path(sample["pipe"]).read_text()
    return sample


def test_a_row_that_hangs_is_the_only_one_lost(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "pipe": str(tmp_path / "pipe")} for n in range(40))
    flow = jp.Dataset.load(tmp_path / "in.jinx").process(at_hang)
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out.jinx", workers=2, block_rows=20, row_seconds=1.5)
    (bad,) = result.bad_rows
    assert (bad.row, bad.operator) == (17, "at_hang")
    assert bad.error == "the worker exceeded its time limit: no row was finished for 1.5 s (row_seconds=1.5)"
    assert [row["n"] for row in rows_of(tmp_path / "out.jinx")] == [n for n in range(40) if n != 17]


def test_operators_that_say_that_they_use_a_model_have_no_time_limit(tmp_path):
    class Slow(jp.Mapper):
        """Takes a second for all of its rows together, and says what it uses."""

        name = "slow"
        uses: str = ""

        def process(self, batch, ctx):
            if self.uses == "model":
                ctx.model("weights", lambda *_: "weights")
            time.sleep(1)
            return {"seen": [True] * len(batch)}

    class Declared(Slow):
        """As it, with memory for the model."""

        name = "declared"
        resources = Resources(memory=1)

    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"n": 1})
    source = jp.Dataset.load(tmp_path / "in.jinx")
    for number, operator in enumerate((Slow(uses="model"), Declared())):
        assert source.process(operator).export(tmp_path / f"{number}.jinx", workers=1, row_seconds=0.2).ok
    with pytest.warns(jp.BadRowsWarning):
        assert not source.process(Slow()).export(tmp_path / "late.jinx", workers=1, row_seconds=0.2).ok


@pytest.mark.parametrize("kind", ["images", "audios"])
def test_media_that_are_pipes_or_devices_cost_their_rows_alone(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    places = [str(tmp_path / "pipe"), "/dev/zero"]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"n": n, kind: [place]}) + "\n" for n, place in enumerate(places)))
    flow = jp.Dataset.load(source, roles=jp.Roles(media_outside=True))
    operator = jp.ops.ImageShapeFilter(min_width=1) if kind == "images" else jp.ops.AudioDurationFilter(min_duration=0)
    with pytest.warns(jp.BadRowsWarning):
        result = flow.process(operator).export(tmp_path / "out.jinx", workers=1, row_seconds=None)
    assert [bad.row for bad in result.bad_rows] == [0, 1]
    for place, bad in zip(places, result.bad_rows, strict=True):
        assert f"{place}: not a regular file" in bad.error


class BusyError(Exception):
    """A service wants its callers to wait."""

    retry_after = 0.0


def test_a_service_that_refuses_now_and_then_does_not_start_a_block_over(tmp_path):
    calls = tmp_path / "calls"
    calls.touch()

    def ask(sample):
        with calls.open("ab") as file:
            file.write(b"x")
            if file.tell() % 24 == 0:
                raise BusyError
        return sample

    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n} for n in range(64))
    result = jp.Dataset.load(tmp_path / "in.jinx").process(ask).export(tmp_path / "out.jinx", workers=1, block_rows=64)
    assert result.ok
    assert [row["n"] for row in rows_of(tmp_path / "out.jinx")] == list(range(64))
    assert calls.stat().st_size < 4 * 64


def test_a_row_for_which_memory_is_short_is_reported_with_the_operator(tmp_path):
    def short(sample):
        if sample["n"] == 3:
            raise MemoryError
        return sample

    flow = jp.Dataset.load([{"n": n} for n in range(6)]).process(short)
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out.jinx", workers=1)
    assert [(bad.row, bad.operator) for bad in result.bad_rows] == [(3, "short")]


def test_workers_that_do_not_fit_into_memory_are_not_just_started_again(tmp_path):
    flow = jp.Dataset.load([{"text": "x"}]).process(jp.ops.TextLengthFilter())
    with pytest.raises(RepairError, match=r"used more than 1 .*; give each more memory \(--memory\), or use fewer"):
        flow.export(tmp_path / "out.jinx", workers=1, memory=1)


@pytest.mark.parametrize("how", ["cut", "removed"])
def test_a_directory_whose_shards_were_damaged_is_not_taken_for_done(tmp_path, how):
    flow = jp.Dataset.load([{"text": "x" * 50, "n": n} for n in range(20)]).process(jp.ops.TextLengthFilter())
    flow.export(tmp_path / "out", workers=1)
    shard = tmp_path / "out" / "shard-00000.jinx"
    if how == "cut":
        os.truncate(shard, shard.stat().st_size // 2)
    else:
        shard.unlink()
    with pytest.raises(FileExistsError, match="is not the output that this run has written"):
        flow.export(tmp_path / "out", workers=1)


EDITED = """
import os, signal
from pathlib import Path
from jinx_pipeline import Mapper, register

def edit(sample):
    if sample["n"] == 25:
        # Somebody edits the file, and the worker that knows the old one dies.
        edit_file = Path(HERE)
        text = edit_file.read_text()
        edit_file.write_text(text.replace("VERSION = 1", "VERSION = 2"))
        if "VERSION = 1" in text:
            os.kill(os.getpid(), signal.SIGKILL)
    return {**sample, "version": VERSION}

VERSION = 1

@register("NAME")
class Edits(Mapper):
    reads = ("n",)
    writes = ("version",)
    def process(self, batch, ctx):
        return {"version": [edit(sample)["version"] for sample in batch.samples()]}
"""


@pytest.mark.parametrize("how", ["function", "class"])
def test_an_operator_that_is_edited_during_the_run_makes_no_row(tmp_path, how):
    file = tmp_path / "mine.py"
    file.write_text(EDITED.replace("HERE", repr(str(file))).replace("NAME", f"edits_{tmp_path.name}_mapper"))
    if how == "class":
        [name] = jp.load_file(file)
        operator, options = jp.create(name), {"custom_operators": [str(file)]}
    else:
        operator, options = jp.ops.PythonFileMapper(file_path=file, function_name="edit"), {}
    flow = jp.Dataset.load([{"n": n} for n in range(40)]).process(operator)
    with pytest.raises(RepairError, match=r"has changed since the run began; restore it and run again"):
        flow.export(tmp_path / "out.jinx", workers=1, block_rows=10, batch_rows=1, **options)


def test_an_operator_that_is_edited_between_segments_makes_no_row(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def mark(sample):\n    return {**sample, 'version': 1}\n")

    def edits(sample):
        file.write_text(file.read_text().replace("1", "2"))
        return sample

    steps = [edits, jp.ops.Sort(by="n"), jp.ops.PythonFileMapper(file_path=file, function_name="mark")]
    with pytest.raises(jp.ChangedError, match="the code of an operator"):
        jp.Dataset.load([{"n": n} for n in range(4)]).process(steps).export(tmp_path / "out.jinx", workers=1)
