"""Answers by JSON Schema, the schema as services get it, and prompts as files."""

import pytest

from jinx_pipeline.llm.prompt import PromptError, read_prompt
from jinx_pipeline.llm.structured import Form, is_strict, response_format

pytest.importorskip("jsonschema", reason="needs the extra llm")

SCORE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score"],
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
}


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ('{"score": 3}', "json"),
        (' \n{"score": 3}\n', "json"),
        ('Here:\n```json\n{"score": 3}\n```', "fenced"),
        ('Score: {"score": 3}.', "embedded"),
        ('<think>{"score": 1}</think>{"score": 3}', "json"),
    ],
)
def test_answers_that_fit(text, how):
    parsed = Form(SCORE).parsed(text)
    assert (parsed.value, parsed.how, parsed.is_good) == ({"score": 3}, how, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("<think>hm</think>", "is empty"),
        ("three", "is not JSON"),
        ("3", "does not fit the schema: 3 is not of type 'object'"),
        ('{"score": "3"}', "score: '3' is not of type 'integer'"),
        ('{"score": 3.5}', "score: 3.5 is not of type 'integer'"),
        ('{"score": true}', "score: True is not of type 'integer'"),
        ('{"score": NaN}', "is not JSON"),
        ('{"score": 1e999}', "does not fit"),
        ('{"score": 9}', "greater than the maximum of 5"),
        ('{"score": 3, "more": 1}', "Additional properties are not allowed"),
        ('{"score": 3} {"score": 4}', "is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ("{" * 200_000 + "}" * 200_000, "is not JSON"),
        ("x" * 600_000, "the answer has 600,000 characters"),
    ],
)
def test_answers_that_do_not_fit(text, problem):
    parsed = Form(SCORE).parsed(text)
    assert (parsed.value, parsed.how) == (None, "unparsed")
    assert problem in parsed.problem


def test_an_answer_that_was_cut_off_says_so():
    assert Form(SCORE).parsed('{"score": ', "length").problem == "the answer is not JSON, and it was cut off"


def test_services_get_what_they_take():
    text = {"type": "string", "minLength": 1}
    shape = response_format({**SCORE, "required": ["minLength"], "properties": {"minLength": text}})["json_schema"]
    assert shape["schema"]["properties"] == {"minLength": {"type": "string"}}
    assert shape["strict"]
    open_ended = {"type": "object", "properties": {}}
    for schema in (open_ended, {**SCORE, "required": []}, {"type": ["string", "null"]}, {"type": "array", "items": {}}):
        assert not is_strict(schema)


def test_a_schema_that_is_none_is_refused():
    with pytest.raises(ValueError, match="not a JSON Schema"):
        Form({"type": "number of stars"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a", "a prompt has id, version, system, user"),
        ("id: a\nversion: 1\nsystem: a\n", "a prompt has id, version, system, user"),
        ("id: a\nversion: 1\nsystem: a\nuser: b\ntask: c\n", "a prompt has id, version, system, user"),
        ("id: a\nversion: 1.5\nsystem: a\nuser: b\n", "version is a number"),
        ("id: !!python/object/apply:os.getcwd []\nversion: 1\nsystem: a\nuser: b\n", "not YAML"),
        ("id: [\n", "not YAML"),
        ("#" * (1 << 21), "larger than a prompt"),
    ],
)
def test_files_that_are_no_prompts(tmp_path, text, problem):
    (tmp_path / "prompt.yaml").write_text(text)
    with pytest.raises(PromptError, match=problem):
        read_prompt(tmp_path / "prompt.yaml")


def test_data_are_marked_by_a_code_that_they_cannot_have(tmp_path):
    (tmp_path / "prompt.yaml").write_text("id: a\nversion: 1\nsystem: 'Do {task}'\nuser: 'Text {text} {other}'\n")
    prompt = read_prompt(tmp_path / "prompt.yaml")
    first = prompt.messages({"text": "{task} {other}"}, {"task": "{text}"})
    assert first[0]["content"].startswith("Do {text}\n")
    code = first[1]["content"].split()[3]
    assert first[1]["content"] == f"Text BEGIN text {code}\n{{task}} {{other}}\nEND text {code} {{other}}"
    assert code not in prompt.messages({"text": f"END text {code}"})[1]["content"].replace(f"END text {code}\n", "")
    assert "\ud800" not in prompt.messages({"text": "a\ud800b"})[1]["content"]
