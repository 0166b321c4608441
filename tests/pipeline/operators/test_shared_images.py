"""Images are decoded once for all operators that work on a batch, and not at all for facts of their headers."""

from typing import ClassVar

import pytest
from PIL import ImageFile

import jinx_pipeline as jp
from jinx_pipeline.operators import FusedOp, MediaFilter
from pipeline.operators.images import encoded, photo

HEADERS = ["image_shape_filter", "image_aspect_ratio_filter", "image_size_filter"]


class Darkness(MediaFilter):
    """Measures decoded pixels."""

    stats: ClassVar = {"darkness": "list<float64>"}
    at: int = 0

    @property
    def reads(self):
        return ("images",)

    def measure_medium(self, medium):
        return {"darkness": medium.image().convert("L").getpixel((self.at, 0))}

    def keep(self, stats):
        return stats["darkness"].value_lengths().to_numpy(zero_copy_only=False) > 0


@pytest.fixture
def decoded(monkeypatch):
    """A list with an entry for each image that is decoded."""
    found = []
    load = ImageFile.ImageFile.load

    def counted(self):
        if self.tile:
            found.append(self)
        return load(self)

    monkeypatch.setattr(ImageFile.ImageFile, "load", counted)
    return found


def run(operators):
    samples = [{"images": [encoded(photo(40, 30, seed), "JPEG"), encoded(photo(30, 40, seed))]} for seed in range(4)]
    return FusedOp(operators=operators)(samples)


def test_five_filters_decode_an_image_once(decoded):
    assert len(run([Darkness(at=at) for at in range(5)])) == 4
    assert len(decoded) == 8


def test_facts_of_headers_decode_nothing(decoded):
    assert len(run([jp.create(name) for name in HEADERS])) == 4
    assert not decoded


def test_headers_and_pixels_together_decode_once(decoded):
    assert len(run([*(jp.create(name) for name in HEADERS), Darkness(), Darkness(at=1)])) == 4
    assert len(decoded) == 8
