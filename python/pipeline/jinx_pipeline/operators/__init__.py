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
from jinx_pipeline.operators.media_filter import MediaFilter
from jinx_pipeline.operators.parameters import ParameterError, Range, Share, ShareLimit
from jinx_pipeline.operators.registry import (
    UnknownOperatorError,
    create,
    load_file,
    names,
    operator_class,
    register,
)
from jinx_pipeline.operators.script.function_op import ScriptOp

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
    "MediaFilter",
    "Operator",
    "ParameterError",
    "Range",
    "Resources",
    "ScriptOp",
    "Selector",
    "Share",
    "ShareLimit",
    "Splitter",
    "TextMapper",
    "UnknownOperatorError",
    "create",
    "load_file",
    "names",
    "operator_class",
    "register",
]
