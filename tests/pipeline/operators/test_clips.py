"""Clips of videos: exact to the frame, by copying and by encoding, with the sound in step."""

from fractions import Fraction
from io import BytesIO
from itertools import chain

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video.clips import Span, cut, spans, timeline_of
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.scenes import content_cuts, fade_cuts
from jinx_pipeline.sample.media import Media, MediaError

av = pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
images = pytest.importorskip("make_media.images")


def media(data):
    return Media(data, jp.Roles())


def clips_of(data, length, how="auto"):
    medium = media(data)
    clips = list(cut(medium, "test", spans(timeline_of(medium, "test").end, length, 0, 0), how))
    return [(clip, content(clip)) for clip in clips]


def content(clip):
    with clip.file as file:
        return file.read()


def rotation_of(data):
    with av.open(BytesIO(data)) as container:
        return next(container.decode(video=0)).rotation


def codec_of(data):
    with av.open(BytesIO(data)) as container:
        return container.streams.video[0].codec_context.name


def test_spans():
    assert [span.start for span in spans(25, 10, 0, 0)] == [0, 10, 20]
    assert [span.start for span in spans(25, 10, 0, 6)] == [0, 10]
    assert [span.start for span in spans(20, 10, 0, 0)] == [0, 10]
    assert [span.start for span in spans(25, 10, 5, 0)] == [0, 5, 10, 15]
    assert spans(0, 10, 0, 0) == []


@pytest.mark.parametrize("how", ["auto", "copy", "exact"])
@pytest.mark.parametrize("kind", videos.GOOD)
def test_each_frame_is_in_one_clip(kind, how):
    clips = clips_of(videos.GOOD[kind](), 0.48, how)
    numbers = [videos.numbers(data) for _, data in clips]
    assert list(chain.from_iterable(numbers)) == list(range(50))
    if (kind, how) != ("mpeg4", "copy"):  # its groups are open: there is one key frame where a clip may begin
        assert [len(clip) for clip in numbers] == [12, 12, 12, 12, 2]
    ends = [(clip.start, clip.stop) for clip, _ in clips]
    assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]]
    assert {rotation_of(data) for _, data in clips} == {90 if kind == "rotated" else 0}


@pytest.mark.parametrize(("codec", "name"), [("libsvtav1", "av1"), ("libx265", "hevc"), ("libvpx-vp9", "vp9")])
def test_packets_of_each_codec_are_copied(codec, name):
    if codec not in av.codecs_available:
        pytest.skip(f"FFmpeg was built without {codec}")
    source = videos.video(codec=codec, b_frames=0)
    clips = [data for _, data in clips_of(source, 0.96, "copy")]
    assert list(chain.from_iterable(map(videos.numbers, clips))) == list(range(50))
    assert codec_of(clips[0]) == codec_of(source)
    assert facts_of(media(videos.video(5, codec=codec, container="matroska")), "test").codec == name


@pytest.mark.parametrize("how", ["auto", "exact"])
def test_clips_begin_with_the_first_frame_that_an_edit_list_shows(how):
    clips = clips_of(videos.with_hidden_start(7), 0.48, how)
    assert list(chain.from_iterable(videos.numbers(data) for _, data in clips)) == list(range(7, 50))
    assert (clips[0][0].start, clips[0][0].stop) == pytest.approx((0, 0.48))
    for _, data in clips:
        with av.open(BytesIO(data)) as container:
            assert next(container.decode(video=0)).time == 0
    [(start, stop)] = videos.loud_spans(clips[0][1])
    assert (start, stop) == pytest.approx((0, 0.22), abs=0.05)


@pytest.mark.parametrize("kind", videos.ODD)
def test_clips_of_odd_videos(kind):
    data = videos.ODD[kind]()
    numbers = [videos.numbers(clip) for _, clip in clips_of(data, 0.48)]
    assert list(chain.from_iterable(numbers)) == videos.numbers(data)


@pytest.mark.parametrize("kind", ["empty", "truncated", "no picture", "a text", "unknown codec"])
def test_videos_that_cannot_be_cut(kind):
    with pytest.raises(MediaError, match="Media"):
        clips_of(videos.HOSTILE[kind](), 1)


def test_a_sound_in_an_unknown_codec_is_left_out_alone():
    clips = clips_of(videos.video(sound="aac").replace(b"mp4a", b"zzza"), 1)
    assert sum(len(videos.numbers(clip)) for _, clip in clips) == 50


