"""Reads single weights of a model from its files, for parts that no class in transformers has."""

from pathlib import Path
from typing import Any

from jinx_pipeline.operators.api.model import Model, weights_in
from jinx_pipeline.optional import require


def stored_weights(model: Model, prefixes: tuple[str, ...]) -> dict[str, Any]:
    """The weights of a model whose names begin with one of the prefixes, as tensors on the CPU.

    Args:
        model: The model.
        prefixes: The beginnings of the names.
    """
    weights: dict[str, Any] = {}
    for file in weights_in(model.directory or Path(model.path)):
        weights |= _stored(file, prefixes)
    return weights


def _stored(file: Path, prefixes: tuple[str, ...]) -> dict[str, Any]:
    if file.suffix == ".safetensors":
        safetensors = require("safetensors", extra="model", what="A model")
        with safetensors.safe_open(str(file), framework="pt") as stored:
            return {name: stored.get_tensor(name) for name in stored.keys() if name.startswith(prefixes)}  # noqa: SIM118 - not a dict
    torch = require("torch", extra="model", what="A model")
    found = torch.load(file, map_location="cpu", weights_only=True)
    return {name: value for name, value in found.items() if name.startswith(prefixes)}
