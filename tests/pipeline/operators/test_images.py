"""Operators on images, on images of every kind."""

import io

import numpy as np
import pyarrow as pa
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
    expected = [*(samples[at] for at in kept), samples[3]]  # a sample without images stays
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
    assert sorted(map(str, tmp_path.glob("*/*"))) == sorted(made["images"])


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


def near_pairs(hashes: np.ndarray, distance: int) -> list[tuple[int, int]]:
    return [
        (later, first)
        for later in range(len(hashes))
        for first in range(later)
        if np.bitwise_count(hashes[later] ^ hashes[first]) <= distance
    ]


def test_near_images():
    originals = [photo(120, 90, seed) for seed in range(12)]
    variants = [
        encoded(originals[0], "JPEG", quality=40),
        encoded(originals[1].resize((300, 220))),
        encoded(originals[2].filter(ImageFilter.GaussianBlur(1))),
        encoded(originals[3], "WEBP", quality=60),
    ]
    plain = [encoded(Image.new("RGB", (40, 40), colour)) for colour in ("red", "blue")]
    samples = [{"images": [encoded(image)]} for image in originals] + [{"images": [data]} for data in variants + plain]
    samples += [{"images": []}, {"images": [variants[0], variants[1]]}]
    marked = jp.create("image_near_deduplicator")(samples, drop=False)
    assert [sample["__dj__duplicate_of"] for sample in marked] == [None] * 12 + [0, 1, 2, 3] + [None] * 4
    assert len(jp.create("image_near_deduplicator")(samples)) == 16


@pytest.mark.parametrize("distance", [0, 1, 3, 5])
def test_near_hashes_are_found_exactly(distance):
    rng = np.random.default_rng(distance)
    hashes = rng.integers(0, 1 << 64, 150, dtype=np.uint64)
    for row in range(50, 150):
        bits = rng.choice(64, size=int(rng.integers(0, 7)), replace=False)
        hashes[row] = hashes[row - 50] ^ np.bitwise_or.reduce(
            np.uint64(1) << bits.astype(np.uint64), initial=np.uint64(0)
        )
    find = jp.create("image_near_deduplicator", hamming_distance=distance, num_blocks=distance + 2)
    keep, _ = find.duplicates([pa.table({"hash": hashes})])
    parents = list(range(len(hashes)))

    def root(row: int) -> int:
        return row if parents[row] == row else root(parents[row])

    for later, first in near_pairs(hashes, distance):
        one, other = sorted((root(later), root(first)))
        parents[other] = one
    assert keep.tolist() == [root(row) == row for row in range(len(hashes))]


