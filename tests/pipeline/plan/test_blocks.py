"""The size of blocks, from rows and from the media files that rows name."""

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.plan import outside_media
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut, cut_groups
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.outside_media import outside_media_bytes
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.model import Export, Options, Recipe, SourceSpec, Step
from jinx_pipeline.sample.roles import Roles


def rows_of(rows: int, row_bytes: float, media_bytes: float = 0.0) -> int:
    return block_size(rows, SampleSize(row_bytes, media_bytes)).rows


def test_blocks_follow_from_the_size_of_the_input_alone():
    assert cut(10, 4) == [4, 4, 2]
    assert cut(0, 4) == []
    assert rows_of(1_000_000, 1000.0) == 15_625
    assert rows_of(10_000_000, 100.0) == 20_000
    assert rows_of(100, 10.0) == 500
    assert rows_of(1000, 1e9) == 1
    assert rows_of(1_000_000, 1000.0, 63_000.0) == 1000


def test_a_few_large_samples_are_enough_for_several_blocks():
    assert rows_of(200, 100.0, 1e6) == 4
    assert rows_of(8, 100.0, 1e6) == 1
    assert rows_of(100, 100_000.0) == 10
    assert rows_of(100, 1000.0) == 500


@pytest.mark.parametrize(
    ("rows", "sample", "option", "reason"),
    [
        (100, SampleSize(), 7, "set by block_rows"),
        (1_000_000, SampleSize(8000.0), None, "about 64.0 MB, at 8.0 kB a sample"),
        (1_000_000, SampleSize(1000.0, 9e6), None, "about 64.0 MB, at 9.0 MB a sample, 9.0 MB of it in media files"),
        (100_000, SampleSize(10.0), None, "small enough for all cores to have some"),
        (10_000_000, SampleSize(10.0), None, "the most that a block has"),
    ],
)
def test_why_a_block_has_its_size(rows, sample, option, reason):
    assert block_size(rows, sample, option).reason == reason


def test_groups_are_cut_by_their_rows():
    def blocks(*sizes: int) -> list[int]:
        return cut_groups(np.cumsum([0, *sizes]), 10)

    assert blocks() == []
    assert blocks(4, 4, 2, 4, 7) == [3, 1, 1]
    assert blocks(30, 1, 1, 30) == [1, 2, 1]
    assert blocks(*[0] * 25) == [10, 10, 5]


@pytest.fixture
def images(tmp_path):
    """100 samples; the first half name 3 files of 40 kB, the others none that is there."""
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(bytes(40_000))
    names = ["0.png", str(tmp_path / "1.png"), {"path": "2.png"}]
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        for row in range(100):
            writer.write({"text": "t", "images": names if row % 2 else ["lost.png", "https://a.b/c.png", bytes(99)]})
    return path


def media_bytes(path, *operators, **roles) -> float:
    recipe = Recipe((SourceSpec(str(path)),), Roles(**roles), tuple(map(Step, operators)))
    return outside_media_bytes(with_media_root(recipe), OpenSource(Source((str(path),))), 100, 100.0)


def test_media_files_count_where_operators_read_them(images):
    assert media_bytes(images, jp.create("image_shape_filter")) == pytest.approx(60_000, rel=0.3)
    assert media_bytes(images, jp.create("text_length_filter")) == 0
    assert media_bytes(images, jp.create("image_shape_filter"), images="pictures") == 0
    assert media_bytes(images, jp.create("image_shape_filter"), images="text") == 0
    # A function does not say what it reads.
    function = jp.Dataset.load(images).map(dict).recipe.steps[0].operator
    assert media_bytes(images, function) == media_bytes(images, jp.create("image_shape_filter"))


def test_few_files_are_looked_at_and_few_large_samples_read(images, monkeypatch):
    seen = []
    monkeypatch.setattr(outside_media, "_file_bytes", lambda medium: seen.append(medium) or 0)
    monkeypatch.setattr(outside_media, "_FILES", 10)
    assert media_bytes(images, jp.create("image_shape_filter")) == 0
    assert len(seen) == 12
    seen.clear()
    recipe = Recipe((SourceSpec(str(images)),), Roles(), (Step(jp.create("image_shape_filter")),))
    outside_media_bytes(recipe, OpenSource(Source((str(images),))), 100, 1e9)
    assert len(seen) == 3


def test_the_plan_says_the_size_of_blocks_and_a_run_has_it(images, tmp_path, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.plan.blocks.BLOCK_BYTES", 1_000_000)
    steps = (Step(jp.create("image_shape_filter")),)
    recipe = Recipe((SourceSpec(str(images)),), Roles(), steps, Export(str(tmp_path / "out.jinx")), Options())
    facts = describe(recipe)
    assert facts["rows_per_block"] == pytest.approx(16, abs=4)
    assert any("in media files)" in line for line in facts["lines"] if line.startswith("blocks"))


def test_a_view_counts_the_rows_that_it_shows(tmp_path):
    with jinx.Writer(tmp_path / "base.jinx") as writer:
        writer.write_many({"image": np.random.default_rng(row).bytes(9000)} for row in range(1000))
    jinx.open(tmp_path / "base.jinx").select(range(0, 1000, 10)).save(tmp_path / "view.jinx")
    recipe = Recipe((SourceSpec(str(tmp_path / "view.jinx")),), Roles(), ())
    assert describe(recipe)["inputs"][0]["bytes"] == pytest.approx(900_000, rel=0.1)
