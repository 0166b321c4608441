"""Filters of videos that read headers alone."""

from io import BufferedReader

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.sample.media import Media, MediaError
from jinx_pipeline.sample.range_file import RangeFile

pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")


def stats(name, *data, **parameters):
    samples = [{"videos": [video]} for video in data]
    marked = jp.create(name, **parameters)(samples, keep_stats=True, drop=False)
    return [sample["__dj__stats__"] for sample in marked]


@pytest.mark.parametrize("kind", videos.GOOD)
def test_facts(kind):
    data = videos.GOOD[kind]()
    rotated = kind == "rotated"
    [found] = stats("video_resolution_filter", data)
    assert found == {"video_width": [96 if rotated else 192], "video_height": [192 if rotated else 96]}
    assert stats("video_aspect_ratio_filter", data) == [{"video_aspect_ratios": [0.5 if rotated else 2.0]}]
    assert stats("video_duration_filter", data)[0]["video_duration"] == pytest.approx([2.0], abs=0.02)


@pytest.mark.parametrize("container", ["mp4", "matroska"])
def test_durations_are_those_of_the_picture(container):
    data = videos.video(container=container, sound="aac", sound_seconds=5.0)
    assert stats("video_duration_filter", data)[0]["video_duration"] == pytest.approx([2.0], abs=0.001)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotations(degrees):
    assert facts_of(Media(videos.video(2, rotation=degrees), jp.Roles()), "test").rotation == degrees


def test_durations_of_odd_videos():
    found = stats("video_duration_filter", videos.ODD["one frame"](), videos.ODD["no times"]())
    assert [value["video_duration"] for value in found] == [[pytest.approx(0.04)], [pytest.approx(0.8)]]


@pytest.mark.parametrize("kind", videos.HOSTILE)
def test_videos_without_facts(kind):
    with pytest.raises(MediaError, match="bytes"):
        stats("video_resolution_filter", videos.HOSTILE[kind]())


def test_a_codec_that_is_not_there_is_named_as_the_reason():
    with pytest.raises(MediaError, match="a codec that FFmpeg does not have"):
        stats("video_duration_filter", videos.HOSTILE["unknown codec"]())


@pytest.mark.parametrize(
    "text", ["#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n", "ffconcat version 1.0\nfile {}\n"]
)
def test_a_playlist_opens_no_other_file(text, tmp_path):
    (tmp_path / "secret.mp4").write_bytes(videos.video(2))
    with pytest.raises(MediaError, match="not a video"):
        stats("video_duration_filter", text.format(tmp_path / "secret.mp4").encode())


def test_few_bytes_of_a_large_file_are_read(tmp_path, monkeypatch):
    path = tmp_path / "large.mp4"
    data = videos.video(25)
    path.write_bytes(data[:32] + b"\0\0\0\1free" + (16 + (1 << 30)).to_bytes(8, "big"))
    with path.open("r+b") as file:
        file.seek(32 + 16 + (1 << 30))
        file.write(data[32:])
    count = 0

    class CountedFile(RangeFile):
        def readinto(self, buffer):
            nonlocal count
            size = super().readinto(buffer)
            count += size
            return size

    def counted(medium):
        return BufferedReader(CountedFile(str(medium.file), 0, medium.size))

    monkeypatch.setattr(Media, "stream", counted)
    assert facts_of(Media(str(path), jp.Roles()), "test").frames == 25
    assert count < 1_000_000


def test_headers_are_read_once(monkeypatch):
    opened = []
    original = Media.stream
    monkeypatch.setattr(Media, "stream", lambda medium: opened.append(medium) or original(medium))
    names = ("video_duration_filter", "video_resolution_filter", "video_aspect_ratio_filter")
    fused = jp.FusedOp(operators=[jp.create(name) for name in names])
    assert len(fused([{"videos": [videos.video(5), videos.video(6)]}])) == 1
    assert len(opened) == 2


def test_bounds():
    samples = [{"videos": [videos.video(5)]}, {"videos": [videos.video(50)]}, {"videos": []}]
    assert jp.create("video_duration_filter", max_duration=1)(samples) == samples[::2]  # without videos: it stays
    assert jp.create("video_aspect_ratio_filter", min_ratio="16:9", max_ratio="2/1")(samples) == samples
    assert jp.create("video_aspect_ratio_filter", max_ratio=1.5, any_or_all="all")(samples) == samples[2:]
    assert jp.create("video_resolution_filter", min_width=193)(samples) == samples[2:]


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"min_ratio": "x"}, "min_ratio is 'x'"),
        ({"min_ratio": "1/0"}, "min_ratio is '1/0'"),
        ({"min_ratio": 3}, "above max_ratio"),
    ],
)
def test_ratios_that_are_none(parameters, problem):
    with pytest.raises(jp.ParameterError, match=problem):
        jp.create("video_aspect_ratio_filter", **parameters)
