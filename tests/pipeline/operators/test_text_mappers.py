"""Mappers on texts: what becomes of texts of several scripts."""
# ruff: noqa: RUF001 - texts of several scripts

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jinx_pipeline as jp
from jinx.errors import LimitError
from jinx_pipeline.operators.text.sentences import sentences


def mapped(operator: jp.Operator, text: str | None) -> str | None:
    return operator([{"text": text}])[0]["text"]


CASES = [
    ("clean_email_mapper", {}, "mail a.b@ex.org, now", "mail , now"),
    ("clean_email_mapper", {"repl": "@"}, "写信给a@b.cn吧 ؟ x@y", "写信给@吧 ؟ x@y"),
    ("clean_email_mapper", {"pattern": r"\w+ at \w+", "repl": "M"}, "me at home a@b.org", "M a@b.org"),
    ("clean_ip_mapper", {}, "999.1.1.1 10.0.0.1 ::1", "999.1.1.1  "),
    ("clean_ip_mapper", {"repl": "IP"}, "在192.168.0.1", "在192.168.0.1"),
    ("clean_ip_mapper", {"pattern": r"r'\d+'"}, "a1b22", "ab"),
    ("clean_links_mapper", {"pattern": "x+", "repl": "y"}, "axx http://a.b", "ay http://a.b"),
    ("clean_copyright_mapper", {}, "/* Copyright X */\nint a;", "int a;"),
    ("clean_copyright_mapper", {}, "/* a helper */\nint a; /* copyright */", "/* a helper */\nint a; /* copyright */"),
    ("clean_copyright_mapper", {}, "#!/bin/sh\n# (c) COPYRIGHT\n# all\nls", "#!/bin/sh\nls"),
    ("clean_copyright_mapper", {}, "# just a comment\nx = 1", "# just a comment\nx = 1"),
    ("clean_html_mapper", {}, "<p>a&nbsp;b</p><script>x<y</script>", "a\xa0b"),
    ("clean_html_mapper", {}, "<ul><li>你好<li>😀</ul> 1 < 2", "\n*你好\n*😀 1 < 2"),
    ("clean_html_mapper", {}, "no markup", "no markup"),
    (
        "expand_macro_mapper",
        {},
        r"\newcommand{\a}{x\b}\def\b{y} \a \ab \b1",
        r"\newcommand{\a}{x\b}\def\b{y} xy \ab y1",
    ),
    ("expand_macro_mapper", {}, r"\def\a{\a\a} \a", None),
    ("fix_unicode_mapper", {}, "schÃ¶n â€œyesâ€\x9d", 'schön "yes"'),
    ("fix_unicode_mapper", {"normalization": "NFKC"}, "ﬁ①", "fi1"),
    ("fix_unicode_mapper", {}, "नमस्ते 你好 😀", "नमस्ते 你好 😀"),
    ("chinese_convert_mapper", {}, "简体中文 abc", "簡體中文 abc"),
    ("chinese_convert_mapper", {"mode": "t2s"}, "繁體字", "繁体字"),
    ("punctuation_normalization_mapper", {}, "你好，世界！（“a”…）", '你好,世界!("a"...)'),
    ("punctuation_normalization_mapper", {}, "１ – 2—3’", "１ - 2 - 3'"),
    ("whitespace_normalization_mapper", {}, "\u3000a\u00a0b\tc\u200bd\ne\u2003\n", "a b c d\ne"),
    ("whitespace_normalization_mapper", {}, "क्\u200dष 👨\u200d👩\u200d👧", "क्\u200dष 👨\u200d👩\u200d👧"),
    ("remove_specific_chars_mapper", {}, "◆a●b□", "ab"),
    ("remove_specific_chars_mapper", {"chars_to_remove": ["好", "x"]}, "你好x", "你"),
    ("remove_bibliography_mapper", {}, "text \\begin{thebibliography}{9} a\nb \\end{thebibliography}", "text "),
    ("remove_bibliography_mapper", {}, "text \\bibliographystyle{x}", "text \\bibliographystyle{x}"),
    ("remove_comments_mapper", {}, "% one\na % two\nb\\% c\n", "a \nb\\% c\n"),
    ("remove_comments_mapper", {"inline": False}, "%one\na %two", "a %two"),
    ("remove_comments_mapper", {"multiline": False, "doc_type": ["tex"]}, "%one\na %two", "%one\na "),
    ("remove_header_mapper", {}, "x\\section*{A}b", "\\section*{A}b"),
    ("remove_header_mapper", {}, "no head", ""),
    ("remove_header_mapper", {"drop_no_head": False}, "no head", "no head"),
    ("remove_long_words_mapper", {"max_len": 4}, "one  three, (four)\nfifth six", "one  (four)\nsix"),
    ("remove_long_words_mapper", {"min_len": 2}, "a bc", " bc"),
    (
        "remove_words_with_incorrect_substrings_mapper",
        {},
        "go to http://a.b or x.com now",
        "go to or now",
    ),
    (
        "remove_words_with_incorrect_substrings_mapper",
        {"substrings": ["bad"], "tokenization": True},
        "好abadb,c",
        ",c",
    ),
    ("remove_non_chinese_character_mapper", {}, "你好 hello 1。नम😀", "你好 hello 1。"),
    (
        "remove_non_chinese_character_mapper",
        {"keep_alphabet": False, "keep_number": False, "keep_punc": False},
        "你a1。好",
        "你好",
    ),
    ("remove_repeat_sentences_mapper", {}, "the cat sat. the cat sat. e.g. no", "the cat sat. e.g. no"),
    ("remove_repeat_sentences_mapper", {}, "今天好。明天见。今天好！", "今天好。明天见。"),
    ("remove_repeat_sentences_mapper", {"ignore_special_character": False}, "One. Two. One! One.", "One. Two. One!"),
    ("remove_repeat_sentences_mapper", {"lowercase": True}, "One. ONE.", "One."),
    ("remove_table_text_mapper", {}, "class A:\n    def b(self):\n", "class A:\n    def b(self):\n"),
    ("remove_table_text_mapper", {}, "as seen:\n| a b | c |\n|---|---|\n| d |  |\nend", "as seen:\nend"),
    ("remove_table_text_mapper", {}, "a | b\nc|d e f\n\n", "\n"),
    ("remove_table_text_mapper", {}, "A b c title\na 1\nb 2\nc 3\nThe end of it.", "A b c title\nThe end of it."),
    ("remove_table_text_mapper", {"min_col": 3}, "a 1\nb 2\n", "a 1\nb 2\n"),
    ("replace_content_mapper", {}, "a", "a"),
    ("replace_content_mapper", {"pattern": r"(\w+)@(\w+)", "repl": r"\2 at \g<1>"}, "a@b", "b at a"),
    ("replace_content_mapper", {"pattern": ["a", "b"], "repl": ["b", "c"]}, "ab", "cc"),
    ("replace_content_mapper", {"pattern": r"(?<!不)好"}, "你好不好", "你不好"),
    (
        "sentence_split_mapper",
        {},
        "Mr. A. B. Cox paid $3.50. Why? 好。对！",
        "Mr. A. B. Cox paid $3.50.\nWhy?\n好。\n对！",
    ),
    ("sentence_split_mapper", {"lang": "de"}, "Das ist z.B. gut. Ja.", "Das ist z.B. gut.\nJa."),
    ("sentence_split_mapper", {"lang": "hi"}, "यह एक है। वह दो है।", "यह एक है।\nवह दो है।"),
    ("sentence_split_mapper", {"lang": "ar"}, "كيف حالك؟ بخير.", "كيف حالك؟\nبخير."),
]
MAPPERS = sorted({name for name, *_ in CASES})


