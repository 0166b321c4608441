"""Media that operators make lie on disk until they are written: operators see bytes, and the output is the same."""

import os
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline import Batch, Context, Mapper
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.media_spool import MediaSpool
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.map_work import MapWork
from jinx_pipeline.worker.work import WorkerState

JPEG = b"\xff\xd8\xff\xe0"
MADE = {
    "small": b"small",
    "jpeg": JPEG + Random(1).randbytes(20_000),
    "long jpeg": JPEG + Random(2).randbytes(9 << 20),
    "text": b"the same again and again, " * 20_000,
    "noise": Random(3).randbytes(50_000),
}


def test_a_spool_holds_what_it_gets_and_leaves_nothing(tmp_path):
    spool = MediaSpool(tmp_path)
    held = [spool.put(BytesIO(data) if number % 2 else data) for number, data in enumerate(MADE.values())]
    assert held[0] == b"small"
    assert all(isinstance(medium, StoredRange) for medium in held[1:])
    media = [Media(medium, Roles()) for medium in held]
    assert [medium.bytes for medium in media] == list(MADE.values())
    assert [medium.size for medium in media] == [len(data) for data in MADE.values()]
    with media[2].stream() as stream:
        stream.seek(1000)
        assert stream.read(10) == MADE["long jpeg"][1000:1010]
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_concerns_all_rows(tmp_path, monkeypatch):
    full = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115, PTH123
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    spool = MediaSpool(tmp_path)
    with pytest.raises(OSError, match="No space") as caught:
        spool.put(MADE["jpeg"])
    spool.close()
    assert caught.value.concerns_all_rows


def test_operators_see_bytes(tmp_path):
    spool = MediaSpool(tmp_path)
    ctx = Context(spool=spool)
    made = [{"images": [ctx.keep_media(data, ".jpg")], "n": number} for number, data in enumerate(MADE.values())]
    plain = [{"n": number} for number in range(len(made))]
    batch = Batch(plain).with_columns({"images": [row["images"] for row in made]})
    expected = [[data] for data in MADE.values()]
    assert batch.column("images") == expected
    assert [sample["images"] for sample in batch.samples()] == expected
    assert [row["images"] for row in batch.to_samples()] == expected
    assert [list(sample) for sample in batch.samples()] == [["n", "images"]] * len(made)
    assert [media[0].bytes for media in batch.media("images")] == list(MADE.values())
    changed = batch.samples()[1]
    changed["images"] = 1
    assert changed["images"] == 1
    del changed["images"]
    assert dict(changed) == {"n": 1}
    assert batch.column("images") == expected
    spool.close()


class Making(Mapper):
    """Adds media: by the context, or as the bytes themselves."""

    is_held: bool = True
    writes = ("image", "frames")

    def process(self, batch, ctx):
        data = list(MADE.values())
        keep = ctx.keep_media if self.is_held else lambda data, suffix: data
        return {
            "image": [{"bytes": keep(data[n % len(data)], ".jpg"), "path": "a"} for n in batch.column("n")],
            "frames": [[keep(one, ".jpg") for one in data[: n % 4]] for n in batch.column("n")],
        }


def files_of(source: Path, folder: Path, output: str, *, is_held: bool) -> dict[str, bytes]:
    folder.mkdir()
    making = Making()
    making.is_held = is_held
    stage = Stage([making], [0], Roles(), output=output, batch_rows=2)
    path = folder / ("part.jinx" if output == "view" else "part")
    receipt = MapWork(stage).run(Source((str(source),)), Task("0", 0, 0, 6), path, WorkerState())
    assert receipt.rows_out == 6
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("output", ["view", "rows"])
def test_the_output_has_the_same_bytes(tmp_path, output):
    source = tmp_path / "in.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"n": n, "image": MADE["jpeg"]} for n in range(6))
    held = files_of(source, tmp_path / "held", output, is_held=True)
    assert held == files_of(source, tmp_path / "plain", output, is_held=False)
    assert len(held) >= 2


def test_a_writer_takes_ranges_of_files(tmp_path):
    file = tmp_path / "all"
    file.write_bytes(b"".join(MADE.values()))
    starts = np.cumsum([0, *map(len, MADE.values())]).tolist()
    places = [StoredRange(str(file), start, len(data)) for start, data in zip(starts, MADE.values(), strict=False)]
    for name, values in (("ranges", places), ("bytes", list(MADE.values()))):
        (tmp_path / name).mkdir()
        with jinx.Writer(tmp_path / name / "out.jinx") as writer:
            writer.write_many({"a": value, "b": [value, {"c": value}]} for value in values)
    for name in ("out.jinx", "out.binx"):
        assert (tmp_path / "ranges" / name).read_bytes() == (tmp_path / "bytes" / name).read_bytes()
    with jinx.Writer(tmp_path / "outside.jinx") as writer:
        with pytest.raises(jinx.JinxError, match="all"):
            writer.write({"a": StoredRange(str(file), starts[-1] - 5, 10)})
        writer.write({"a": 1})
    assert len(jinx.open(tmp_path / "outside.jinx")) == 1


def test_long_values_are_checked_before_they_are_copied(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "a": MADE["long jpeg"]} for n in range(2))
    dataset = jinx.open(tmp_path / "in.jinx")
    with jinx.Writer(tmp_path / "out.jinx") as writer:
        writer.copy(dataset, [1, 0])
    assert [sample["a"] for sample in jinx.open(tmp_path / "out.jinx")] == [MADE["long jpeg"]] * 2
    with (tmp_path / "in.binx").open("r+b") as file:
        file.seek(9 << 20)
        file.write(b"damaged")
    with jinx.Writer(tmp_path / "rest.jinx") as writer:
        with pytest.raises(jinx.CorruptFileError, match="checksum"):
            writer.copy(jinx.open(tmp_path / "in.jinx"), [0])
        writer.copy(jinx.open(tmp_path / "in.jinx"), [1])
    assert jinx.open(tmp_path / "rest.jinx")[0]["a"] == MADE["long jpeg"]


MANY = """
import resource, sys, tempfile
from pathlib import Path
import jinx, jinx_pipeline as jp
from jinx_pipeline import Mapper
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.map_work import MapWork
from jinx_pipeline.worker.work import WorkerState

folder = Path(sys.argv[1])
with jinx.Writer(folder / "in.jinx") as writer:
    writer.write({"n": 0})

class Making(Mapper):
    writes = ("clips",)

    def process(self, batch, ctx):
        clips = []
        for number in range(24):
            file = tempfile.TemporaryFile(dir=folder)
            file.write(bytes([255, 216, 255, number]))
            file.truncate(16 << 20)
            file.seek(0)
            clips.append(ctx.keep_media(file, ".jpg"))
        return {"clips": [clips]}

stage = Stage([Making()], [0], Roles(), output=sys.argv[2])
path = folder / ("part.jinx" if sys.argv[2] == "view" else "part")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
MapWork(stage).run(Source((str(folder / "in.jinx"),)), Task("0", 0, 0, 1), path, WorkerState())
part = jinx.open(path)
with jinx.Writer(folder / "out.jinx") as writer:
    writer.copy(part)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
assert [len(clip) for clip in jinx.open(folder / "out.jinx")[0]["clips"]] == [16 << 20] * 24
"""


@pytest.mark.parametrize("output", ["view", "rows"])
def test_made_media_of_any_number_take_little_memory(tmp_path, output):
    environment = {**os.environ, "PYTHONPATH": str(Path(jp.__file__).parents[1])}
    command = [sys.executable, "-c", MANY, str(tmp_path), output]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100_000  # kB, of 384 MB
