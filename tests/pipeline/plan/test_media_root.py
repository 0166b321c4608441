"""Where relative paths of media start from."""

import json
import struct
import zlib

import pytest

import jinx_pipeline as jp
from jinx_pipeline.recipe.model import Export, Options, Recipe, SourceSpec, Step
from jinx_pipeline.run import Run
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.stored_stats import from_stats, measure
from pipeline.made import rows_of

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738"
    "550000000049454e44ae426082"
)


@pytest.fixture(params=["data", "data[1]"])
def recipe(request, tmp_path):
    folder = tmp_path / request.param
    folder.mkdir()
    (folder / "a.png").write_bytes(PNG)
    (folder / "in.jsonl").write_text("".join(json.dumps({"n": n, "images": ["a.png"]}) + "\n" for n in range(3)))
    steps = (Step(jp.ops.ImageShapeFilter(min_width=1)),)
    export = Export(str(tmp_path / "out.jinx"))
    return Recipe((SourceSpec(str(folder / "in.jsonl")),), Roles(), steps, export, Options(workers=1))


def test_it_is_the_folder_of_the_input(recipe):
    assert Run(recipe)().ok
    assert [row["n"] for row in rows_of(recipe.export.path)] == [0, 1, 2]


def test_it_stays_with_the_statistics_of_the_input(recipe, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    stats = str(tmp_path / "elsewhere" / "stats.jinx")
    measure(recipe, stats)
    swept = from_stats(recipe, stats)
    assert swept.roles.media_root == str(tmp_path / recipe.sources[0].path).rpartition("/")[0]
    done = Run(swept)()
    assert done.ok, [bad.error for bad in done.bad_rows]


@pytest.fixture
def outside(tmp_path):
    """Rows whose media are named in ways that lead out of the media root, and one that does not."""
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(PNG)
    (tmp_path / "data" / "link.png").symlink_to(tmp_path / "b.png")
    names = ["sub/../a.png", str(tmp_path / "data" / "a.png"), "../b.png", str(tmp_path / "b.png"), "link.png"]
    rows = [{"n": n, "images": [name]} for n, name in enumerate(names)]
    (tmp_path / "data" / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def shapes_of(folder, roles):
    steps = (Step(jp.ops.ImageShapeFilter(min_width=1)),)
    export = Export(str(folder / "out.jinx"), overwrite=True)
    recipe = Recipe((SourceSpec(str(folder / "data" / "in.jsonl")),), roles, steps, export, Options(workers=1))
    return Run(recipe, restart=True)()


def test_media_stay_below_it_unless_that_is_allowed(outside):
    result = shapes_of(outside, Roles())
    assert [row["n"] for row in rows_of(outside / "out.jinx")] == [0, 1]
    assert [bad.row for bad in result.bad_rows] == [2, 3, 4]
    for bad in result.bad_rows:
        assert f"leads out of the media root {outside / 'data'}; name one above it (media_root)" in bad.error
    assert shapes_of(outside, Roles(media_outside=True)).rows_out == 5
    # The root itself may be reached through a link.
    (outside / "root").symlink_to(outside)
    assert shapes_of(outside, Roles(media_root=str(outside / "root" / "data"), media_outside=False)).rows_out == 2


def test_inputs_in_several_folders_have_the_working_directory(outside, monkeypatch):
    monkeypatch.chdir(outside / "data")
    (outside / "more").mkdir()
    (outside / "more" / "in.jsonl").write_text('{"n": 9, "images": ["../b.png"]}\n')
    sources = (SourceSpec("in.jsonl"), SourceSpec("../more/in.jsonl"))
    steps = (Step(jp.ops.ImageShapeFilter(min_width=1)),)
    result = Run(Recipe(sources, Roles(), steps, Export(str(outside / "o.jinx")), Options(workers=1)))()
    assert (result.rows_out, len(result.bad_rows)) == (2, 4)


def test_samples_in_memory_may_name_any_file(outside, monkeypatch):
    monkeypatch.chdir(outside / "data")
    rows = [{"images": ["../b.png"]}, {"images": [str(outside / "b.png")]}]
    filtered = jp.Dataset.load(rows).process("image_shape_filter")
    assert len(filtered.run(workers=1)) == 2
    assert len(jp.create("image_shape_filter")(rows)) == 2


def test_the_reason_of_an_image_that_is_not_read_is_kept(tmp_path):
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    with pytest.raises(ValueError, match=r"Image size \(3600000000 pixels\) exceeds limit of \d+ pixels"):
        _ = Media(bomb, Roles()).dimensions
    with pytest.raises(ValueError, match="its format is unknown"):
        Media(b"no image", Roles()).image()
