"""Operators, which process samples and know nothing about files and engines."""

from jinx_pipeline.operators.api.batch import REMOVED, STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import (
    Aggregator,
    Deduplicator,
    FusedOp,
    Grouper,
    Mapper,
    Selector,
    Splitter,
    TextMapper,
)
from jinx_pipeline.operators.api.parameters import ParameterError, Range, Share, ShareLimit
from jinx_pipeline.operators.api.registry import (
    UnknownOperatorError,
    create,
    load_file,
    names,
    operator_class,
    register,
)
from jinx_pipeline.operators.api.resources import Resources
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
    "Model",
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
