"""Types of what adapters give, and the schemas of research code: an adapter that gives such values works with each."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

import jinx_pipeline as jp
from jinx_pipeline.external.arrow_types import arrow_type

SCHEMAS = yaml.safe_load((Path(__file__).parents[3] / "examples" / "external" / "schemas.yaml").read_text("utf-8"))
# It gives what it is told to.
ADAPTER = """
def load(options, device):
    def call(columns):
        count = len(next(iter(columns.values())))
        return {name: [value] * count for name, value in options["values"].items()}

    return call
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int64", pa.int64()),
        (" list<list< float32 >> ", pa.list_(pa.list_(pa.float32()))),
        (
            "struct<a: string, b: list<struct<c: bool, d: binary>>>",
            pa.struct([("a", pa.string()), ("b", pa.list_(pa.struct([("c", pa.bool_()), ("d", pa.binary())])))]),
        ),
    ],
)
def test_types(text, kind):
    assert arrow_type(text) == kind


@pytest.mark.parametrize(
    "text",
    ["", "int", "list<>", "list<int64", "struct<>", "struct<a>", "struct<a: int64, a: int64>", "struct<a: int64,>"],
)
def test_texts_that_are_no_types(text):
    with pytest.raises(ValueError, match="unknown type"):
        arrow_type(text)


def example_of(kind, depth=0):
    """A value of a type."""
    if pa.types.is_list(kind):
        return [example_of(kind.value_type, depth + 1)] * 2
    if pa.types.is_struct(kind):
        return {field.name: example_of(field.type, depth + 1) for field in kind}
    if pa.types.is_boolean(kind):
        return True
    return 3 if pa.types.is_integer(kind) else 0.5


def adapted(tmp_path, name, values):
    file = tmp_path / "adapter.py"
    file.write_text(ADAPTER)
    return jp.create(
        "external_operator", file=str(file), env=sys.executable, options={"values": values}, **SCHEMAS[name]
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_research_code_gives_is_taken(name, tmp_path):
    (output,) = SCHEMAS[name]["output"]
    fact, value = output.removeprefix("__dj__meta__."), example_of(arrow_type(SCHEMAS[name]["output"][output]))
    operator = adapted(tmp_path, name, {output: value})
    (column,) = SCHEMAS[name]["columns"]
    (sample,) = operator([{column: [b"one"], "__dj__meta__": {"known": 1}}])
    assert sample == {column: [b"one"], "__dj__meta__": {"known": 1, fact: value}}


def test_hands_and_cameras_of_research_code_become_motions(tmp_path):
    pytest.importorskip("scipy", reason="needs SciPy")
    eye = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    pose = {"frame_ids": [0, 1], "transl": [[1, 2, 3], [1, 2, 4]], "global_orient": [[0, 0, 0]] * 2}
    hands = {"__dj__meta__.hand_reconstruction_hawor_tags": [{"right": pose}]}
    cameras = {"__dj__meta__.video_camera_pose_tags": [{"cam_c2w": [eye, eye]}]}
    samples = [{"videos": [b"a video"]}]
    samples = adapted(tmp_path, "video_hand_reconstruction_hawor_mapper", hands)(samples)
    samples = adapted(tmp_path, "video_camera_pose_megasam_mapper", cameras)(samples)
    (sample,) = jp.create("video_hand_action_compute_mapper")(samples)
    (video,) = sample["__dj__meta__"]["hand_action_tags"]
    assert video["right"]["states"] == [[1, 2, 3, 0, 0, 0, 0, 1], [1, 2, 4, 0, 0, 0, 0, 1]]
    assert video["left"]["states"] == []
