"""Converts samples between the schemas of public datasets and trainers.

Each schema has a common form: dialogs become `messages` of `role` and `content`, and media with captions become `text`
with a token for each medium. Columns that a schema does not know pass through, so that converting to the common form
and back gives the same sample.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from jinx._suggest import hint
from jinx_pipeline.sample import captions, video_dialogs
from jinx_pipeline.sample.dialogs import CONVERTERS

Schema = Literal[
    "messages",
    "llava",
    "sharegpt",
    "alpaca",
    "query_response",
    "swift",
    "video_chatgpt",
    "captions",
    "mmc4",
    "wavcaps",
    "msr_vtt",
    "internvid",
    "youku_mplug",
]
SCHEMAS: tuple[Schema, ...] = get_args(Schema)

_Convert = Callable[[dict[str, Any]], dict[str, Any]]
_DIALOGS: dict[str, tuple[_Convert, _Convert]] = {
    **{layout: (converter.to_messages, converter.from_messages) for layout, converter in CONVERTERS.items()},
    "swift": (video_dialogs.from_swift, video_dialogs.to_swift),
    "video_chatgpt": (video_dialogs.from_video_chatgpt, video_dialogs.to_video_chatgpt),
}
_KNOWN = f"; there are: {', '.join(SCHEMAS)}"
_FORMS = {"messages": _DIALOGS, "captions": captions.CAPTIONS}


def convert_schema(sample: Mapping[str, Any], source: Schema, target: Schema) -> dict[str, Any]:
    """A sample in another schema.

    Args:
        sample: The sample.
        source: Its schema: a dialog in one of the layouts of `convert_dialog`, `"swift"` (ModelScope-Swift) or
            `"video_chatgpt"`; or media with captions: `"captions"`, the common form, `"mmc4"`, `"wavcaps"`,
            `"msr_vtt"`, `"internvid"` or `"youku_mplug"`.
        target: The schema of the result, of the same common form.

    Raises:
        SchemaError: The sample does not have the schema, or the target schema cannot represent it.
        ValueError: A schema is unknown, or the schemas have different common forms.
    """
    forms = [_form_of(schema) for schema in (source, target)]
    if forms[0] != forms[1]:
        raise ValueError(f"{source} converts to {forms[0]}, and {target} to {forms[1]}: they have no form in common")
    converters = _FORMS[forms[0]]
    return converters[target][1](converters[source][0](dict(sample)))


def require_schema(sample: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a sample that does not have a schema.

    Raises:
        SchemaError: The sample does not have the schema.
    """
    _FORMS[_form_of(schema)][schema][0](dict(sample))


def _form_of(schema: str) -> str:
    for form, converters in _FORMS.items():
        if schema in converters:
            return form
    raise ValueError(f"no schema {schema!r}{hint(schema, SCHEMAS) or _KNOWN}")
