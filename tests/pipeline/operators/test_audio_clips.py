"""Operators that normalise, split and deduplicate audio."""

import io
from itertools import pairwise

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.audio.silence import divided, levels, loud_spans

soundfile = pytest.importorskip("soundfile")
sounds = pytest.importorskip("make_media.sounds")


def decoded(data):
    return soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)


def spoken(*seconds, rate=16_000, channels=1):
    """Tones of the positive lengths, and silences of the negative ones."""
    parts = [sounds.tone(abs(n), rate=rate, channels=channels) * (n > 0) for n in seconds]
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", ["wav", "stereo", "48 kHz", "mp3"])
def test_normalised_audios_have_one_rate_channel_and_level(kind):
    [made] = jp.create("audio_normalize_mapper", level=-20)([{"audios": [sounds.GOOD[kind]()]}])
    samples, rate = decoded(made["audios"][0])
    assert rate == 16_000
    assert samples.shape == (pytest.approx(16_000, abs=1200), 1)
    middle = samples[2000:14_000, 0]
    assert 20 * np.log10(np.sqrt((middle.astype(float) ** 2).mean())) == pytest.approx(-20, abs=0.4)
    # The tone is still one of 440 Hz.
    assert np.argmax(np.abs(np.fft.rfft(middle))) * 16_000 / len(middle) == pytest.approx(440, abs=2)


def test_levels_that_would_cut_peaks():
    loud = np.zeros((16_000, 1), dtype=np.float32)
    loud[::4000] = 0.5
    for parameters, peak in (({"level": -3}, 1), ({"level": -6, "measure": "peak"}, 0.501), ({"level": None}, 0.5)):
        [made] = jp.create("audio_normalize_mapper", **parameters)([{"audios": [sounds.encoded(loud)]}])
        assert np.abs(decoded(made["audios"][0])[0]).max() == pytest.approx(peak, abs=0.001)


def test_silence_stays_silent_and_channels_may_stay():
    silence = sounds.encoded(np.zeros((8000, 2), dtype=np.float32), 8000)
    [made] = jp.create("audio_normalize_mapper", sample_rate=None, mono=False, format="WAV")([{"audios": [silence]}])
    samples, rate = decoded(made["audios"][0])
    assert rate == 8000
    assert samples.shape == (8000, 2)
    assert not samples.any()


def test_audios_are_split_at_silences():
    wave = spoken(-0.5, 1.0, -0.1, 0.5, -0.8, 0.2, -1.0, 2.0)
    split = jp.create("audio_split_by_silence_mapper", padding_seconds=0.05)
    made = split([{"id": "a", "text": "<__dj__audio> words", "audios": [sounds.encoded(wave)]}])
    # The short pause divides nothing, and the short sound makes no sample.
    assert [(sample["clip"]["start"], sample["clip"]["end"]) for sample in made] == [
        pytest.approx((0.45, 2.15), abs=0.011),
        pytest.approx((4.05, 6.1), abs=0.011),
    ]
    assert {sample["text"] for sample in made} == {"<__dj__audio> words"}
    assert made[0]["clip"] | {"start": 0, "end": 0} == {"source": "0", "audio": 0, "start": 0, "end": 0}
    for sample in made:
        samples, rate = decoded(sample["audios"][0])
        first = round(sample["clip"]["start"] * rate)
        assert len(samples) == round((sample["clip"]["end"] - sample["clip"]["start"]) * rate)
        assert np.allclose(samples, wave[first : first + len(samples)], atol=1e-4)


def test_silent_audios_make_no_sample():
    silent = sounds.encoded(np.zeros((16_000, 1), dtype=np.float32))
    assert jp.create("audio_split_by_silence_mapper")([{"audios": [silent]}, {"audios": []}]) == []


def test_long_parts_are_cut_at_their_quietest_frames():
    wave = spoken(1.2, -0.05, 1.5, -0.05, 0.6)
    frames = levels(wave[:, 0], 16_000)
    [span] = loud_spans(frames, -40, 30, 10)
    parts = divided(frames, span, 200)
    assert [first for first, _ in parts][1:] == [pytest.approx(122, abs=3), pytest.approx(278, abs=3)]
    assert all(stop == start for (_, stop), (start, _) in pairwise(parts))
    assert divided(np.zeros(10), (0, 10), 3)[-1][1] == 10
    with pytest.raises(jp.ParameterError, match="at most max_seconds"):
        jp.create("audio_split_by_silence_mapper", min_seconds=3, max_seconds=2)


def test_padding_does_not_overlap():
    wave = spoken(1.0, -0.3, 1.0)
    made = jp.create("audio_split_by_silence_mapper", padding_seconds=5, min_silence_seconds=0.2)(
        [{"audios": [sounds.encoded(wave)]}]
    )
    assert [sample["clip"]["start"] for sample in made] == [0.0, pytest.approx(1.15, abs=0.011)]
    assert made[0]["clip"]["end"] == made[1]["clip"]["start"]


def test_equal_sounds_in_other_files_are_duplicates():
    tone, other = decoded(sounds.wav(0.3))[0], sounds.tone(0.3, hertz=300)
    audios = [
        sounds.encoded(tone),
        sounds.encoded(other),
        sounds.encoded(tone, kind="FLAC"),
        sounds.encoded(tone, 8000),
    ]
    samples = [{"id": n, "audios": [data]} for n, data in enumerate(audios)] + [{"id": 9, "audios": []}] * 2
    assert [sample["id"] for sample in jp.create("audio_deduplicator")(samples)] == [0, 1, 3, 9, 9]


def test_the_signal_to_noise_ratio_of_pauses():
    def ratio(samples):
        [made] = jp.create("audio_snr_filter")([{"audios": [sounds.encoded(samples)]}], keep_stats=True, drop=False)
        return made["__dj__stats__"]["audio_snr"][0]

    rng = np.random.default_rng(0)
    noise = rng.standard_normal((32_000, 1)).astype(np.float32)
    speech = spoken(0.7, -0.2, 0.8, -0.3)
    assert ratio(0.1 * noise) < 3
    for decibels in (10, 20, 30):
        level = 0.5 / np.sqrt(2) / 10 ** (decibels / 20)
        assert ratio(speech + level * noise) == pytest.approx(decibels, abs=2)
    assert 80 < ratio(speech) < 100
    assert ratio(np.zeros((0, 1), dtype=np.float32)) == 0
