"""Operators on images."""

import io

import pytest
from PIL import Image, ImageFile, ImageOps, PngImagePlugin, WebPImagePlugin

import jinx
import jinx_pipeline as jp
from jinx_pipeline.sample.media import Media


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "png")
    return out.getvalue()


IMAGES = [{"images": [png(100, 50), png(10, 100)]}, {"images": [png(20, 20)]}, {"images": []}]


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        # The sample without images stays.
        ({"min_width": 20}, [0, 1, 2]),
        ({"min_width": 50, "any_or_all": "all"}, [2]),
        ({"min_width": 50, "min_height": 100}, [2]),
        ({"max_width": 100, "any_or_all": "all"}, [0, 1, 2]),
    ],
)
def test_image_shape(parameters, kept):
    samples = [{**sample, "id": at} for at, sample in enumerate(IMAGES)]
    assert [sample["id"] for sample in jp.create("image_shape_filter", **parameters)(samples)] == kept


def test_image_statistics_are_lists():
    marked = jp.create("image_shape_filter")(IMAGES, keep_stats=True, drop=False)
    assert marked[0]["__dj__stats__"] == {"image_width": [100, 10], "image_height": [50, 100]}
    ratios = jp.create("image_aspect_ratio_filter")(IMAGES, keep_stats=True, drop=False)
    assert [sample["__dj__stats__"]["aspect_ratios"] for sample in ratios] == [[2.0, 0.1], [1.0], []]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_sizes_are_those_of_the_image_as_it_is_shown(kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    Image.new("RGB", (64, 48)).save(out, kind, exif=exif)
    [sample] = jp.create("image_shape_filter")([{"images": [out.getvalue()]}], keep_stats=True, drop=False)
    width, height = ImageOps.exif_transpose(Image.open(out)).size
    assert sample["__dj__stats__"] == {"image_width": [width], "image_height": [height]}


def test_sizes_of_images_are_read_without_decoding(monkeypatch):
    images: list[bytes] = []
    for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
        out = io.BytesIO()
        Image.new("RGB", (64, 48)).save(out, kind)
        images.append(out.getvalue())
    for plugin in (ImageFile.ImageFile, PngImagePlugin.PngImageFile, WebPImagePlugin.WebPImageFile):
        monkeypatch.setattr(plugin, "load", lambda self: pytest.fail("decoded"))
    [sample] = jp.create("image_shape_filter")([{"images": images}], keep_stats=True, drop=False)
    assert sample["__dj__stats__"]["image_width"] == [64] * 4


def test_an_image_is_opened_once_for_several_filters(monkeypatch):
    opened = []
    original = Media._opened

    def counted(self):
        if self._image is None:
            opened.append(self)
        return original(self)

    monkeypatch.setattr(Media, "_opened", counted)
    fused = jp.FusedOp(
        operators=[
            jp.create("image_shape_filter", any_or_all="all"),
            jp.create("image_aspect_ratio_filter", any_or_all="all", min_ratio=0),
            jp.create("image_shape_filter", min_width=2, any_or_all="all"),
        ]
    )
    assert len(fused(IMAGES)) == 3
    assert len(opened) == 3


def test_an_image_column_of_a_dataset(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for size in (10, 200, 30):
            writer.write({"size": size, "image": png(size, 10)})
    view = jp.create("image_shape_filter", min_width=20)(
        jinx.open(tmp_path / "in.jinx"), roles=jp.Roles(images="image"), keep_stats=True
    )
    assert list(view["size"]) == [200, 30]
    assert view[0]["__dj__stats__"] == {"image_width": [200], "image_height": [10]}
