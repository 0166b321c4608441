"""What mappers make of realistic texts in several scripts, with their default parameters."""
# ruff: noqa: RUF001 - texts of several scripts

from dataclasses import fields

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.api.registry import names, operator_class

TEXTS = {
    "english": "Dr. Ray’s report — see https://ex.org/a. Write to a.b@ex.org, 10.0.0.1!\nIt rained. It rained.",
    "chinese": "我们去了博物馆，看到（很多）东西。网址：www.ex.cn/a 好！\n我们去了。我们去了。",
    "arabic": "ذهبنا إلى المتحف، وشاهدنا «أشياء» كثيرة. راسلني a@ex.org؟\nنعم. نعم.",
    "hindi": "हम संग्रहालय गए और चीज़ें देखीं। क्\u200dष पर १२ लोग। देखें http://ex.in\nहाँ। हाँ।",
    "emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️\u3000100% fun…\nyes! yes!",
}

# What changes; all other texts stay as they are.
CHANGED: dict[str, dict[str, str]] = {
    "chinese_convert_mapper": {
        "chinese": "我們去了博物館，看到（很多）東西。網址：www.ex.cn/a 好！\n我們去了。我們去了。"
    },
    "clean_copyright_mapper": {},
    "clean_email_mapper": {
        "english": "Dr. Ray’s report — see https://ex.org/a. Write to , 10.0.0.1!\nIt rained. It rained.",
        "arabic": "ذهبنا إلى المتحف، وشاهدنا «أشياء» كثيرة. راسلني ؟\nنعم. نعم.",
    },
    "clean_html_mapper": {},
    "clean_ip_mapper": {
        "english": "Dr. Ray’s report — see https://ex.org/a. Write to a.b@ex.org, !\nIt rained. It rained."
    },
    "clean_links_mapper": {
        "english": "Dr. Ray’s report — see . Write to a.b@ex.org, 10.0.0.1!\nIt rained. It rained.",
        "chinese": "我们去了博物馆，看到（很多）东西。网址： 好！\n我们去了。我们去了。",
        "hindi": "हम संग्रहालय गए और चीज़ें देखीं। क्\u200dष पर १२ लोग। देखें \nहाँ। हाँ।",
    },
    "expand_macro_mapper": {},
    "fix_unicode_mapper": {
        "english": "Dr. Ray's report — see https://ex.org/a. Write to a.b@ex.org, 10.0.0.1!\nIt rained. It rained.",
        "chinese": "我们去了博物馆,看到(很多)东西。网址:www.ex.cn/a 好!\n我们去了。我们去了。",
        "emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️ 100% fun…\nyes! yes!",
    },
    "pii_redaction_mapper": {
        "english": (
            "Dr. Ray’s report — see https://ex.org/a. Write to [EMAIL_REDACTED], [IP_REDACTED]!\nIt rained. It rained."
        ),
        "arabic": "ذهبنا إلى المتحف، وشاهدنا «أشياء» كثيرة. راسلني [EMAIL_REDACTED]؟\nنعم. نعم.",
    },
    "punctuation_normalization_mapper": {
        "english": "Dr. Ray's report  -  see https://ex.org/a. Write to a.b@ex.org, 10.0.0.1!\nIt rained. It rained.",
        "chinese": "我们去了博物馆,看到(很多)东西.网址:www.ex.cn/a 好!\n我们去了.我们去了.",
        "arabic": 'ذهبنا إلى المتحف، وشاهدنا "أشياء" كثيرة. راسلني a@ex.org؟\nنعم. نعم.',
        "emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️\u3000100% fun...\nyes! yes!",
    },
    "remove_bibliography_mapper": {},
    "remove_comments_mapper": {"emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️\u3000100\nyes! yes!"},
    "remove_header_mapper": {"english": "", "chinese": "", "arabic": "", "hindi": "", "emoji": ""},
    "remove_long_words_mapper": {},
    "remove_non_chinese_character_mapper": {
        "english": "Dr. Ray’s report — see https://ex.org/a. Write to a.bex.org, 10.0.0.1!It rained. It rained.",
        "chinese": "我们去了博物馆，看到（很多）东西。网址：www.ex.cn/a 好！我们去了。我们去了。",
        "arabic": "     .  aex.org. .",
        "hindi": "           http://ex.in ",
        "emoji": "Party   now   100% fun…yes! yes!",
    },
    "remove_repeat_sentences_mapper": {
        "english": "Dr. Ray’s report — see https://ex.org/a. Write to a.b@ex.org, 10.0.0.1!\nIt rained.",
        "chinese": "我们去了博物馆，看到（很多）东西。网址：www.ex.cn/a 好！\n我们去了。",
        "arabic": "ذهبنا إلى المتحف، وشاهدنا «أشياء» كثيرة. راسلني a@ex.org؟\nنعم.",
        "hindi": "हम संग्रहालय गए और चीज़ें देखीं। क्\u200dष पर १२ लोग। देखें http://ex.in\nहाँ।",
        "emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️\u3000100% fun…\nyes!",
    },
    "remove_specific_chars_mapper": {"emoji": "Party 🎉🎉 ➤ now  👨\u200d👩\u200d👧 ❤️\u3000100% fun…\nyes! yes!"},
    "remove_table_text_mapper": {},
    "remove_words_with_incorrect_substrings_mapper": {
        "english": "Dr. Ray’s report — see Write to a.b@ex.org, 10.0.0.1!\nIt rained. It rained.",
        "chinese": " 好！\n我们去了。我们去了。",
        "hindi": "हम संग्रहालय गए और चीज़ें देखीं। क्\u200dष पर १२ लोग। देखें\nहाँ। हाँ।",
    },
    "replace_content_mapper": {},
    "sentence_split_mapper": {
        "english": "Dr. Ray’s report — see https://ex.org/a.\nWrite to a.b@ex.org, 10.0.0.1!\nIt rained.\nIt rained.",
        "chinese": "我们去了博物馆，看到（很多）东西。\n网址：www.ex.cn/a 好！\n我们去了。\n我们去了。",
        "arabic": "ذهبنا إلى المتحف، وشاهدنا «أشياء» كثيرة.\nراسلني a@ex.org؟\nنعم.\nنعم.",
        "hindi": "हम संग्रहालय गए और चीज़ें देखीं।\nक्\u200dष पर १२ लोग।\nदेखें http://ex.in\nहाँ।\nहाँ।",
        "emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️\u3000100% fun…\nyes!\nyes!",
    },
    "whitespace_normalization_mapper": {"emoji": "Party 🎉🎉 ➤ now ◆ 👨\u200d👩\u200d👧 ❤️ 100% fun…\nyes! yes!"},
}
# These read or write more than the texts; they have tests of their own.
OF_OTHER_COLUMNS = {
    "agent_bad_case_signal_mapper",
    "agent_dialog_normalize_mapper",
    "agent_tool_type_mapper",
    "extract_tables_from_html_mapper",
    "latex_merge_tex_mapper",
    "tool_success_tagger_mapper",
    "usage_counter_mapper",
}


