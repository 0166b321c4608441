"""Dialogs from one layout to another and back."""

import pytest

from jinx_pipeline.sample import LAYOUTS, DialogError, convert_dialog, layout_of

SAMPLES = {
    "messages": {
        "id": 1,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "bye"},
            {"role": "assistant", "content": "bye", "weight": 0},
        ],
    },
    "llava": {
        "id": "a-1",
        "image": "coco/1.jpg",
        "conversations": [{"from": "human", "value": "<image>\nWhat?"}, {"from": "gpt", "value": "A cat."}],
    },
    "sharegpt": {
        "conversations": [
            {"from": "human", "value": "<image>weather?"},
            {"from": "function_call", "value": '{"name": "weather", "arguments": {"city": "Bonn"}}'},
            {"from": "observation", "value": "rain"},
            {"from": "gpt", "value": "It rains."},
        ],
        "system": "Use tools.",
        "tools": "[]",
        "images": ["1.jpg"],
    },
    "alpaca": {
        "instruction": "Add.",
        "input": "1 2",
        "output": "3",
        "system": "Calculate.",
        "history": [["Add 1 1", "2"]],
    },
    "query_response": {"query": "q", "response": "r", "history": [["a", "b"]], "source": "web"},
}


@pytest.mark.parametrize("layout", SAMPLES)
def test_to_messages_and_back_is_the_same_sample(layout):
    sample = SAMPLES[layout]
    messages = convert_dialog(sample, layout, "messages")
    assert layout_of(messages) == "messages"
    assert convert_dialog(messages, "messages", layout) == sample
    assert layout_of(sample) == layout


@pytest.mark.parametrize("target", LAYOUTS)
def test_a_dialog_in_turns_goes_everywhere_and_back(target):
    sample = {
        **SAMPLES["messages"],
        "messages": [*SAMPLES["messages"]["messages"][:4], {"role": "assistant", "content": "b"}],
    }
    there = convert_dialog(sample, "messages", target)
    back = convert_dialog(there, target, "messages")
    assert back["messages"] == sample["messages"]
    assert back["id"] == 1


def test_what_the_layouts_look_like():
    alpaca = convert_dialog(SAMPLES["alpaca"], "alpaca", "messages")
    assert alpaca["messages"][-2] == {"role": "user", "content": "Add.\n1 2"}
    llava = convert_dialog(SAMPLES["llava"], "llava", "messages")
    assert llava["images"] == ["coco/1.jpg"]
    assert convert_dialog(llava, "messages", "sharegpt")["images"] == ["coco/1.jpg"]
    several = convert_dialog({**llava, "images": ["a", "b"]}, "messages", "llava")
    assert several["image"] == ["a", "b"]


def test_content_parts_become_tokens():
    sample = {
        "messages": [
            {"role": "user", "content": [{"type": "image", "image": "1.jpg"}, {"type": "text", "text": "What?"}]},
            {"role": "assistant", "content": "A cat."},
        ]
    }
    made = convert_dialog(sample, "messages", "llava")
    assert made["image"] == "1.jpg"
    assert made["conversations"][0] == {"from": "human", "value": "<image>What?"}


@pytest.mark.parametrize(
    ("layout", "sample", "what"),
    [
        ("messages", {"messages": []}, "messages is a list of at least one message"),
        ("messages", {"messages": [{"role": "boss", "content": ""}]}, r"messages\[0\]\.role is 'boss'"),
        ("messages", {"messages": [{"role": "user", "content": 3}]}, r"messages\[0\]\.content is a int"),
        ("llava", {"conversations": [{"from": "cat", "value": ""}]}, r"conversations\[0\]\.from is 'cat'"),
        ("sharegpt", {"conversations": [{"from": "function_call", "value": "no"}]}, "is not JSON of a call"),
        ("alpaca", {"instruction": "a"}, "output is a NoneType, not a string"),
        ("query_response", {"query": "a", "response": "b", "history": [["a"]]}, r"history\[0\] is not a pair"),
    ],
)
def test_what_is_wrong_is_said(layout, sample, what):
    with pytest.raises(DialogError, match=what):
        convert_dialog(sample, layout, "messages")


def test_dialogs_that_pairs_cannot_hold():
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    with pytest.raises(DialogError, match="do not alternate"):
        convert_dialog({"messages": messages}, "messages", "alpaca")
    with pytest.raises(DialogError, match="do not end with an answer"):
        convert_dialog({"messages": messages[:1]}, "messages", "query_response")
    with pytest.raises(ValueError, match="did you mean 'alpaca'"):
        convert_dialog({"messages": messages}, "messages", "alpacca")


@pytest.mark.parametrize(
    ("column", "target"),
    [
        ("input", "alpaca"),
        ("instruction", "alpaca"),
        ("history", "alpaca"),
        ("query", "query_response"),
        ("system", "sharegpt"),
        ("conversations", "sharegpt"),
        ("conversations", "llava"),
        ("image", "llava"),
    ],
)
def test_a_foreign_column_is_never_replaced(column, target):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(DialogError, match=f"the column '{column}' is not part of the dialog"):
        convert_dialog({column: "MINE", "messages": messages}, "messages", target)


def test_messages_that_are_not_the_dialog_are_kept():
    with pytest.raises(DialogError, match="the column 'messages'"):
        convert_dialog({"query": "a", "response": "b", "messages": "MINE"}, "query_response", "messages")


def test_an_empty_input_leaves_no_column():
    made = convert_dialog({"instruction": "a", "input": "", "output": "b"}, "alpaca", "messages")
    assert set(made) == {"messages"}
    assert convert_dialog(made, "messages", "alpaca")["input"] == ""
