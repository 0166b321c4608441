"""Filters on texts: what they measure on texts of several scripts, and what they keep."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jinx_pipeline as jp
from jinx_pipeline.operators.api.parameters import ParameterError

ENGLISH = "The cat sat on the mat, and the 2 dogs slept."
CHINESE = "今天天气很好\uff0c我们去公园散步。"
ARABIC = "ذهب الولد إلى المدرسة في الصباح."
HINDI = "यह एक सुन्दर दिन है।"
EMOJI = "😀😀 ok ❤️"
TEXTS = [ENGLISH, CHINESE, ARABIC, HINDI, EMOJI, "", None]


def stats_of(operator: jp.Operator, texts: list[str | None], name: str) -> list[float]:
    samples = operator([{"text": text} for text in texts], keep_stats=True, drop=False)
    return [sample["__dj__stats__"][name] for sample in samples]


def kept(operator: jp.Operator, texts: list[str | None]) -> list[str | None]:
    return [sample["text"] for sample in operator([{"text": text} for text in texts])]


STATS = [
    ("alphanumeric_filter", {}, "alnum_ratio", [33 / 45, 13 / 15, 26 / 32, 11 / 20, 2 / 8, 0, 0]),
    ("alphanumeric_filter", {"tokenization": True}, "alpha_token_ratio", None),
    ("average_line_length_filter", {}, "avg_line_length", [45, 15, 32, 20, 8, 0, 0]),
    ("maximum_line_length_filter", {}, "max_line_length", [45, 15, 32, 20, 8, 0, 0]),
    ("special_characters_filter", {}, "special_char_ratio", [13 / 45, 2 / 15, 6 / 32, 5 / 20, 6 / 8, 0, 0]),
    ("stopwords_filter", {}, "stopwords_ratio", [5 / 10, 0, 0, 0, 0, 0, 0]),
    ("stopwords_filter", {"lang": "ar"}, "stopwords_ratio", [0, 0, 2 / 6, 0, 0, 0, 0]),
    ("stopwords_filter", {"lang": "hi"}, "stopwords_ratio", [0, 0, 0, 3 / 5, 0, 0, 0]),
    ("flagged_words_filter", {}, "flagged_words_ratio", [0] * 7),
    ("word_repetition_filter", {"rep_len": 1}, "word_rep_ratio", [3 / 10, 0, 0, 0, 0, 0, 0]),
    ("word_repetition_filter", {}, "word_rep_ratio", [0] * 7),
]


@pytest.mark.parametrize(("name", "parameters", "stat", "expected"), STATS)
def test_statistics(name, parameters, stat, expected):
    found = stats_of(jp.create(name, **parameters), TEXTS, stat)
    assert all(math.isfinite(value) for value in found)
    if expected is not None:
        assert found == pytest.approx(expected)


def test_line_lengths():
    assert stats_of(jp.create("average_line_length_filter"), ["ab\nc", "ab\n"], "avg_line_length") == [2, 3]
    assert stats_of(jp.create("maximum_line_length_filter"), ["ab\r\nc", "\n\n"], "max_line_length") == [2, 0]


def test_letters_for_each_token():
    found = stats_of(
        jp.create("alphanumeric_filter", tokenization=True), ["two words", "12 34", ""], "alpha_token_ratio"
    )
    assert found == [4, 0, 0]
    assert kept(jp.create("alphanumeric_filter", tokenization=True, min_ratio=2), ["two words", "12 34"]) == [
        "two words"
    ]


def test_default_bounds():
    assert kept(jp.create("alphanumeric_filter"), TEXTS) == [ENGLISH, CHINESE, ARABIC, HINDI, EMOJI]
    assert kept(jp.create("special_characters_filter"), [CHINESE, EMOJI]) == [CHINESE]
    assert kept(jp.create("stopwords_filter"), TEXTS) == [ENGLISH]
    assert kept(jp.create("maximum_line_length_filter"), TEXTS) == [ENGLISH, CHINESE, ARABIC, HINDI]


def test_stop_words_of_chinese_are_found_when_it_is_split():
    found = stats_of(
        jp.create("stopwords_filter", lang="zh", tokenization=True, use_words_aug=True), [CHINESE], "stopwords_ratio"
    )
    assert found == pytest.approx([6 / 25])  # 很, 好, 我, 们, 去 and 我们 of 13 ideographs and 12 pairs


def test_own_word_lists(tmp_path):
    (tmp_path / "my_stopwords.json").write_text('{"xx": ["cat", "mat"]}')
    (tmp_path / "flagged_words.xx.txt").write_text("Dogs\n")
    stop = jp.create("stopwords_filter", lang="xx", stopwords_dir=str(tmp_path))
    assert stats_of(stop, [ENGLISH], "stopwords_ratio") == pytest.approx([2 / 10])
    flagged = jp.create("flagged_words_filter", lang="xx", flagged_words_dir=str(tmp_path))
    assert kept(flagged, [ENGLISH, CHINESE]) == [CHINESE]
    assert kept(jp.create("stopwords_filter", stopwords=["cat", "sat", "on", "mat"]), [ENGLISH]) == [ENGLISH]
    with pytest.raises(jp.ParameterError, match="no stopwords for 'xx' built in; there are: ar, de, en"):
        jp.create("stopwords_filter", lang="xx")


@pytest.mark.parametrize("lang", ["ar", "de", "en", "es", "fr", "hi", "zh", "all"])
@pytest.mark.parametrize("kind", ["stopwords", "flagged_words"])
def test_built_in_lists(kind, lang):
    assert jp.create(f"{kind}_filter", lang=lang)([{"text": ""}]) in ([], [{"text": ""}])


def test_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    operator = jp.create("token_num_filter", hf_tokenizer=str(tmp_path), min_num=2)
    assert stats_of(operator, ["a b.", "a", "", None], "num_token") == [3, 1, 0, 0]
    assert kept(operator, ["a b.", "a"]) == ["a b."]
    by_token = jp.create("alphanumeric_filter", tokenization=True, tokenizer=str(tmp_path / "tokenizer.json"))
    assert stats_of(by_token, ["abc d"], "alpha_token_ratio") == [2]


def test_a_tokenizer_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no tokenizer there; give the path"):
        jp.create("token_num_filter")([{"text": "a"}])


FILTERS = sorted({name for name, *_ in STATS})


@given(st.text(max_size=300))
def test_any_text_has_finite_statistics(text):
    for name in FILTERS:
        operator = jp.create(name)
        (sample,) = operator([{"text": text}], keep_stats=True, drop=False)
        assert all(value is None or math.isfinite(value) for value in sample["__dj__stats__"].values())


def test_a_huge_text():
    for name in FILTERS:
        assert len(jp.create(name)([{"text": "word. " * 200_000}], drop=False)) == 1


@pytest.mark.parametrize(
    ("operator", "parameter"), [("flagged_words_filter", "flagged_words"), ("stopwords_filter", "stopwords")]
)
def test_a_listed_word_that_is_never_found_is_refused(operator, parameter):
    for word in ("c++", "f00d 1", "two words", "42"):
        with pytest.raises(ParameterError, match=f"{operator}: {re.escape(repr(word))} is never found"):
            jp.create(operator, **{parameter: ["fine", word]})
    jp.create(operator, **{parameter: ["Fine", "it's", "x-ray", "東京"]})
    jp.create(operator, **{parameter: ["two words"], "use_words_aug": True, "words_aug_join_char": " "})