def has_model(cls):
    return cls.sends_requests or any("Model" in str(field.type) for field in fields(cls))


MAPPERS = [
    name
    for name in names()
    if (cls := operator_class(name)).kind == "mapper"
    and cls.modality == "text"
    and name not in OF_OTHER_COLUMNS
    and not has_model(cls)
]


def test_every_mapper_is_in_the_table():
    assert sorted(CHANGED) == sorted(MAPPERS)


@pytest.mark.parametrize("name", MAPPERS)
def test_what_realistic_texts_become(name):
    after = jp.create(name)([{"text": text} for text in TEXTS.values()])
    assert [item["text"] for item in after] == [CHANGED[name].get(lang, text) for lang, text in TEXTS.items()]


@pytest.mark.parametrize("name", MAPPERS)
def test_the_texts_of_a_chat_are_edited_in_place(name):
    turns = [{"role": "user", "content": text} for text in TEXTS.values()]
    parts = [{"type": "image"}, {"type": "text", "text": TEXTS["english"]}]
    sample = {"messages": [*turns, {"role": "assistant", "content": parts}, {"role": "user", "content": None}], "id": 1}
    (after,) = jp.create(name)([sample], roles=jp.Roles(text="messages[*].content"))
    texts = [CHANGED[name].get(lang, text) for lang, text in TEXTS.items()]
    assert [message["content"] for message in after["messages"][:5]] == texts
    assert after["messages"][5] == {"role": "assistant", "content": [{"type": "image"}, {**parts[1], "text": texts[0]}]}
    assert after["messages"][6] == {"role": "user", "content": None}
    assert after["id"] == 1
