"""Operators on images, on images of every kind."""

import io

import numpy as np
import pytest
from PIL import Image, ImageFilter

import jinx_pipeline as jp
from jinx_pipeline.operators.image.blur import blurred
from pipeline.operators.images import all_kinds, animated, encoded, hostile, photo, rotated_exif, with_alpha

KINDS = all_kinds()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        ({}, [0, 1, 2]),
        ({"min_size": "1KB"}, [1, 2]),
        ({"min_size": 1024, "max_size": "1.5 KiB"}, [1]),
        ({"min_size": "1.5kb", "any_or_all": "all"}, []),
        ({"max_size": "1MB", "any_or_all": "all"}, [0, 1, 2]),
    ],
)
def test_sizes(tmp_path, parameters, kept):
    (tmp_path / "a.png").write_bytes(bytes(3000))
    samples = [
        {"images": [bytes(10)]},
        {"images": [bytes(1024)]},
        {"images": [bytes(5), str(tmp_path / "a.png")]},
        {"images": []},
    ]
    made = jp.create("image_size_filter", **parameters)(samples, keep_stats=True)
    expected = [samples[at] for at in kept] + ([samples[3]] if parameters.get("any_or_all") == "all" else [])
    assert [sample["images"] for sample in made] == [sample["images"] for sample in expected]
    (measured,) = jp.create("image_size_filter")([samples[2]], keep_stats=True)
    assert measured["__dj__stats__"]["image_sizes"] == [5, 3000]


@pytest.mark.parametrize("size", ["ten", "-1", "1XB", ""])
def test_wrong_sizes(size):
    with pytest.raises(jp.ParameterError, match="min_size"):
        jp.create("image_size_filter", min_size=size)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", ["mean", "box", "gaussian"])
def test_blurred_images_keep_what_they_are(name, kind):
    before = Image.open(io.BytesIO(KINDS[name]))
    (made,) = jp.create("image_blur_mapper", p=1, blur_type=kind, radius=2)([{"images": [KINDS[name]]}])
    after = opened(made["images"][0])
    assert after.size == before.size
    assert after.format == (before.format if name != "ppm" else "PNG")
    assert getattr(after, "n_frames", 1) == getattr(before, "n_frames", 1)
    expected = {"one bit": "L", "palette": "RGB", "transparent palette": "RGBA"}.get(name, before.mode)
    if "animated" not in name and "alpha" not in name:
        assert after.mode == expected
        sharpness = [np.abs(np.diff(np.asarray(one.convert("F")), axis=1)).mean() for one in (before, after)]
        assert sharpness[1] <= sharpness[0] * 1.02


def test_blur_is_pillow_s():
    image = photo()
    (made,) = jp.create("image_blur_mapper", p=1, blur_type="box", radius=3)([{"images": [encoded(image)]}])
    assert (np.asarray(opened(made["images"][0])) == np.asarray(image.filter(ImageFilter.BoxBlur(3)))).all()


@pytest.mark.parametrize("kind", ["mean", "box", "gaussian"])
def test_deep_images_are_blurred_like_others(kind):
    plain = photo(80, 60).convert("L")
    deep = Image.fromarray(np.asarray(plain).astype(np.uint16) * 257)
    expected = np.asarray(blurred(plain, kind, 2)).astype(int)
    found = np.asarray(blurred(deep, kind, 2)).astype(int) / 257
    assert np.abs(found - expected)[3:-3, 3:-3].max() < (8 if kind == "gaussian" else 1.1)


def test_hidden_colours_do_not_bleed():
    after = np.asarray(blurred(with_alpha(), "gaussian", 2)).astype(int)
    visible = after[..., 3] > 20
    assert (after[visible][:, 1] < 60).all()


def test_metadata_and_times_stay():
    blur = jp.create("image_blur_mapper", p=1)
    (made,) = blur([{"images": [rotated_exif(), animated("GIF"), animated("WEBP")]}])
    turned, gif, webp = (Image.open(io.BytesIO(data)) for data in made["images"])
    assert turned.getexif()[0x0112] == 6
    for image in (gif, webp):
        durations = []
        for number in range(3):
            image.seek(number)
            image.load()
            durations.append(image.info["duration"])
        assert durations == [50, 100, 150]
    assert gif.info["loop"] == 2


def test_which_images_are_blurred_depends_on_seed_and_id():
    samples = [{"images": [encoded(photo(seed=seed))]} for seed in range(40)]
    blur = jp.create("image_blur_mapper", p=0.5)
    first, again = blur(samples), blur(samples)
    other = blur(samples, ctx=jp.Context(seed=1))
    changed = [one != two for one, two in zip(first, samples, strict=True)]
    assert first == again != other
    assert 8 < sum(changed) < 32
    assert jp.create("image_blur_mapper", p=0)(samples) == samples


def test_images_anywhere_in_a_sample(tmp_path):
    data = encoded(photo())
    (tmp_path / "a.png").write_bytes(data)
    blur = jp.create("image_blur_mapper", p=1)
    parts = [{"type": "text", "text": "x"}, {"type": "image", "image": data}]
    for value, roles in [
        (data, {}),
        ({"bytes": data, "path": None, "more": 1}, {}),
        ([{"path": str(tmp_path / "a.png")}], {}),
        ([{"content": parts}, {"content": ""}], {"images": "images[*].content"}),
        ([], {}),
        (None, {}),
        ([None, ""], {}),
    ]:
        (made,) = blur([{"images": value}], roles=jp.Roles(**roles))
        assert type(made["images"]) is type(value)
        assert (made["images"] != value) == bool(value and value != [None, ""])
    assert made == {"images": [None, ""]}
    assert (tmp_path / "a.png").read_bytes() == data


@pytest.mark.parametrize("where", ["save_dir", "media_dir"])
def test_files(tmp_path, where):
    blur = jp.create("image_blur_mapper", p=1, **({"save_dir": str(tmp_path)} if where == "save_dir" else {}))
    ctx = jp.Context(media_dir=tmp_path if where == "media_dir" else None)
    (made,) = blur([{"images": [encoded(photo(), "JPEG"), encoded(photo())]}], ctx=ctx)
    assert [path.rpartition(".")[2] for path in made["images"]] == ["jpg", "png"]
    assert sorted(map(str, tmp_path.iterdir())) == sorted(made["images"])


@pytest.mark.parametrize("name", hostile())
def test_what_is_no_image_is_an_error_with_its_reason(name):
    with pytest.raises(ValueError, match=r"decode|image|pixels|truncated"):
        jp.create("image_blur_mapper", p=1)([{"images": [hostile()[name]]}])


def test_an_animation_with_too_many_pixels(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 64 * 48)
    with pytest.raises(ValueError, match="5 frames of 64 x 48 pixels are too many"):
        jp.create("image_blur_mapper", p=1)([{"images": [animated("GIF", 5)]}])
    with pytest.raises(ValueError, match="decompression bomb"):
        jp.create("image_blur_mapper", p=1)([{"images": [encoded(photo(128, 100))]}])
