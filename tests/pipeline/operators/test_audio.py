"""Operators on audio: durations, sizes, noise, filters of FFmpeg."""

import io
import sys

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.audio.nmf import signal_to_noise
from jinx_pipeline.operators.audio.waveform import waveform_of
from jinx_pipeline.sample.media import Media, MediaError

soundfile = pytest.importorskip("soundfile")
sounds = pytest.importorskip("make_media.sounds")
videos = pytest.importorskip("make_media.videos")


def stats(name, *audios, **parameters):
    [marked] = jp.create(name, **parameters)([{"audios": list(audios)}], keep_stats=True, drop=False)
    return next(iter(marked["__dj__stats__"].values()))


@pytest.mark.parametrize("kind", sounds.GOOD)
def test_durations(kind):
    assert stats("audio_duration_filter", sounds.GOOD[kind]()) == [pytest.approx(1.0)]


def test_durations_of_files(tmp_path):
    (tmp_path / "long.wav").write_bytes(sounds.wav(2))
    samples = [{"audios": ["long.wav"]}, {"audios": [sounds.wav(0.5)]}]
    kept = jp.create("audio_duration_filter", min_duration=1)(samples, roles=jp.Roles(media_root=str(tmp_path)))
    assert kept == samples[:1]


def test_formats_that_only_ffmpeg_knows():
    aac = videos.without_picture()
    assert stats("audio_duration_filter", aac) == [pytest.approx(1.0, abs=0.05)]
    waveform = waveform_of(Media(aac, jp.Roles()), "test")
    assert waveform.rate == 48_000
    assert len(waveform.samples) == pytest.approx(48_000, abs=2100)


@pytest.mark.parametrize("kind", sounds.HOSTILE)
def test_sounds_that_cannot_be_decoded(kind):
    with pytest.raises(MediaError, match="is not audio") as error:
        waveform_of(Media(sounds.HOSTILE[kind](), jp.Roles()), "test")
    assert " at 0x" not in str(error.value)


def test_sounds_that_are_refused(monkeypatch):
    with pytest.raises(MediaError, match="not finite"):
        stats("audio_nmf_snr_filter", sounds.with_nan())
    monkeypatch.setattr("jinx_pipeline.operators.audio.waveform.MAX_VALUES", 15_000)
    with pytest.raises(MediaError, match="limit is 15000"):
        stats("audio_nmf_snr_filter", sounds.wav())


def test_sizes():
    assert stats("audio_size_filter", sounds.wav()) == [32_044]
    samples = [{"audios": [sounds.wav()]}, {"audios": [sounds.wav(0.1)]}]
    assert jp.create("audio_size_filter", min_size="20KB")(samples) == samples[:1]
    assert jp.create("audio_size_filter", max_size=10_000)(samples) == samples[1:]
    for parameters in ({"min_size": "many"}, {"min_size": "2MB", "max_size": "1MB"}):
        with pytest.raises(jp.ParameterError, match="min_size"):
            jp.create("audio_size_filter", **parameters)


def test_signal_to_noise():
    clean, loud = sounds.tone(2.0)[:, 0], sounds.noisy(2.0, noise=0.3)[:, 0]
    assert signal_to_noise(np.zeros(16_000, dtype=np.float32), 500) == sys.float_info.max
    assert np.isfinite(signal_to_noise(clean, 500))
    assert signal_to_noise(loud, 500) == signal_to_noise(loud, 500)
    assert np.isfinite(signal_to_noise(clean[:100], 500))
    stereo = sounds.encoded(sounds.tone(1.0, channels=2))
    assert stats("audio_nmf_snr_filter", stereo) == pytest.approx(stats("audio_nmf_snr_filter", sounds.wav()))


def test_a_waveform_is_decoded_once(monkeypatch):
    medium, opens = Media(sounds.wav(), jp.Roles()), []
    original = Media.stream
    monkeypatch.setattr(Media, "stream", lambda medium: opens.append(medium) or original(medium))
    first = waveform_of(medium, "test")
    count = len(opens)
    assert waveform_of(medium, "test") is first
    assert len(opens) == count + 1  # its header


@pytest.mark.parametrize("kind", sounds.GOOD)
def test_noise_keeps_the_format(kind):
    data = sounds.GOOD[kind]()
    [made] = jp.create("audio_add_gaussian_noise_mapper", p=1, max_amplitude=0.1, min_amplitude=0.09)(
        [{"audios": [data]}]
    )
    before, after = (soundfile.info(io.BytesIO(audio)) for audio in (data, made["audios"][0]))
    facts = ("format", "subtype", "samplerate", "channels", "frames")
    assert [getattr(before, fact) for fact in facts] == [getattr(after, fact) for fact in facts]
    noise = [soundfile.read(io.BytesIO(audio))[0] for audio in (data, made["audios"][0])]
    assert np.std(noise[1] - noise[0]) == pytest.approx(0.095, rel=0.5)


