"""Videos are kept by tags that they have, or that CLIP finds."""

import pytest

import jinx_pipeline as jp
from pipeline.operators.tiny_models import save_clip

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return save_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def media():
    return [videos.video(frames=frames, size=(32, 32), cuts=()) for frames in (4, 9)]


@pytest.mark.parametrize(
    ("contain", "any_or_all", "kept"),
    [("any", "any", [0, 1]), ("any", "all", [1]), ("all", "any", [1]), ("all", "all", [])],
)
def test_tags_of_samples_decide(clip, media, contain, any_or_all, kept):
    samples = [
        {"videos": media, "number": 0, "__dj__meta__": {"video_frame_tags": [["Cat"], ["mat"]]}},
        {"videos": media, "number": 1, "__dj__meta__": {"video_frame_tags": [["dog", "cat", "x"], ["dog"]]}},
        {"videos": media, "number": 2, "__dj__meta__": {"video_frame_tags": [[], []]}},
    ]
    operator = jp.create(
        "video_tagging_from_frames_filter", hf_clip=clip, tags=["cat", "DOG"], contain=contain, any_or_all=any_or_all
    )
    assert [sample["number"] for sample in operator(samples)] == kept


def test_other_videos_are_tagged_as_the_mapper_does(clip, media):
    tags, options = ["cat", "dog", "red thing"], {"frame_sampling_method": "uniform", "frame_num": 2}
    samples = [{"videos": media[:1]}, {"videos": media[1:]}]
    every = {"hf_clip": clip, "tags": tags, **options}
    scores = [jp.create("video_tagging_from_frames_mapper", min_score=low, **every)(samples) for low in (-1, 0, 0.1)]
    for low, tagged in zip((-1, 0, 0.1), scores, strict=True):
        operator = jp.create("video_tagging_from_frames_filter", contain="all", min_score=low, **every)
        found = operator(samples, keep_stats=True, drop=False)
        expected = [[int(set(tags) == set(sample["__dj__meta__"]["video_frame_tags"][0]))] for sample in tagged]
        assert [sample["__dj__stats__"]["video_has_tags"] for sample in found] == expected
    assert len(scores[0][0]["__dj__meta__"]["video_frame_tags"][0]) == len(tags)
