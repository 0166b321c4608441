"""Reading a recipe runs nothing and opens nothing that it names; `resolve` does, afterwards."""

import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.recipe.resolve import resolve

HOSTILE = "import pathlib\npathlib.Path(__file__).with_name('was_run').touch()\n"
OPERATOR = """
import jinx_pipeline as jp

@jp.register("{name}_mapper")
class _(jp.Mapper):
    reads = writes = ("text",)
    suffix: str = "!"

    def process(self, batch, ctx):
        return {{"text": [text + self.suffix for text in batch.column("text")]}}
"""
# Each operator that has a parameter for a file.
RECIPE = """\
dataset: {{sources: [{{path: {0}/in.jinx}}, {{path: "{0}/*.jsonl"}}], media_root: {0}/media}}
custom_operators: [{0}/hostile.py]
validators: [{{required_columns: {{columns: [text]}}}}]
process:
  - hostile_mapper: {{file: {0}/words.json}}
  - python_file_mapper: {{file_path: {0}/hostile.py}}
  - join: {{path: {0}/in.jinx, on: id}}
  - stopwords_filter: {{stopwords_dir: {0}}}
  - flagged_words_filter: {{flagged_words_dir: {0}}}
  - perplexity_filter: {{model: {0}/en.arpa, tokenizer: {0}/tokenizer.json}}
  - token_num_filter: {{hf_tokenizer: {0}/tokenizer.json}}
  - decontaminate_deduplicator: {{evaluation_paths: [{0}/in.jinx]}}
  - image_text_similarity_filter: {{hf_clip: {0}/clip}}
export: {{path: {0}/out.jinx}}
work_dir: {0}/work
"""
# A process in which every access to what the recipe names is an error. Modules are imported before.
TRAPPED = """
import json, os, sys
import jinx, jinx_pipeline as jp
from jinx_pipeline.operators.api.registry import names, operator_class
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.recipe.write import as_data

recipe, folder = sys.argv[1:]
touched = []

def told(event, arguments):
    if event in {"open", "os.listdir", "os.scandir", "exec", "import"}:
        where = getattr(arguments[0], "co_filename", arguments[0]) if arguments else ""
        if str(where).startswith(folder):
            touched.append((event, str(where)))

def refused(name, function):
    def call(path, *arguments, **keywords):
        if str(path).startswith(folder):
            touched.append((name, str(path)))
        return function(path, *arguments, **keywords)
    return call

sys.addaudithook(told)
for name in ("stat", "lstat", "access", "readlink"):
    setattr(os, name, refused(f"os.{name}", getattr(os, name)))
jinx.open = refused("jinx.open", jinx.open)
read = read_recipe(recipe)
print(json.dumps(as_data(read)), read, *(step.operator.parameters for step in read.steps))
recipe_of({"dataset": f"{folder}/in.jinx", "process": [{"join": {"path": folder, "on": "id"}}]})
assert not touched, touched
"""


@pytest.fixture
def folder(tmp_path):
    named = tmp_path / "named"
    named.mkdir()
    (named / "hostile.py").write_text(HOSTILE)
    with jinx.Writer(named / "in.jinx") as writer:
        writer.write_many([{"id": at, "text": f"text {at}"} for at in range(10)])
    return named


def test_reading_runs_nothing_and_opens_nothing(folder, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.format(folder))
    done = subprocess.run(
        [sys.executable, "-c", TRAPPED, str(recipe), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not (folder / "was_run").exists()


def test_resolving_reports_every_file_in_its_place(folder, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        f"dataset: {folder}/in.jinx\n"
        "process:\n"
        f"  - join:\n      on: id\n      path: {folder}/none.jinx\n"
        f"  - join:\n      on: id\n      path: {folder}/in.jinx\n      columns: [txt]\n"
        "  - stopwords_filter:\n      lang: xx\n"
        f"  - python_file_mapper:\n      file_path: {folder}/none.py\n"
    )
    with pytest.raises(jp.RecipeError) as caught:
        resolve(read_recipe(path))
    found = [(place.line, message.partition(":")[0]) for place, message in caught.value.problems]
    assert found == [(5, "join"), (9, "join"), (11, "stopwords_filter"), (13, "python_file_mapper")]


def test_code_that_cannot_be_loaded_is_named_in_its_place(folder, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"dataset: {folder}/in.jinx\ncustom_operators: [{folder}/none.py]\n")
    with pytest.raises(jp.RecipeError, match=r"recipe\.yaml, line 2: .*none\.py: FileNotFoundError"):
        resolve(read_recipe(path))


def test_operators_of_files_are_checked_when_they_are_loaded(folder, tmp_path):
    (folder / "mine.py").write_text(OPERATOR.format(name="late"))
    path = tmp_path / "recipe.yaml"
    text = f"dataset: {folder}/in.jinx\ncustom_operators: {folder}/mine.py\nprocess:\n  - late: {{suffix: '?'}}\n"
    path.write_text(text + "  - late_maper\n  - late_mapper:\n      sufix: 3\nexport: out.jinx\n")
    with pytest.raises(jp.RecipeError) as caught:
        resolve(read_recipe(path))
    assert [place.line for place, _ in caught.value.problems] == [5, 7]
    assert "did you mean 'late_mapper'" in str(caught.value)
    assert "did you mean 'suffix'" in str(caught.value)
    path.write_text(text)
    recipe = resolve(read_recipe(path))
    assert recipe.steps[0].operator.parameters == {"suffix": "?"}
    assert resolve(recipe).digest == recipe.digest


def test_a_plan_runs_code_only_if_it_is_told_to(folder, tmp_path):
    (folder / "mine.py").write_text(HOSTILE + OPERATOR.format(name="planned"))
    path = tmp_path / "recipe.yaml"
    path.write_text(
        f"dataset: {folder}/in.jinx\ncustom_operators: [{folder}/mine.py]\n"
        f"process: [planned_mapper, text_length_filter]\nexport: {tmp_path}/out.jinx\n"
    )
    done = CliRunner().invoke(pipeline, ["plan", str(path)])
    assert done.exit_code == 0, done.output
    assert f"code       {folder}/mine.py: not run; with --run-code" in done.output
    assert "planned_mapper + text_length_filter" in done.output
    assert not (folder / "was_run").exists()
    done = CliRunner().invoke(pipeline, ["plan", str(path), "--run-code"])
    assert done.exit_code == 0, done.output
    assert "not run" not in done.output
    assert (folder / "was_run").exists()


def test_a_plan_without_code_gives_workers_no_files(folder, tmp_path, monkeypatch):
    """The probe starts workers, which load what the options name."""
    path = tmp_path / "recipe.yaml"
    path.write_text(
        f"dataset: {folder}/in.jinx\ncustom_operators: [{folder}/hostile.py]\nprocess: [text_length_filter]\n"
    )
    seen = []
    monkeypatch.setattr("jinx_pipeline.engines.local.probe.MIN_ROWS", 1)
    monkeypatch.setattr("jinx_pipeline.engines.local.probe.LocalWorkers", lambda *_, files, **__: seen.append(files))
    with pytest.raises(AttributeError):
        describe(replace(read_recipe(path), export=None))
    assert seen == [()]
    assert not (folder / "was_run").exists()


def test_a_dataset_that_was_replaced_is_seen_when_it_is_resolved_again(folder):
    operator = jp.create("join", path=str(folder / "in.jinx"), on="id")
    before = operator.digest
    (folder / "in.jinx").unlink()
    with jinx.Writer(folder / "in.jinx") as writer:
        writer.write({"id": 1, "text": "another"})
    assert operator.digest == before
    operator.resolve()
    assert operator.digest != before
