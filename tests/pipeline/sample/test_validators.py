"""Checks of samples that name the sample."""

import pytest

from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import (
    VALIDATORS,
    DialogShape,
    MediaCounts,
    MediaExist,
    RequiredColumns,
    ValidationError,
    validate,
)


def problems_of(samples, validator, roles=None) -> list[tuple[int, str]]:
    try:
        validate(samples, [validator], roles or Roles())
    except ValidationError as error:
        return error.problems
    return []


def test_required_columns():
    samples = [{"text": "a", "meta": {"n": 1}}, {"text": None, "meta": {"n": "1"}}, {"meta": {"n": True}}]
    assert problems_of(samples, RequiredColumns(columns=["text"])) == [
        (1, "'text' is missing"),
        (2, "'text' is missing"),
    ]
    typed = RequiredColumns(columns={"meta.n": "int"})
    assert problems_of(samples, typed) == [(1, "'meta.n' is str, not int"), (2, "'meta.n' is bool, not int")]
    with pytest.raises(ValueError, match="no type 'integer'"):
        RequiredColumns(columns={"a": "integer"})


def test_a_required_path_is_in_every_element_of_a_list():
    lists = [[{"c": "a"}, {"c": "b"}], [{"c": "a"}, {}], [{"c": "a"}, "b"], [], "a"]
    validator = RequiredColumns(columns={"turns[*].c": "str"})
    assert problems_of([{"turns": elements} for elements in lists], validator) == [
        (position, "'turns[*].c' is missing") for position in (1, 2, 3, 4)
    ]


def test_dialog_shapes():
    samples = [{"messages": [{"role": "user", "content": "a"}]}, {"messages": "a"}]
    assert problems_of(samples, DialogShape()) == [(1, "messages is a list of at least one message")]


def test_media_files(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    samples = [{"images": ["a.png", b"bytes"]}, {"images": ["b.png"]}, {"videos": [3]}, {"images": ["https://a.org/x"]}]
    found = problems_of(samples, MediaExist(), Roles(media_root=str(tmp_path)))
    assert [position for position, _ in found] == [1, 2]
    assert "b.png" in found[0][1]


def test_media_counts():
    samples = [
        {"text": "<__dj__image> and <__dj__image>", "images": ["a", "b"]},
        {"text": "<__dj__image>", "images": []},
        {"text": "", "videos": ["a"]},
    ]
    assert problems_of(samples, MediaCounts()) == [
        (1, "0 images for 1 tokens <__dj__image> in the text"),
        (2, "1 videos for 0 tokens <__dj__video> in the text"),
    ]
    roles = Roles(text="messages[*].content", images="image", image_token="<image>")
    assert problems_of([{"messages": [{"content": "<image> hi"}], "image": "a.png"}], MediaCounts(), roles) == []


def test_the_error_names_the_first_samples():
    with pytest.raises(ValidationError, match=r"sample 100: 'text' is missing; sample 101: .*; there may be more"):
        validate([{}] * 50, [VALIDATORS["required_columns"](columns=["text"])], Roles(), start=100)
