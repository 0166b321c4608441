"""The facts of plain MP4 files are those of FFmpeg, from a few kB; all other files are left to FFmpeg."""

import io
import random
import struct
from fractions import Fraction

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video import container
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.mp4_facts import plain_facts
from jinx_pipeline.sample.media import Media

av = pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")

PLAIN = {
    "h264": videos.video,
    "with sound": lambda: videos.video(sound="aac"),
    "no b frames": lambda: videos.video(b_frames=0),
    "24 frames a second": lambda: videos.video(5, rate=24),
    "rotated": lambda: videos.video(rotation=270),
    "vp9": lambda: videos.video(5, codec="libvpx-vp9"),
    "QuickTime": lambda: videos.video(5, container="mov"),
    "one frame": lambda: videos.video(1),
    "variable rate": lambda: videos.video(times=[0.04 * n + 0.015 * (n % 3) for n in range(50)]),
    "wide pixels": lambda: written(sample_aspect_ratio=Fraction(16, 11)),
    "64 bits": lambda: in_64_bits(videos.video(5, b_frames=0)),
}


def written(movflags="", packets=5, **facts):
    """A video of beginnings of one key frame."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4", options={"movflags": movflags} if movflags else {}) as file:
        stream = file.add_stream("libx264", rate=25, options={"x264-params": "keyint=1:bframes=0:threads=1"})
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for name, value in facts.items():
            setattr(stream.codec_context, name, value)
        frame = av.VideoFrame(64, 64, "yuv420p")
        frame.pts = 0
        [data] = [bytes(packet) for packet in [*stream.encode(frame), *stream.encode(None)]]
        for number in range(packets):
            packet = av.Packet(data[: 20 + number % 2])
            packet.stream, packet.pts, packet.dts, packet.duration = stream, number, number, 1
            packet.time_base, packet.is_keyframe = Fraction(1, 25), True
            file.mux(packet)
    return out.getvalue()


def in_64_bits(data):
    """The same with the header of the picture in its long form."""
    at = data.index(b"mdhd")
    size, version, created, modified, scale, duration = struct.unpack(">I4xI4I", data[at - 4 : at + 24])
    assert version == 0
    longer = struct.pack(">I4sIQQIQ", size + 12, b"mdhd", 1 << 24, created, modified, scale, duration)
    data = bytearray(data[: at - 4] + longer + data[at + 24 :])
    for kind in (b"moov", b"trak", b"mdia"):  # which hold it
        at = data.index(kind)
        struct.pack_into(">I", data, at - 4, struct.unpack_from(">I", data, at - 4)[0] + 12)
    return bytes(data)


def of_ffmpeg(data, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(container, "plain_facts", lambda file: None)
        return facts_of(Media(data, jp.Roles()), "test")


@pytest.mark.parametrize("kind", PLAIN)
def test_the_facts_of_a_plain_file(kind, monkeypatch):
    data = PLAIN[kind]()
    found = plain_facts(io.BytesIO(data))
    assert found is not None
    assert found == of_ffmpeg(data, monkeypatch)


def cropped():
    return written(sample_aspect_ratio=Fraction(1)).replace(b"pasp", b"clap")


def with_two_pictures():
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        streams = [file.add_stream("libx264", rate=25) for _ in range(2)]
        for stream in streams:
            stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        file.start_encoding()
        for stream in streams:
            frame = av.VideoFrame(64, 64, "yuv420p")
            frame.pts = 0
            file.mux([*stream.encode(frame), *stream.encode(None)])
    return out.getvalue()


def trimmed():
    """The list of edits shows a part alone."""
    data = bytearray(videos.video(50, b_frames=0))
    struct.pack_into(">I", data, data.index(b"elst") + 12, 1000)
    return bytes(data)


LEFT = {
    "fragments": lambda: written("frag_keyframe+empty_moov"),
    "begins later": lambda: videos.video(5, times=[0.5 + 0.04 * n for n in range(5)]),
    "a part": trimmed,
    "two pictures": with_two_pictures,
    "another codec": lambda: videos.video(5, codec="mpeg4"),
    "declares more": videos.ODD["declares a million frames"],
    "matroska": lambda: videos.video(5, container="matroska"),
    "cropped": cropped,
}


@pytest.mark.parametrize("kind", LEFT)
def test_other_files_are_left_to_ffmpeg(kind, monkeypatch):
    data = LEFT[kind]()
    assert plain_facts(io.BytesIO(data)) is None
    assert facts_of(Media(data, jp.Roles()), "test") == of_ffmpeg(data, monkeypatch)


@pytest.mark.parametrize("kind", videos.HOSTILE)
def test_a_file_that_is_no_video_has_no_facts(kind):
    assert plain_facts(io.BytesIO(videos.HOSTILE[kind]())) is None


def test_a_damaged_header_raises_nothing():
    dice = random.Random(0)
    whole = videos.video(5, b_frames=0)
    start = whole.index(b"moov")
    for _ in range(3000):
        data = bytearray(whole)
        data[dice.randrange(start, len(data))] = dice.choice([0, 1, 127, 255])
        plain_facts(io.BytesIO(data[: dice.choice([len(data), dice.randrange(len(data))])]))


def test_few_bytes_of_a_long_film_are_read():
    data = written(packets=100_000)
    assert len(data) - data.index(b"moov") > 400_000

    class Counted(io.BytesIO):
        count = 0

        def read(self, size=-1, /):
            found = super().read(size)
            self.count += len(found)
            return found

    file = Counted(data)
    assert plain_facts(file).frames == 100_000
    assert file.count < 2_000
