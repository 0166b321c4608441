"""Texts and media in samples, and the layouts of dialog and multimodal data."""

from jinx_pipeline.sample.dialog_errors import SchemaError
from jinx_pipeline.sample.dialogs import LAYOUTS, DialogError, convert_dialog, layout_of
from jinx_pipeline.sample.media import MediaError
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.schemas import SCHEMAS, convert_schema, require_schema
from jinx_pipeline.sample.validators import (
    VALIDATORS,
    DialogShape,
    MediaCounts,
    MediaExist,
    RequiredColumns,
    SampleSchema,
    ValidationError,
    Validator,
    validate,
)

__all__ = [
    "LAYOUTS",
    "SCHEMAS",
    "VALIDATORS",
    "DialogError",
    "DialogShape",
    "MediaCounts",
    "MediaError",
    "MediaExist",
    "RequiredColumns",
    "Roles",
    "SampleSchema",
    "SchemaError",
    "ValidationError",
    "Validator",
    "convert_dialog",
    "convert_schema",
    "layout_of",
    "require_schema",
    "validate",
]
