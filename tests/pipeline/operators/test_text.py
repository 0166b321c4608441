"""Operators on texts."""

import pytest

import jinx_pipeline as jp


def stats_of(operator: jp.Operator, texts: list[str]) -> list[dict]:
    samples = operator([{"text": text} for text in texts], keep_stats=True, drop=False)
    return [sample["__dj__stats__"] for sample in samples]


def kept(operator: jp.Operator, texts: list[str]) -> list[str]:
    return [sample["text"] for sample in operator([{"text": text} for text in texts])]


def test_text_length_counts_code_points():
    assert stats_of(jp.create("text_length_filter"), ["é😀", ""]) == [{"text_len": 2}, {"text_len": 0}]
    assert kept(jp.create("text_length_filter", min_len=2, max_len=3), ["a", "ab", "abc", "abcd"]) == ["ab", "abc"]


def test_words_num():
    texts = ["It's 3 words, well.", "1 2 3", "你好世界"]
    assert [text["num_words"] for text in stats_of(jp.create("words_num_filter"), texts)] == [3, 0, 1]
    by_boundaries = jp.create("words_num_filter", tokenization=True, min_num=4)
    assert [text["num_words"] for text in stats_of(by_boundaries, texts)] == [3, 0, 4]
    assert kept(by_boundaries, texts) == ["你好世界"]


def test_character_repetition():
    operator = jp.create("character_repetition_filter", rep_len=3, max_ratio=0.4)
    assert kept(operator, ["spam " * 20, "a plain sentence of some length", ""]) == [
        "a plain sentence of some length",
        "",
    ]
    # 4 different n-grams, 3 of them 6 times or more: the 2 most frequent ones make up 14 of 27.
    assert stats_of(operator, ["abcd" * 7 + "a"])[0]["char_rep_ratio"] == pytest.approx(14 / 27)
    with pytest.raises(jp.ParameterError, match=r"rep_len.* from 1 to 1024, not 0"):
        jp.create("character_repetition_filter", rep_len=0)


def test_clean_links():
    assert jp.create("clean_links_mapper", repl="[link]")([{"text": "see (https://a.org/x_(y)). Or www.b.com!"}]) == [
        {"text": "see ([link]). Or [link]!"}
    ]
