"""The `meta` of an output: what the inputs say, and the recipe, the versions and the inputs that it was made of.

Nothing in it depends on when, where or how the recipe was run, so that the same recipe gives the same bytes.
"""

import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import jinx
from jinx._views.meta import columns_counted, meta_after
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.sample.content_identity import content_identity

MEMBER: Final = "jinx_pipeline"
# Kinds of operators that change columns, also where they do not say which.
_EDITING = frozenset({"mapper", "splitter", "aggregator"})


def output_meta(
    recipe: Recipe, inputs: Sequence[Input], versions: dict[str, str], inherited: dict[str, Any]
) -> dict[str, Any]:
    """The `meta` of an output.

    Args:
        recipe: What is run.
        inputs: On what.
        versions: Of the packages whose code makes the rows.
        inherited: What the inputs say of the rows that the output keeps. Lengths are said to be of other values of the
            columns that an operator changes.
    """
    made_of = {
        "recipe": {
            "name": None if recipe.file is None else Path(recipe.file).name,
            "digest": recipe.content_digest,
            "operators": [step.operator.name for step in recipe.steps],
        },
        "versions": versions,
        "inputs": [_identified(one) for one in inputs],
    }
    edited = _edited(recipe, columns_counted(inherited))
    return {**meta_after(inherited, edited), MEMBER: made_of}


def _edited(recipe: Recipe, known: Sequence[str]) -> list[str]:
    """The columns that operators may change: those that they say, or of one that says none, all that are known."""
    edited: list[str] = []
    for step in recipe.steps:
        operators: list[Any] = getattr(step.operator, "operators", [step.operator])
        for one in operators:
            edited += recipe.roles.columns(one.writes)
            if one.kind in _EDITING and not one.writes:
                edited += known
    return edited


def with_inputs(meta: dict[str, Any], inputs: Sequence[Input]) -> dict[str, Any]:
    """The same for other inputs."""
    return {**meta, MEMBER: {**meta[MEMBER], "inputs": [_identified(one) for one in inputs]}}


def inherited_meta(dataset: "jinx.Dataset | None", folder: Path) -> dict[str, Any]:
    """The `meta` that a copy of a dataset would have.

    Args:
        dataset: The dataset; None: there is none.
        folder: Where an empty copy may be written.
    """
    if dataset is None:
        return {}
    with TemporaryDirectory(dir=folder) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether Arrow schemas differ, the copies of rows tell
        with jinx.Writer(Path(temporary) / "empty.jinx") as writer:
            writer.copy(dataset, [])
        return jinx.open(Path(temporary) / "empty.jinx").info().meta


def _identified(source: Input) -> dict[str, Any]:
    """An input by what it holds: not by its path, nor by times of its files."""
    identity = source.identity
    if "sha256" in identity:
        return {name: identity[name] for name in ("format", "samples", "bytes", "sha256")}
    ids: list[Any] = content_identity(jinx.open(source.path))["ids"]
    whole = ids[0] if len(ids) == 1 else sha256(repr(ids).encode()).hexdigest()
    return {"format": identity["format"], "samples": source.rows, "id": whole}
