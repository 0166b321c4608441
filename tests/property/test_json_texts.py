"""What a field of JSON text gives is what Python's `json` gives, however the text was written."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import jinx

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
PLAIN = st.text("abcdefgh _-", max_size=40)
NAMES = st.one_of(PLAIN, TEXTS, st.sampled_from(["role", "content", "n" * 14, "n" * 15, "n" * 16, "n" * 64]))
NUMBERS = st.one_of(st.integers(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, PLAIN)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(NAMES, inner, max_size=6)),
    max_leaves=30,
)


def read(path: Any, text: str) -> Any:
    path.write_text(f'{{"a":{text}}}\n', encoding="utf-8", newline="")
    return jinx.open(path)[0]["a"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("texts") / "rows.jsonl"


@given(value=VALUES, escaped=st.booleans(), separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]))
@example(
    value=[0, -1, 10**18 - 1, 10**18, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1],
    escaped=True,
    separators=(",", ":"),
)
@example(value=[0.1, -0.0, 1e-320, 1.7976931348623157e308, 123456789012345678.5], escaped=True, separators=(",", ":"))
@example(value=["\U0001f600é\u2028\x7f", '\x00\x1f"\\/\b\f\n\r\t', "", "a", "é"], escaped=True, separators=(",", ":"))
@example(value=["x" * n + "é" + '"' * n for n in range(20)], escaped=False, separators=(",", ":"))
@example(value={"n" * n: {'"' * n: n} for n in range(20)}, escaped=False, separators=(", ", ": "))
def test_every_value_is_what_json_loads_gives(path, value, escaped, separators):
    text = json.dumps(value, ensure_ascii=escaped, separators=separators)
    found = read(path, text)
    assert repr(found) == repr(json.loads(text))


@pytest.mark.parametrize("depth", [1, 127, 128, 129, 254, 255])
def test_nesting_is_read_up_to_its_cap(path, depth):
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        assert repr(read(path, text)) == repr(json.loads(text))


def test_of_a_name_that_stands_twice_the_last_holds_in_plain_lines(path):
    assert read(path, '[{"b": 1, "c": 2, "b": [3]}]') == [{"b": [3], "c": 2}]


@pytest.mark.parametrize(
    "text",
    [
        *("[1,]", '{"b":1,}', "[1 2]", '{"b" 1}', "{b:1}", "[nul]", "[True]"),
        *("[01]", "[1.]", "[.5]", "[1e]", "[+1]", "[-]", "[1e999]", "[NaN]"),
        *('["\t"]', '{"a\tb":1}', '["\\x"]', '["\\u12g4"]', '["\\ud800"]', '["\\ud800\\u0041"]', '["\\udc00"]'),
    ],
)
def test_what_is_no_json_is_refused(path, text):
    with pytest.raises(jinx.CorruptFileError, match="column 'a'"):
        read(path, text)


def test_names_of_many_samples_share_their_objects(path):
    path.write_text('{"a":[{"role":1,"a_name_of_more_than_sixteen":2}]}\n' * 2)
    first, second = (list(sample["a"][0]) for sample in jinx.open(path))
    assert all(one is other for one, other in zip(first, second, strict=True))
