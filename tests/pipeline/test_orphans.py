"""Media that no output and no table names: `jinx-pipeline clean`."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.sample.media_store import MediaStore
from make_media import images

RECIPE = {
    "nodes": {
        "photos": {"source": "in.jinx"},
        "blur": {"operators": [{"image_blur_mapper": {"p": 1, "save_dir": "blurred"}}]},
        "good": {"operators": [{"specified_numeric_field_filter": {"field_key": "id", "min_value": 4}}]},
        "table": {
            "sink": {"database": "meta.db", "table": "t", "key": "id", "columns": {"id": "int", "file": "json:images"}}
        },
        "out": {"sink": "out.jinx"},
    },
    "flows": [
        {"from": "photos", "to": "blur"},
        {"from": "blur", "to": "good"},
        {"from": "good", "to": "table"},
        {"from": "good.dropped", "to": "out"},
    ],
    "block_rows": 3,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write_many({"id": n, "images": [images.png(16, 16, n)]} for n in range(10))
    return tmp_path


def stored():
    return sorted(map(str, Path("blurred").glob("*/*")))


def cleaned(*words):
    done = CliRunner().invoke(pipeline, ["clean", "out.jinx.work", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_media_of_outputs_and_tables_stay(folder):
    assert jp.Run(recipe_of(RECIPE))().ok
    assert len(stored()) == 10
    assert [Path(sample["images"][0]).exists() for sample in jinx.open("out.jinx").to_list()] == [True] * 4
    other = MediaStore("blurred").put(b"an orphan", ".png")
    Path("blurred/.dead.part").write_bytes(b"half")
    Path("blurred/notes.txt").write_text("mine")
    assert not json.loads(cleaned("--json").stdout)["files"]  # they are new
    listed = json.loads(cleaned("--json", "--min-hours", "0").stdout)
    assert {os.path.relpath(name) for name in listed["files"]} == {other, "blurred/.dead.part"}
    assert len(stored()) == 11
    assert "2 files removed" in cleaned("--remove", "--min-hours", "0").output
    assert len(stored()) == 10
    assert Path("blurred/notes.txt").exists()


def test_a_run_that_has_not_ended_is_refused(folder):
    run = jp.Run(recipe_of({**RECIPE, "workers": 1}))
    run._raise_if_cancelled = lambda: (_ for _ in ()).throw(StoppedError("stopped")) if stored() else None
    with pytest.raises(StoppedError):
        run()
    done = CliRunner().invoke(pipeline, ["clean", "out.jinx.work"])
    assert isinstance(done.exception, RuntimeError)
    assert "has not ended" in str(done.exception)


def test_a_table_that_is_gone_is_named_and_nothing_removed(folder):
    assert jp.Run(recipe_of(RECIPE))().ok
    (path,) = folder.glob("*.db")
    with closing(sqlite3.connect(path)) as connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchone()
        connection.execute(f"DROP TABLE {table}")
    done = CliRunner().invoke(pipeline, ["clean", "out.jinx.work", "--remove", "--min-hours", "0"])
    assert isinstance(done.exception, RuntimeError)
    assert f"{path.name}: no such table: {table}, so the media that it names are not known" in str(done.exception)
    for file in folder.glob("*.db*"):
        file.unlink()
    done = CliRunner().invoke(pipeline, ["clean", "out.jinx.work", "--remove", "--min-hours", "0"])
    assert isinstance(done.exception, FileNotFoundError)
    assert f"{path.name}: no such database" in str(done.exception)
    assert not path.exists()
    assert len(stored()) == 10


def test_what_is_no_working_directory_is_refused(folder):
    (folder / "elsewhere").mkdir()
    done = CliRunner().invoke(pipeline, ["clean", "elsewhere"])
    assert isinstance(done.exception, FileNotFoundError)
    assert CliRunner().invoke(pipeline, ["clean"]).exit_code == 2
