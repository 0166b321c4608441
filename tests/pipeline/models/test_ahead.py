"""In each family of models, inputs are prepared while the model runs: each waits for the other to have begun."""

import threading
from contextlib import contextmanager

import pytest

np = pytest.importorskip("numpy")
for library in ("torch", "transformers"):
    pytest.importorskip(library, reason=f"{library} is not installed")

import jinx_pipeline as jp  # noqa: E402
from jinx_pipeline.models import (  # noqa: E402
    aesthetics,
    age_gender,
    audio_classifier,
    captioning,
    causal_lm,
    chat_captioning,
    classifier,
    clip,
    depth,
    detection,
    grounding,
    matching,
    pose,
    segmentation,
    speech,
    summarizer,
    text_area,
    text_classifier,
    text_embedding,
    video_blip,
    video_segmentation,
)
from jinx_pipeline.models.chat_captioning import Prompted  # noqa: E402
from jinx_pipeline.models.detection import Detected  # noqa: E402
from jinx_pipeline.models.grounding import Phrases  # noqa: E402
from jinx_pipeline.models.pictures import Pictures  # noqa: E402
from jinx_pipeline.models.pretrained import Pretrained  # noqa: E402
from jinx_pipeline.sample.media import Media  # noqa: E402
from jinx_pipeline.sample.roles import Roles  # noqa: E402
from pipeline.operators import tiny_models as tiny  # noqa: E402
from pipeline.operators import tiny_video_models as tiny_video  # noqa: E402
from pipeline.operators.images import photo  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

MEDIA, TEXTS = 8, 40
MEANWHILE_SECONDS = 30


class Meeting:
    """The first run of a model and the preparation of the last input, neither of which ends before both have begun."""

    def __init__(self, monkeypatch):
        self.runs, self.prepares = threading.Event(), threading.Event()
        whole, meeting = Pretrained.inference, self

        @contextmanager
        def inference(loaded):
            meeting.run()
            with whole(loaded):
                yield

        monkeypatch.setattr(Pretrained, "inference", inference)

    def run(self):
        self.runs.set()
        assert self.prepares.wait(MEANWHILE_SECONDS), "the last input is not prepared while the model runs"

    def prepare(self, *, is_last):
        if is_last:
            self.prepares.set()
            assert self.runs.wait(MEANWHILE_SECONDS), "the model does not run before the last input is prepared"


@pytest.fixture
def meeting(monkeypatch):
    return Meeting(monkeypatch)


@pytest.fixture
def ctx():
    return jp.Context(threads=1)


def model_at(path: str) -> jp.Model:
    return jp.Model(path=path, max_items=2)


def media() -> list[Media]:
    return [Media(b"not read", Roles()) for _ in range(MEDIA)]


def pictures_of(items: list[Media], meeting: Meeting, count: int = 1) -> Pictures:
    def make(medium):
        meeting.prepare(is_last=medium is items[-1])
        number = next(number for number, item in enumerate(items) if item is medium)
        yield from (photo(64, 48, number + frame) for frame in range(count))

    return Pictures(make, ("meeting",))


def classified(path, items, pictures, ctx):
    return classifier.probabilities(model_at(path), items, pictures, ctx, label="b")


def embedded(path, items, pictures, ctx):
    return clip.Clip(model_at(path), ctx).pictures(items, pictures)


def rated(path, items, pictures, ctx):
    return aesthetics.aesthetics(model_at(path), items, pictures, ctx)


def matched(path, items, pictures, ctx):
    return matching.matching(model_at(path), [("a cat", item) for item in items], pictures, ctx)


def detected(path, items, pictures, ctx):
    return detection.objects_in(model_at(path), items, pictures, ctx, min_score=0.1, max_overlap=0.5)


def grounded(path, items, pictures, ctx):
    return grounding.located(
        model_at(path), [Phrases(item, ("a cat",)) for item in items], pictures, ctx, min_score=0.1
    )


def captioned(path, items, pictures, ctx):
    return captioning.captions(model_at(path), items, pictures, ctx, count=1, prompt=None, max_new_tokens=2)


def segmented(path, items, pictures, ctx):
    return segmentation.segments_in(model_at(path), items, pictures, ctx, points=2, min_score=0.0, max_overlap=0.5)


def posed(path, items, pictures, ctx):
    return pose.people_in(model_at("detector"), model_at(path), items, pictures, ctx, min_score=0.1)


