"""Kernels that edit and compare texts next to plain Python that says the same."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jinx.errors import InvalidError, LimitError
from jinx_pipeline import kernels

# Characters about which Rust and Python agree what they are.
ALPHABET = "abcXYZ 019.,!?-\n\té中文あ"
TEXTS = st.lists(st.text(ALPHABET, max_size=80), max_size=12)


def merged(texts: list[str], edited: list[str | None]) -> list[str]:
    return [old if new is None else new for old, new in zip(texts, edited, strict=True)]


def words_of(text: str) -> list[str]:
    stripped = (re.sub(r"^[\W\d_]+|[\W\d_]+$", "", word) for word in text.split())
    return [word.lower() for word in stripped if word]


@given(st.lists(st.text("ab \n\r\v\f\x1c\x85\u2028é", max_size=30), max_size=8))
def test_lines(texts):
    expected = [[len(text.splitlines()), max(map(len, text.splitlines()), default=0)] for text in texts]
    assert kernels.lines(texts).tolist() == expected


@given(TEXTS, st.sets(st.sampled_from(["a", "b", "ab", "中文", "x", "YZ"])))
def test_listed_words(texts, listed):
    lower = {word.lower() for word in listed}
    expected = [[sum(word in lower for word in words_of(text)), len(words_of(text))] for text in texts]
    assert kernels.count_listed_words(texts, listed).tolist() == expected


@given(TEXTS, st.booleans())
def test_characters_that_become_others(texts, strip):
    table = {"a": "", "é": "e", "中": "<>", "\t": " "}
    found = merged(texts, kernels.replace_characters(texts, table, strip=strip))
    translated = [text.translate(str.maketrans(table)) for text in texts]
    assert found == [text.strip() if strip else text for text in translated]


@given(TEXTS, st.sampled_from([("[a-c]+", "<\\g<0>>"), (r"(\w)(\d)", r"\2\1"), ("x*", "-"), (r"\s+$", "")]))
def test_patterns(texts, case):
    pattern, replacement = case
    if replacement == "<\\g<0>>":
        replacement = "<>"
    assert merged(texts, kernels.replace_pattern(texts, pattern, replacement)) == [
        re.sub(pattern, replacement, text) for text in texts
    ]


def test_replacements_are_written_as_in_python():
    assert kernels.replace_pattern(["ab"], "(a)(b)", r"\2\g<1>\n\t\\$1") == ["ba\n\t\\$1"]
    with pytest.raises(InvalidError, match="no group 1"):
        kernels.replace_pattern([], "a", r"\1")
    with pytest.raises(InvalidError, match="the pattern"):
        kernels.replace_pattern([], "(", "")
    with pytest.raises(LimitError, match=r"text 0: the pattern .* takes too long"):
        kernels.replace_pattern(["a" * 60 + "!"], "(?:(a|aa)(?!c))*x", "")


def test_addresses():
    assert kernels.replace_emails(["a@b.org, c", "none"], "M") == ["M, c", None]
    assert kernels.replace_ips(["at 10.1.1.1:80", "999.1.1.1", "::1 is it"], "IP") == ["at IP:80", None, "IP is it"]


def test_near_texts_have_near_hashes():
    words = [f"w{at}" for at in range(300)]
    texts = [" ".join(words), " ".join(["x", *words[1:]]), " ".join(reversed(words)), ""]
    hashes = kernels.simhash(texts)
    assert int(hashes[0] ^ hashes[1]).bit_count() <= 8
    assert int(hashes[0] ^ hashes[2]).bit_count() > 12
    assert hashes[3] == 0


@given(st.lists(st.integers(0, 2**12 - 1), max_size=40), st.integers(0, 3))
def test_near_hashes_are_those_of_all_pairs(numbers, distance):
    groups = list(range(len(numbers)))
    for at, one in enumerate(numbers):
        for to, other in enumerate(numbers):
            if (one ^ other).bit_count() <= distance:
                least, most = sorted((groups[at], groups[to]))
                groups = [least if group == most else group for group in groups]
    hashes = np.array(numbers, dtype=np.uint64)
    assert kernels.near_simhashes(hashes, distance, 6).tolist() == groups


def test_blocks_that_cannot_be():
    with pytest.raises(InvalidError, match="4 blocks for a distance of 4"):
        kernels.near_simhashes(np.zeros(1, dtype=np.uint64), 4, 4)


def test_shared_ngrams():
    index = kernels.NgramIndex(3)
    index.add(["one two three four"])
    index.add(["x y", ""])
    assert len(index) == 3
    found = index.find(["zero One, two THREE", "x y", "two three", "x y z"])
    assert found.tolist() == [[0, 1], [1, 0], [-1, -1], [-1, -1]]
    with pytest.raises(InvalidError, match="n-grams of 0 words"):
        kernels.NgramIndex(0).find(["a"])


@pytest.mark.parametrize(
    ("text", "special"), [("a1 .", 3), ("你好。", 1), ("नमस्ते", 0), ("مرحبا، ٣", 3), ("😀❤️", 3), ("", 0)]
)
def test_special_characters(text, special):
    assert kernels.count_characters([text], "special").tolist() == [special]
