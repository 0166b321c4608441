"""Checks the directories of models before a run, without loading them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from jinx_pipeline.operators.api.model import Model, weights_in
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError

Input = Literal["texts", "images", "audios"]

# A model that can process such inputs has at least one of these files.
_PROCESSOR_FILES: Final[dict[Input, tuple[str, ...]]] = {
    "texts": ("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model"),
    "images": ("preprocessor_config.json", "processor_config.json"),
    "audios": ("preprocessor_config.json", "processor_config.json"),
}


@dataclass(frozen=True)
class Expected:
    """A class of transformers models that an operator can use.

    Attributes:
        what: A readable name with its article.
        classes: The ends of the names of classes, such as `ForImageClassification`; one of them has saved the weights.
        inputs: What its processor must prepare.
    """

    what: str
    classes: tuple[str, ...]
    inputs: tuple[Input, ...]

    def problem(self, model: Model) -> str | None:
        """What is wrong with the files of a model; None if nothing is, or if they are not on this machine."""
        directory = model.directory
        if directory is None:
            return None
        config = _config_in(directory)
        if isinstance(config, str):
            return f"{model.path} {config}"
        found = config.get("architectures") or [config.get("model_type", "unknown")]
        if not any(str(name).endswith(self.classes) for name in found):
            return f"{model.path} is not {self.what}: its class is {', '.join(map(str, found))}"
        return _weights_problem(model, directory) or _processor_problem(model, directory, self.inputs)


def refuse_other_models(operator: Operator, **expected: Expected) -> None:
    """Refuse models that an operator cannot use.

    Args:
        operator: The operator.
        **expected: The expected class for parameters that name a model.

    Raises:
        ParameterError: The directory is not a model, has another class, or lacks weights or a processor.
    """
    for parameter, kind in expected.items():
        model = operator.models.get(parameter)
        problem = None if model is None or model.kind != "transformers" else kind.problem(model)
        if problem is not None:
            raise ParameterError(operator.name, parameter, f"{parameter}: {problem}")


def _config_in(directory: Path) -> dict[str, Any] | str:
    """The configuration of a model, or what is wrong with it."""
    try:
        config = json.loads((directory / "config.json").read_text("utf-8"))
    except FileNotFoundError:
        return "is not the directory of a model: it has no config.json"
    except (OSError, ValueError) as error:
        return f"has a config.json that cannot be read: {error}"
    return config if isinstance(config, dict) else "has a config.json that is not an object"


def _weights_problem(model: Model, directory: Path) -> str | None:
    weights = weights_in(directory)
    if not weights:
        return f"{model.path} has no weights; model.safetensors is missing"
    if weights[0].suffix != ".safetensors" and not model.allow_pickle:
        return (
            f"{model.path} has its weights only in {weights[0].name}, a pickle, which may run code; save them as "
            "safetensors, or name the model in `models` with allow_pickle: true"
        )
    return None


def _processor_problem(model: Model, directory: Path, inputs: Sequence[Input]) -> str | None:
    for kind in inputs:
        files = _PROCESSOR_FILES[kind]
        if not any((directory / name).is_file() for name in files):
            return f"{model.path} has no processor for {kind}: {files[0]} is missing"
    return None
