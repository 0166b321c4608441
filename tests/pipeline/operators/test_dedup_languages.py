"""What deduplicators take for the same in texts of several scripts."""
# ruff: noqa: RUF001 - texts of several scripts

import pytest

import jinx_pipeline as jp

SENTENCES = {
    "english": "The old lighthouse keeper wrote every evening what the sea had brought to the shore that day",
    "greek": "Ο γέρος φύλακας του φάρου έγραφε κάθε βράδυ τι είχε φέρει η θάλασσα στην ακτή εκείνη την ημέρα",
    "chinese": "年老的灯塔看守人每天晚上都会写下大海当天带到岸边的东西，然后在第二天早上大声读给住在附近的孩子们听",
    "arabic": "كان حارس المنارة العجوز يكتب كل مساء ما حمله البحر إلى الشاطئ في ذلك اليوم ثم يقرؤه بصوت عال للأطفال",
    "hindi": "बूढ़ा प्रकाशस्तंभ रक्षक हर शाम लिखता था कि उस दिन समुद्र किनारे पर क्या लाया और फिर उसे बच्चों को पढ़कर सुनाता था",
    "emoji": "🌊 🏠 ✍️ 🌅 📖 👨‍👩‍👧 ❤️ 🐚 ⛵ 🦀 🌙 🐟 🔦 🧂 🪨 🌬️ 🗼 🪵 🐬 🌧️ ⭐ 🧭 🎣 🥾",
}
SCRIPTS = list(SENTENCES)


def originals(name: str, texts: list[str], **parameters) -> list[int | None]:
    """For each text, the earlier one that it repeats."""
    samples = [{"text": text} for text in texts]
    return [sample["__dj__duplicate_of"] for sample in jp.create(name, **parameters)(samples, drop=False)]


# Text, another text, parameters, whether they are the same for document_deduplicator.
EXACT = [
    ("Grüße, Welt", "\u3000Grüße, Welt\n", {}, True),
    ("Grüße, Welt", "GRÜßE, WELT", {}, False),
    ("Grüße, Welt", "GRÜßE, WELT", {"lowercase": True}, True),
    ("ΦΑΡΟΣ ΝΕΟΣ", "φαρος νεος", {"lowercase": True}, True),
    ("Маяк", "маяк", {"lowercase": True}, True),
    ("ﬁn", "fin", {"lowercase": True}, False),
    ("café", "cafe\u0301", {"lowercase": True}, False),
    ("今天，天气很好。", "今天 天气很好 12", {"ignore_non_character": True}, True),
    ("今天天气很好", "今天天气不好", {"ignore_non_character": True}, False),
    ("ذهبنا، إلى المتحف؟", "ذهبنا إلى المتحف ١٢", {"ignore_non_character": True}, True),
    ("हाँ, १२ लोग।", "हाँ लोग", {"ignore_non_character": True}, True),
    ("हाँ लोग", "हो लोग", {"ignore_non_character": True}, False),
    ("🎉 party", "party ⭐", {"ignore_non_character": True}, True),
    ("🎉🎉", "🎉⭐", {"ignore_non_character": True}, False),
    ("🎉🎉", "🎉🎉", {"ignore_non_character": True}, True),
]


@pytest.mark.parametrize(("one", "other", "parameters", "is_same"), EXACT)
def test_exact(one, other, parameters, is_same):
    assert originals("document_deduplicator", [one, other], **parameters) == [None, 0 if is_same else None]


def test_exact_finds_no_repetition_between_scripts():
    texts = list(SENTENCES.values())
    assert originals("document_deduplicator", texts * 2) == [None] * len(texts) + list(range(len(texts)))


@pytest.mark.parametrize("script", SCRIPTS)
def test_lines(script):
    menu, *rest = SENTENCES[script], "one", "two", "three"
    samples = [{"text": f"{line}\n  {menu}\t\n{line}{at}"} for at, line in enumerate(rest)]
    found = jp.create("document_line_deduplicator", frequency_threshold=2)(samples)
    assert [item["text"] for item in found] == [f"{line}\n{line}{at}" for at, line in enumerate(rest)]
    assert jp.create("document_line_deduplicator", frequency_threshold=3)(samples) == samples


LINES = [
    ("ΦΑΡΟΣ ΝΕΟΣ", "φαρος νεος", {"lowercase": True}, True),
    ("今天，天气很好。", "今天天气很好！", {"ignore_special_character": True}, True),
    ("今天，天气很好。", "今天天气很好！", {}, False),
    ("نعم، ١٢", "نعم", {"ignore_special_character": True}, True),
    ("🎉", "🎉", {}, False),  # one code point; shorter than min_line_length
    ("🎉🎉", "🎉🎉", {}, True),
    ("हाँ", "हाँ", {"min_line_length": 4}, False),
]


@pytest.mark.parametrize(("one", "other", "parameters", "is_removed"), LINES)
def test_lines_that_are_the_same(one, other, parameters, is_removed):
    samples = [{"text": f"first\n{one}"}, {"text": f"second\n{other}"}]
    found = jp.create("document_line_deduplicator", frequency_threshold=1, **parameters)(samples)
    assert found == ([{"text": "first"}, {"text": "second"}] if is_removed else samples)


def changed(script: str, how_many: int) -> str:
    """The text five times over, each time with a mark, and the first marks changed."""
    marks = [f" x{at}" if at < how_many else f" y{at}" for at in range(5)]
    return " ".join(SENTENCES[script] + mark for mark in marks)


# Where the sentence is a token by itself, or no token at all, too little of the text compares.
WITHOUT_TOKENS = {("space", "chinese"), ("punctuation", "emoji")}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("tokenization", ["space", "punctuation", "character"])
def test_near(script, tokenization):
    texts = [changed(script, 0), changed(script, 1), *(changed(other, 0) for other in SCRIPTS if other != script)]
    parameters = {"tokenization": tokenization, "jaccard_threshold": 0.5}
    is_found = (tokenization, script) not in WITHOUT_TOKENS
    expected = [None, 0 if is_found else None, *[None] * (len(SCRIPTS) - 1)]
    assert originals("document_minhash_deduplicator", texts, **parameters) == expected
    samples = [{"text": text, "__dj__uid": len(texts) - at} for at, text in enumerate(texts)]
    found = jp.create("document_minhash_deduplicator_with_uid", **parameters)(samples)
    assert found == samples[1 if is_found else 0 :]


@pytest.mark.parametrize("script", SCRIPTS)
def test_near_by_case_and_pattern(script):
    text = changed(script, 0)
    assert originals("document_minhash_deduplicator", [text, text.upper()]) == [None, 0]
    marked = text.replace(" ", " 7 ")
    assert originals("document_minhash_deduplicator", [text, marked], ignore_pattern=r" \d+(?= )") == [None, 0]
