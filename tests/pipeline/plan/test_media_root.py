"""Where relative paths of media start from."""

import json

import pytest

import jinx_pipeline as jp
from jinx_pipeline.recipe.model import Export, Options, Recipe, SourceSpec, Step
from jinx_pipeline.report.measured import from_stats, measure
from jinx_pipeline.run import Run
from jinx_pipeline.sample.roles import Roles
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
    assert [one["n"] for one in rows_of(recipe.export.path)] == [0, 1, 2]


def test_it_stays_with_the_statistics_of_the_input(recipe, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    stats = str(tmp_path / "elsewhere" / "stats.jinx")
    measure(recipe, stats)
    swept = from_stats(recipe, stats)
    assert swept.roles.media_root == str(tmp_path / recipe.sources[0].path).rpartition("/")[0]
    assert Run(swept)().ok
