"""Operators on speech give what transformers gives for the same model."""

import numpy as np
import pytest
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.models.speech import cut_at_quiet
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.sample.media import Media
from pipeline.operators.tiny_models import (
    age_gender_class,
    save_age_gender,
    save_ast,
    save_wav2vec,
    save_wav2vec_ctc,
    save_whisper,
)

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("av")
pytest.importorskip("soundfile")
videos = pytest.importorskip("make_media.videos")
sounds = pytest.importorskip("make_media.sounds")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

EMOTIONS = ["happy", "sad", "angry", "neutral"]


@pytest.fixture(scope="module")
def media():
    """Videos of one second and of half a second with sound, and one without."""
    made = [videos.video(frames=frames, sound="aac", size=(32, 32), cuts=()) for frames in (24, 12)]
    return [*made, videos.video(frames=5, size=(32, 32), cuts=())]


def sound_of(data):
    return mono_at(Media(data, jp.Roles()), "test", 16_000)


def facts(name, samples, **parameters):
    return [sample["__dj__meta__"] for sample in jp.create(name, **parameters)(samples)]


@pytest.mark.parametrize("languages", [["en", "de"], []])
def test_a_transcript_is_that_of_whisper(tmp_path, media, languages):
    path = save_whisper(tmp_path, languages)
    samples = [{"videos": media[:2]}, {"videos": media[2:]}, {"videos": []}]
    found = facts("video_audio_ASR_mapper", samples, model_dir_ASR=path, max_new_tokens=5)
    expected = [said_by_whisper(path, sound_of(data), languages) for data in media[:2]]
    said = [one["speech_ASR"] for one in found]
    assert said == [expected, [{"language": "", "asr": ""}], []]
    assert any(one["asr"] for one in expected)
    if languages:
        assert all(one["language"] in languages for one in expected)


def test_audios_are_kept_by_the_language_that_whisper_hears(tmp_path):
    path = save_whisper(tmp_path, ["en", "de"])
    audios = [sounds.encoded(sounds.tone(seconds, hertz=hertz)) for seconds, hertz in ((1, 300), (2.5, 700))]
    samples = [{"audios": audios}, {"audios": []}, {"audios": audios[1:]}]
    expected = [said_by_whisper(path, sound_of(data), ["en", "de"])["language"] for data in audios]
    kept = jp.create("audio_language_filter", hf_asr_model=path)(samples, keep_stats=True)
    spoken = [sample["__dj__stats__"]["audio_language"] for sample in kept]
    assert spoken == [expected, [], expected[1:]]
    other = {"en": "de", "de": "en"}[expected[0]]
    choose = jp.create("audio_language_filter", hf_asr_model=path, languages=[expected[0]], any_or_all="any")
    assert choose(samples)[0]["audios"] == audios
    assert samples[1] in choose(samples)  # a sample without audios stays
    none = jp.create("audio_language_filter", hf_asr_model=path, languages=[other], any_or_all="all")
    assert none([{"audios": audios[:1]}]) == []


def test_a_model_that_tells_no_language_is_refused(tmp_path):
    path = save_whisper(tmp_path, [])
    with pytest.raises(ValueError, match="does not tell languages"):
        jp.create("audio_language_filter", hf_asr_model=path)([{"audios": [sounds.encoded(sounds.tone(1))]}])


