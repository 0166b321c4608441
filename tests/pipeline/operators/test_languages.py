"""language_id_score_filter."""

import pytest

import jinx_pipeline as jp

TEXTS = {
    "en": "This is a sentence that was written in plain English about the weather.",
    "de": "Das ist ein Satz über das Wetter, der auf Deutsch geschrieben wurde.",
    "fr": "Ceci est une phrase écrite en français qui parle du temps qu'il fait.",
    "zh": "今天天气很好我们一起去公园散步吧",
    "ar": "هذه جملة مكتوبة باللغة العربية عن الطقس اليوم",
    "hi": "यह मौसम के बारे में हिंदी में लिखा गया एक वाक्य है",
}


@pytest.fixture(scope="module", autouse=True)
def _needs_lingua():
    pytest.importorskip("lingua")


def test_languages():
    texts = [*TEXTS.values(), "", "😀 123 ...", None]
    samples = [{"text": text} for text in texts]
    found = jp.create("language_id_score_filter")(samples, keep_stats=True, drop=False)
    stats = [item["__dj__stats__"] for item in found]
    assert [item["lang"] for item in stats] == [*TEXTS, "und", "und", "und"]
    assert [item["lang_score"] for item in stats[len(TEXTS) :]] == [0, 0, 0]
    assert all(0 < item["lang_score"] <= 1 for item in stats[: len(TEXTS)])


def test_what_is_kept():
    samples = [{"text": text} for text in TEXTS.values()]
    kept = jp.create("language_id_score_filter", lang=["zh", "ar"])(samples)
    assert kept == [{"text": TEXTS["zh"]}, {"text": TEXTS["ar"]}]
    assert jp.create("language_id_score_filter", lang="hi", min_score=0)(samples) == [{"text": TEXTS["hi"]}]
    assert jp.create("language_id_score_filter", min_score=1)([{"text": "1234 5"}]) == []


def test_a_model_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no fastText model there"):
        jp.create("language_id_score_filter", model="lid.bin")([{"text": "a"}])