def test_the_seed_decides_on_noise():
    samples = [{"audios": [sounds.wav(0.1)]} for _ in range(40)]
    noisy = jp.create("audio_add_gaussian_noise_mapper", p=0.5)
    first, again = (noisy(samples, ctx=jp.Context(seed=3)) for _ in range(2))
    assert first == again
    changed = sum(after != before for before, after in zip(samples, first, strict=True))
    assert 5 < changed < 35
    assert noisy(samples, ctx=jp.Context(seed=4)) != first
    with pytest.raises(jp.ParameterError, match="is not below"):
        jp.create("audio_add_gaussian_noise_mapper", min_amplitude=0.5)


@pytest.mark.parametrize("kind", sounds.GOOD)
def test_filters_of_ffmpeg(kind):
    pytest.importorskip("av")
    trim = jp.create("audio_ffmpeg_wrapped_mapper", filter_name="atrim", filter_kwargs={"end": 0.5})
    [made] = trim([{"audios": [sounds.GOOD[kind]()]}])
    assert stats("audio_duration_filter", made["audios"][0]) == [pytest.approx(0.5, abs=0.08)]
    quiet = jp.create("audio_ffmpeg_wrapped_mapper", filter_name="volume", filter_kwargs={"volume": 0.5})
    [made] = quiet([{"audios": [sounds.GOOD[kind]()]}])
    loudest = np.abs(waveform_of(Media(made["audios"][0], jp.Roles()), "test").samples).max()
    assert loudest == pytest.approx(0.25, abs=0.05)


def test_filters_of_ffmpeg_count_from_the_start():
    pytest.importorskip("av")
    trim = jp.create("audio_ffmpeg_wrapped_mapper", filter_name="atrim", filter_kwargs={"end": 0.5})
    [made] = trim([{"audios": [sounds.GOOD["mp3"]()]}])  # its first sample has a time of 69 ms
    assert stats("audio_duration_filter", made["audios"][0]) == [pytest.approx(0.5, abs=0.002)]


@pytest.mark.parametrize(
    ("kind", "subtype", "made"),
    [
        ("FLAC", "PCM_24", "PCM_24"),
        ("AIFF", "PCM_24", "PCM_24"),
        ("WAV", "DOUBLE", "PCM_24"),
        ("AIFF", "PCM_16", "PCM_16"),
    ],
)
def test_what_becomes_flac_keeps_its_bits(kind, subtype, made):
    pytest.importorskip("av")
    data = sounds.encoded(sounds.tone(0.5), kind=kind, subtype=subtype)
    [sample] = jp.create("audio_ffmpeg_wrapped_mapper", filter_name="anull")([{"audios": [data]}])
    info = soundfile.info(io.BytesIO(sample["audios"][0]))
    assert (info.format, info.subtype) == ("FLAC", made)
    samples = [soundfile.read(io.BytesIO(audio))[0] for audio in (data, sample["audios"][0])]
    assert np.abs(samples[1] - samples[0]).max() < (2**-22 if made == "PCM_24" else 2**-14)


def test_noise_in_a_format_that_is_not_written():
    av = pytest.importorskip("av")
    out = io.BytesIO()
    with av.open(out, "w", format="mp2") as file:
        stream = file.add_stream("mp2", rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(sounds.tone(1.0, rate=48_000).T.copy(), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 48_000, 0
        for packet in (*stream.encode(frame), *stream.encode(None)):
            file.mux(packet)
    [made] = jp.create("audio_add_gaussian_noise_mapper", p=1)([{"audios": [out.getvalue()]}])
    assert soundfile.info(io.BytesIO(made["audios"][0])).format == "WAV"


def test_no_filter_of_ffmpeg():
    samples = [{"audios": [sounds.wav()]}]
    assert jp.create("audio_ffmpeg_wrapped_mapper")(samples) == samples
    with pytest.raises(jp.ParameterError, match="has no filter"):
        jp.create("audio_ffmpeg_wrapped_mapper", filter_name="louder")
    with pytest.raises(MediaError, match="not audio"):
        jp.create("audio_ffmpeg_wrapped_mapper", filter_name="anull")([{"audios": [b"abc"]}])


def test_sounds_without_channels_or_with_nan_are_refused_by_all_that_would_pass_them_on():
    with pytest.raises(MediaError, match="no channels"):
        stats("audio_duration_filter", sounds.without_channels())
    mapper = jp.create("audio_ffmpeg_wrapped_mapper", filter_name="areverse")
    with pytest.raises(MediaError, match="not finite numbers"):
        mapper([{"audios": [sounds.with_nan()]}])
