"""Lines that many samples have."""

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.dedup.frequent import key_lists

MENU = "Home | News | Contact"


def left(texts: list[str], **parameters) -> list[str]:
    samples = jp.create("document_line_deduplicator", **parameters)([{"text": text} for text in texts])
    return [sample["text"] for sample in samples]


def test_lines_of_many_samples_go_and_samples_stay():
    texts = [f"{MENU}\nText {number}\n\n  {MENU} " for number in range(8)]
    assert left(texts) == [f"Text {number}\n" for number in range(8)]
    assert left(texts[:6]) == texts[:6]
    assert left([MENU] * 7) == [""] * 7
    assert left([f"{MENU}\n" * 20]) == [f"{MENU}\n" * 20]  # often, but in one sample
    assert left([]) == []


@pytest.mark.parametrize(
    ("line", "parameter"),
    [
        ("};", "skip_brackets"),
        ("# Title", "skip_markdown_headers"),
        (r"\begin{itemize}", "skip_latex_env"),
        ("<div class='a'>", "skip_html_tags"),
        ("</DIV>", "skip_html_tags"),
    ],
)
def test_what_code_and_markup_consist_of_stays(line, parameter):
    texts = [f"{line}\n{number}." for number in range(3)]
    assert left(texts, frequency_threshold=1) == texts
    assert left(texts, frequency_threshold=1, **{parameter: False}) == ["0.", "1.", "2."]


def test_what_makes_no_difference():
    texts = ["Page 1\na b", "page 2!\nc d", "PAGE 3"]
    assert left(texts, frequency_threshold=1) == texts
    assert left(texts, frequency_threshold=1, lowercase=True, ignore_special_character=True) == ["a b", "c d", ""]
    assert left(["我们\n一", "我们\n二", "是\n是", "是"], frequency_threshold=1) == ["一", "二", "是\n是", "是"]
    assert left(["是", "是"], frequency_threshold=1, min_line_length=1) == ["", ""]
    assert left(["😀😀\na", "☃☃\nb"], frequency_threshold=1, ignore_special_character=True) == ["😀😀\na", "☃☃\nb"]


def test_each_text_of_a_chat_is_edited_in_place():
    samples = [
        {"messages": [{"role": "user", "content": f"{MENU}\nQ{n}"}, {"role": "assistant", "content": f"A{n}\n{MENU}"}]}
        for n in range(2)
    ]
    operator = jp.create("document_line_deduplicator", frequency_threshold=1)
    after = operator(samples, roles=jp.Roles(text="messages[*].content"))
    assert [[message["content"] for message in sample["messages"]] for sample in after] == [["Q0", "A0"], ["Q1", "A1"]]
    assert [message["role"] for message in after[0]["messages"]] == ["user", "assistant"]


def test_missing_texts_stay_missing():
    samples = [{"text": MENU, "id": 0}, {"text": None, "id": 1}, {"text": MENU, "id": 2}]
    after = jp.create("document_line_deduplicator", frequency_threshold=1)(samples)
    assert [item["text"] for item in after] == ["", None, ""]


@pytest.mark.parametrize("keys_at_once", [1, 5, 1000])
def test_memory_does_not_change_which_keys_are_found(keys_at_once):
    generator = np.random.default_rng(3)
    tables, having = [], {}
    for number in range(5):
        keys, samples = generator.integers(0, 30, 60, dtype=np.uint64), generator.integers(0, 12, 60)
        tables.append(key_lists(keys, samples, 12))
        for key, sample in zip(keys.tolist(), samples.tolist(), strict=True):
            having.setdefault(key, set()).add((number, sample))
    wanted = sorted(key for key, samples in having.items() if len(samples) > 9)
    operator = jp.create("document_line_deduplicator", frequency_threshold=9)
    assert operator.decided(tables, "", memory=256 * keys_at_once).keys.tolist() == wanted
    assert operator.repeated([]).tolist() == []


def test_a_threshold_that_cannot_be():
    with pytest.raises(jp.ParameterError, match=r"frequency_threshold.* of at least 1, not 0"):
        jp.create("document_line_deduplicator", frequency_threshold=0)
