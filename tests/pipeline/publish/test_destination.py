"""What would prevent an output is reported before any work."""

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import run
from pipeline.made import write_input

NEVER = "an operator ran"


def never(sample):
    raise RuntimeError(NEVER)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jinx", 20)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for suffix in ("jinx", "jsonl"):
        (tmp_path / f"folder.{suffix}").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("foreign", "thesis.txt"),
        ("file", "is not a directory"),
        ("folder.jinx", "is a directory"),
        ("folder.jsonl", "is a directory"),
    ],
)
def test_what_cannot_be_replaced_is_refused_before_the_work(folder, out, message):
    flow = jp.Dataset.load("in.jinx").process(never)
    with pytest.raises((ValueError, OSError), match=message):
        flow.export(out, overwrite=True, workers=1, stop_after_bad=0)
    assert not (folder / f"{out}.work").exists()


@pytest.mark.parametrize("out", ["out.jinx", "out", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("restart", [False, True])
def test_an_output_that_exists_is_refused_before_inputs_are_converted(folder, out, restart):
    (folder / "lines.jsonl").write_text('{"text": "mine"}\n')
    if out == "out":
        jinx.convert("lines.jsonl", out)
    else:
        (folder / out).write_text("theirs")
    with pytest.raises(FileExistsError, match=rf"{out} exists; replace it with overwrite=True"):
        jp.Dataset.load("lines.jsonl").export(out, workers=1, restart=restart)
    assert not list((folder / f"{out}.work").glob("inputs"))
    with pytest.raises(ValueError, match="is also an input, which is never changed"):
        jp.Dataset.load("lines.jsonl").export("lines.jsonl", workers=1)
    assert not list((folder / "lines.jsonl.work").glob("inputs"))


def test_a_missing_directory_is_refused_before_the_work(folder):
    flow = jp.Dataset.load("in.jinx").process(never)
    for out in ("nodir/out.jinx", "nodir/out.jsonl"):
        with pytest.raises((ValueError, OSError), match="no such directory; create it first"):
            flow.export(out, work_dir="elsewhere", workers=1, stop_after_bad=0)


def test_a_file_that_the_recipe_reads_is_no_output(folder):
    (folder / "test.jsonl").write_text('{"text": "mine"}\n')
    clean = jp.create("decontaminate_deduplicator", evaluation_paths=["test.jsonl"])
    with pytest.raises(ValueError, match=r"test\.jsonl is also an input, which is never changed"):
        jp.Dataset.load("in.jinx").process(clean).export("test.jsonl", overwrite=True, workers=1)
    assert (folder / "test.jsonl").read_text() == '{"text": "mine"}\n'


def test_a_name_that_is_too_long_is_refused_before_the_work(folder):
    flow = jp.Dataset.load("in.jinx").process(never)
    for length in (228, 255):
        with pytest.raises(ValueError, match="the name is too long: at most 227 bytes"):
            flow.export("x" * length, workers=1, stop_after_bad=0)
    assert jp.Dataset.load("in.jinx").export("x" * 227, workers=1).rows_out == 20


@pytest.mark.parametrize("out", ["", ".", "..", "/", "-", "d.binx", "p.xyz", "a.json"])
def test_names_that_no_output_can_have(folder, out):
    with pytest.raises(ValueError, match=r"is not a name for an output|is not written"):
        jp.Dataset.load("in.jinx").export(out)


def test_a_directory_may_have_a_version(folder):
    assert jp.Dataset.load("in.jinx").export("data-v1.2", workers=1).rows_out == 20
    assert len(jinx.open("data-v1.2")) == 20


def test_the_place_of_the_report_is_looked_at_before_measuring(folder, capsys):
    (folder / "recipe.yaml").write_text("dataset: in.jinx\nprocess: [text_length_filter]\n")
    assert run(["analyze", "recipe.yaml", "--report", "nodir/st.html"]) == 2
    assert "nodir: no such directory; create it first" in capsys.readouterr().err
    assert not (folder / "stats.jinx").exists()
    assert run(["analyze", "recipe.yaml", "--out", "stats.parquet"]) == 2
    assert "a saved view is one file" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["in.jinx/sub.jinx", "in.jinx/sub/deep.jsonl", "file/sub"])
def test_an_output_below_a_file_is_named_as_it_was_written(folder, capsys, out):
    (folder / "recipe.yaml").write_text(f"dataset: in.jinx\nprocess: [clean_links_mapper]\nexport: {out}\n")
    for words in (["run", "recipe.yaml"], ["run", "recipe.yaml", "--out", out], ["plan", "recipe.yaml"]):
        assert run(words) == 2
        top = out.partition("/")[0]
        said = capsys.readouterr().err
        assert said == f"jinx-pipeline: {out}: {top} is a file, not a directory; choose another name\n"


@pytest.mark.parametrize("name", ["new\nline.jinx", "\u202egnp"])
def test_an_output_that_no_view_can_name_is_refused_by_its_name(folder, name):
    (folder / "lines.jsonl").write_text('{"text": "mine"}\n')
    for source in ("in.jinx", "lines.jsonl"):
        with pytest.raises(ValueError, match="the path has a control character") as caught:
            jp.Dataset.load(source).process(never).export(name, workers=1)
        assert str(caught.value).startswith(f"{name!r}: ")
    assert not (folder / f"{name}.work").exists()


@pytest.mark.parametrize("work_dir", ["out", "./out", "out/work", "link/out"])
def test_an_output_that_would_replace_the_working_directory_is_refused(folder, work_dir):
    (folder / "link").symlink_to(folder)
    (folder / "lines.jsonl").write_text('{"text": "mine"}\n')
    with pytest.raises(ValueError, match=r"^out: the working directory .* would be replaced; choose another work_dir"):
        jp.Dataset.load("lines.jsonl").process(never).export("out", work_dir=work_dir, workers=1)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("database", ["out.jinx", "./out.jinx", "sqlite:///out.jinx", "env:OUT"])
def test_an_output_in_the_place_of_a_database_is_refused_before_the_work(folder, capsys, monkeypatch, database):
    monkeypatch.setenv("OUT", "sqlite:///out.jinx")
    (folder / "recipe.yaml").write_text(
        "nodes:\n  web: {source: in.jinx}\n  out: {sink: out.jinx}\n"
        f"  rows: {{sink: {{database: {database!r}, table: t, key: id, columns: {{id: int}}}}}}\n"
        "flows: [{from: web, to: [out, rows]}]\n"
    )
    for words in ([], ["--overwrite"]):
        assert run(["run", "recipe.yaml", *words]) == 2
        assert "line 3: nodes.out: the recipe uses the SQLite database" in capsys.readouterr().err
    assert not (folder / "out.jinx").exists()
