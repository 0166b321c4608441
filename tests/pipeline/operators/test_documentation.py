"""Every operator says what it does, what each parameter means, and shows a call that works."""

import inspect
import re
from dataclasses import fields

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators import Filter, names, operator_class
from jinx_pipeline.operators.api.condition_filter import ConditionFilter

BUILT_IN = [name for name in names() if operator_class(name).__module__.startswith("jinx_pipeline.operators.")]


def example_of(cls: type) -> tuple[str, str]:
    """The call in a docstring, and the result that a comment shows."""
    text = inspect.getdoc(cls) or ""
    block = re.search(r"\n\n((?:    .*\n?)+)", text.split("Attributes:")[0])
    assert block is not None, f"{cls.__name__} has no example"
    lines = inspect.cleandoc(block.group(1)).splitlines()
    results = [line.partition("# ")[2] for line in lines if "# " in line]
    code = "\n".join(line.partition("# ")[0].rstrip() for line in lines).strip()
    return code, results[-1] if results else ""


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_parameter_is_described(name):
    cls = operator_class(name)
    text = "".join(inspect.getdoc(base) or "" for base in cls.__mro__ if base.__module__.startswith("jinx_pipeline"))
    missing = [field.name for field in fields(cls) if f"    {field.name}: " not in text]
    assert not missing


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_example_works(name):
    code, result = example_of(operator_class(name))
    assert f'create("{name}"' in code
    if "path" in code or "/models/" in code:
        return  # of files that are not here
    if name == "language_id_score_filter":
        pytest.importorskip("lingua", reason="needs lingua, whose models take 92 MB")
    before, _, call = code.rpartition("\n") if code.startswith(("text = ", "samples = ")) else ("", "", code)
    scope: dict = {"create": jp.create}
    exec(before, scope)
    found = eval(call, scope)
    if result.startswith("["):
        assert found == eval(result, scope)


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_operator_says_what_it_is(name):
    cls = operator_class(name)
    assert cls.kind
    assert name.replace("_", "").lower() == cls.__name__.lower()
    if issubclass(cls, Filter) and not issubclass(cls, ConditionFilter):
        assert cls.stats


def test_all_operators_are_found():
    assert {
        "audio_duration_filter",
        "character_repetition_filter",
        "clean_links_mapper",
        "document_deduplicator",
        "document_minhash_deduplicator",
        "field_aggregator",
        "image_aspect_ratio_filter",
        "image_deduplicator",
        "image_shape_filter",
        "image_text_similarity_filter",
        "key_value_grouper",
        "python_file_mapper",
        "text_length_filter",
        "topk_specified_field_selector",
        "video_duration_filter",
        "video_split_by_duration_mapper",
        "words_num_filter",
    } <= set(BUILT_IN)
