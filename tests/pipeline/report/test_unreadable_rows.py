"""Rows of the input that cannot be read are counted next to the samples that can."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.report.metrics import metrics_text


def test_rows_that_cannot_be_read_are_counted_beside_those_that_can(tmp_path: Path):
    (tmp_path / "in.jsonl").write_text('{"id":1}\n{"id":2,"te\n{"id":3}\nx\n')
    with pytest.warns(jp.BadRowsWarning, match="2 of 4 rows are not in the output"):
        result = jp.Dataset.load(tmp_path / "in.jsonl").export(tmp_path / "out.jsonl", workers=1)
    assert (result.rows_in, result.rows_unreadable, result.rows_out) == (2, 2, 2)
    assert result.to_dict()["rows_unreadable"] == 2
    assert "jinx_pipeline_rows_unreadable_total 2" in metrics_text(result).splitlines()


def test_the_command_says_how_many_rows_could_not_be_read(tmp_path: Path):
    (tmp_path / "in.jsonl").write_text('{"text":"long enough to be kept"}\n{"id":2,"te\n')
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"dataset: {tmp_path}/in.jsonl\nexport: {tmp_path}/out.jsonl\nworkers: 1\nprocess: [text_length_filter: {{}}]\n"
    )
    done = CliRunner().invoke(pipeline, ["run", str(recipe)])
    assert "out.jsonl: 1 of 1 samples" in done.output
    assert "1 row of the input could not be read, besides 1 sample that could" in done.output
