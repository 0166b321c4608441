"""Filters of JSON lines find what Python's `json` finds, whatever keys the lines before have and in which order."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import jinx

NAMES = ["a", "ab", "b", "é", 'q"', "deep"]
BLANKS = st.sampled_from(["", "", " ", "\t "])
SCALARS = st.one_of(st.integers(-2, 2), st.just(None))


@st.composite
def members(draw, depth=0):
    """An object as text, with names that repeat, in escapes or with blanks between."""
    texts = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=6)):
        key = json.dumps(name, ensure_ascii=draw(st.booleans()))
        if draw(st.integers(0, 9)) == 0:
            key = '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
        value = draw(members(depth + 1)) if name == "deep" and depth == 0 else json.dumps(draw(SCALARS))
        texts.append(f"{draw(BLANKS)}{key}{draw(BLANKS)}:{draw(BLANKS)}{value}{draw(BLANKS)}")
    return "{" + ",".join(texts) + "}"


def value_at(row, path):
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


@given(st.lists(members(), min_size=1, max_size=12), st.integers(1, 4))
def test_every_order_of_keys(tmp_path_factory, lines, times):
    # A line is met after itself, and after each other one.
    lines = [*lines, '{"a":0,"ab":0,"b":0,"é":0,"q\\"":0,"deep":{"a":0,"ab":0}}'] * times
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    dataset = jinx.open(path)
    rows = [json.loads(line) for line in lines]
    for text, keys in {
        "a": ["a"],
        "ab": ["ab"],
        '"é"': ["é"],
        '"q"""': ['q"'],
        "deep.a": ["deep", "a"],
        "deep.ab": ["deep", "ab"],
    }.items():
        values = [value_at(row, keys) for row in rows]
        expected = [i for i, value in enumerate(values) if value is not None and value >= 0]
        found = np.frombuffer(dataset.filter(f"{text} >= 0 and ({text} >= 0 or a is None)")._indices or b"", "<u8")
        assert found.tolist() == expected, text
