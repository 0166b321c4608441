"""What people see."""

import io
import re
from html.parser import HTMLParser

import pytest
from PIL import Image

import jinx
import samples
from jinx._dataset.display import MAX_HTML_BYTES, sample_html


@pytest.fixture
def ds(tmp_path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "a.jinx"))


def noise(width: int) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, width), 100).convert("RGB").save(out, "JPEG")
    return out.getvalue()


def test_repr_shows_path_samples_columns_types_sizes(ds):
    lines = repr(ds).splitlines()
    assert lines[0].endswith("a.jinx', 50 samples)")
    assert [line.split()[0] for line in lines[1:]] == list(samples.sample(0))
    assert any("float or None" in line for line in lines)
    assert any("bytes" in line and "kB" in line for line in lines)


def test_repr_aligns_its_columns(ds):
    lines = repr(ds).splitlines()[1:]
    kinds = {line.index(kind) for line, kind in zip(lines, ds.schema.values(), strict=True)}
    assert len(kinds) == 1
    assert len({len(line) for line in lines if line.endswith("B")}) == 1


def test_repr_of_a_sample_shows_no_flood(ds):
    text = repr(ds[4])
    assert "<bytes, 1027 bytes" in text
    assert len(text) < 600


def test_schema(ds):
    assert ds.schema["messages"] == "list"
    assert ds.schema["array"] == "ndarray"
    assert ds.select_columns(["n"]).schema == {"n": "int"}
    assert ds.with_transform(lambda sample: {"x": sample["n"]}).schema == {"x": "int"}


class Tags(HTMLParser):
    """Which tags and attributes a page has, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


OURS = {"div", "b", "code", "table", "thead", "tbody", "tr", "th", "td", "figure", "img", "figcaption", "br"}
EVIL = "<script>alert(1)</script>' onload='alert(2)\" onerror=\"alert(3)&lt;i>"


def assert_harmless(page: str) -> None:
    tags = Tags(page)
    assert tags.open == []
    assert tags.found <= OURS
    assert tags.attributes <= {"style", "src", "alt"}


def test_html_is_escaped_and_bounded(tmp_path):
    directory = tmp_path / EVIL.replace("/", "")
    directory.mkdir()
    with jinx.Writer(directory / "a.jinx", media={"image": "Image", EVIL: "Image"}) as writer:
        for _ in range(8):
            sample = {f"{EVIL}{k}": EVIL * 50 for k in range(80)}
            writer.write({"image": noise(900), EVIL: {EVIL: noise(30)}, **sample})
    ds = jinx.open(directory / "a.jinx")
    for page in (ds._repr_html_(), sample_html(ds[0])):
        assert_harmless(page)
        assert "&lt;script&gt;" in page
        assert page.count("data:image/jpeg;base64,") >= 2
        assert len(page.encode()) < MAX_HTML_BYTES


def test_html_escapes_what_a_transform_returns(ds):
    evil = type(EVIL, (), {"__repr__": lambda self: EVIL})
    view = ds.with_transform(lambda sample: {EVIL: evil(), "list": [{EVIL: evil()}]})
    assert_harmless(view._repr_html_())
    assert_harmless(sample_html(view[0]))
    assert EVIL not in sample_html(view[0])


def test_html_sets_no_colour_of_its_own(ds):
    """Text keeps the notebook's colour, so that it is readable in light and in dark mode."""
    for page in (ds._repr_html_(), ds[0]._repr_html_()):
        assert re.findall(r"color:|#[0-9a-fA-F]{3}", page) == []


def test_transparent_parts_of_an_image_are_shown_white():
    from base64 import b64decode

    clear = io.BytesIO()
    Image.new("RGBA", (50, 40), (0, 0, 0, 0)).save(clear, "PNG")
    page = sample_html({"image": clear.getvalue()})
    data = page.partition("base64,")[2].partition("'")[0]
    assert Image.open(io.BytesIO(b64decode(data))).getpixel((20, 20)) == (255, 255, 255)


def test_images_have_captions(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", media={"turns[].image": "Image"}) as writer:
        writer.write({"turns": [{"image": noise(300)}, {"text": "?"}, {"image": noise(200)}]})
    ds = jinx.open(tmp_path / "a.jinx")
    size = len(ds[0]["turns"][2]["image"]) / 1000
    assert f">sample 0: turns[2].image<br/>200 x 200, {size:.1f} kB</figcaption>" in ds._repr_html_()
    assert f">[2].image<br/>200 x 200, {size:.1f} kB</figcaption>" in ds[0]._repr_html_()


def test_html_shows_nested_images_and_no_flood(tmp_path):
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


def test_a_decoded_image_has_its_size_and_mode(tmp_path):
    with jinx.Writer(tmp_path / "p.jinx") as writer:
        writer.write({"image": noise(30)})
    page = jinx.open(tmp_path / "p.jinx", decode=True)[0]._repr_html_()
    assert "data:image/jpeg" in page
    assert ">30 x 30, RGB</figcaption>" in page


def test_html_without_pillow(ds, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "<table" in ds._repr_html_()
    assert "<img" not in ds._repr_html_()
    assert "bytes, 1.0 kB" in sample_html(ds[4])


def test_key_completion(ds):
    assert ds._ipython_key_completions_() == list(samples.sample(0))


def test_repr_of_a_writer(tmp_path):
    with jinx.Writer(tmp_path / "b.jinx") as writer:
        assert repr(writer).endswith("b.jinx', 0 samples)")
