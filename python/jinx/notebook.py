"""How datasets and samples look in a terminal and in a notebook: types and sizes, never floods of bytes."""

from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice
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
# Nested values are looked into this deep, and this far along.
_MAX_DEPTH = 4
_MAX_ITEMS = 8


def dataset_text(dataset: "Dataset") -> str:
    """The path, the number of samples, and one line for each field with type and stored size."""
    head = f"Dataset({dataset.path!r}, {_samples(len(dataset))})"
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
        f"<div><b>Dataset</b> <code>{escape(_short(dataset.path))}</code>, {_samples(len(dataset))}"
        "<table><thead><tr><th>field</th><th>type</th><th>stored</th></tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table>"
    )
    for picture in _pictures(dataset):
        if len(page.encode()) + len(picture) < MAX_HTML_BYTES - 10:
            page += picture
    return f"{page}</div>"


def sample_html(sample: Mapping[str, Any]) -> str:
    """A table of one sample's fields; images as small pictures where Pillow is installed."""
    page = "<table><tbody>"
    for name in list(sample)[:_MAX_FIELDS]:
        value = sample[name]
        pictures = "".join(filter(None, map(thumbnail, islice(_binary(value), _THUMBNAILS))))
        text = "" if pictures and isinstance(value, bytes) else escape(_short(_shown(value)))
        between = "<br/>" if pictures and text else ""
        cell = f"<td style='overflow-wrap:anywhere'>{pictures}{between}{text}</td>"
        row = f"<tr><td><code>{escape(_short(name))}</code></td>{cell}</tr>"
        if len(page.encode()) + len(row.encode()) < MAX_HTML_BYTES - 100:
            page += row
    return f"{page}</tbody></table>"


def _binary(value: Any, depth: int = 0) -> Iterator[Any]:
    """The bytes and pictures in a value, in their order."""
    if isinstance(value, bytes) or hasattr(value, "thumbnail"):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, list | Mapping):
        members: list[Any] = list(value.values()) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        for member in members[:_MAX_FIELDS]:
            yield from _binary(member, depth + 1)


def thumbnail(data: Any) -> str | None:
    """An `img` element of at most 96 pixels for bytes or a PIL image; None when it is none or Pillow is not there."""
    import base64
    import io

    try:
        from PIL import Image

        # Before a large JPEG is decoded whole; a picture that somebody holds stays as it is.
        with Image.open(io.BytesIO(data)) if isinstance(data, bytes) else data.copy() as picture:
            picture.thumbnail((_THUMBNAIL_PIXELS, _THUMBNAIL_PIXELS))
            out = io.BytesIO()
            picture.convert("RGB").save(out, "JPEG", quality=75)
    except Exception:  # noqa: BLE001 - Pillow raises what its parsers meet, and a picture is decoration here
        return None
    return (
        f"<img alt='' style='display:inline' src='data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}'/>"
    )


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
    found_media = [str(entry["path"][0]) for entry in stats if entry.get("media")]
    names = [name for name in dict.fromkeys(found_media) if name in dataset.column_names]
    if not names or dataset._transforms:  # pyright: ignore[reportPrivateUsage]
        return []
    stored = dataset._derive(fields=names, decoders=None)  # pyright: ignore[reportPrivateUsage]
    found: list[str] = []
    for index in range(min(_THUMBNAILS, len(stored))):
        for name in names:
            value = stored[index].get(name)
            pictures = map(thumbnail, islice(_binary(value), _THUMBNAILS))
            found += [picture for picture in pictures if picture]
    return found


def _shown(value: Any, depth: int = 0) -> str:
    """A value as text: bytes and arrays by their sizes, containers as far as anybody reads."""
    if isinstance(value, bytes):
        return f"bytes, {natural_size(len(value))}"
    if hasattr(value, "thumbnail"):
        return f"{value.width} x {value.height} pixels, {value.mode}"
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of shape {shape}"
    if depth < _MAX_DEPTH and isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        shown = [_shown(item, depth + 1) for item in items[:_MAX_ITEMS]]
        return f"[{', '.join([*shown, '...'] if len(items) > _MAX_ITEMS else shown)}]"
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        members: list[tuple[Any, Any]] = list(value.items())[:_MAX_ITEMS]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return f"{{{', '.join(f'{_short(str(name))!r}: {_shown(member, depth + 1)}' for name, member in members)}}}"
    return repr(value[:_MAX_TEXT] if isinstance(value, str) else value)


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."
