"""Large media in the sidecar of a dataset in a bucket are read by range, and in the state in which they were opened."""

import os
import struct

import pytest
from tests.bucket import served

import jinx
import jinx_pipeline as jp
from jinx_pipeline.sample.content_identity import ReplacedError
from jinx_pipeline.store import mirror

pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")

# Of the data that no header needs, as of hours of pictures.
FILLING = 24 << 20


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    (tmp_path / "bucket").mkdir()
    with served(tmp_path / "bucket") as server:
        for name, value in {**server.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(mirror, "PATIENCE_SECONDS", 1.0)
        write(server, large())
        yield server


def large():
    filling = os.urandom(FILLING)
    return videos.video(frames=12) + struct.pack(">I4s", len(filling) + 8, b"free") + filling


def write(bucket, video):
    with jinx.Writer(bucket.directory / "in.jinx", overwrite=True) as writer:
        writer.write_many({"id": n, "videos": [data]} for n, data in enumerate([video, videos.video(frames=6)]))


def batch_of(bucket):
    dataset = jinx.open(bucket.url("in.jinx"))
    bucket.forget()
    return jp.Batch(dataset)


def test_an_operator_reads_a_small_part_of_a_large_video(bucket):
    dataset = jinx.open(bucket.url("in.jinx"))
    bucket.forget()
    kept = jp.create("video_duration_filter", min_duration=0.0)(dataset, keep_stats=True, drop=False)
    assert [len(sample["__dj__stats__"]["video_duration"]) for sample in kept] == [1, 1]
    assert 0 < bucket.sent() < FILLING / 8


def test_all_bytes_are_those_of_the_sidecar(bucket):
    expected = [sample["videos"][0] for sample in jinx.open(bucket.directory / "in.jinx").to_list()]
    media = batch_of(bucket).media("videos")
    assert [medium.size for sample in media for medium in sample] == list(map(len, expected))
    assert bucket.sent() < FILLING / 8
    with media[0][0].stream() as stream:
        stream.seek(-5, os.SEEK_END)
        assert stream.read() == expected[0][-5:]
    assert bucket.sent() < FILLING / 8
    assert [medium.bytes for sample in media for medium in sample] == expected


def test_a_sidecar_that_was_replaced_is_refused(bucket):
    medium = batch_of(bucket).media("videos")[0][0]
    assert medium.size > FILLING
    write(bucket, large())
    with medium.stream() as stream:
        stream.seek(10 << 20)
        with pytest.raises(ReplacedError, match=r"in\.jinx was replaced or changed during the run") as caught:
            stream.read(100)
    assert caught.value.concerns_all_rows


def test_a_store_that_fails_ends_the_run(bucket):
    medium = batch_of(bucket).media("videos")[0][0]
    assert medium.size > FILLING
    bucket.faults.append(lambda handler, request: handler.refuse(request, 403, "ExpiredToken") or True)
    with medium.stream() as stream:
        stream.seek(10 << 20)
        with pytest.raises(mirror.StoreError, match="ExpiredToken"):
            stream.read(100)
