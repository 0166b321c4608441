"""Media decoded when they are touched."""

import io

import numpy as np
import pytest
from PIL import Image

import jinx

SIZE = (6, 4)


def picture(colour: str, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZE, colour).save(out, kind)
    return out.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("decode") / "a.jinx"
    media = {"image": "Image", "frames[]": "Image", "turns[].picture": "Image"}
    with jinx.Writer(path, media=media) as writer:
        for colour in ("red", "green"):
            writer.write(
                {
                    "image": picture(colour),
                    "frames": [picture(colour), picture("blue", "JPEG")],
                    "turns": [{"text": "a", "picture": picture(colour)}, {"text": "b", "picture": None}],
                    "other": picture(colour),
                    "broken": b"this is no image" * 20,
                }
            )
    return path


def test_the_default_is_bytes(path):
    assert jinx.open(path)[0]["image"] == picture("red")


def test_true_decodes_what_is_known_as_media(path):
    sample = jinx.open(path, decode=True)[1]
    assert sample["image"].size == SIZE
    assert [frame.size for frame in sample["frames"]] == [SIZE, SIZE]
    assert sample["turns"][0]["picture"].getpixel((0, 0)) == (0, 128, 0)
    assert sample["turns"][1] == {"text": "b", "picture": None}
    assert sample["other"] == picture("green")


def test_true_looks_at_the_first_sample_where_the_writer_named_no_media(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        for colour in ("red", "green"):
            frames = [{"picture": picture(colour), "text": "t"}]
            writer.write({"image": picture(colour), "frames": frames, "blob": b"no picture" * 20, "none": None})
    sample = jinx.open(tmp_path / "a.jinx", decode=True)[1]
    assert (sample["image"].size, sample["frames"][0]["picture"].size) == (SIZE, SIZE)
    assert (sample["frames"][0]["text"], sample["blob"], sample["none"]) == ("t", b"no picture" * 20, None)
    assert isinstance(jinx.open(tmp_path / "a.jinx")[1]["image"], bytes)


def test_named_columns_and_kinds(path):
    sample = jinx.open(path, decode={"image": "numpy", "other": "pil"})[0]
    assert sample["image"].shape == (*SIZE[::-1], 3)
    assert sample["image"].dtype == np.uint8
    assert sample["other"].size == SIZE
    assert sample["frames"][0] == picture("red")


def test_a_value_is_decoded_once(path):
    sample = jinx.open(path, decode=True)[0]
    assert sample["image"] is sample["image"]


def test_everything_that_reads_decodes(path):
    ds = jinx.open(path, decode={"image": "numpy"})
    assert [array.shape for array in ds["image"]] == [(4, 6, 3)] * 2
    assert next(ds.iter_batches(2, columns=["image"], format="numpy"))["image"].shape == (2, 4, 6, 3)
    assert ds.take([1], columns=["image"])[0]["image"].shape == (4, 6, 3)
    assert ds[::-1][0]["image"][0, 0].tolist() == [0, 128, 0]
    assert dict(ds[0])["image"].shape == (4, 6, 3)
    assert ds.decode(None)[0]["image"] == picture("red")


def test_repr_decodes_nothing(path):
    assert "bytes" in repr(jinx.open(path, decode={"broken": "pil"})[0])


def test_concat_decodes_each_part_as_asked(path, tmp_path):
    whole = jinx.open(path)
    with pytest.raises(ValueError, match="differ in decode"):
        whole.decode({"image": "numpy"}) + whole.decode({"image": "pil"})
    parts: list[jinx.Dataset] = []
    for name, value in (("list", [picture("red")]), ("dict", {"deep": picture("red")})):
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write({"image": value})
        parts.append(jinx.open(tmp_path / f"{name}.jinx").decode({"image": "numpy"}))
    for ordered in (parts, parts[::-1]):
        first, second = (sample["image"] for sample in jinx.concat([*ordered, parts[0][:0]]))
        (in_list,), in_dict = (first, second["deep"]) if ordered is parts else (second, first["deep"])
        assert in_list.shape == in_dict.shape == (*SIZE[::-1], 3)


def test_what_is_no_image_is_a_named_error(path):
    sample = jinx.open(path, decode={"broken": "pil"})[0]
    with pytest.raises(jinx.CorruptFileError, match=r"'broken'.*not an image"):
        sample["broken"]


def test_bad_requests_are_named(path):
    with pytest.raises(KeyError, match="did you mean 'image'"):
        jinx.open(path, decode={"imge": "pil"})
    with pytest.raises(ValueError, match="use 'pil', 'numpy' or 'audio'"):
        jinx.open(path, decode={"image": "jpeg"})


def test_audio_anywhere_in_a_sample(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    out = io.BytesIO()
    soundfile.write(out, np.linspace(-0.5, 0.5, 800), 8000, format="WAV")
    media = {"sound": "Audio", "turns[].sound": "Audio"}
    with jinx.Writer(tmp_path / "a.jinx", media=media) as writer:
        writer.write({"sound": out.getvalue(), "turns": [{"sound": out.getvalue()}, {"sound": None}]})
    sample = jinx.open(tmp_path / "a.jinx", decode=True)[0]
    for sound in (sample["sound"], sample["turns"][0]["sound"]):
        assert (sound["sampling_rate"], sound["array"].shape, sound["array"].dtype) == (8000, (800,), np.float32)
        assert sound["array"][-1] == pytest.approx(0.5, abs=1e-3)
    assert sample["turns"][1] == {"sound": None}
