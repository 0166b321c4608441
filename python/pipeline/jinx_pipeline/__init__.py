"""Data pipelines over JINX datasets.

import jinx_pipeline as jp

jp.create("text_length_filter", min_len=10)([{"text": "a short one"}, {"text": "no"}])
"""

from jinx_pipeline import ops
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.ray_cluster import Ray
from jinx_pipeline.operators import (
    Aggregator,
    Batch,
    Context,
    Deduplicator,
    Filter,
    FusedOp,
    Grouper,
    Mapper,
    Operator,
    ParameterError,
    ScriptOp,
    Selector,
    Splitter,
    TextMapper,
    UnknownOperatorError,
    create,
    load_file,
    register,
)
from jinx_pipeline.recipe.model import Recipe, SourceSpec
from jinx_pipeline.recipe.places import RecipeError
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.run import ChangedError, Run, RunResult, StoppedError
from jinx_pipeline.sample.roles import Roles

__all__ = [
    "Aggregator",
    "Batch",
    "ChangedError",
    "Context",
    "Dataset",
    "Deduplicator",
    "Filter",
    "FusedOp",
    "Grouper",
    "Mapper",
    "Operator",
    "ParameterError",
    "Ray",
    "Recipe",
    "RecipeError",
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
    "create",
    "load_file",
    "ops",
    "read_recipe",
    "register",
]
