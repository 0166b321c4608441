"""Every operator with a model has a test that loads the same model directly, or asks the scripted server."""

import re
from pathlib import Path

import pytest

from jinx_pipeline.operators import names, operator_class
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.llm.asking import Asking

TESTS = Path(__file__).parents[1]
# How the tests get what a library gives for the same model.
DIRECT = re.compile(r"from_pretrained|InferenceSession|raft_large\(|spacy\.load|Sam2VideoInferenceSession")
# Operators that are tested against another one, whose own test loads the model, or against what a service was sent.
OTHERWISE = {
    "external_operator_mapper": "test_adapters.py",
    "imgdiff_difference_area_generator_mapper": "test_imgdiff.py",
    "video_tagging_from_frames_filter": "test_video_tags.py",
}


def has_model(name: str) -> bool:
    fields = getattr(operator_class(name), "__dataclass_fields__", {})
    return any(isinstance(field.default, Model) or "Model" in str(field.type) for field in fields.values())


OF_MODELS = [name for name in names() if has_model(name) and not issubclass(operator_class(name), Asking)]


def mentions(text: str, name: str) -> bool:
    """Whether a file of tests makes an operator, perhaps by a name with a varying part."""
    patterns = re.findall(r'f"([a-zA-Z_]*\{\w+\}[a-zA-Z_]*)"', text)
    return f'"{name}"' in text or any(
        re.fullmatch(re.sub(r"\{\w+\}", r"\\w+", pattern), name) for pattern in patterns if not pattern.startswith("{")
    )


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in TESTS.rglob("test_*.py") if path.name != Path(__file__).name}


def test_there_are_many():
    assert len(OF_MODELS) >= 40
    assert set(OTHERWISE) <= set(names())


@pytest.mark.parametrize("name", OF_MODELS)
def test_an_operator_is_compared_with_its_library(name, files):
    found = [file for file, text in files.items() if mentions(text, name)]
    assert found, "no test makes it"
    if name in OTHERWISE:
        assert OTHERWISE[name] in found
    else:
        assert any(DIRECT.search(files[file]) for file in found), f"no test of {found} loads its model directly"
