"""Videos that are scaled or filtered: their frames, times, rotation and sound."""

from io import BytesIO

import pytest

import jinx_pipeline as jp
from jinx_pipeline.sample.media import MediaError

av = pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")


def made(name, data, **parameters):
    [sample] = jp.create(name, **parameters)([{"videos": [data]}])
    return sample["videos"][0]


def shape(data):
    with av.open(BytesIO(data)) as container:
        frame = next(container.decode(video=0))
        return frame.width, frame.height, frame.rotation


def times(data):
    with av.open(BytesIO(data)) as container:
        return [float(frame.time) for frame in container.decode(video=0)]


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({"max_width": 100}, (100, 50)),
        ({"min_height": 100}, (200, 100)),
        ({"min_width": 300, "max_height": 100}, (300, 100)),
        ({"min_width": 300, "max_height": 100, "force_original_aspect_ratio": "increase"}, (300, 150)),
        ({"min_width": 300, "max_height": 100, "force_original_aspect_ratio": "decrease"}, (200, 100)),
        ({"max_width": 100, "force_original_aspect_ratio": "decrease", "force_divisible_by": 16}, (96, 48)),
    ],
)
def test_resized_resolution(parameters, size):
    found = made("video_resize_resolution_mapper", videos.video(12), **parameters)
    assert shape(found) == (*size, 0)
    assert videos.numbers(found) == list(range(12))


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({"max_ratio": "1:1"}, (192, 192)),
        ({"max_ratio": "1:1", "strategy": "decrease"}, (96, 96)),
        ({"min_ratio": "3:1", "max_ratio": "4:1"}, (288, 96)),
        ({"min_ratio": 3, "max_ratio": 4, "strategy": "decrease"}, (192, 64)),
    ],
)
def test_resized_aspect_ratio(parameters, size):
    assert shape(made("video_resize_aspect_ratio_mapper", videos.video(5), **parameters)) == (*size, 0)


def test_rotated_videos_are_scaled_as_they_are_shown():
    upright = videos.video(5, rotation=90)  # shown as 96 x 192
    assert shape(made("video_resize_resolution_mapper", upright, max_height=100)) == (100, 50, 90)
    assert shape(made("video_resize_aspect_ratio_mapper", upright, min_ratio=1)) == (192, 192, 90)


def test_what_fits_stays_untouched():
    data = videos.video(5)
    for name in ("video_resize_resolution_mapper", "video_resize_aspect_ratio_mapper", "video_ffmpeg_wrapped_mapper"):
        assert made(name, data) is data


def test_times_and_sound_stay():
    variable = videos.GOOD["variable rate"]()
    assert times(made("video_resize_resolution_mapper", variable, max_width=96)) == pytest.approx(times(variable))
    with_sound = made("video_resize_resolution_mapper", videos.video(75, sound="aac"), max_width=96)
    assert [start for start, _ in videos.loud_spans(with_sound)] == pytest.approx([0, 1, 2], abs=0.03)


def test_filters_of_ffmpeg():
    data = videos.video(50)
    found = made("video_ffmpeg_wrapped_mapper", data, filter_name="scale", filter_kwargs={"width": 64, "height": 48})
    assert shape(found) == (64, 48, 0)
    assert len(times(made("video_ffmpeg_wrapped_mapper", data, filter_name="fps", filter_kwargs={"fps": 5}))) == 10
    turned = made("video_ffmpeg_wrapped_mapper", videos.video(5, rotation=90), filter_name="null")
    assert shape(turned) == (96, 192, 0)


def test_filters_of_ffmpeg_count_from_the_start():
    data = videos.video(50, container="mpegts")  # its first frame has a time of 1.4 s
    found = made("video_ffmpeg_wrapped_mapper", data, filter_name="trim", filter_kwargs={"end": 0.48})
    assert videos.numbers(found) == list(range(12))


@pytest.mark.parametrize(
    ("name", "problem"), [("no_such_filter", "has no filter"), ("overlay", "one input and one output")]
)
def test_filters_that_are_none(name, problem):
    with pytest.raises(jp.ParameterError, match=problem):
        jp.create("video_ffmpeg_wrapped_mapper", filter_name=name)


def test_wrong_options_of_a_filter():
    with pytest.raises(MediaError, match="the filter scale failed"):
        made("video_ffmpeg_wrapped_mapper", videos.video(2), filter_name="scale", filter_kwargs={"wide": 3})


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("video_resize_resolution_mapper", {"min_width": 10, "max_width": 5}, "no value lies between"),
        (
            "video_resize_resolution_mapper",
            {"force_original_aspect_ratio": "increase", "force_divisible_by": 3},
            "even number",
        ),
        ("video_resize_aspect_ratio_mapper", {"min_ratio": 3}, "above max_ratio"),
    ],
)
def test_parameters(name, parameters, problem):
    with pytest.raises(jp.ParameterError, match=problem):
        jp.create(name, **parameters)


def test_duplicates():
    first, other = videos.video(5), videos.video(5, first=7)
    with_sound = videos.video(5, sound="aac")
    samples = [{"videos": value} for value in ([first], [other], [with_sound], [], [], [first, other], [other, first])]
    kept = jp.create("video_deduplicator")([{**sample, "n": n} for n, sample in enumerate(samples)])
    assert [sample["n"] for sample in kept] == [0, 1, 3, 4, 5, 6]
    texts = [{"videos": [first], "text": text} for text in ("a", "b", "a")]
    assert len(jp.create("video_deduplicator", consider_text=True)(texts)) == 2
