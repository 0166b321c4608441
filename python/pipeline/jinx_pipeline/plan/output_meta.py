"""The `meta` of an output: inherited from the inputs, with the recipe, versions and inputs of the run.

The `meta` does not depend on when, where or how the recipe was run, so the same recipe gives the same bytes.
"""

import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import jinx
from jinx._saved_views.meta import columns_counted, meta_after
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.sample.content_identity import content_identity

MEMBER: Final = "jinx_pipeline"
# If an operator of these kinds declares no columns, it may change any.
_EDITING = frozenset({"mapper", "splitter", "aggregator"})


def output_meta(
    recipe: Recipe, inputs: Sequence[Input], versions: dict[str, str], inherited: dict[str, Any]
) -> dict[str, Any]:
    """The `meta` of an output.

    Args:
        recipe: The recipe.
        inputs: Its inputs.
        versions: Versions of the packages whose code makes the rows.
        inherited: The `meta` of the inputs whose rows the output keeps. Lengths in it are marked as outdated for the
            columns that an operator changes.
    """
    provenance = {
        "recipe": {
            "name": None if recipe.file is None else Path(recipe.file).name,
            "digest": recipe.content_digest,
            "operators": [step.operator.name for step in recipe.steps],
        },
        "versions": versions,
        "inputs": [_identified(source) for source in inputs],
    }
    edited = _edited(recipe, columns_counted(inherited))
    return {**meta_after(inherited, edited), MEMBER: provenance}


def _edited(recipe: Recipe, known: Sequence[str]) -> list[str]:
    """The columns that operators may change: those that they declare, or all known ones if they declare none."""
    edited: list[str] = []
    for step in recipe.steps:
        operators: list[Any] = getattr(step.operator, "operators", [step.operator])
        for operator in operators:
            edited += recipe.roles.columns(operator.writes)
            if operator.kind in _EDITING and not operator.writes:
                edited += known
    return edited


def with_inputs(meta: dict[str, Any], inputs: Sequence[Input]) -> dict[str, Any]:
    """A `meta` with its inputs replaced."""
    return {**meta, MEMBER: {**meta[MEMBER], "inputs": [_identified(source) for source in inputs]}}


def inherited_meta(dataset: "jinx.Dataset | None", folder: Path) -> dict[str, Any]:
    """The `meta` that a copy of a dataset would have.

    Args:
        dataset: The dataset; None if there is none.
        folder: A directory for a temporary empty copy.
    """
    if dataset is None or not dataset.info().meta:
        return {}
    with TemporaryDirectory(dir=folder) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copying rows warns about different Arrow schemas
        with jinx.Writer(Path(temporary) / "empty.jinx") as writer:
            writer.copy(dataset, [])
        return jinx.open(Path(temporary) / "empty.jinx").info().meta


def _identified(source: Input) -> dict[str, Any]:
    """The parts of an identity that identify content, without the paths or times of files."""
    identity = source.identity
    if "sha256" in identity:
        return {name: identity[name] for name in ("format", "samples", "bytes", "sha256")}
    ids: list[Any] = content_identity(jinx.open(source.path))["ids"]
    content_id = ids[0] if len(ids) == 1 else sha256(repr(ids).encode()).hexdigest()
    return {"format": identity["format"], "samples": source.rows, "id": content_id}
