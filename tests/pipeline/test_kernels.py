"""Kernels over texts next to plain Python that says the same."""

import pickle
import re
import subprocess
import sys
from collections import Counter
from math import isqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jinx.errors import InternalError, InvalidError
from jinx_pipeline import _kernels, kernels

# Characters about which Rust and Python agree what they are.
ALPHABET = "abcXYZ 019.,!?-\n\té中文あ"
TEXTS = st.lists(st.text(ALPHABET, max_size=80), max_size=12)


def words_of(text: str) -> list[str]:
    stripped = (re.sub(r"^[\W\d_]+|[\W\d_]+$", "", word) for word in text.split())
    return [word for word in stripped if word]


def ngrams(items, n: int) -> Counter:
    return Counter(tuple(items[at : at + n]) for at in range(len(items) - n + 1))


def character_repetition(text: str, n: int) -> float:
    counts = sorted(ngrams(text, n).values(), reverse=True)
    repeated = sum(count > 1 for count in counts)
    return sum(counts[: min(isqrt(len(counts)), repeated)]) / sum(counts) if counts else 0.0


def word_repetition(text: str, n: int) -> float:
    counts = ngrams([word.lower() for word in words_of(text)], n).values()
    return sum(count for count in counts if count > 1) / sum(counts) if counts else 0.0


@given(TEXTS)
def test_counts(texts):
    assert kernels.code_points(texts).tolist() == [len(text) for text in texts]
    assert kernels.count_words(texts).tolist() == [len(words_of(text)) for text in texts]
    letters = kernels.count_characters(texts, "letter").tolist()
    assert letters == [sum(map(str.isalpha, text)) for text in texts]
    assert kernels.count_characters(texts, "whitespace").tolist() == [sum(map(str.isspace, text)) for text in texts]
    assert kernels.count_characters(texts, "digit").tolist() == [sum(map(str.isdigit, text)) for text in texts]


@given(TEXTS, st.integers(1, 6))
def test_repetition(texts, n):
    by_character = [character_repetition(text, n) for text in texts]
    assert kernels.character_repetition(texts, n).tolist() == pytest.approx(by_character)
    assert kernels.word_repetition(texts, n).tolist() == pytest.approx([word_repetition(text, n) for text in texts])


@given(st.lists(st.text("abAB 1.é", max_size=8), min_size=1, max_size=20), st.booleans(), st.booleans())
def test_hashes_are_equal_where_texts_are(texts, ignore_case, ignore_non_letters):
    def normal(text: str) -> str:
        text = text.lower() if ignore_case else text
        return ("".join(filter(str.isalpha, text)) or text) if ignore_non_letters else text

    hashes = kernels.hash128(texts, ignore_case=ignore_case, ignore_non_letters=ignore_non_letters)
    groups = {tuple(one): normal(text) for one, text in zip(hashes.tolist(), texts, strict=True)}
    assert len(groups) == len({normal(text) for text in texts})


def test_links():
    link = r"(?i)(?<![\w])(?:https?://|ftp://|www\d{0,3}\.)[^\s<>\"]*[^\s<>\".,;:!?'*_()]"
    texts = [
        "see http://a.org/b?c=d, then",
        "no link",
        "WWW.a.com",
        "at https://x.y/z!",
        'a "ftp://u/v" b',
        "xhttp://a.b",
    ]
    expected = [re.sub(link, "L", text) for text in texts]
    found = kernels.replace_links(texts, "L")
    assert [new or old for new, old in zip(found, texts, strict=True)] == expected
    assert found[1] is None
    assert found[5] is None


def test_minhash_estimates_the_jaccard_similarity():
    texts = [" ".join(f"w{word}" for word in range(at * 40, at * 40 + 400)) for at in range(5)]
    signatures = kernels.minhash(texts, window=1, permutations=1024)
    sets = [set(text.split()) for text in texts]
    for at in range(5):
        jaccard = len(sets[0] & sets[at]) / len(sets[0] | sets[at])
        assert np.mean(signatures[0] == signatures[at]) == pytest.approx(jaccard, abs=0.06)


def test_signatures_are_the_same_on_every_machine():
    signature = kernels.minhash(["one two three four five six"])[0]
    assert signature[:3].tolist() == SIGNATURE
    assert kernels.band_keys(signature[None], 25, 10).shape == (1, 25)


SIGNATURE = [1040479272, 3353270916, 1320067770]


def test_threads_make_no_difference():
    texts = [f"text {number} " * 300 for number in range(400)]
    assert (kernels.minhash(texts, threads=1) == kernels.minhash(texts, threads=3)).all()
    assert (kernels.count_words(texts, threads=1) == kernels.count_words(texts)).all()


def test_clusters():
    clusters = kernels.Clusters(5)
    clusters.join_equal(np.array([7, 8, 7], dtype=np.uint64), np.array([0, 1, 3]))
    clusters.join_equal(np.array([1, 1], dtype=np.uint64), np.array([3, 4]))
    assert clusters.roots().tolist() == [0, 1, 2, 0, 0]
    with pytest.raises(InvalidError, match="position 5 of 5 samples"):
        clusters.join_equal(np.array([1], dtype=np.uint64), np.array([5]))


@pytest.mark.parametrize(
    "texts",
    [
        ["a b", None, "c"],
        pa.array(["a b", None, "c"]),
        pa.array(["a b", None, "c"], pa.large_string()),
        pa.array(["a b", None, "c"], pa.string_view()),
        pa.chunked_array([["a b", None], ["c"]]),
        pa.array(["x", "a b", None, "c"]).slice(1),
    ],
    ids=["list", "string", "large", "view", "chunked", "slice"],
)
def test_texts_of_every_kind(texts):
    assert kernels.count_words(texts).tolist() == [2, 0, 1]


def test_nothing_gives_nothing():
    assert kernels.code_points([]).tolist() == []
    assert kernels.minhash([]).shape == (0, 256)
    assert kernels.code_points(pa.nulls(2)).tolist() == [0, 0]


def test_what_is_no_text():
    with pytest.raises(InvalidError, match="a kernel takes strings"):
        kernels.code_points(pa.array([1, 2]))
    with pytest.raises(TypeError, match="texts are an Arrow array or a list of str, not str"):
        kernels.code_points("text")
    with pytest.raises(InvalidError, match="shouting"):
        kernels.count_characters(["a"], "shouting")


def test_a_missing_extension_is_told_with_its_remedy():
    code = "import sys; sys.modules['jinx_pipeline._kernels'] = None; import jinx_pipeline.kernels"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the compiled part of jinx-pipeline does not load")
    assert last.endswith("install a wheel, or build it in a clone with `make develop`")


def test_a_panic_is_an_internal_error():
    assert issubclass(_kernels.PanicError, InternalError)
    assert str(pickle.loads(pickle.dumps(_kernels.PanicError("x")))) == str(InternalError("x"))
