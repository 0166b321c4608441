"""document_simhash_deduplicator."""

import random

import pytest

import jinx_pipeline as jp

RANDOM = random.Random(3)
WORDS = ["".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(2000)]


def duplicates(texts: list[str | None], **parameters) -> list[int | None]:
    operator = jp.create("document_simhash_deduplicator", **parameters)
    return [item["__dj__duplicate_of"] for item in operator([{"text": text} for text in texts], drop=False)]


def test_near_texts():
    documents = [RANDOM.choices(WORDS, k=400) for _ in range(50)]
    texts = [" ".join(words) for words in documents]
    near = [" ".join([*words[:-1], "other"]) for words in documents[:10]]
    found = duplicates(texts + near)
    assert found[:50] == [None] * 50
    assert sum(item == at for at, item in enumerate(found[50:])) >= 8


def test_texts_of_every_script():
    texts = [
        "The cat sat on the mat",
        "the CAT sat on the mat",
        "今天天气很好",
        "今天天气很好",
        "यह दिन",
        "",
        None,
        "😀",
        "",
    ]
    assert duplicates(texts) == [None, 0, None, 2, None, None, None, None, None]
    assert duplicates(texts, lowercase=False)[1] is None
    assert duplicates(["a 1 b", "a 22 b"], ignore_pattern=r"\d+") == [None, 0]
    assert duplicates([]) == []


def test_blocks_that_cannot_be():
    with pytest.raises(jp.ParameterError, match="num_blocks is 3"):
        jp.create("document_simhash_deduplicator", num_blocks=3)
