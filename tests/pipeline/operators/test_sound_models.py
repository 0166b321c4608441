"""Operators that classify the sound of videos give what transformers gives for the same model."""

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.sample.media import Media
from pipeline.operators.tiny_models import save_ast, save_wav2vec

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("av")
pytest.importorskip("soundfile")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

LABELS = ["speech", "music", "noise", "dog", "rain"]


@pytest.mark.parametrize("save", [save_ast, save_wav2vec])
def test_the_class_of_a_sound(tmp_path, save):
    path = save(tmp_path / "model", LABELS)
    media = [videos.video(frames=frames, sound="aac", size=(32, 32), cuts=()) for frames in (25, 50, 25)]
    media.append(videos.video(frames=25, sound="libopus", container="matroska", size=(32, 32), cuts=()))
    silent = videos.video(frames=5, size=(32, 32), cuts=())
    samples = [{"videos": media[:3]}, {"videos": [media[3], silent]}, {"videos": []}]
    found = jp.create("video_tagging_from_audio_mapper", hf_ast=path)(samples)
    expected = [expected_class(path, data) for data in media]
    tags = [sample["__dj__meta__"]["video_audio_tags"] for sample in found]
    assert tags == [expected[:3], [expected[3], "EMPTY"], []]


def expected_class(path, data):
    model = transformers.AutoModelForAudioClassification.from_pretrained(path).eval()
    extractor = transformers.AutoFeatureExtractor.from_pretrained(path)
    sound = mono_at(Media(data, jp.Roles()), "test", 16_000)
    with torch.no_grad():
        logits = model(**extractor(sound, sampling_rate=16_000, return_tensors="pt")).logits
    return LABELS[int(logits.argmax())]
