"""Operators on faces, on drawn ones that the cascade takes for real."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

import jinx_pipeline as jp
from jinx_pipeline.operators import FusedOp
from pipeline.operators.images import animated, encoded, photo

pytest.importorskip("cv2")
SIDE = 120
# A head, hair, the sockets of the eyes, eyes, brows, a nose and a mouth: shape, rectangle, brightness.
PARTS = [
    ("ellipse", (18, 8, 102, 116), 200),
    ("rectangle", (18, 0, 102, 18), 40),
    ("ellipse", (31, 44, 53, 56), 90),
    ("ellipse", (67, 44, 89, 56), 90),
    ("ellipse", (37, 47, 47, 55), 30),
    ("ellipse", (73, 47, 83, 55), 30),
    ("rectangle", (30, 38, 54, 42), 60),
    ("rectangle", (66, 38, 90, 42), 60),
    ("polygon", (60, 50, 53, 74, 67, 74), 225),
    ("rectangle", (52, 74, 68, 77), 130),
    ("ellipse", (43, 87, 77, 97), 100),
]


def faces(*places: tuple[int, int]) -> Image.Image:
    """Faces on a grey image of 400 x 300."""
    face = Image.new("L", (SIDE, SIDE), 90)
    draw = ImageDraw.Draw(face)
    for shape, rectangle, brightness in PARTS:
        getattr(draw, shape)(rectangle, fill=brightness)
    image = Image.new("RGB", (400, 300), (110, 110, 110))
    for place in places:
        image.paste(face.filter(ImageFilter.GaussianBlur(2)).convert("RGB"), place)
    return image


ONE, TWO, NONE = faces((40, 60)), faces((40, 60), (230, 100)), photo(400, 300)


@pytest.mark.parametrize(("image", "count"), [(ONE, 1), (TWO, 2), (NONE, 0)])
def test_faces_are_counted_and_measured(image, count):
    (marked,) = FusedOp(operators=[jp.create("image_face_count_filter"), jp.create("image_face_ratio_filter")])(
        [{"images": [encoded(image)]}], keep_stats=True, drop=False
    )
    stats = marked["__dj__stats__"]
    assert stats["face_counts"] == [count]
    assert stats["face_ratios"] == [pytest.approx(0.1, abs=0.03) if count else 0.0]


@pytest.mark.parametrize(
    ("name", "parameters", "kept"),
    [
        ("image_face_count_filter", {}, [0]),
        ("image_face_count_filter", {"min_face_count": 0, "any_or_all": "all"}, [0, 2]),
        ("image_face_count_filter", {"min_face_count": 2, "max_face_count": 5}, [1]),
        ("image_face_ratio_filter", {}, [0, 1, 2]),
        ("image_face_ratio_filter", {"min_ratio": 0.05}, [0, 1]),
    ],
)
def test_filters(name, parameters, kept):
    samples = [{"images": [encoded(image)]} for image in (ONE, TWO, NONE)]
    assert jp.create(name, **parameters)(samples) == [samples[at] for at in kept]


def test_faces_are_found_once_for_all_operators(monkeypatch):
    import cv2

    from jinx_pipeline.operators.image import faces as module

    class Counted:
        def __init__(self, real):
            self.real, self.calls = real, 0

        def detectMultiScale(self, *args, **kwargs):  # noqa: N802 - OpenCV's name
            self.calls += 1
            return self.real.detectMultiScale(*args, **kwargs)

    counted = Counted(cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_alt.xml"))
    monkeypatch.setattr(module, "_classifier", lambda operator, path: counted)
    names = ["image_face_count_filter", "image_face_ratio_filter", "image_face_blur_mapper"]
    made = FusedOp(operators=[jp.create(name) for name in names])([{"images": [encoded(ONE)]}])
    assert len(made) == 1
    assert counted.calls == 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_only_faces_are_blurred_in_images_of_any_orientation(orientation):
    undo = {
        2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_90", 7: "TRANSVERSE",
        8: "ROTATE_270",
    }  # fmt: skip
    stored = ONE if orientation == 1 else ONE.transpose(Image.Transpose[undo[orientation]])
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(stored, "PNG", exif=exif)
    (made,) = jp.create("image_face_blur_mapper", radius=6)([{"images": [data]}])
    with Image.open(io.BytesIO(made["images"][0])) as image:
        assert image.getexif()[0x0112] == orientation
        back = image if orientation == 1 else image.transpose(Image.Transpose[REDO[orientation]])
        changed = np.abs(np.asarray(back.convert("L")).astype(int) - np.asarray(ONE.convert("L"))) > 8
    rows, columns = np.nonzero(changed)
    assert len(rows) > 500
    assert 55 <= rows.min() <= rows.max() <= 185
    assert 35 <= columns.min() <= columns.max() <= 165


REDO = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270"} | {
    7: "TRANSVERSE",
    8: "ROTATE_90",
}


def test_images_without_faces_stay():
    samples = [{"images": [encoded(NONE, "JPEG"), animated("GIF")]}]
    assert jp.create("image_face_blur_mapper")(samples) == samples


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "LA"])
def test_faces_in_images_of_every_mode(mode):
    data = encoded(ONE.convert(mode), "JPEG" if mode == "CMYK" else "PNG", quality=95)
    (made,) = jp.create("image_face_blur_mapper", radius=8)([{"images": [data]}])
    assert made["images"][0] != data or mode == "1"


def test_cascades(tmp_path):
    (tmp_path / "no.xml").write_text("<xml/>")
    for path in ("no.xml", "missing.xml"):
        with pytest.raises(jp.ParameterError, match="is not a cascade"):
            jp.create("image_face_count_filter", cv_classifier=str(tmp_path / path))
    import cv2

    path = cv2.data.haarcascades + "haarcascade_eye.xml"
    (marked,) = jp.create("image_face_count_filter", cv_classifier=path)(
        [{"images": [encoded(ONE)]}], keep_stats=True, drop=False
    )
    assert isinstance(marked["__dj__stats__"]["face_counts"][0], int)
