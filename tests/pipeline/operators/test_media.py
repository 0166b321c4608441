"""Operators on images, audio and video."""

import io
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators.video.clips import spans
from jinx_pipeline.sample.media import Media


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "png")
    return out.getvalue()


def wav(seconds: float) -> bytes:
    soundfile = pytest.importorskip("soundfile")
    out = io.BytesIO()
    soundfile.write(out, np.zeros(int(8000 * seconds), dtype=np.float32), 8000, format="WAV")
    return out.getvalue()


def video(frames: int, rate: int = 10, *, sound: bool = False) -> bytes:
    """A video whose n-th frame has the brightness n."""
    av = pytest.importorskip("av")
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264" if "libx264" in av.codecs_available else "mpeg4", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        audio = container.add_stream("aac", rate=8000) if sound else None
        for number in range(frames):
            pixels = np.full((48, 64, 3), number * 255 // frames, dtype=np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")):
                container.mux(packet)
        container.mux(stream.encode(None))
        if audio is not None:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 8000 * frames // rate), dtype=np.float32), "fltp", "mono")
            silence.sample_rate = 8000
            silence.time_base = Fraction(1, 8000)
            silence.pts = 0
            container.mux(audio.encode(silence))
            container.mux(audio.encode(None))
    return out.getvalue()


def brightness(data: bytes) -> list[float]:
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(data)) as container:
        return [float(frame.to_ndarray(format="gray").mean()) for frame in container.decode(video=0)]


IMAGES = [{"images": [png(100, 50), png(10, 100)]}, {"images": [png(20, 20)]}, {"images": []}]


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        ({"min_width": 20}, [0, 1]),
        ({"min_width": 50, "any_or_all": "all"}, [2]),
        ({"min_width": 50, "min_height": 100}, []),
        ({"max_width": 100, "any_or_all": "all"}, [0, 1, 2]),
    ],
)
def test_image_shape(parameters, kept):
    samples = [{**sample, "id": at} for at, sample in enumerate(IMAGES)]
    assert [sample["id"] for sample in jp.create("image_shape_filter", **parameters)(samples)] == kept


def test_image_statistics_are_lists():
    marked = jp.create("image_shape_filter")(IMAGES, keep_stats=True, drop=False)
    assert marked[0]["__dj__stats__"] == {"image_width": [100, 10], "image_height": [50, 100]}
    ratios = jp.create("image_aspect_ratio_filter")(IMAGES, keep_stats=True, drop=False)
    assert [sample["__dj__stats__"]["aspect_ratios"] for sample in ratios] == [[2.0, 0.1], [1.0], []]


def test_an_image_is_opened_once_for_several_filters(monkeypatch):
    opened = []
    original = Media._opened

    def counted(self):
        if self._image is None:
            opened.append(self)
        return original(self)

    monkeypatch.setattr(Media, "_opened", counted)
    fused = jp.FusedOp(
        operators=[
            jp.create("image_shape_filter", any_or_all="all"),
            jp.create("image_aspect_ratio_filter", any_or_all="all", min_ratio=0),
            jp.create("image_shape_filter", min_width=2, any_or_all="all"),
        ]
    )
    assert len(fused(IMAGES)) == 3
    assert len(opened) == 3


def test_an_image_column_of_a_dataset(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for size in (10, 200, 30):
            writer.write({"size": size, "image": png(size, 10)})
    view = jp.create("image_shape_filter", min_width=20)(
        jinx.open(tmp_path / "in.jinx"), roles=jp.Roles(images="image"), keep_stats=True
    )
    assert list(view["size"]) == [200, 30]
    assert view[0]["__dj__stats__"] == {"image_width": [200], "image_height": [10]}


def test_audio_duration(tmp_path):
    (tmp_path / "long.wav").write_bytes(wav(2))
    samples = [{"audios": ["long.wav"]}, {"audios": [wav(0.5)]}]
    marked = jp.create("audio_duration_filter")(
        samples, roles=jp.Roles(media_root=str(tmp_path)), keep_stats=True, drop=False
    )
    assert [sample["__dj__stats__"]["audio_duration"] for sample in marked] == [[2.0], [0.5]]
    assert len(jp.create("audio_duration_filter", min_duration=1)(samples[1:])) == 0
    with pytest.raises(ValueError, match=r"3 bytes.* is not audio"):
        jp.create("audio_duration_filter")([{"audios": [b"abc"]}])


def test_video_duration():
    samples = [{"videos": [video(20)]}, {"videos": [video(5)]}]
    marked = jp.create("video_duration_filter")(samples, keep_stats=True, drop=False)
    durations = [sample["__dj__stats__"]["video_duration"][0] for sample in marked]
    assert durations == pytest.approx([2.0, 0.5], abs=0.01)
    assert jp.create("video_duration_filter", max_duration=1)(samples) == samples[1:]
    with pytest.raises(ValueError, match=r"3 bytes.* is not a video"):
        jp.create("video_duration_filter")([{"videos": [b"abc"]}])


def test_spans_of_clips():
    assert [span.start for span in spans(25, 10, 0, 0)] == [0, 10, 20]
    assert [span.start for span in spans(25, 10, 0, 6)] == [0, 10]
    assert [span.start for span in spans(20, 10, 0, 0)] == [0, 10]
    assert [span.start for span in spans(25, 10, 5, 0)] == [0, 5, 10, 15]
    assert spans(0, 10, 0, 0) == []


def test_clips_have_each_frame_once():
    samples = [{"id": 7, "text": "<__dj__video> a film", "videos": [video(25)]}]
    split = jp.create("video_split_by_duration_mapper", split_duration=1)
    made = split(samples)
    assert [sample["id"] for sample in made] == [7, 7, 7, 7]
    assert made[0] == samples[0]
    clips = [brightness(sample["videos"][0]) for sample in made[1:]]
    assert [len(clip) for clip in clips] == [10, 10, 5]
    whole = brightness(samples[0]["videos"][0])
    assert [level for clip in clips for level in clip] == pytest.approx(whole, abs=6)
    assert {sample["text"] for sample in made} == {"<__dj__video> a film"}


def test_clips_of_several_videos_with_sound_in_files(tmp_path):
    samples = [{"text": "<__dj__video> one <__dj__video> two", "videos": [video(10, sound=True), video(10)]}]
    split = jp.create("video_split_by_duration_mapper", split_duration=0.5, keep_original_sample=False)
    made = split(samples, ctx=jp.Context(media_dir=tmp_path / "clips"))
    assert [sample["text"] for sample in made] == ["<__dj__video> one  two"] * 2 + [" one <__dj__video> two"] * 2
    assert sorted(str(file) for file in (tmp_path / "clips").iterdir()) == sorted(
        sample["videos"][0] for sample in made
    )
    av = pytest.importorskip("av")
    with av.open(made[1]["videos"][0]) as container:
        assert len(list(container.decode(video=0))) == 5
    with av.open(made[1]["videos"][0]) as container:
        sound = sum(frame.samples for frame in container.decode(audio=0))
        assert 3000 < sound < 7000


def test_clips_that_cannot_be():
    with pytest.raises(jp.ParameterError, match="less than split_duration"):
        jp.create("video_split_by_duration_mapper", split_duration=1, overlap_duration=1)
