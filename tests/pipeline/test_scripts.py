"""The Python side as users meet it: a plain script without a guard, functions, mixtures, other sources."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from pipeline.made import rows_of, write_input

SCRIPT = """
import jinx_pipeline as jp

LIMIT = 50

def shorten(sample):
    if sample["n"] % 2:
        return None
    sample["text"] = sample["text"][:LIMIT]
    return sample

flow = jp.Dataset.load("in.jinx").process([jp.ops.TextLengthFilter(min_len=10), shorten])
result = flow.export("out.jinx", workers=2)
print(result.rows_out)
"""


@pytest.fixture
def data(tmp_path):
    return write_input(tmp_path / "in.jinx", 60)


def test_a_script_needs_no_guard_and_its_functions_travel(data, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    root = Path(jinx.__file__).parents[1]
    environment = {"PYTHONPATH": f"{root}:{root / 'pipeline'}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "30\n"
    rows = rows_of(tmp_path / "out.jinx")
    stored = rows_of(data)
    assert [row["n"] for row in rows] == list(range(0, 60, 2))
    assert all(row["text"] == stored[row["n"]]["text"][:50] for row in rows)


def test_nothing_runs_before_export(data):
    flow = jp.Dataset.load(data).process(lambda sample: 1 / 0)
    assert flow.count() == 60
    assert flow.head(2)[1]["n"] == 1
    assert flow.schema()["n"] == "int"


def test_run_gives_a_dataset(data):
    found = jp.Dataset.load(data).process(jp.ops.TextLengthFilter(max_len=55)).run(workers=1)
    assert all(len(sample["text"]) <= 55 for sample in found)
    assert len(found) > 0


def test_a_function_may_make_several_samples(data, tmp_path):
    def twice(sample):
        return [{**sample, "copy": 0}, {**sample, "copy": 1}] if sample["n"] < 5 else None

    jp.Dataset.load(data).process(twice).export(tmp_path / "out", workers=1)
    found = [(row["n"], row["copy"]) for row in rows_of(tmp_path / "out")]
    assert found == [(n, copy) for n in range(5) for copy in (0, 1)]
    jp.Dataset.load(data).process(twice).export(tmp_path / "view.jinx", workers=1, kind="view")
    view = rows_of(tmp_path / "view.jinx")
    assert [(sample["n"], sample["copy"]) for sample in view] == found
    assert set(view[0]) == {*rows_of(data)[0], "copy"}


@pytest.mark.parametrize("ids", [{}, {"id": 7}, {"id": 7, "__dj__id__": "mine"}])
def test_a_view_of_divided_samples_has_the_columns_of_the_samples(tmp_path, ids):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({**ids, "text": text} for text in ("abcdef", "xyz"))
    split = jp.create("text_chunk_mapper", max_len=3, split_pattern=None)
    for kind in ("jinx", "view"):
        jp.Dataset.load(tmp_path / "in.jinx").process(split).export(tmp_path / f"{kind}.jinx", workers=1, kind=kind)
    found = rows_of(tmp_path / "view.jinx")
    assert found == [{**ids, "text": text} for text in ("abc", "def", "xyz")]
    assert found == rows_of(tmp_path / "jinx.jinx")


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "dataset", "view"])
def test_other_sources_are_converted_once(data, tmp_path, kind):
    source: object = tmp_path / f"in.{kind}"
    dataset = jinx.open(data)
    if kind == "dataset":
        source = dataset[10:30]
    elif kind == "view":
        source = tmp_path / "view.jinx"
        dataset[10:30].save(source)
    else:
        jinx.convert(dataset[10:30].drop_columns("image"), source)
    jp.Dataset.load(source).process(jp.ops.TextLengthFilter(max_len=60)).export(tmp_path / "out", workers=1)
    wanted = [row["n"] for row in rows_of(data)[10:30] if len(row["text"]) <= 60]
    assert [row["n"] for row in rows_of(tmp_path / "out")] == wanted


def test_a_mixture_has_the_shares_asked_for(tmp_path):
    for name in ("a", "b"):
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write_many({"text": name, "n": n} for n in range(100))
    sources = [
        jp.SourceSpec(str(tmp_path / "a.jinx"), weight=0.25),
        jp.SourceSpec(str(tmp_path / "b.jinx"), weight=0.75),
    ]
    jp.Dataset.load(sources).export(tmp_path / "out", workers=1, seed=3)
    rows = rows_of(tmp_path / "out")
    assert [sum(row["text"] == name for row in rows) for name in ("a", "b")] == [33, 100]
    capped = [jp.SourceSpec(str(tmp_path / "a.jinx"), max_samples=10), jp.SourceSpec(str(tmp_path / "b.jinx"))]
    jp.Dataset.load(capped).export(tmp_path / "capped", workers=1)
    assert len(rows_of(tmp_path / "capped")) == 110


def test_an_option_that_does_not_exist_is_named(data, tmp_path):
    with pytest.raises(TypeError, match="did you mean 'workers'"):
        jp.Dataset.load(data).export(tmp_path / "out", worker=1)


def test_an_existing_output_is_kept(data, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="replace it with overwrite=True"):
        jp.Dataset.load(data).export(tmp_path / "out", workers=1)


def test_rows_that_fail_are_not_lost_in_silence(data, tmp_path):
    flow = jp.Dataset.load(data).process(lambda sample: {**sample, "length": len(sample["txt"])})
    with pytest.warns(jp.BadRowsWarning, match="60 of 60 rows are not in the output .*KeyError: 'txt'"):
        assert len(flow.run(workers=1)) == 0
    with pytest.warns(jp.BadRowsWarning, match=r"out\.jinx\.work/quarantine\.jsonl"):
        flow.export(tmp_path / "out.jinx", workers=1)
    assert flow.export(tmp_path / "some.jinx", workers=1, max_bad_rows=60).ok


def test_operators_are_written_as_in_a_recipe_too(data):
    flow = jp.Dataset.load(data)
    for given in ({"text_length_filter": {"min_len": 999}}, [{"text_length_filter": {"min_len": 999}}]):
        (step,) = flow.process(given).recipe.steps
        assert step.operator.parameters["min_len"] == 999
    with pytest.raises(TypeError, match="one in each mapping"):
        flow.process({"text_length_filter": {}, "clean_links_mapper": {}})
    with pytest.raises(TypeError, match=r"TextLengthFilter is a class; make an operator of it: TextLengthFilter\("):
        flow.process(jp.ops.TextLengthFilter)


def test_a_relative_path_is_that_of_the_directory_it_was_loaded_in(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flow = jp.Dataset.load("in.jinx")
    other = tmp_path / "other"
    other.mkdir()
    write_input(other / "in.jinx", 10)
    monkeypatch.chdir(other)
    assert flow.count() == 60
    result = flow.export("out.jinx", workers=1)
    assert (result.rows_in, result.path) == (60, str(other / "out.jinx"))


def test_a_mixture_that_cannot_be_is_refused(data, tmp_path):
    with pytest.raises(TypeError, match="weight is float, not '2'"):
        jp.SourceSpec("in.jinx", weight="2")
    write_input(tmp_path / "none.jinx", 0)
    flow = jp.Dataset.load([jp.SourceSpec(str(data)), jp.SourceSpec(str(tmp_path / "none.jinx"), weight=5)])
    with pytest.raises(ValueError, match=r"none\.jinx has weight 5 and no samples"):
        flow.export(tmp_path / "out.jinx", workers=1)


def test_a_result_is_shown_without_tracebacks(data, tmp_path):
    result = jp.Dataset.load(data).process(lambda sample: 1 / 0).export(tmp_path / "out.jinx", max_bad_rows=60)
    assert "Traceback" in result.bad_rows[0].trace
    assert "Traceback" not in repr(result)


def test_an_operator_that_cannot_travel_is_named(data, tmp_path):
    lock = threading.Lock()

    def locked(sample):
        with lock:
            return sample

    with pytest.raises(TypeError, match=r"locked uses lock, of type _thread.lock, .*; make it inside the function"):
        jp.Dataset.load(data).process(locked).export(tmp_path / "out.jinx", workers=1)


def test_an_interrupt_in_a_function_costs_its_row_and_names_it(data, tmp_path):
    def impatient(sample):
        if sample["n"] == 5:
            raise KeyboardInterrupt
        return sample

    result = jp.Dataset.load(data).process(impatient).export(tmp_path / "out.jinx", workers=1, max_bad_rows=1)
    assert [(bad.row, bad.operator, bad.error) for bad in result.bad_rows] == [(5, "impatient", "KeyboardInterrupt: ")]
    assert result.rows_out == 59


def test_a_column_with_a_quote_in_its_name(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({'a"b': "some text"})
    with pytest.raises(ValueError, match="with each quote in them doubled"):
        jp.Dataset.load(tmp_path / "in.jinx", text='a"b')
    flow = jp.Dataset.load(tmp_path / "in.jinx", text='"a""b"').process(jp.ops.TextLengthFilter(min_len=1))
    assert flow.export(tmp_path / "out.jinx", workers=1).rows_out == 1
