"""What people see."""

import io

import pytest
from PIL import Image

import jinx
import samples
from jinx.notebook import MAX_HTML_BYTES, sample_html


@pytest.fixture
def ds(tmp_path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "a.jinx"))


def noise(width: int) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, width), 100).convert("RGB").save(out, "JPEG")
    return out.getvalue()


def test_repr_shows_path_samples_fields_types_sizes(ds):
    lines = repr(ds).splitlines()
    assert lines[0].endswith("a.jinx', 50 samples)")
    assert [line.split()[0] for line in lines[1:]] == list(samples.sample(0))
    assert any("float or None" in line for line in lines)
    assert any("bytes" in line and "kB" in line for line in lines)


def test_repr_of_a_sample_shows_no_flood(ds):
    text = repr(ds[4])
    assert "<bytes, 1027 bytes" in text
    assert len(text) < 600


def test_fields(ds):
    assert ds.fields["messages"] == "list"
    assert ds.fields["array"] == "ndarray"
    assert ds.select_columns(["n"]).fields == {"n": "int"}
    assert ds.map(lambda sample: {"x": sample["n"]}).fields == {"x": "int"}


def test_html_is_escaped_and_bounded(tmp_path):
    evil = "<script>alert(1)</script>"
    with jinx.Writer(tmp_path / "a.jinx", media={"image": "Image"}) as writer:
        for _ in range(8):
            sample = {f"{evil}{k}": evil * 50 for k in range(80)}
            writer.write({"image": noise(900), **sample})
    ds = jinx.open(tmp_path / "a.jinx")
    for page in (ds._repr_html_(), sample_html(ds[0])):
        assert "<script>" not in page
        assert "data:image/jpeg;base64," in page
        assert len(page.encode()) < MAX_HTML_BYTES


def test_html_shows_nested_pictures_and_no_flood(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", media={"turns[].image": "Image"}) as writer:
        turns = [{"image": noise(300), "text": "t" * 5000}, {"image": noise(200)}]
        writer.write(
            {"turns": turns, "raw": {"data": bytes(1 << 20)}, "numbers": list(range(100_000)), "é": "é" * 100_000}
        )
    ds = jinx.open(tmp_path / "a.jinx")
    for page in (ds._repr_html_(), ds[0]._repr_html_(), ds.decode(True)[0]._repr_html_()):
        assert page.count("data:image/jpeg;base64,") == 2
        assert len(page.encode()) < 30_000
    assert "bytes, 1.0 MB" in ds[0]._repr_html_()
    assert len(repr(ds[0])) < 2000


def test_a_decoded_picture_is_told_by_its_size(tmp_path):
    with jinx.Writer(tmp_path / "p.jinx") as writer:
        writer.write({"image": noise(30)})
    page = jinx.open(tmp_path / "p.jinx", decode=True)[0]._repr_html_()
    assert "data:image/jpeg" in page
    assert "30 x 30 pixels, RGB" in page


def test_html_without_pillow(ds, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "<table>" in ds._repr_html_()
    assert "bytes, 1.0 kB" in sample_html(ds[4])


def test_key_completion(ds):
    assert ds._ipython_key_completions_() == list(samples.sample(0))


def test_repr_of_a_writer(tmp_path):
    with jinx.Writer(tmp_path / "b.jinx") as writer:
        assert repr(writer).endswith("b.jinx', 0 samples)")
