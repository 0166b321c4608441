"""Frames of videos: sampled, extracted, and compared for motion."""

from io import BytesIO

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.operators.video.frames import frames_at, sampled_frames
from jinx_pipeline.operators.video.video_motion_score_filter import scaled_size
from jinx_pipeline.sample.media import Media

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")


def sampled(data, method, count=1):
    frames = sampled_frames(Media(data, jp.Roles()), "test", method, count)
    return [videos.number_of(frame.to_ndarray(format="gray")) for frame in frames]


@pytest.mark.parametrize("kind", videos.GOOD)
def test_uniform_frames(kind):
    data = videos.GOOD[kind]()
    assert [sampled(data, "uniform", count) for count in (1, 2, 3)] == [[25], [0, 49], [0, 25, 49]]
    assert sampled(data, "all_frames") == list(range(50))


def test_the_last_frame_is_found_where_the_index_ends_early():
    assert sampled(videos.video(container="flv"), "uniform", 3)[::2] == [0, 49]


def test_a_sound_that_is_longer_does_not_move_frames():
    for container in ("mp4", "matroska"):
        data = videos.video(container=container, sound="aac", sound_seconds=5.0)
        assert sampled(data, "uniform", 3) == [0, 25, 49]


def test_key_frames():
    for kind in ("h264", "mpeg4", "matroska", "vp9"):
        assert sampled(videos.GOOD[kind](), "all_keyframes") == [0, 12, 24, 36, 48]
    assert len(sampled(videos.GOOD["mjpeg"](), "all_keyframes")) == 50


@pytest.mark.parametrize("kind", videos.ODD)
def test_frames_of_odd_videos(kind):
    data = videos.ODD[kind]()
    all_numbers = videos.numbers(data)
    assert sampled(data, "uniform", 2) == ([0, all_numbers[-1]] if len(all_numbers) > 1 else [0])
    assert sampled(data, "uniform", 60) == all_numbers[: len(sampled(data, "uniform", 60))]


class Counted:
    """A container that counts the packets that are taken from it."""

    def __init__(self, container):
        self.streams, self.seek, self.demuxed, self.packets = container.streams, container.seek, container.demux, 0

    def demux(self, stream):
        for packet in self.demuxed(stream):
            self.packets += 1
            yield packet


def test_few_frames_are_decoded():
    """Key frames before which B frames are decoded have an earlier time in the index than the one that is shown."""
    data, decoded = videos.video(250, gop=50), []
    with opened(Media(data, jp.Roles()), "test") as container:
        counted = Counted(container)
        for frame, _ in frames_at(counted, [0, 4, 8]):
            decoded.append(videos.number_of(frame.to_ndarray(format="gray")))
        assert decoded == [0, 100, 200]
    assert counted.packets < 20
    assert sampled(data, "uniform", 3) == [0, 125, 249]


def test_sampled_frames_are_decoded_once(monkeypatch):
    medium, opens = Media(videos.video(10), jp.Roles()), []
    original = Media.stream
    monkeypatch.setattr(Media, "stream", lambda medium: opens.append(medium) or original(medium))
    assert len(list(sampled_frames(medium, "test", "uniform", 3))) == 3
    count = len(opens)
    assert len(list(sampled_frames(medium, "test", "uniform", 3))) == 3
    assert len(opens) == count


def extracted(samples, **parameters):
    made = jp.create("video_extract_frames_mapper", **parameters)(samples)
    return [[[Image.open(BytesIO(image)) for image in frames] for frames in row["video_frames"]] for row in made]


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({}, [0, 12, 24, 36, 48]),
        ({"frame_sampling_method": "uniform"}, [0, 25, 49]),
        ({"duration": 0.3}, [0, 12, 15, 24, 36, 38, 48]),
        ({"duration": 0.5, "frame_sampling_method": "uniform", "frame_num": 2}, [0, 12, 13, 24, 25, 37, 38, 49]),
        ({"frame_sampling_method": "all_frames"}, list(range(50))),
    ],
)
def test_extracted_frames(parameters, numbers):
    [[frames]] = extracted([{"videos": [videos.video(50)]}], **parameters)
    assert [videos.number_of(np.asarray(frame)) for frame in frames] == numbers


def test_extracted_frames_are_upright():
    [[[frame, *_]], none] = extracted([{"videos": [videos.video(20, rotation=90)]}, {"videos": []}])
    assert frame.size == (96, 192)
    assert videos.number_of(np.asarray(frame.rotate(-90, expand=True))) == 0
    assert none == []


def test_extracted_frames_in_files(tmp_path):
    mapper = jp.create("video_extract_frames_mapper", frame_dir=str(tmp_path / "frames"), frame_field="shots")
    [made] = mapper([{"videos": [videos.video(13), videos.video(1)]}])
    assert [len(paths) for paths in made["shots"]] == [2, 1]
    assert sorted(path for paths in made["shots"] for path in paths) == sorted(
        str(file) for file in (tmp_path / "frames").glob("*/*")
    )


def scores(*data, **parameters):
    pytest.importorskip("cv2")
    samples = [{"videos": [video]} for video in data]
    marked = jp.create("video_motion_score_filter", **parameters)(samples, keep_stats=True, drop=False)
    return [sample["__dj__stats__"]["video_motion_score"][0] for sample in marked]


def test_motion_scores():
    slow, fast, single = scores(videos.video(50, speed=0.05), videos.video(50, speed=0.6), videos.video(1))
    assert 0 <= slow < fast < 192
    assert single == -1.0
    [share] = scores(videos.video(50, speed=0.6), relative=True)
    assert share == pytest.approx(fast / np.hypot(192, 96))
    [small] = scores(videos.video(50, speed=0.6), size=48)
    assert 0 < small < fast


def test_motion_in_a_video_that_changes_its_size():
    [score] = scores(videos.ODD["of two sizes"](), size=96)
    assert score > 0


def test_motion_between_extracted_frames():
    pytest.importorskip("cv2")
    [made] = jp.create("video_extract_frames_mapper", frame_sampling_method="all_frames", quality=100)(
        [{"videos": [videos.video(50, speed=0.6)]}]
    )
    motion = jp.create("video_motion_score_filter", frame_field="video_frames", original_fps=25, sampling_fps=2)
    [marked] = motion([made], keep_stats=True, drop=False)
    [direct] = scores(videos.video(50, speed=0.6))
    assert marked["__dj__stats__"]["video_motion_score"] == [pytest.approx(direct, rel=0.3)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((None, None, 1), (90, 160)),
        ((45, None, 1), (45, 80)),
        (([30, 40], None, 1), (30, 40)),
        ((45, 40, 1), (22, 40)),
        ((45, None, 16), (32, 80)),
    ],
)
def test_scaled_sizes(arguments, expected):
    assert scaled_size((90, 160), *arguments) == expected
    assert scaled_size((160, 90), *arguments) == expected[::-1]


def test_sizes_that_are_none():
    with pytest.raises(jp.ParameterError, match="height and width"):
        jp.create("video_motion_score_filter", size=[1, 2, 3])