def test_cuts_between_key_frames_encode():
    data = videos.video(50, gop=12)
    assert [len(videos.numbers(clip)) for _, clip in clips_of(data, 0.5)] == [13, 12, 13, 12]
    assert [len(videos.numbers(clip)) for _, clip in clips_of(data, 0.5, "copy")] == [24, 12, 12, 2]
    vp9 = videos.video(24, codec="libvpx-vp9", container="webm")
    assert {codec_of(clip) for _, clip in clips_of(vp9, 0.48)} == {"vp9"}
    assert {codec_of(clip) for _, clip in clips_of(vp9, 0.3)} == {"h264"}


def test_clips_at_key_frames_are_copied_and_others_encoded():
    data = videos.video(36, codec="libvpx-vp9", container="webm")  # with key frames at 0, 12 and 24
    spans = [Span(0, 0.48), Span(0.48, 0.8), Span(0.8, 0.96), Span(0.96, 2)]
    clips = [content(clip) for clip in cut(media(data), "test", spans)]
    assert [codec_of(clip) for clip in clips] == ["vp9", "h264", "h264", "vp9"]
    assert list(chain.from_iterable(map(videos.numbers, clips))) == list(range(36))


def test_scenes_are_divided_or_left_out_by_length():
    split = jp.create("video_split_by_scene_mapper", min_scene_len=3, max_seconds=0.5, min_seconds=0.3)
    made = split([{"videos": [videos.video(70, cuts=(25, 30), speed=0)]}])
    shown = [videos.numbers(sample["videos"][0]) for sample in made]
    assert [(first[0], len(first)) for first in shown] == [(0, 13), (13, 12), (30, 10), (40, 10), (50, 10), (60, 10)]


def test_overlapping_clips():
    data = videos.video(50)
    clips = cut(media(data), "test", [Span(0, 1), Span(0.5, 1.5), Span(1, 9)], "exact")
    assert [videos.numbers(content(clip)) for clip in clips] == [
        list(range(25)),
        list(range(13, 38)),
        list(range(25, 50)),
    ]


@pytest.mark.parametrize("how", ["copy", "exact"])
def test_sound_stays_in_step(how):
    data = videos.video(75, sound="aac", gop=25)
    for _, clip in clips_of(data, 1, how):
        start, stop = max(videos.loud_spans(clip), key=lambda span: span[1] - span[0])
        assert start == pytest.approx(0, abs=0.03)
        assert stop == pytest.approx(0.5, abs=0.03)


def test_the_same_bytes_again():
    data = videos.video(50, sound="libopus", container="matroska")
    for how in ("copy", "exact"):
        assert [clip for _, clip in clips_of(data, 0.5, how)] == [clip for _, clip in clips_of(data, 0.5, how)]


def test_a_video_without_times_cannot_be_copied():
    with pytest.raises(MediaError, match="lacks times"):
        clips_of(videos.ODD["no times"](), 1, "copy")


@pytest.mark.parametrize(("codec", "name"), [("libx264", "h264"), ("libx265", "hevc")])
def test_raw_streams_are_encoded_and_not_copied(codec, name):
    if codec not in av.codecs_available:
        pytest.skip(f"FFmpeg was built without {codec}")
    data = videos.video(50, codec=codec, container=name)
    for how in ("auto", "exact"):
        numbers = [videos.numbers(clip) for _, clip in clips_of(data, 0.96, how)]
        assert list(chain.from_iterable(numbers)) == list(range(50))
        assert [len(clip) for clip in numbers] == [24, 24, 2]
    with pytest.raises(MediaError, match=r"lacks times or key frames, as raw streams do.*`cut: exact`"):
        clips_of(data, 0.96, "copy")


def with_times_of_decoding(data):
    """A video whose frames are shown in another order than their times say, in a container that allows it."""
    made = BytesIO()
    with av.open(BytesIO(data)) as source, av.open(made, "w", format="matroska") as target:
        stream = target.add_stream_from_template(source.streams.video[0], opaque=True)
        for number, packet in enumerate(packet for packet in source.demux(video=0) if packet.size):
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 25)
            target.mux(packet)
    return made.getvalue()


def test_frames_in_another_order_than_their_times_are_named():
    if "libx265" not in av.codecs_available:
        pytest.skip("FFmpeg was built without libx265")
    data = with_times_of_decoding(videos.video(50, codec="libx265", container="hevc"))
    with pytest.raises(MediaError, match="not in the order of their times"):
        clips_of(data, 0.96, "exact")


