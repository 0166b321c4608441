"""Filters, selectors and groupers on the values of fields."""

import pytest

import jinx
import jinx_pipeline as jp

ROWS = [
    {"n": 1, "lang": "en", "meta": {"tags": ["a", "b"]}},
    {"n": 2.5, "lang": "fr", "meta": {"tags": ["a"]}},
    {"n": "3", "lang": "en", "meta": {}},
    {"n": None, "lang": None, "meta": {"tags": []}},
]


def numbers(operator: jp.Operator, rows: list[dict] = ROWS, **options) -> list:
    return [row["n"] for row in operator(rows, **options)]


def test_specified_field():
    assert numbers(jp.create("specified_field_filter", field_key="lang", target_value=["en"])) == [1, "3"]
    assert numbers(jp.create("specified_field_filter", field_key="meta.tags", target_value=["a"])) == [2.5, None]
    assert len(numbers(jp.create("specified_field_filter"))) == 4
    with pytest.raises(KeyError, match="no column 'x'"):
        jp.create("specified_field_filter", field_key="x", target_value=[1])(ROWS)


def test_specified_numeric_field():
    assert numbers(jp.create("specified_numeric_field_filter", field_key="n")) == [1, 2.5, "3"]
    assert numbers(jp.create("specified_numeric_field_filter", field_key="n", min_value=2)) == [2.5, "3"]
    assert numbers(jp.create("specified_numeric_field_filter", field_key="lang", max_value=9)) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("", [1, 2.5, "3", None]),
        ("lang == 'en' and n != 1", ["3"]),
        ("lang in ['fr', 'de'] or lang == None", [2.5, None]),
        ("not lang == 'en'", [2.5, None]),
        # As in Data-Juicer, nothing is known about a missing value.
        ("lang != 'en'", [2.5]),
        ("1 != n", [2.5, "3"]),
        ("'b' in meta.tags", [1]),
        ("meta.tags != None and lang not in ('fr',)", [1, None]),
        ("-1 < -0.5 < 1 and True", [1, 2.5, "3", None]),
    ],
)
def test_conditions(condition, expected):
    assert numbers(jp.create("general_field_filter", filter_condition=condition)) == expected


def test_conditions_over_statistics():
    rows = jp.create("text_length_filter")([{"text": "a" * n, "n": n} for n in (12, 30)], keep_stats=True)
    condition = "10 < __dj__stats__.text_len <= 20"
    assert numbers(jp.create("general_field_filter", filter_condition=condition), rows) == [12]
    assert numbers(jp.create("general_field_filter", filter_condition="x.y > 1"), [{"n": 1, "x": None}]) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("n >", "does not parse"),
        ("__import__('os').system('x')", "may not hold `__import__"),
        ("n + 1 > 2", r"may not hold `n \+ 1`"),
        ("(lambda: 1)()", "may not hold"),
        ("f().x == 1", r"`f\(\)` is not a field"),
        ("not " * 100 + "n", "nested more than 50 deep"),
        ("n == 1" + " " * 20_000, "20006 characters"),
    ],
)
def test_conditions_that_are_refused(condition, message):
    with pytest.raises(jp.ParameterError, match=message):
        jp.create("general_field_filter", filter_condition=condition)


def test_a_comparison_of_other_types_names_the_error():
    with pytest.raises(TypeError, match="not supported between"):
        jp.create("general_field_filter", filter_condition="lang > 1")(ROWS)


def test_suffixes():
    rows = [{"__dj__suffix__": suffix, "n": suffix} for suffix in (".py", ".md", None)]
    assert numbers(jp.create("suffix_filter", suffixes=".py"), rows) == [".py"]
    assert numbers(jp.create("suffix_filter", suffixes=[".py", ".md"]), rows) == [".py", ".md"]
    assert len(numbers(jp.create("suffix_filter"), rows)) == 3


def test_filters_without_statistics_drop_nothing_when_only_measured():
    operator = jp.create("specified_field_filter", field_key="lang", target_value=["en"])
    assert len(operator(ROWS, drop=False)) == 4


def test_frequency():
    rows = [{"n": at, "k": key} for at, key in enumerate("abcabaz")]
    assert numbers(jp.create("frequency_specified_field_selector", field_key="k", topk=1), rows) == [0, 3, 5]
    assert numbers(jp.create("frequency_specified_field_selector", field_key="k", top_ratio=0.5), rows) == [
        0,
        1,
        3,
        4,
        5,
    ]
    rare = jp.create("frequency_specified_field_selector", field_key="k", topk=1, reverse=False)
    assert numbers(rare, rows) == [2]
    lists = [{"n": 1, "k": [1]}, {"n": 2, "k": [1]}, {"n": 3, "k": None}]
    assert numbers(jp.create("frequency_specified_field_selector", field_key="k", topk=1), lists) == [1, 2]


def test_random():
    rows = [{"n": at} for at in range(100)]
    some = numbers(jp.create("random_selector", select_ratio=0.2, select_num=30), rows)
    assert len(some) == 20
    assert some == sorted(set(some))
    assert some == numbers(jp.create("random_selector", select_num=20), rows)
    other = numbers(jp.create("random_selector", select_num=20), rows, ctx=jp.Context(seed=1))
    assert other != some
    assert numbers(jp.create("random_selector", select_num=5), []) == []
    with pytest.raises(jp.ParameterError, match="give select_ratio or select_num"):
        jp.create("random_selector")
    with pytest.raises(jp.ParameterError, match="select_ratio is 2"):
        jp.create("random_selector", select_ratio=2)


