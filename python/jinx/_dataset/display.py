"""The text and HTML that terminals and notebooks show for datasets and samples: types and sizes, but no raw bytes."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, NamedTuple

from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._dataset.summary import path_of, path_sizes, schema
from jinx._sizes import counted, natural_size

MAX_HTML_BYTES = 100_000
_MAX_COLUMNS = 40
_MAX_TEXT = 200
_MAX_UNBROKEN = 30
_THUMBNAILS = 4
_THUMBNAIL_PIXELS = 96
# The maximum depth, and the number of elements shown of a nested value.
_MAX_DEPTH = 4
_MAX_ITEMS = 8

# Styles are inline, because notebooks remove the style sheets of pages that they do not trust. The only colour is a
# grey that is readable on white and on black. Text keeps the notebook's colour, so the page works in light and in dark
# mode.
_TABLE = "border-collapse:collapse;margin:.5em 0"
_ROW = "background:none"
_CELL = "padding:.25em 1.5em .25em 0;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"
_TEXT = f"{_CELL};text-align:left;overflow-wrap:anywhere"
_NAME = f"{_CELL};text-align:left;white-space:nowrap"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_FIGURE = "display:inline-block;margin:.25em 1em .25em 0;vertical-align:bottom"
_IMAGE = "display:block;margin:0"
_CAPTION = (
    "font-size:85%;line-height:1.3;opacity:.75;margin-top:.2em;text-align:left;overflow-wrap:anywhere;max-width:12em"
)


class _Thumbnail(NamedTuple):
    """A small JPEG as base64, and the size of the image that it shows."""

    data: str
    width: int
    height: int


def dataset_text(dataset: Reader) -> str:
    """The path, the number of samples, and a line for each column with its type and stored size."""
    if dataset._is_closed():
        return f"Dataset({path_of(dataset)!r}, closed)"
    seed = dataset.__dict__.get("_seed")
    shuffled = "" if seed is None else f", shuffled with seed={seed}"
    head = f"Dataset({path_of(dataset)!r}, {counted(len(dataset), 'sample')}{shuffled})"
    rows = _column_rows(dataset)
    if not rows:
        return head
    name_width, kind_width, size_width = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    lines = [f"  {name:{name_width}}  {kind:{kind_width}}  {size:>{size_width}}".rstrip() for name, kind, size in rows]
    return "\n".join([head, *lines])


def dataset_html(dataset: Reader) -> str:
    """A table of the columns, and thumbnails of the first samples if Pillow is installed."""
    if dataset._is_closed():
        return f"<div><b>Dataset</b> <code>{escape(_short(path_of(dataset)))}</code>, closed</div>"
    rows = [
        _row("td", (_name_style(name), _TEXT, _NUMBER), [f"<code>{escape(name)}</code>", escape(kind), escape(size)])
        for name, kind, size in _column_rows(dataset)
    ]
    head = _row("th", (_NAME, _TEXT, _NUMBER), ["column", "type", "stored"])
    page = (
        f"<div><b>Dataset</b> <code>{escape(_short(path_of(dataset)))}</code>, {counted(len(dataset), 'sample')}"
        f"<table style='{_TABLE}'><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    )
    for figure in _figures(dataset):
        if len(page.encode()) + len(figure.encode()) < MAX_HTML_BYTES - 10:
            page += figure
    return f"{page}</div>"


def sample_html(sample: Mapping[str, Any]) -> str:
    """A table of one sample's columns; images as thumbnails if Pillow is installed."""
    page = f"<table style='{_TABLE}'><tbody>"
    for name in list(sample)[:_MAX_COLUMNS]:
        cells = [f"<code>{escape(_short(name))}</code>", _cell(sample[name])]
        row = _row("td", (_name_style(name), _TEXT), cells)
        if len(page.encode()) + len(row.encode()) < MAX_HTML_BYTES - 100:
            page += row
    return f"{page}</tbody></table>"


def samples_html(samples: Sequence[Mapping[str, Any]]) -> str:
    """A table with a row for each sample; images are thumbnails if Pillow is installed."""
    names = list(dict.fromkeys(name for sample in samples for name in sample))[:_MAX_COLUMNS]
    head = _row("th", [_TEXT] * len(names), [f"<code>{escape(_short(name))}</code>" for name in names])
    page = f"<table style='{_TABLE}'><thead>{head}</thead><tbody>"
    for sample in samples:
        row = _row("td", [_TEXT] * len(names), [_cell(sample[name]) if name in sample else "" for name in names])
        if len(page.encode()) + len(row.encode()) < MAX_HTML_BYTES - 100:
            page += row
    return f"{page}</tbody></table>"


def _cell(value: Any) -> str:
    """A value as HTML: its images as thumbnails, and everything else as text."""
    binaries = islice(_binary(value), _THUMBNAILS)
    figures = [_figure(image, path, data) for path, data in binaries if (image := _thumbnail(data))]
    text = escape(_short(_shown(value))) if not figures or isinstance(value, list | Mapping) else ""
    return "".join(figures) + ("<br/>" if figures and text else "") + text