@pytest.mark.parametrize(("name", "parameters", "text", "expected"), CASES)
def test_what_texts_become(name, parameters, text, expected):
    found = mapped(jp.create(name, **parameters), text)
    if expected is not None:
        assert found == expected


@pytest.mark.parametrize("name", MAPPERS)
def test_empty_and_missing_texts_stay(name):
    assert jp.create(name)([{"text": ""}, {"text": None}, {"other": 1}]) == [{"text": ""}, {"text": None}, {"other": 1}]


@given(st.text(max_size=200))
def test_any_text_stays_a_text(text):
    for name in MAPPERS:
        assert isinstance(mapped(jp.create(name), text), str)


@pytest.mark.parametrize(
    "name", ["whitespace_normalization_mapper", "clean_email_mapper", "punctuation_normalization_mapper"]
)
def test_messages_keep_their_structure(name):
    roles = jp.Roles(text="messages[*].content")
    messages = [
        {"role": "user", "content": " a\u3000b@c.de，"},
        {"role": "bot", "content": [{"type": "text", "text": "x"}]},
    ]
    (sample,) = jp.create(name)([{"messages": messages, "id": 7}], roles=roles)
    assert [message["role"] for message in sample["messages"]] == ["user", "bot"]
    assert sample["messages"][0]["content"] != messages[0]["content"]
    assert sample["messages"][1] == messages[1]
    assert sample["id"] == 7