def test_the_recipe_for_recordings_filters_by_language_if_a_model_is_given(tmp_path, monkeypatch):
    path = save_whisper(tmp_path / "model", ["en", "de"])
    audio = sounds.encoded(sounds.tone(2, hertz=300))
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write({"id": 0, "audios": [audio]})
    command = ["run", "audio-clips", "--in", "in.jinx", "--out", "out.jinx", "--progress", "none", "--set", "min_snr=0"]
    found = []
    for words in ([], [f"--set=speech_model={path}"], [f"--set=speech_model={path}", "--set=languages=[xx]"]):
        done = CliRunner().invoke(pipeline, [*command, *words, "--overwrite", "--restart"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        found.append([sample["__dj__stats__"].get("audio_language") for sample in jinx.open("out.jinx").to_list()])
    assert found[0] == [None]
    assert found[1] in ([["en"]], [["de"]])
    assert found[2] == []


def said_by_whisper(path, sound, languages):
    model = transformers.WhisperForConditionalGeneration.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    extractor = transformers.AutoFeatureExtractor.from_pretrained(path)
    texts, options, language = [], {}, ""
    for window in cut_at_quiet(sound, 16_000, 16_000):
        features = extractor(window, sampling_rate=16_000, return_tensors="pt").input_features
        if languages:
            (number,) = model.detect_language(features).reshape(-1).tolist()
            spoken = tokenizer.convert_ids_to_tokens(number).strip("<|>")
            language = language or spoken
            options = {"language": spoken, "task": "transcribe"}
        ids = model.generate(features, max_new_tokens=5, do_sample=False, **options)
        texts.append(tokenizer.batch_decode(ids, skip_special_tokens=True)[0].strip())
    return {"language": language, "asr": " ".join(text for text in texts if text)}


def test_a_transcript_is_that_of_a_ctc_head(tmp_path, media):
    path = save_wav2vec_ctc(tmp_path)
    (found,) = facts("video_audio_ASR_mapper", [{"videos": media}], model_dir_ASR=path)
    model = transformers.Wav2Vec2ForCTC.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    extractor = transformers.AutoFeatureExtractor.from_pretrained(path)
    expected = []
    for data in media[:2]:
        with torch.no_grad():
            logits = model(extractor(sound_of(data), sampling_rate=16_000, return_tensors="pt").input_values).logits
        expected.append({"language": "", "asr": tokenizer.batch_decode(logits.argmax(dim=-1))[0].strip()})
    assert found["speech_ASR"] == [*expected, {"language": "", "asr": ""}]
    assert any(one["asr"] for one in expected)


@pytest.mark.parametrize("save", [save_ast, save_wav2vec])
def test_an_emotion_is_the_most_likely_class(tmp_path, media, save):
    path = save(tmp_path, EMOTIONS)
    (found,) = facts("video_audio_speech_emotion_mapper", [{"videos": media}], model_dir_emo=path)
    model = transformers.AutoModelForAudioClassification.from_pretrained(path).eval()
    extractor = transformers.AutoFeatureExtractor.from_pretrained(path)
    expected = []
    for data in media[:2]:
        with torch.no_grad():
            logits = model(**extractor(sound_of(data), sampling_rate=16_000, return_tensors="pt")).logits
        expected.append(EMOTIONS[int(logits.argmax())])
    assert found["speech_emotion"] == [*expected, "EMPTY"]


def test_only_videos_tagged_as_speech_are_looked_at(tmp_path, media):
    path = save_wav2vec(tmp_path, EMOTIONS)
    samples = [
        {"videos": media[:2], "__dj__meta__": {"video_audio_tags": ["Music", "Speech"]}},
        {"videos": media[:2], "__dj__meta__": {"other": 1}},
    ]
    first, second = facts("video_audio_speech_emotion_mapper", samples, model_dir_emo=path)
    assert first["speech_emotion"] == ["EMPTY", second["speech_emotion"][1]]
    assert second["speech_emotion"][0] in EMOTIONS
    assert first["video_audio_tags"] == ["Music", "Speech"]
    wrong = [{"videos": media[:2], "__dj__meta__": {"video_audio_tags": ["Speech"]}}]
    with pytest.raises(ValueError, match="2 videos"):
        facts("video_audio_speech_emotion_mapper", wrong, model_dir_emo=path)


def test_age_and_gender_are_those_of_the_heads(tmp_path, media):
    path = save_age_gender(tmp_path)
    (found,) = facts("video_audio_detect_age_gender_mapper", [{"videos": media}], hf_audio_mapper=path)
    model = age_gender_class().from_pretrained(path).eval()
    extractor = transformers.AutoFeatureExtractor.from_pretrained(path)
    *voices, silent = found["audio_speech_attribute"]
    for data, voice in zip(media[:2], voices, strict=True):
        with torch.no_grad():
            age, gender = model(extractor(sound_of(data), sampling_rate=16_000, return_tensors="pt").input_values)
        assert voice["Age"] == [int(float(age) * 100)]
        probabilities = [voice[name][0] for name in ("female", "male", "child")]
        assert probabilities == pytest.approx(gender[0].tolist(), abs=1e-5)
    assert silent == {"Age": [], "female": [], "male": [], "child": []}


def test_models_of_another_class_are_refused(tmp_path):
    path = save_wav2vec(tmp_path, EMOTIONS)
    with pytest.raises(jp.ParameterError, match="is not a model that transcribes speech"):
        jp.create("video_audio_ASR_mapper", model_dir_ASR=path)
    with pytest.raises(jp.ParameterError, match="is not a model of age and gender"):
        jp.create("video_audio_detect_age_gender_mapper", hf_audio_mapper=path)


def test_a_long_sound_is_cut_where_it_is_quiet():
    rate = 1000
    sound = np.sin(np.arange(0, 65 * rate, dtype=np.float32))
    sound[27_400:27_700] = 0
    windows = cut_at_quiet(sound, 30 * rate, rate)
    assert np.array_equal(np.concatenate(windows), sound)
    assert 27_400 <= len(windows[0]) <= 27_700
    assert all(0 < len(window) <= 30 * rate for window in windows)


@pytest.mark.parametrize("count", [0, 1, 5, 999, 1000, 1001, 2501])
@pytest.mark.parametrize("longest", [1, 2, 10, 1000])
def test_windows_of_any_length_are_the_whole_sound(count, longest):
    count = min(count, 200 * longest)
    sound = np.arange(count, dtype=np.float32)
    windows = cut_at_quiet(sound, longest, 100)
    assert np.array_equal(np.concatenate(windows), sound)
    assert all(len(window) <= longest for window in windows)
