"""Samples of public datasets from one schema to another and back."""

import json

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.sample.dialog_errors import SchemaError
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.schemas import SCHEMAS, convert_schema
from jinx_pipeline.sample.validators import SampleSchema, ValidationError, validate

SAMPLES = {
    "messages": {"id": 1, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]},
    "llava": {
        "id": "a-1",
        "image": "coco/1.jpg",
        "conversations": [{"from": "human", "value": "<image>\nWhat?"}, {"from": "gpt", "value": "A cat."}],
    },
    "sharegpt": {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}], "system": "s"},
    "alpaca": {"instruction": "Add.", "input": "1 2", "output": "3"},
    "query_response": {"query": "q", "response": "r"},
    "swift": {
        "system": "Be brief.",
        "conversation": [{"human": "hi", "assistant": "hello"}, {"human": "bye", "assistant": "bye"}],
    },
    "video_chatgpt": {"q": "What happens?", "a": "A man runs.", "video_id": "v_k_ZXmr8pmrs"},
    "captions": {"text": "<__dj__image> a cat <|__dj__eoc|>", "images": ["1.jpg"]},
    "mmc4": {
        "url": "https://example.org",
        "text_list": ["First.", "Second of two.", "Third."],
        "image_info": [
            {"image_name": "b.png", "raw_url": "u2", "matched_text_index": 1, "matched_sim": 0.3},
            {"image_name": "a.png", "raw_url": "u1", "matched_text_index": 0, "matched_sim": 0.2},
            {"image_name": "c.png", "raw_url": "u3", "matched_text_index": 1, "matched_sim": 0.1},
        ],
        "similarity_matrix": [[0.2, 0.3], [0.1, 0.2]],
        "could_have_url_duplicate": 0,
    },
    "wavcaps": {"id": "Yb0RFKhbpFJA.wav", "caption": "Wind is blowing.", "duration": 10.0},
    "msr_vtt": {
        "video_id": "video0",
        "caption": "a car is shown",
        "category": 9,
        "url": "https://example.org/v0",
        "start time": 137.72,
        "end time": 149.44,
        "split": "train",
    },
    "internvid": {
        "YoutubeID": "cBmfmPxkqyI",
        "Start_timestamp": "00:00:07.233",
        "End_timestamp": "00:00:16.967",
        "Caption": "a woman cooks",
        "Aesthetic_Score": 4.29,
        "UMT_Score": 0.41,
    },
    "youku_mplug": {"video_id:FILE": "videos/pretrain/1411.flv", "title": "妈妈给宝宝听胎心"},
}
DIALOGS = SCHEMAS[: SCHEMAS.index("captions")]


def common(schema):
    return "messages" if schema in DIALOGS else "captions"


def test_there_is_a_sample_of_each_schema():
    assert tuple(SAMPLES) == SCHEMAS


@pytest.mark.parametrize("schema", SCHEMAS)
def test_to_the_common_form_and_back_is_the_same_sample(schema):
    there = convert_schema(SAMPLES[schema], schema, common(schema))
    assert convert_schema(there, common(schema), schema) == SAMPLES[schema]
    assert schema == common(schema) or there != SAMPLES[schema]


def test_what_the_common_forms_are():
    assert convert_schema(SAMPLES["video_chatgpt"], "video_chatgpt", "messages") == {
        "messages": [
            {"role": "user", "content": "<video>\nWhat happens?"},
            {"role": "assistant", "content": "A man runs."},
        ],
        "videos": ["v_k_ZXmr8pmrs.mp4"],
    }
    mmc4 = convert_schema(SAMPLES["mmc4"], "mmc4", "captions")
    assert mmc4["images"] == ["a.png", "b.png", "c.png"]
    assert mmc4["text"] == (
        "<__dj__image> First. <|__dj__eoc|> "
        "<__dj__image> <__dj__image> Second of two. <|__dj__eoc|> Third. <|__dj__eoc|>"
    )
    wavcaps = convert_schema(SAMPLES["wavcaps"], "wavcaps", "captions")
    assert wavcaps["text"] == "<__dj__audio> Wind is blowing. <|__dj__eoc|>"
    assert wavcaps["audios"] == ["Yb0RFKhbpFJA.wav"]


def test_schemas_of_one_form_convert_directly():
    assert convert_schema(SAMPLES["msr_vtt"], "msr_vtt", "youku_mplug")["title"] == "a car is shown"
    swift = convert_schema(SAMPLES["alpaca"], "alpaca", "swift")
    assert swift["conversation"] == [{"human": "Add.\n1 2", "assistant": "3"}]


@pytest.mark.parametrize("name", ["golden_caption", "caption"])
@pytest.mark.parametrize("file", ["video_id:FILE", "clip_name:FILE"])
def test_all_parts_of_youku_mplug(name, file):
    sample = {file: "a.mp4", name: "text", "label": 3}
    there = convert_schema(sample, "youku_mplug", "captions")
    assert convert_schema(there, "captions", "youku_mplug") == sample


