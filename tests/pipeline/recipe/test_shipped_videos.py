"""The shipped recipes for videos and audios, each run on media made here with 1 and 4 workers."""

import numpy as np
import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from pipeline.made import digest

sounds = pytest.importorskip("make_media.sounds")
videos = pytest.importorskip("make_media.videos")


def films():
    """Videos of two scenes; then ones that are bad, of which two cannot be read."""

    def film(first, **options):
        return videos.video(**({"frames": 50, "cuts": (25,), "size": (320, 240), "first": first, "gop": 25} | options))

    good = [film(0), film(50, rotation=90)]
    still = film(150, step=0, frames=30, cuts=(), gop=30)
    bad = [film(100, frames=10, cuts=()), film(0, size=(320, 120)), good[0], still, b"no video" * 9, good[0][:4000]]
    return "videos", [*good, *bad], {0: 2, 1: 2}, 2


def recordings(seconds):
    good = [sounds.tone(seconds, hertz=hertz) for hertz in (300, 440, 520)]
    bad = [sounds.tone(0.1), np.zeros((int(16_000 * seconds), 1), dtype=np.float32)]
    broken = [sounds.without_channels(), sounds.with_nan() * 1, b"no sound" * 300]
    audios = [*(sounds.encoded(samples, kind="FLAC") for samples in good), *map(sounds.encoded, bad), *broken]
    return "audios", audios, dict.fromkeys(range(3), 1), None


MADE = {
    "audio-music": lambda: recordings(6),
    "audio-speech": lambda: recordings(2),
    "general-video": films,
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_recipe_keeps_what_is_good(tmp_path, name):
    for package in ("av", "cv2", "soundfile"):
        pytest.importorskip(package)
    column, media, expected, broken = MADE[name]()
    source = tmp_path / "in.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"id": at, column: [medium]} for at, medium in enumerate(media))
    outputs = {workers: tmp_path / workers / "out.jinx" for workers in ("1", "4")}
    for workers, out in outputs.items():
        out.parent.mkdir()
        command = ["run", name, "--in", str(source), "--out", str(out), "--workers", workers, "--progress", "none"]
        done = CliRunner().invoke(pipeline, command)
        assert done.exit_code == 0, done.output
    assert digest(outputs["1"]) == digest(outputs["4"])
    with jinx.open(outputs["1"], lazy=False) as dataset:
        kept = [sample["id"] for sample in dataset]
    assert {at: kept.count(at) for at in kept} == expected
    assert broken is None or f"{broken} rows" in done.output
