"""Operators on videos through the whole engine: blocks, workers, and media that cannot be read."""

import pytest

import jinx
import jinx_pipeline as jp
from pipeline.made import digest, rows_of

videos = pytest.importorskip("make_media.videos")
sounds = pytest.importorskip("make_media.sounds")

STEPS = [
    ("video_resolution_filter", {"min_width": 90}),
    ("video_split_by_duration_mapper", {"split_duration": 0.5, "keep_original_sample": False}),
    ("video_extract_frames_mapper", {"frame_sampling_method": "uniform", "frame_num": 2}),
    ("video_resize_resolution_mapper", {"max_width": 96}),
    ("video_duration_filter", {"min_duration": 0.3}),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Ten videos, of which three cannot be read."""
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    hostile = [make() for name, make in videos.HOSTILE.items() if name in {"empty", "truncated", "a text"}]
    with jinx.Writer(path) as writer:
        for n in range(10):
            video = hostile[n // 3 - 1] if n in {3, 6, 9} else videos.video(15 + n, first=20 * n)
            writer.write({"n": n, "videos": [video]})
    return path


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_the_same_bytes_with_any_workers(data, tmp_path):
    flow = jp.Dataset.load(data).process([jp.create(name, **parameters) for name, parameters in STEPS])
    for workers in (1, 4):
        result = flow.export(tmp_path / str(workers), workers=workers, block_rows=3, max_bad_rows=3)
        assert sorted(row.row for row in result.bad_rows) == [3, 6, 9]
        assert all("is not a video" in row.error for row in result.bad_rows)
    assert digest(tmp_path / "1") == digest(tmp_path / "4")
    rows = rows_of(tmp_path / "1")
    assert [row["n"] for row in rows] == [0, 1, 2, 4, 5, 7, 7, 8, 8]
    for row in rows:
        numbers = videos.numbers(row["videos"][0])
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert [len(frames) for frames in row["video_frames"]] == [2]
        assert row["clip"]["source"] == str(row["n"])
