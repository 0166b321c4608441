"""A model whose `max_items` is larger than the `batch_size` of an operator gets batches of that size."""

import pytest

for library in ("torch", "transformers"):
    pytest.importorskip(library, reason=f"{library} is not installed")

import jinx_pipeline as jp  # noqa: E402
from jinx_pipeline.models.pretrained import Pretrained  # noqa: E402
from pipeline.operators import tiny_models as tiny  # noqa: E402
from pipeline.operators.images import encoded, photo  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.timeout(240)]


@pytest.fixture
def batches(monkeypatch):
    """The numbers of pictures on which a model runs."""
    counts: list[int] = []
    whole = Pretrained.on_device

    def watched(loaded, tensor):
        counts.append(len(tensor))
        return whole(loaded, tensor)

    monkeypatch.setattr(Pretrained, "on_device", watched)
    return counts


def test_a_large_batch_of_images(batches, tmp_path):
    image = encoded(photo(16, 16))
    model = jp.Model(path=tiny.save_clip(tmp_path), max_items=160)
    samples = [{"images": [image]} for _ in range(640)]
    found = jp.create("image_embedding_mapper", hf_clip=model)(samples)
    assert len(found) == 640
    assert max(batches) == 160


@pytest.mark.parametrize(
    ("name", "parameters", "rows"),
    [
        ("image_nsfw_filter", {"hf_nsfw_model": 256}, 1024),
        ("image_nsfw_filter", {"hf_nsfw_model": None}, 128),
        ("image_nsfw_filter", {"hf_nsfw_model": 8}, 128),
        ("image_text_similarity_filter", {"hf_clip": 256}, 1024),
        ("image_tagging_mapper", {"hf_clip": 256, "tags": ["cat"]}, 1024),
        # A video has many frames, all of which are in memory.
        ("video_nsfw_filter", {"hf_nsfw_model": 256}, 16),
        ("video_frames_text_similarity_filter", {"hf_clip": 256}, 16),
        ("video_tagging_from_frames_mapper", {"hf_clip": 256, "tags": ["cat"]}, 16),
    ],
)
def test_rows_at_once(name, parameters, rows):
    parameters = {
        key: value if key == "tags" else jp.Model(path="some", max_items=value) for key, value in parameters.items()
    }
    assert jp.create(name, **parameters).rows_at_once == rows