def read(path, items, pictures, ctx):
    return text_area.text_shares(model_at(path), items, pictures, ctx)


def told_of_video(path, items, pictures, ctx):
    none = [None] * len(items)
    return video_blip.video_captions(model_at(path), items, none, pictures, ctx, count=1, max_new_tokens=2)


def seen(path, items, pictures, ctx):
    asked = [Prompted(item, "What is it?") for item in items]
    return chat_captioning.seen_captions(model_at(path), asked, pictures, ctx, system=None, count=1, max_new_tokens=2)


PICTURES = {
    "classifier": (lambda path: tiny.save_vit(path, ["a", "b"]), classified),
    "clip": (tiny.save_clip, embedded),
    "aesthetics": (tiny.save_aesthetics, rated),
    "matching": (tiny.save_blip_matching, matched),
    "detection": (lambda path: tiny.save_yolos(path, ["cat"]), detected),
    "grounding": (tiny.save_owlvit, grounded),
    "captioning": (tiny.save_blip_captioner, captioned),
    "segmentation": (tiny.save_sam, segmented),
    "pose": (lambda path: tiny.save_vitpose(path, 17), posed),
    "text_area": (tiny_video.save_text_detector, read),
    "video_blip": (tiny.save_blip2, told_of_video),
    "chat_captioning": (tiny.save_llava, seen),
}


@pytest.fixture
def nobody(monkeypatch):
    """A detector that finds nothing in two frames: only people that are found have a pose."""
    monkeypatch.setattr(pose, "objects_in", lambda _, items, *__, **___: [[[], []] for _ in items])


@pytest.mark.parametrize("family", PICTURES)
@pytest.mark.usefixtures("nobody")
def test_pictures_are_decoded_while_the_model_runs(family, meeting, ctx, tmp_path):
    save, call = PICTURES[family]
    items = media()
    found = call(save(tmp_path), items, pictures_of(items, meeting, count=2), ctx)
    assert len(list(found)) == MEDIA


def test_conversations_are_processed_while_the_model_runs(meeting, ctx, tmp_path, monkeypatch):
    path, items = tiny.save_llava(tmp_path), media()
    whole = Pretrained.processed

    def processed(loaded, **inputs):
        meeting.prepare(is_last="dog" in inputs["text"][0])
        return whole(loaded, **inputs)

    monkeypatch.setattr(Pretrained, "processed", processed)
    asked = [Prompted(item, "a dog" if item is items[-1] else "a cat") for item in items]
    pictures = Pictures(lambda _: [photo(64, 48)], ("one",))
    found = chat_captioning.seen_captions(model_at(path), asked, pictures, ctx, system=None, count=1, max_new_tokens=2)
    assert len(found) == MEDIA


def test_people_are_cut_out_while_the_model_runs(meeting, ctx, tmp_path, monkeypatch):
    path, items = tiny.save_vitpose(tmp_path, 17), media()
    person = Detected("person", 0, 0.9, (8.0, 4.0, 40.0, 44.0))
    monkeypatch.setattr(pose, "objects_in", lambda _, items, *__, **___: [[[person]] for _ in items])
    loaded = ctx.model(model_at(path), pose.load_pose_estimator)
    last, processor = photo(64, 48, 99), loaded.image_processor

    class Watched:
        """The processor, which meets the model at the last picture."""

        def __getattr__(self, name):
            return getattr(processor, name)

        def __call__(self, *, images, **options):
            meeting.prepare(is_last=images is last)
            return processor(images=images, **options)

    monkeypatch.setitem(loaded.processors, "AutoImageProcessor", Watched())
    pictures = Pictures(lambda medium: [last if medium is items[-1] else photo(64, 48)], ("one",))
    found = pose.people_in(model_at("detector"), model_at(path), items, pictures, ctx, min_score=0.1)
    assert [len(people) for (people,) in found] == [1] * MEDIA


def test_frames_are_scaled_while_the_depth_model_runs(meeting, ctx, tmp_path, monkeypatch):
    loaded = ctx.model(model_at(tiny.save_depth(tmp_path)), depth.load_depth_estimator)
    frames = [photo(64, 48, number) for number in range(MEDIA)]
    pixels = loaded.pixels

    def scaled(picture):
        meeting.prepare(is_last=picture is frames[-1])
        return pixels(picture)

    monkeypatch.setattr(loaded, "pixels", scaled)
    assert len(list(depth.depths(loaded, frames, 1))) == MEDIA


