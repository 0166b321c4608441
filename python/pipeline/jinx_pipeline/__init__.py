"""Data pipelines over JINX datasets.

import jinx_pipeline as jp

jp.create("text_length_filter", min_len=10)([{"text": "a short one"}, {"text": "no"}])
"""

from jinx_pipeline import ops
from jinx_pipeline.dataset import Dataset
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
from jinx_pipeline.sample.roles import Roles

__all__ = [
    "Aggregator",
    "Batch",
    "Context",
    "Dataset",
    "Deduplicator",
    "Filter",
    "FusedOp",
    "Grouper",
    "Mapper",
    "Operator",
    "ParameterError",
    "Roles",
    "ScriptOp",
    "Selector",
    "Splitter",
    "TextMapper",
    "UnknownOperatorError",
    "create",
    "load_file",
    "ops",
    "register",
]