def test_patterns_that_do_not_parse():
    with pytest.raises(jp.ParameterError, match="replace_content_mapper: the pattern"):
        jp.create("replace_content_mapper", pattern="(")
    with pytest.raises(jp.ParameterError, match="no group 2"):
        jp.create("clean_links_mapper", pattern="(a)", repl=r"\2")
    with pytest.raises(jp.ParameterError, match="1 replacements for 2 patterns"):
        jp.create("replace_content_mapper", pattern=["a", "b"], repl=["c"])


def test_a_pattern_that_explodes_is_bounded():
    with pytest.raises(LimitError, match=r"text 1: the pattern .* takes too long"):
        jp.create("replace_content_mapper", pattern="(?:(a|aa)(?!c))*x")([{"text": "b"}, {"text": "a" * 60 + "!"}])


def test_macros_that_use_themselves_end():
    text = mapped(jp.create("expand_macro_mapper"), r"\def\a{\a\a\a\a\a\a\a\a} \a")
    assert text is not None
    assert len(text) < 30_000_000


@given(st.text("aA.?! \n。\"')日", max_size=80))
def test_sentences_are_the_text(text):
    assert "".join(sentences(text)) == text


def test_huge_texts():
    text = "word a@b.org 10.0.0.1 <b> % x. " * 20_000
    for name in MAPPERS:
        assert isinstance(mapped(jp.create(name), text), str)


def chunks(text: str | None, **parameters) -> list[str | None]:
    return [sample["text"] for sample in jp.create("text_chunk_mapper", **parameters)([{"text": text, "id": 1}])]


def test_chunks(tmp_path):
    assert chunks("a b\n\nc\n\n\n\nd") == ["a b", "c", "d"]
    assert chunks("abcdefg", max_len=3, overlap_len=1) == ["abc", "cde", "efg"]
    assert chunks("abc\n\ndefgh", max_len=3) == ["abc", "def", "gh"]
    assert chunks("你好世界", max_len=2, split_pattern=None) == ["你好", "世界"]
    assert chunks("a b\n\nc d\n\ne f", max_len=8) == ["a b\n\nc d", "e f"]
    assert chunks("a b\n\nc d\n\ne f", max_len=4) == ["a b", "c d", "e f"]
    assert chunks("a1b22c", max_len=3, split_pattern="[0-9]*") == ["a1b", "c"]
    assert chunks("a\x00b|c", split_pattern=r"\|") == ["a\x00b", "c"]
    assert chunks("") == [""]
    assert chunks(None) == [None]
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 1}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert chunks("one two three", max_len=2, tokenizer=str(tmp_path)) == ["one two ", "three"]
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    made = tokenizers.Tokenizer(tokenizers.models.BPE({letter: at for at, letter in enumerate(letters)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(tmp_path / "bytes.json"))
    assert chunks("😀😀b", max_len=2, overlap_len=1, tokenizer=str(tmp_path / "bytes.json")) == ["😀", "😀", "b"]
    with pytest.raises(jp.ParameterError, match="overlap_len is 3"):
        jp.create("text_chunk_mapper", max_len=3, overlap_len=3)
