"""Operators: what is done to samples, with no knowledge of files and engines."""

from jinx_pipeline.operators.base import Operator, Resources
from jinx_pipeline.operators.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.filter import Filter
from jinx_pipeline.operators.kinds import (
    Aggregator,
    Deduplicator,
    FusedOp,
    Grouper,
    Mapper,
    Selector,
    Splitter,
    TextMapper,
)
from jinx_pipeline.operators.parameters import ParameterError
from jinx_pipeline.operators.registry import (
    UnknownOperatorError,
    create,
    load_file,
    names,
    operator_class,
    register,
)

__all__ = [
    "REMOVED",
    "STATS",
    "Aggregator",
    "Batch",
    "Context",
    "Deduplicator",
    "Filter",
    "FusedOp",
    "Grouper",
    "Mapper",
    "Operator",
    "ParameterError",
    "Resources",
    "Selector",
    "Splitter",
    "TextMapper",
    "UnknownOperatorError",
    "create",
    "load_file",
    "names",
    "operator_class",
    "register",
]
