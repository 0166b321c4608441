"""Readable examples of rows that an operator changed or dropped."""

from collections.abc import Iterator
from typing import Any

from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.sample.ranged_values import with_ranges_as

_CHARACTERS = 400


def row_examples(operator: Operator, before: Batch, after: Batch, limit: int, ctx: Context) -> list[dict[str, Any]]:
    """Up to `limit` examples: rows that a filter dropped with its statistics, or values that a mapper changed.

    Args:
        operator: The operator.
        before: Its input.
        after: Its output.
        limit: The maximum number of examples.
        ctx: The context that the operator ran with.
    """
    if isinstance(operator, Filter):
        return _dropped(operator, before, after, limit, ctx)
    if operator.kind == "mapper" and len(before) == len(after):
        return _changed(before, after, limit)
    if operator.kind not in {"mapper", "splitter"}:
        return []
    # The id of a sample from a splitter is the id of its parent, a slash and a number.
    kept = {part for sample_id in after.ids for part in _parents(sample_id)}
    return _dropped_rows(before, [row for row, sample_id in enumerate(before.ids) if sample_id not in kept], limit)


def _parents(sample_id: str) -> Iterator[str]:
    yield sample_id
    while "/" in sample_id:
        sample_id = sample_id.rpartition("/")[0]
        yield sample_id


def _dropped(operator: Filter, before: Batch, after: Batch, limit: int, ctx: Context) -> list[dict[str, Any]]:
    kept_ids = set(after.ids)
    dropped = [row for row, sample_id in enumerate(before.ids) if sample_id not in kept_ids]
    examples = _dropped_rows(before, dropped, limit)
    if examples:
        stats = _stats_of(operator, before.take(dropped[:limit]), ctx)
        examples = [{**example, "stats": values} for example, values in zip(examples, stats, strict=True)]
    return examples


def _dropped_rows(before: Batch, dropped: list[int], limit: int) -> list[dict[str, Any]]:
    if not dropped:
        return []
    rows = before.take(dropped[:limit])
    return [
        {
            "what": "dropped",
            "id": sample_id,
            "stats": {},
            "sample": {name: shown(sample[name]) for name in list(sample)[:6]},
        }
        for sample_id, sample in zip(rows.ids, rows.samples(), strict=True)
    ]


def _stats_of(operator: Filter, rows: Batch, ctx: Context) -> list[dict[str, Any]]:
    """Why each row was dropped: the filter's statistics, computed again for these rows."""
    names = list(operator.stats)
    if not names:
        return [{} for _ in range(len(rows))]
    measured = operator.measure(rows, ctx).stats
    values = [_listed(measured[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _changed(before: Batch, after: Batch, limit: int) -> list[dict[str, Any]]:
    examples: list[dict[str, Any]] = []
    names = [name for name, values in after.changed.items() if values is not before.changed.get(name)]
    known = set(before.column_names)
    for name in names:
        new = _listed(after.changed[name])
        old = [sample.get(name) for sample in before.samples()] if name in known else [None] * len(new)
        for sample_id, old_value, new_value in zip(before.ids, old, new, strict=True):
            if len(examples) == limit:
                return examples
            if old_value is None and new_value is REMOVED:
                continue
            was_text, now_text = around_change(_plain(old_value), _plain(new_value), _CHARACTERS)
            if was_text != now_text:
                examples.append(
                    {"what": "changed", "id": sample_id, "column": name, "before": was_text, "after": now_text}
                )
    return examples


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def shown(value: Any) -> str:
    """A value as a short string; for binary values, their size."""
    text = _plain(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}..."


def around_change(before: str, after: str, width: int) -> tuple[str, str]:
    """Two strings cut to a width, so that the first difference is visible."""
    if max(len(before), len(after)) <= width:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    same = next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))
    start = max(same - width // 4, 0)
    if start <= len("..."):
        start = 0
    return _cut(before, start, width), _cut(after, start, width)


def _cut(text: str, start: int, width: int) -> str:
    end = start + width
    return ("..." if start else "") + text[start:end] + ("..." if len(text) > end else "")


def _plain(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value):,} bytes>"
    if isinstance(value, StoredRange):
        return _size_text(value)
    return value if isinstance(value, str) else repr(with_ranges_as(value, _size_text))


def _size_text(medium: StoredRange) -> str:
    return f"<{medium.length:,} bytes>"