WRONG = [
    ("swift", {"conversation": []}, "conversation is a list of at least one turn"),
    ("swift", {"conversation": [{"human": "a"}]}, r"conversation\[0\] is not a dict with human and assistant"),
    ("swift", {"conversation": [{"human": 1, "assistant": "b"}]}, r"conversation\[0\]\.human is a int"),
    ("video_chatgpt", {"q": "q", "a": "a"}, "video_id is a NoneType"),
    ("video_chatgpt", {"q": "<video>", "a": "a", "video_id": "v"}, "q holds <video>"),
    ("captions", {"text": "a", "images": ["b"]}, "the text has 0 tokens <__dj__image> for 1 images"),
    ("captions", {"text": "a", "images": "b"}, "images is a str, not a list"),
    ("mmc4", {"text_list": []}, "text_list is a list of at least one sentence"),
    ("mmc4", {"text_list": ["a"], "image_info": {}}, "image_info is a dict"),
    ("mmc4", {"text_list": ["a"], "image_info": [{"image_name": "b"}]}, "has no matched_text_index"),
    ("mmc4", {"text_list": ["a"], "image_info": [{"image_name": "b", "matched_text_index": 2}]}, "matches no sentence"),
    ("mmc4", {"text_list": ["<__dj__image> "], "image_info": []}, "the caption holds the token"),
    ("wavcaps", {"id": "a"}, "caption is a NoneType"),
    ("wavcaps", {"id": "a", "caption": "<|__dj__eoc|>"}, "the caption holds the token"),
    ("msr_vtt", {"video_id": 3, "caption": "a"}, "video_id is a int"),
    ("internvid", {"YoutubeID": "a", "Caption": "b"}, "Start_timestamp is a NoneType"),
    ("internvid", {**SAMPLES["internvid"], "YoutubeID": "v/a.mp4"}, "YoutubeID is 'v/a.mp4', a file"),
    ("msr_vtt", {**SAMPLES["msr_vtt"], "video_id": "a.mp4"}, "video_id is 'a.mp4', a file"),
    ("youku_mplug", {"title": "a"}, "the sample has none of video_id:FILE, clip_name:FILE"),
    ("wavcaps", {"id": "a", "caption": "b", "text": "c"}, "the column 'text' is not part"),
]


@pytest.mark.parametrize(("schema", "sample", "message"), WRONG)
def test_a_sample_without_the_schema_is_refused(schema, sample, message):
    with pytest.raises(SchemaError, match=message):
        convert_schema(sample, schema, common(schema))


@pytest.mark.parametrize(
    ("target", "sample", "message"),
    [
        ("wavcaps", {"text": "a"}, "the sample has 0 audios"),
        ("wavcaps", {"text": "<__dj__audio> a", "audios": ["b"], "id": "c"}, "the audio is 'b', and id is 'c'"),
        ("msr_vtt", {"text": "<__dj__video> a", "videos": ["b.flv"]}, "the name ends in .mp4"),
        ("mmc4", {"text": "<__dj__image> a", "images": ["b"], "image_info": [{"matched_text_index": 1}]}, "not match"),
        ("mmc4", {"text": "<__dj__video> a", "videos": ["a.mp4"]}, "the caption holds the token <__dj__video>"),
        ("mmc4", {"text": "<__dj__audio> a", "audios": ["a.wav"]}, "the caption holds the token <__dj__audio>"),
    ],
)
def test_what_a_schema_cannot_hold_is_refused(target, sample, message):
    with pytest.raises(SchemaError, match=message):
        convert_schema(sample, "captions", target)


def test_schemas_without_a_form_in_common():
    with pytest.raises(ValueError, match="alpaca converts to messages, and mmc4 to captions"):
        convert_schema(SAMPLES["alpaca"], "alpaca", "mmc4")
    with pytest.raises(ValueError, match="no schema 'wavcap'; did you mean 'wavcaps'"):
        convert_schema({}, "wavcap", "captions")


def test_the_check_of_a_recipe_names_the_samples():
    samples = [SAMPLES["internvid"], {}, SAMPLES["internvid"], {"YoutubeID": 1}]
    with pytest.raises(ValidationError) as caught:
        validate(samples, [SampleSchema(schema="internvid")], Roles())
    assert [position for position, _ in caught.value.problems] == [1, 3]


def test_the_command_converts_files_and_names_the_sample(tmp_path):
    source, out, back = (tmp_path / name for name in ("wavcaps.json", "out.jinx", "back.jsonl"))
    document = {"num_captions_per_audio": 1, "data": [SAMPLES["wavcaps"], {"id": "b", "caption": "Rain."}]}
    source.write_text(json.dumps(document))

    def convert(*arguments):
        return CliRunner().invoke(pipeline, ["convert-schema", *map(str, arguments)])

    assert convert(source, out, "--from", "wavcaps", "--to", "captions").exit_code == 0
    assert [sample["audios"] for sample in jinx.open(out)] == [["Yb0RFKhbpFJA.wav"], ["b"]]
    assert convert(out, back, "--from", "captions", "--to", "wavcaps").exit_code == 0
    assert [json.loads(line) for line in back.read_text("utf-8").splitlines()] == document["data"]
    source.write_text(json.dumps({"data": [SAMPLES["wavcaps"], {"id": 3}]}))
    result = convert(source, tmp_path / "no.jinx", "--from", "wavcaps", "--to", "captions")
    assert "sample 1: id is a int" in f"{result.output}{result.exception}"
    assert convert(source, out, "--from", "wavcap", "--to", "captions").exit_code == 2


@pytest.mark.parametrize("text", ["a <__dj__image> b", "<__dj__image>a"])
def test_mmc4_has_no_place_for_an_image_within_a_sentence(text):
    sample = {"text": f"{text} <|__dj__eoc|>", "images": ["1.jpg"]}
    with pytest.raises(SchemaError, match="is not at the beginning of its sentence"):
        convert_schema(sample, "captions", "mmc4")