def test_packets_that_a_container_refuses_are_named(monkeypatch):
    """The source was read; what cannot be written is not said to be unreadable."""
    monkeypatch.setattr("jinx_pipeline.operators.video.encode._IN_MP4", {"mjpeg", "vp8"})
    data = videos.video(50, codec="libvpx", container="webm")
    with pytest.raises(MediaError, match=r"cannot be copied into MP4: .*; encode it with `cut: exact`"):
        clips_of(data, 0.96, "copy")


def test_samples_of_clips():
    sample = {"id": 7, "text": "<__dj__video> a film", "videos": [videos.video(25, rate=10)]}
    made = jp.create("video_split_by_duration_mapper", split_duration=1)([sample])
    assert made[0] == sample
    assert [len(videos.numbers(clip["videos"][0])) for clip in made[1:]] == [10, 10, 5]
    assert {clip["text"] for clip in made} == {"<__dj__video> a film"}
    assert [clip["clip"] for clip in made[1:]] == [
        {"source": "0", "video": 0, "start": 0.0, "end": 1.0},
        {"source": "0", "video": 0, "start": 1.0, "end": 2.0},
        {"source": "0", "video": 0, "start": 2.0, "end": 2.5},
    ]
    again = jp.create("video_split_by_duration_mapper", split_duration=0.5, keep_original_sample=False)(made[2:3])
    assert [clip["clip"]["start"] for clip in again] == [1.0, 1.5]
    other = jp.create("video_split_by_duration_mapper", split_duration=1, save_field="clips", clip_field=None)([sample])
    assert [sorted(row) for row in other[1:]] == [["clips", "id", "text", "videos"]] * 3


def test_clips_of_several_videos_in_files(tmp_path):
    pair = [videos.video(10, rate=10, sound="aac"), videos.video(10, rate=10)]
    split = jp.create("video_split_by_duration_mapper", split_duration=0.5, keep_original_sample=False)
    ctx = jp.Context(media_dir=tmp_path / "clips")
    made = split([{"text": "<__dj__video> one <__dj__video> two", "videos": pair}], ctx=ctx)
    assert [sample["text"] for sample in made] == ["<__dj__video> one  two"] * 2 + [" one <__dj__video> two"] * 2
    assert [sample["clip"]["video"] for sample in made] == [0, 0, 1, 1]
    paths = [sample["videos"][0] for sample in made]
    assert sorted(str(file) for file in (tmp_path / "clips").glob("*/*")) == sorted(paths)
    assert [len(videos.numbers(path)) for path in paths] == [5] * 4


def test_parameters_of_clips():
    with pytest.raises(jp.ParameterError, match="less than split_duration"):
        jp.create("video_split_by_duration_mapper", split_duration=1, overlap_duration=1)
    with pytest.raises(jp.ParameterError, match="video_backend"):
        jp.create("video_split_by_key_frame_mapper", video_backend="av")


def test_key_frames():
    made = jp.create("video_split_by_key_frame_mapper", keep_original_sample=False)([{"videos": [videos.video(30)]}])
    assert [videos.numbers(sample["videos"][0]) for sample in made] == [
        list(range(12)),
        list(range(12, 24)),
        list(range(24, 30)),
    ]


@pytest.mark.parametrize("parameters", [{}, {"detector": "AdaptiveDetector", "threshold": 3.0}])
def test_scenes(parameters):
    data = videos.video(100, cuts=(25, 50, 77), gop=200)
    made = jp.create("video_split_by_scene_mapper", **parameters)([{"videos": [data]}])
    assert [len(videos.numbers(sample["videos"][0])) for sample in made] == [25, 25, 27, 23]
    assert len(jp.create("video_split_by_scene_mapper", **parameters)([{"videos": [videos.video(30)]}])) == 1


def test_rules_of_cuts():
    scores = videos.np.array([0, 50, 0, 50, 0, 0, 50.0])
    assert content_cuts(scores, 27, 2) == [3, 6]
    assert content_cuts(scores, 27, 0) == [1, 3, 6]
    levels = videos.np.array([90, 90, 5, 5, 5, 90, 90, 3.0])
    assert [fade_cuts(levels, 12, 1, bias) for bias in (-1, 0, 1)] == [[2], [4], [5]]


def test_clips_of_a_codec_that_cannot_be_copied_are_encoded():
    medium = media(images.png(64, 48))
    assert [codec_of(content(clip)) for clip in cut(medium, "test", [Span(0, 9)])] == ["h264"]
    with pytest.raises(MediaError, match="a codec that clips cannot hold"):
        list(cut(medium, "test", [Span(0, 9)], "copy"))