def grid(lines: int) -> Image.Image:
    pixels = np.full((400, 500), 255, dtype=np.uint8)
    for number in range(lines):
        pixels[40 + number * 300 // max(lines - 1, 1)][30:470] = 0
        pixels[30:370, 40 + number * 400 // max(lines - 1, 1)] = 0
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    ("image", "is_sure", "several"),
    [(grid(4), True, True), (grid(1), True, False), (photo(500, 400), False, False)],
)
def test_several_plots(image, is_sure, several):
    pytest.importorskip("cv2")
    drop = jp.create("image_subplot_filter")
    (marked,) = drop([{"images": [encoded(image)]}], keep_stats=True, drop=False)
    stats = marked["__dj__stats__"]
    assert stats["subplot_detected"] == is_sure
    assert 0 <= stats["image_subplot_confidence"][0] <= 1
    assert drop([{"images": [encoded(image)]}]) == ([] if several else [{"images": [encoded(image)]}])


def test_several_plots_in_any_or_all_images():
    pytest.importorskip("cv2")
    samples = [{"images": [encoded(grid(4)), encoded(grid(1))]}, {"images": [encoded(grid(4))]}, {"images": []}]
    assert jp.create("image_subplot_filter")(samples) == samples[2:]
    assert jp.create("image_subplot_filter", any_or_all="all")(samples) == [samples[0], samples[2]]
    assert jp.create("image_subplot_filter", min_horizontal_lines=99)(samples) == samples


def sharpness(*images: Image.Image) -> list[float]:
    operator = jp.create("image_sharpness_filter", min_sharpness=0)
    (made,) = operator([{"images": [encoded(image) for image in images]}], keep_stats=True)
    return made["__dj__stats__"]["image_sharpness"]


def test_sharpness_is_the_variance_of_the_laplacian():
    cv2 = pytest.importorskip("cv2")
    image = photo(90, 600).convert("L")  # more rows than are measured at a time
    whole = cv2.Laplacian(np.asarray(image), cv2.CV_64F, ksize=1)
    assert sharpness(image) == pytest.approx([whole[1:-1, 1:-1].var()])
    assert sharpness(Image.new("L", (2, 50)), Image.new("RGB", (50, 50), "red")) == [0.0, 0.0]


def test_blurry_images_are_dropped():
    sharp = photo(120, 90)
    values = sharpness(*(sharp.filter(ImageFilter.GaussianBlur(radius)) for radius in (0, 1, 3)))
    assert values[0] > 2 * values[1] > 2 * values[2]
    samples = [{"images": [encoded(sharp.filter(ImageFilter.GaussianBlur(radius)))]} for radius in (0, 3)]
    assert jp.create("image_sharpness_filter", min_sharpness=(values[0] + values[2]) / 2)(samples) == samples[:1]


@pytest.mark.parametrize("name", KINDS)
def test_images_of_every_kind_have_a_sharpness(name):
    (made,) = jp.create("image_sharpness_filter", min_sharpness=0)([{"images": [KINDS[name]]}], keep_stats=True)
    assert made["__dj__stats__"]["image_sharpness"][0] >= 0


@pytest.mark.parametrize("name", KINDS)
def test_images_of_every_kind_are_measured(name):
    pytest.importorskip("cv2")
    for operator in ("image_subplot_filter", "image_near_deduplicator", "image_deduplicator", "image_size_filter"):
        assert jp.create(operator)([{"images": [KINDS[name]]}]) == [{"images": [KINDS[name]]}]


SCORES = """
def score_fn(model, samples, images, device, scale=1):
    return [scale * (model or 1) * sum(image.width for image in row) for row in images]


def model_factory(factor=2):
    return factor
"""


def test_largest_losses(tmp_path):
    samples = [{"images": [encoded(photo(width, 8))]} for width in (10, 40, 20, 40, 30)]
    file = tmp_path / "loss.py"
    file.write_text(SCORES)
    select = jp.create("image_ohem_selector", score_file=str(file), topk=2)
    assert select(samples) == [samples[1], samples[3]]
    assert select.digest != jp.create("image_ohem_selector", score_file=str(file), topk=3).digest
    select = jp.create("image_ohem_selector", score_file=str(file), top_ratio=0.6, score_kwargs={"scale": -1})
    assert select(samples) == [samples[0], samples[2], samples[4]]

    def one_too_few(model, samples, images, device):
        return [1.0] * (len(samples) - 1)

    with pytest.raises(ValueError, match="4 losses for 5 samples"):
        jp.create("image_ohem_selector", score_fn=one_too_few, topk=1)(samples)
    with pytest.raises(ValueError, match="not a finite number"):
        jp.create("image_ohem_selector", score_fn=lambda *_: [float("nan")] * 5, topk=1)(samples)
    with pytest.raises(jp.ParameterError, match="give score_fn"):
        jp.create("image_ohem_selector", topk=1)
    with pytest.raises(jp.ParameterError, match="is not a file"):
        jp.create("image_ohem_selector", score_file=str(tmp_path / "none.py"), topk=1)
    file.write_text("x = 1")
    with pytest.raises(ImportError, match="no function 'score_fn'"):
        jp.create("image_ohem_selector", score_file=str(file), topk=1)(samples)
