"""Texts and media in samples, and the layouts of dialog and multimodal data."""

from jinx_pipeline.sample.dialogs import LAYOUTS, DialogError, convert_dialog, layout_of
from jinx_pipeline.sample.media import MediaError
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import (
    VALIDATORS,
    DialogShape,
    MediaCounts,
    MediaExist,
    RequiredColumns,
    ValidationError,
    Validator,
    validate,
)

__all__ = [
    "LAYOUTS",
    "VALIDATORS",
    "DialogError",
    "DialogShape",
    "MediaCounts",
    "MediaError",
    "MediaExist",
    "RequiredColumns",
    "Roles",
    "ValidationError",
    "Validator",
    "convert_dialog",
    "layout_of",
    "validate",
]