def test_range():
    rows = [{"n": n} for n in (5, None, 1, 4, 2, 3)]
    ranks = jp.create("range_specified_field_selector", field_key="n", lower_rank=1, upper_rank=3)
    assert numbers(ranks, rows) == [2, 3]
    percentiles = jp.create(
        "range_specified_field_selector", field_key="n", lower_percentile=0.2, upper_percentile=0.8, upper_rank=3
    )
    assert numbers(percentiles, rows) == [2, 3]
    with pytest.raises(jp.ParameterError, match="give upper_percentile or upper_rank"):
        jp.create("range_specified_field_selector", field_key="n", lower_rank=1)


def test_selectors_without_a_field_keep_all_samples(tmp_path):
    selectors = [
        jp.create("frequency_specified_field_selector", topk=0),
        jp.create("range_specified_field_selector", lower_rank=1, upper_rank=1),
        jp.create("tags_specified_field_selector", target_tags=["fr"]),
    ]
    for selector in selectors:
        assert selector(ROWS) == ROWS
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for at in range(4):
            writer.write({"n": at})
    jp.Dataset.load(tmp_path / "in.jinx").process(selectors).export(tmp_path / "out.jinx", workers=1)
    assert jinx.open(tmp_path / "out.jinx")["n"].tolist() == [0, 1, 2, 3]


def test_tags():
    assert numbers(jp.create("tags_specified_field_selector", field_key="lang", target_tags=["fr"])) == [2.5]
    assert numbers(jp.create("tags_specified_field_selector", field_key="meta.tags", target_tags=["b", "x"])) == [1]
    assert len(numbers(jp.create("tags_specified_field_selector", field_key="lang"))) == 4


def test_everything_is_one_group_and_back():
    rows = [{"n": 1, "k": "a"}, {"n": 2, "k": "b"}]
    (group,) = jp.create("naive_grouper")(rows)
    assert group == {"n": [1, 2], "k": ["a", "b"]}
    assert jp.create("naive_reverse_grouper")([group]) == rows
    assert jp.create("naive_grouper")([]) == []
    with pytest.raises(ValueError, match="different lengths"):
        jp.create("naive_reverse_grouper")([{"n": [1, 2], "k": [1]}])
    with pytest.raises(TypeError, match="'k' of sample 0 of the batch is not a list"):
        jp.create("naive_reverse_grouper")([{"n": [1, 2], "k": "ab"}])


@pytest.mark.parametrize("indexed", [["n"], []])
@pytest.mark.parametrize("values", [[1, 2, None, 3], [1, 2.5, -1, 2**60], [True, 2, 3, 1], ["2", 2, "x", [2, 3]]])
def test_numbers_of_the_index_are_judged_as_those_of_samples(tmp_path, values, indexed):
    rows = [{"at": at} | ({} if value is None else {"n": value}) for at, value in enumerate(values)]
    with jinx.Writer(tmp_path / "in.jinx", indexed=indexed) as writer:
        writer.write_many(rows)
    for least, largest in ((1.5, 2.5), (2, 2**60 - 1), (float("-inf"), float("inf"))):
        chosen = jp.create("specified_numeric_field_filter", field_key="n", min_value=least, max_value=largest)
        found = chosen(jinx.open(tmp_path / "in.jinx"))
        assert [item["at"] for item in found] == [row["at"] for row in chosen(rows)]


@pytest.mark.parametrize("indexed", [["n"], []])
@pytest.mark.parametrize(
    "bound", [1735689600123456788, 9007199254740993, -9007199254740993, 2**63 + 1, pytest.param(10**400, id="huge")]
)
def test_integers_that_no_float_equals_are_compared_exactly(tmp_path, indexed, bound):
    values = [bound - 1, bound, bound + 1, str(bound), str(bound + 1), [bound], [bound, bound + 1]]
    rows = [{"n": value, "at": at} for at, value in enumerate(values)]

    def kept(of, **parameters):
        chosen = jp.create("specified_numeric_field_filter", field_key="n", **parameters)(of)
        return [row["at"] for row in chosen]

    assert kept(rows, max_value=bound) == [0, 1, 3, 5]
    assert kept(rows, min_value=bound + 1) == [2, 4]
    if bound < 2**63:
        with jinx.Writer(tmp_path / "in.jinx", indexed=indexed) as writer:
            writer.write_many(rows[:3])
        stored = jinx.open(tmp_path / "in.jinx")
        assert kept(stored, max_value=bound) == [0, 1]
        assert kept(stored, min_value=bound + 1) == [2]


@pytest.mark.parametrize("indexed", [["n"], []])
def test_floats_are_compared_with_integers_that_no_float_equals(tmp_path, indexed):
    with jinx.Writer(tmp_path / "in.jinx", indexed=indexed) as writer:
        writer.write_many([{"n": 9007199254740992.0, "at": 0}, {"n": 9007199254740994.0, "at": 1}, {"n": 0.5, "at": 2}])
    stored = jinx.open(tmp_path / "in.jinx")
    for rows in (stored, [dict(row) for row in stored]):
        for parameters, expected in (
            ({"min_value": 9007199254740993}, [1]),
            ({"max_value": 9007199254740993}, [0, 2]),
            ({"min_value": -(10**400), "max_value": 10**400}, [0, 1, 2]),
        ):
            found = jp.create("specified_numeric_field_filter", field_key="n", **parameters)(rows)
            assert [row["at"] for row in found] == expected
