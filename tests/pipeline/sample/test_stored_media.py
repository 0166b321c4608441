"""Media in sidecars and files are read by range, and only as far as needed."""

import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx._dataset.stored_ranges import StoredRange, StoredRanges
from jinx_pipeline.sample.media import Media, MediaError
from jinx_pipeline.sample.range_file import RangeFile

LARGE = os.urandom(100_000)


@pytest.fixture
def dataset(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"n": 0, "video": LARGE, "videos": [LARGE[:70_000], LARGE[70_000:]], "meta": {"clip": LARGE}})
        writer.write({"n": 1, "video": b"small"})
        writer.write({"n": 2, "video": bytes(100_000)})
    return jinx.open(tmp_path / "in.jinx")


def contents(values):
    return [value if value is None else read(value) for value in values]


def read(value):
    if isinstance(value, list):
        return [read(element) for element in value]
    if isinstance(value, dict):
        return {name: read(member) for name, member in value.items()}
    with RangeFile(value.path, value.offset, value.length) as file:
        return file.read()


def test_values_as_ranges(dataset):
    ranges = StoredRanges(dataset)
    found = list(ranges.column([0, 1, 2], "video"))
    assert isinstance(found[0], StoredRange)
    assert contents(found) == [LARGE, None, None]  # small ones are in the row, zeros are compressed
    assert contents(ranges.column([0, 1], "videos")) == [[LARGE[:70_000], LARGE[70_000:]], None]
    assert contents(ranges.column([0], "meta")) == [{"clip": LARGE}]
    assert contents(ranges.column([0], "unknown")) == [None]


def test_ranges_of_views(dataset, tmp_path):
    view = dataset.select([2, 0]).with_columns({"video_2": [1, 2]})
    assert contents(StoredRanges(view).column([0, 1], "video")) == [None, LARGE]
    replaced = dataset.select([0]).with_columns({"video": [b"other"]})
    assert contents(StoredRanges(replaced).column([0], "video")) == [None]
    with jinx.Writer(tmp_path / "more.jinx") as writer:
        writer.write({"video": LARGE[::-1]})
    both = jinx.concat([dataset, jinx.open(tmp_path / "more.jinx")])
    assert contents(StoredRanges(both).column([3, 0], "video")) == [LARGE[::-1], LARGE]
    mapped = dataset.map(lambda sample: {**sample, "video": b"made"})
    assert contents(StoredRanges(mapped).column([0], "video")) == [None]


def test_a_batch_reads_media_of_any_form(dataset):
    batch = jp.Batch(dataset, roles=jp.Roles(videos="video", audios="meta.clip"))
    media = batch.media("videos")
    assert [[medium.bytes for medium in sample] for sample in media] == [[LARGE], [b"small"], [bytes(100_000)]]
    assert [[medium.size for medium in sample] for sample in media] == [[100_000], [5], [100_000]]
    assert batch.media("audios")[0][0].bytes == LARGE
    with media[0][0].stream() as stream:
        stream.seek(-10, 2)
        assert stream.read() == LARGE[-10:]


def test_a_range_is_a_file_of_its_own(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with RangeFile(str(path), 10, 20) as file:
        assert file.read(5) == bytes(range(10, 15))
        assert file.seek(-3, os.SEEK_END) == 17
        assert file.read() == bytes(range(27, 30))
        assert file.read() == b""
        assert file.seek(100) == 100
        assert file.read(1) == b""
        with pytest.raises(ValueError, match="before the beginning"):
            file.seek(-1)


def test_a_fact_is_computed_once():
    medium, calls = Media(b"abc", jp.Roles()), []

    def measure(medium):
        calls.append(medium)
        return medium.size

    assert [medium.fact("size", measure), medium.fact("size", measure)] == [3, 3]
    assert len(calls) == 1


def test_streams_that_cannot_be_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (("none.mp4", "No such file"), ("pipe", "not a regular file")):
        with pytest.raises(MediaError, match=problem):
            Media(name, jp.Roles(media_root=str(tmp_path))).stream()
