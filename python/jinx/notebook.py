"""How datasets and samples look in a terminal and in a notebook: types and sizes, never floods of bytes."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from jinx.sizes import natural_size
from jinx.summary import field_sizes

if TYPE_CHECKING:
    from jinx.dataset import Dataset

MAX_HTML_BYTES = 100_000
_MAX_FIELDS = 40
_MAX_TEXT = 200
_THUMBNAILS = 4
_THUMBNAIL_PIXELS = 96


def dataset_text(dataset: "Dataset") -> str:
    """The path, the number of samples, and one line for each field with type and stored size."""
    head = f"Dataset({dataset.path!r}, {len(dataset):,} samples)"
    rows = _field_rows(dataset)
    if not rows:
        return head
    width = max(len(name) for name, _, _ in rows)
    wide = max(len(kind) for _, kind, _ in rows)
    lines = [f"  {name:{width}}  {kind:{wide}}  {size}".rstrip() for name, kind, size in rows]
    return "\n".join([head, *lines])


def dataset_html(dataset: "Dataset") -> str:
    """A table of the fields, and small pictures of the first samples where Pillow is installed."""
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td>"
        f"<td style='text-align:right'>{escape(size)}</td></tr>"
        for name, kind, size in _field_rows(dataset)
    ]
    page = (
        f"<div><b>Dataset</b> <code>{escape(_short(dataset.path))}</code>, {len(dataset):,} samples"
        "<table><thead><tr><th>field</th><th>type</th><th>stored</th></tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table>"
    )
    for picture in _pictures(dataset):
        if len(page) + len(picture) < MAX_HTML_BYTES - 10:
            page += picture
    return f"{page}</div>"


def sample_html(sample: Mapping[str, Any]) -> str:
    """A table of one sample's fields; images as small pictures where Pillow is installed."""
    page = "<table><tbody>"
    for name in list(sample)[:_MAX_FIELDS]:
        value = sample[name]
        cell = thumbnail(value) if isinstance(value, bytes) else None
        row = f"<tr><td><code>{escape(_short(name))}</code></td><td>{cell or escape(_short(_shown(value)))}</td></tr>"
        if len(page) + len(row) < MAX_HTML_BYTES - 100:
            page += row
    return f"{page}</tbody></table>"


def thumbnail(data: bytes) -> str | None:
    """An `img` element of at most 96 pixels; None when it is no image or Pillow is not installed."""
    import base64
    import io

    try:
        from PIL import Image

        with Image.open(io.BytesIO(data)) as picture:
            picture.thumbnail((_THUMBNAIL_PIXELS, _THUMBNAIL_PIXELS))
            out = io.BytesIO()
            picture.convert("RGB").save(out, "JPEG", quality=75)
    except (ImportError, OSError, SyntaxError, ValueError):
        return None
    return f"<img alt='' src='data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}'/>"


def _field_rows(dataset: "Dataset") -> list[tuple[str, str, str]]:
    sizes = field_sizes(dataset._field_stats())  # pyright: ignore[reportPrivateUsage]
    fields = list(dataset.fields.items())
    rows = [
        (_short(name), kind, natural_size(sizes[name][1]) if name in sizes and sizes[name][0] else "")
        for name, kind in fields[:_MAX_FIELDS]
    ]
    if len(fields) > _MAX_FIELDS:
        rows.append((f"... and {len(fields) - _MAX_FIELDS} more", "", ""))
    return rows


def _pictures(dataset: "Dataset") -> list[str]:
    """Small pictures of the first samples' image fields."""
    stats = dataset._field_stats()  # pyright: ignore[reportPrivateUsage]
    names = [str(entry["path"][0]) for entry in stats if len(entry["path"]) == 1 and entry.get("media")]
    names = [name for name in names if name in dataset.column_names]
    if not names or dataset._transforms:  # pyright: ignore[reportPrivateUsage]
        return []
    stored = dataset._derive(fields=names, decoders=None)  # pyright: ignore[reportPrivateUsage]
    found: list[str] = []
    for index in range(min(_THUMBNAILS, len(stored))):
        values = [stored[index].get(name) for name in names]
        found += [picture for value in values if isinstance(value, bytes) and (picture := thumbnail(value))]
    return found


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return f"bytes, {natural_size(len(value))}"
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__} of shape {shape}" if shape is not None else repr(value)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."
