"""The dataset of Python, in the words of people who come from Hugging Face and Data-Juicer."""

import json

import pytest

import jinx
import jinx_pipeline as jp


@pytest.fixture
def flow(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for n in range(200):
            writer.write({"n": n, "text": f"{n} " * (n % 7)})
    return jp.Dataset.load(tmp_path / "in.jinx")


def odd(sample):
    return sample["n"] % 2


def test_filter_and_map(flow):
    made = flow.filter(odd).map(lambda sample: {"twice": 2 * sample["n"]}).filter("n < 8 and twice > 4")
    assert [step.operator.name for step in made.recipe.steps] == ["odd", "<lambda>", "general_field_filter"]
    expected = [{"n": n, "text": f"{n} " * (n % 7), "twice": 2 * n} for n in (3, 5, 7)]
    assert made.take(10) == made.run(workers=1).to_list() == expected
    assert flow.filter(jp.ops.TextLengthFilter(min_len=1)).take(1)[0]["n"] == 1
    with pytest.raises(TypeError, match="filter takes a function, a condition or an operator, not int"):
        flow.filter(3)


def test_map_returns_columns(flow):
    with pytest.raises(TypeError, match="the function returned NoneType; it returns a dict of columns"):
        flow.map(lambda sample: None).take()
    assert "text" not in flow.process(lambda sample: {"n": sample["n"]}).take(1)[0]
    assert "text" in flow.map(lambda sample: {"n": sample["n"]}).take(1)[0]


def test_another_function_is_another_recipe(flow):
    def digest(least):
        return flow.filter(lambda sample: sample["n"] > least).recipe.digest

    assert len({digest(1) for _ in range(50)}) == 1
    assert digest(1) != digest(2)
    assert flow.map(lambda sample: {"a": 1}).recipe.digest != flow.map(lambda sample: {"a": 2}).recipe.digest


def test_take_reads_only_what_it_needs(flow):
    seen = []
    taken = flow.map(lambda sample: seen.append(sample["n"]) or {}).filter("n >= 20").take(3)
    assert [sample["n"] for sample in taken] == [20, 21, 22]
    assert len(seen) < 100
    assert flow.take(2) == jinx.open(flow.recipe.sources[0].path)[:2].to_list()
    assert flow.filter("n > 1000").take() == flow.take(0) == []
    with pytest.raises(TypeError, match=r"document_deduplicator looks at all samples; run\(\) first"):
        flow.process("document_deduplicator").take()


def test_before_operators_it_is_its_input(flow):
    assert len(flow) == 200
    assert flow.columns == ["n", "text"]
    assert flow[7]["n"] == 7
    assert flow["n"][5] == 5
    assert [sample["n"] for sample in flow[3:5]] == [3, 4]
    assert sum(1 for _ in flow) == 200
    assert len(flow.to_pandas(columns="n")) == 200
    assert flow.to_hf()[1]["n"] == 1
    assert repr(flow) == f"Dataset({flow.recipe.sources[0].path})"


def test_what_is_lazy_says_what_to_call(flow):
    lazy = flow.filter(odd)
    for use, advice in (
        (len, r"has no length; use len\(ds.run\(\)\), or count\(\)"),
        (lambda ds: ds[0], r"has no samples; use take\(5\)"),
        (list, r"has no samples; use take\(5\)"),
        (lambda ds: ds.columns, r"has no columns; use run\(\).column_names"),
    ):
        with pytest.raises(TypeError, match=advice):
            use(lazy)
    assert lazy
    assert repr(lazy).endswith("in.jinx, odd; not run: take(5), run() or export(path))")
    assert len(lazy.to_pandas(workers=1)) == len(lazy.to_hf(workers=1)) == 100


def test_a_mixture_is_as_a_run_reads_it(flow, tmp_path):
    jinx.convert([{"n": -n} for n in range(1, 51)], tmp_path / "b.jinx")
    source = flow.recipe.sources[0].path
    mixed = jp.Dataset.load([jp.SourceSpec(source, 2.0), jp.SourceSpec(str(tmp_path / "b.jinx"), 1.0, max_samples=10)])
    assert len(mixed) == 30
    assert [sample["n"] for sample in mixed] == mixed.run(workers=1)["n"].tolist()
    assert [sample["n"] for sample in mixed.take(30)] == [sample["n"] for sample in mixed]


def test_show_is_a_table(flow):
    table = flow.filter(odd).map(lambda sample: {"html": "<b>"}).show(2)
    assert repr(table).splitlines() == ["n  text      html", "1  '1 '      '<b>'", "3  '3 3 3 '  '<b>'"]
    page = table._repr_html_()
    assert page.count("<tr") == 3
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert repr(flow.filter("n < 0").show()) == "no samples"
    assert json.loads(json.dumps(table.samples))[0]["n"] == 1
