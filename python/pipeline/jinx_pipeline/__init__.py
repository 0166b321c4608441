"""Data pipelines over JINX datasets.

import jinx_pipeline as jp

jp.create("text_length_filter", min_len=10)([{"text": "a short one"}, {"text": "no"}])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinx_pipeline import ops
    from jinx_pipeline.dataset import BadRowsWarning, Dataset
    from jinx_pipeline.engines.cluster import Cluster
    from jinx_pipeline.engines.ray.cluster import Ray
    from jinx_pipeline.operators import (
        Aggregator,
        Batch,
        Context,
        Deduplicator,
        Filter,
        FusedOp,
        Grouper,
        Mapper,
        Model,
        Operator,
        ParameterError,
        Resources,
        ScriptOp,
        Selector,
        Splitter,
        TextMapper,
        UnknownOperatorError,
        create,
        load_file,
        register,
    )
    from jinx_pipeline.recipe.errors import RecipeError
    from jinx_pipeline.recipe.export import Export
    from jinx_pipeline.recipe.model import Options, Recipe, SourceSpec
    from jinx_pipeline.recipe.read import read_recipe
    from jinx_pipeline.run import ChangedError, Run, RunResult, StoppedError
    from jinx_pipeline.sample.roles import Roles
    from jinx_pipeline.sample.validators import DialogShape, MediaCounts, MediaExist, RequiredColumns, ValidationError

# The module of each name. It is imported on first use: workers import this package too, and need few of the names.
_HOMES = {
    "Aggregator": "jinx_pipeline.operators",
    "BadRowsWarning": "jinx_pipeline.dataset",
    "Batch": "jinx_pipeline.operators",
    "ChangedError": "jinx_pipeline.run",
    "Cluster": "jinx_pipeline.engines.cluster",
    "Context": "jinx_pipeline.operators",
    "Dataset": "jinx_pipeline.dataset",
    "Deduplicator": "jinx_pipeline.operators",
    "DialogShape": "jinx_pipeline.sample.validators",
    "Export": "jinx_pipeline.recipe.model",
    "Filter": "jinx_pipeline.operators",
    "FusedOp": "jinx_pipeline.operators",
    "Grouper": "jinx_pipeline.operators",
    "Mapper": "jinx_pipeline.operators",
    "MediaCounts": "jinx_pipeline.sample.validators",
    "MediaExist": "jinx_pipeline.sample.validators",
    "Model": "jinx_pipeline.operators",
    "Operator": "jinx_pipeline.operators",
    "Options": "jinx_pipeline.recipe.model",
    "ParameterError": "jinx_pipeline.operators",
    "Ray": "jinx_pipeline.engines.ray.cluster",
    "Recipe": "jinx_pipeline.recipe.model",
    "RecipeError": "jinx_pipeline.recipe.errors",
    "RequiredColumns": "jinx_pipeline.sample.validators",
    "Resources": "jinx_pipeline.operators",
    "Roles": "jinx_pipeline.sample.roles",
    "Run": "jinx_pipeline.run",
    "RunResult": "jinx_pipeline.run",
    "ScriptOp": "jinx_pipeline.operators",
    "Selector": "jinx_pipeline.operators",
    "SourceSpec": "jinx_pipeline.recipe.model",
    "Splitter": "jinx_pipeline.operators",
    "StoppedError": "jinx_pipeline.run",
    "TextMapper": "jinx_pipeline.operators",
    "UnknownOperatorError": "jinx_pipeline.operators",
    "ValidationError": "jinx_pipeline.sample.validators",
    "create": "jinx_pipeline.operators",
    "load_file": "jinx_pipeline.operators",
    "read_recipe": "jinx_pipeline.recipe.read",
    "register": "jinx_pipeline.operators",
    "ops": "jinx_pipeline.ops",
}

__all__ = [
    "Aggregator",
    "BadRowsWarning",
    "Batch",
    "ChangedError",
    "Cluster",
    "Context",
    "Dataset",
    "Deduplicator",
    "DialogShape",
    "Export",
    "Filter",
    "FusedOp",
    "Grouper",
    "Mapper",
    "MediaCounts",
    "MediaExist",
    "Model",
    "Operator",
    "Options",
    "ParameterError",
    "Ray",
    "Recipe",
    "RecipeError",
    "RequiredColumns",
    "Resources",
    "Roles",
    "Run",
    "RunResult",
    "ScriptOp",
    "Selector",
    "SourceSpec",
    "Splitter",
    "StoppedError",
    "TextMapper",
    "UnknownOperatorError",
    "ValidationError",
    "create",
    "load_file",
    "ops",
    "read_recipe",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_HOMES[name])
    found = module if name == "ops" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