def samples_text(samples: Sequence[Mapping[str, Any]]) -> str:
    """A table with a row for each sample; columns are as wide as their values, and each value is cut to a few words."""
    names = list(dict.fromkeys(name for sample in samples for name in sample))[:_MAX_COLUMNS]
    cells = [
        [_cut(_shown(sample[name]), _MAX_UNBROKEN) if name in sample else "" for name in names] for sample in samples
    ]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)) for line in [names, *cells]]
    return "\n".join(map(str.rstrip, lines))


def _name_style(name: str) -> str:
    """Keep names on one line, unless this leaves no room for values."""
    return _NAME if len(name) <= _MAX_UNBROKEN else _TEXT


def _row(tag: str, styles: Sequence[str], cells: Sequence[str]) -> str:
    """A row of the table; the cells are HTML."""
    inner = "".join(f"<{tag} style='{style}'>{cell}</{tag}>" for style, cell in zip(styles, cells, strict=True))
    return f"<tr style='{_ROW}'>{inner}</tr>"


def _figure(image: _Thumbnail, name: str, data: Any) -> str:
    """A thumbnail; its caption has the name, the size of the full image, and its bytes or, if decoded, its mode."""
    weight = natural_size(len(data)) if isinstance(data, bytes) else str(data.mode)
    lines = [escape(_short(line)) for line in (name, f"{image.width} x {image.height}, {weight}") if line]
    return (
        f"<figure style='{_FIGURE}'>"
        f"<img alt='{lines[0]}' style='{_IMAGE}' src='data:image/jpeg;base64,{image.data}'/>"
        f"<figcaption style='{_CAPTION}'>{'<br/>'.join(lines)}</figcaption></figure>"
    )


def _binary(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The bytes and images in a value, in their order, each with its path in the value."""
    if isinstance(value, bytes) or hasattr(value, "thumbnail"):
        yield path, value
    elif depth < _MAX_DEPTH and isinstance(value, list | Mapping):
        members: list[tuple[str, Any]] = (
            [(f".{name}", member) for name, member in value.items()]  # pyright: ignore[reportUnknownVariableType]
            if isinstance(value, Mapping)
            else [(f"[{index}]", member) for index, member in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        )
        for step, member in members[:_MAX_COLUMNS]:
            yield from _binary(member, path + step, depth + 1)


def _thumbnail(data: Any) -> _Thumbnail | None:
    """A thumbnail of at most 96 pixels of an encoded or PIL image; None for other values, or if Pillow is missing."""
    import base64
    import io

    try:
        from PIL import Image

        # Copy the user's image instead of changing it. A large JPEG is decoded only as far as the thumbnail needs.
        with Image.open(io.BytesIO(data)) if isinstance(data, bytes) else data.copy() as image:
            width, height = image.size
            image.thumbnail((_THUMBNAIL_PIXELS, _THUMBNAIL_PIXELS))
            out = io.BytesIO()
            on_white(image).save(out, "JPEG", quality=75)
    except Exception:  # noqa: BLE001 - Pillow's parsers may raise anything, and a thumbnail is optional
        return None
    return _Thumbnail(base64.b64encode(out.getvalue()).decode(), width, height)


def on_white(image: Any) -> Any:
    """The image on a white background, because JPEG has no transparency."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    coloured = image.convert("RGBA")
    paper = Image.new("RGBA", coloured.size, "white")
    return Image.alpha_composite(paper, coloured).convert("RGB")


def _column_rows(dataset: Reader) -> list[tuple[str, str, str]]:
    sizes = path_sizes(dataset._path_stats())
    columns = list(schema(dataset).items())
    rows = [
        (_short(name), kind, natural_size(sizes[name][1]) if name in sizes and sizes[name][0] else "")
        for name, kind in columns[:_MAX_COLUMNS]
    ]
    if len(columns) > _MAX_COLUMNS:
        rows.append((f"... and {len(columns) - _MAX_COLUMNS} more", "", ""))
    return rows


def _figures(dataset: Reader) -> Iterator[str]:
    """Thumbnails of the first samples' image columns."""
    stats = dataset._path_stats()
    found_media = [str(entry["path"][0]) for entry in stats if entry.get("media")]
    names = [name for name in dict.fromkeys(found_media) if name in column_names(dataset)]
    if not names or dataset._transforms:
        return
    stored = dataset._derive(columns=names, decoders=None)
    for index in range(min(_THUMBNAILS, len(stored))):
        for name in names:
            for path, data in islice(_binary(stored[index].get(name), name), _THUMBNAILS):
                if image := _thumbnail(data):
                    yield _figure(image, f"sample {index}: {path}", data)


def _shown(value: Any, depth: int = 0) -> str:
    """A value as a short string: sizes of bytes and arrays, the first elements of containers."""
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


def _short(text: str) -> str:
    return _cut(text, _MAX_TEXT)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