def labelled(path, items, sounds, ctx):
    return audio_classifier.labels_of(model_at(path), items, sounds, ctx)


def transcribed(path, items, sounds, ctx):
    return speech.transcripts(model_at(path), items, sounds, ctx, max_new_tokens=2)


def aged(path, items, sounds, ctx):
    return age_gender.voices(model_at(path), items, sounds, ctx)


def heard(path, items, sounds, ctx):
    asked = [Prompted(item, "What is it?") for item in items]
    return chat_captioning.heard_captions(model_at(path), asked, sounds, ctx, max_new_tokens=2)


SOUNDS = {
    "audio_classifier": (lambda path: tiny.save_ast(path, ["a", "b"]), labelled),
    "speech": (tiny.save_wav2vec_ctc, transcribed),
    "age_gender": (tiny.save_age_gender, aged),
    "chat_captioning": (tiny.save_qwen_audio, heard),
}


@pytest.mark.parametrize("family", SOUNDS)
def test_sounds_are_decoded_while_the_model_runs(family, meeting, ctx, tmp_path):
    save, call = SOUNDS[family]
    items = media()

    def sounds(medium, rate):
        meeting.prepare(is_last=medium is items[-1])
        return np.sin(np.arange(rate, dtype=np.float32))

    assert len(call(save(tmp_path), items, sounds, ctx)) == MEDIA


TEXT_FAMILIES = {
    "clip": (tiny.save_clip, lambda path, texts, ctx: clip.Clip(model_at(path), ctx).texts(texts)),
    "causal_lm": (
        tiny.save_causal_lm,
        lambda path, texts, ctx: causal_lm.losses(
            model_at(path), [causal_lm.Scored("", text) for text in texts], ctx, max_length=None
        ),
    ),
    "text_classifier": (
        lambda path: tiny.save_text_classifier(path, ["a", "b"]),
        lambda path, texts, ctx: text_classifier.labels_and_scores(model_at(path), texts, ctx),
    ),
    "text_embedding": (
        tiny.save_encoder,
        lambda path, texts, ctx: text_embedding.embed_texts(model_at(path), texts, ctx),
    ),
    "summarizer": (
        tiny.save_t5,
        lambda path, texts, ctx: summarizer.summaries(model_at(path), texts, ctx, max_new_tokens=2),
    ),
}


@pytest.mark.parametrize("family", TEXT_FAMILIES)
def test_texts_become_tokens_while_the_model_runs(family, meeting, ctx, tmp_path, monkeypatch):
    save, call = TEXT_FAMILIES[family]
    texts = [" ".join(tiny.WORDS[number % 7 :][:4]) for number in range(TEXTS)]
    texts[12] += " last"  # of the second window
    encoded = Pretrained.encoded

    def watched(loaded, part, **options):
        meeting.prepare(is_last=any(text.endswith("last") for text in part))
        return encoded(loaded, part, **options)

    monkeypatch.setattr(Pretrained, "encoded", watched)
    assert len(call(save(tmp_path), texts, ctx)) == TEXTS


def test_frames_are_decoded_while_sam_2_follows_objects(meeting, ctx, tmp_path):
    loaded = ctx.model(model_at(tiny_video.save_sam2(tmp_path)), video_segmentation.load_video_segmenter)

    def frames():
        for number in range(3):
            meeting.prepare(is_last=number == 1)
            yield photo(64, 48, number)

    masks = list(video_segmentation.followed(loaded, frames(), [(8.0, 8.0, 40.0, 40.0)]))
    assert [mask.shape for mask in masks] == [(1, 48, 64)] * 3


def test_frames_are_decoded_while_raft_compares_others(meeting, ctx, tmp_path, monkeypatch):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    from jinx_pipeline.operators.video import video_motion_score_raft_filter as module

    def flow_lengths(_, pairs):
        meeting.run()
        return [1.0] * len(pairs)

    (tmp_path / "model.safetensors").touch()
    monkeypatch.setattr(module, "load_raft", lambda *_: None)
    monkeypatch.setattr(module, "flow_lengths", flow_lengths)

    def pairs():
        for number in range(12):
            meeting.prepare(is_last=number == 5)  # of the second four
            yield np.zeros((128, 128, 3), np.uint8), np.zeros((128, 128, 3), np.uint8)

    operator = jp.create("video_motion_score_raft_filter", model_path=str(tmp_path))
    assert list(operator.motions(pairs(), ctx)) == [1.0] * 12
