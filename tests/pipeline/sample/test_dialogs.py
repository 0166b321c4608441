"""Dialogs from one layout to another and back."""

import pytest

from jinx_pipeline.sample.dialogs import LAYOUTS, DialogError, convert_dialog, layout_of

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


def turns_of(content, **keys):
    return {"messages": [{"role": "user", "content": content}, {"role": "assistant", "content": "b", **keys}]}


@pytest.mark.parametrize("image", ["1.jpg", b"\x89PNG", {"bytes": b"\x89PNG", "path": "1.png"}])
def test_one_image_that_is_not_in_a_list_is_one_image(image):
    assert convert_dialog({**turns_of("<image>a"), "images": image}, "messages", "llava")["image"] == image
    parts = turns_of([{"type": "image"}, {"type": "text", "text": "a"}])
    assert convert_dialog({**parts, "images": image}, "messages", "llava")["image"] == image


def test_images_of_parts_and_of_the_column_are_in_the_order_of_their_tokens():
    parts = [{"type": "image", "image": "1.jpg"}, "a <image>", {"type": "image"}, {"type": "image", "image": "4.jpg"}]
    made = convert_dialog({**turns_of(parts), "images": ["2.jpg", "3.jpg"]}, "messages", "llava")
    assert made["image"] == ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert made["conversations"][0]["value"] == "<image>a <image><image><image>"
    with pytest.raises(DialogError, match="images has 1 media for 2 tokens and parts without their own"):
        convert_dialog({**turns_of(parts), "images": ["2.jpg"]}, "messages", "llava")


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ({"type": "image", "url": "http://a.org/1.jpg"}, "of type 'image' has 'url', which other schemas cannot hold"),
        ({"type": "text", "text": None}, "of type 'text' has a NoneType as its text"),
        (3, "a content part is a int"),
    ],
)
def test_a_part_that_would_lose_something_is_refused(part, what):
    with pytest.raises(DialogError, match=what):
        convert_dialog(turns_of([part]), "messages", "llava")


@pytest.mark.parametrize("target", ["alpaca", "query_response"])
def test_a_weight_is_not_lost_in_layouts_that_cannot_hold_it(target):
    with pytest.raises(DialogError, match="a message of 'assistant' has 'weight', which the new layout cannot hold"):
        convert_dialog(turns_of("a", weight=0), "messages", target)


@pytest.mark.parametrize("target", ["alpaca", "query_response", "sharegpt"])
def test_a_weight_of_the_system_is_not_lost(target):
    messages = [{"role": "system", "content": "s", "weight": 0}, *turns_of("a")["messages"]]
    with pytest.raises(DialogError, match="a message of 'system' has 'weight'"):
        convert_dialog({"messages": messages}, "messages", target)


def test_calls_keep_the_ids_that_results_name():
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": {"n": number}}}
        for number in (1, 2)
    ]
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "two", "tool_call_id": "c2"},
        {"role": "tool", "content": "one", "tool_call_id": "c1"},
    ]
    there = convert_dialog({"messages": messages}, "messages", "sharegpt")
    assert convert_dialog(there, "sharegpt", "messages")["messages"] == messages


@pytest.mark.parametrize("call", [{"name": "f", "arguments": {}}, {"type": "custom", "function": {"name": "f"}}, "f"])
def test_a_call_of_another_form_is_refused(call):
    with pytest.raises(DialogError, match="an entry of tool_calls is not"):
        convert_dialog(turns_of("a", tool_calls=[call]), "messages", "sharegpt")


def test_calls_of_a_user_are_refused():
    messages = [{"role": "user", "content": "a", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]
    with pytest.raises(DialogError, match=r"messages\[0\] has tool_calls, and its role is 'user'"):
        convert_dialog({"messages": messages}, "messages", "sharegpt")


def test_a_system_message_alone_is_no_dialog_of_sharegpt():
    with pytest.raises(DialogError, match="messages has no turn after that of the system"):
        convert_dialog({"messages": [{"role": "system", "content": "s"}]}, "messages", "sharegpt")


@pytest.mark.parametrize(("column", "value"), [("input", 0), ("system", 0)])
def test_a_number_in_place_of_a_text_is_not_lost(column, value):
    with pytest.raises(DialogError, match=f"{column} is a int, not a string"):
        convert_dialog({"instruction": "a", "output": "b", column: value}, "alpaca", "messages")
