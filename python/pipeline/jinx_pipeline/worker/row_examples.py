"""Examples of what an operator changed or left out, for people to look at."""

from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.operator import Operator

_CHARACTERS = 400


def row_examples(operator: Operator, before: Batch, after: Batch, limit: int, ctx: Context) -> list[dict[str, Any]]:
    """Up to `limit` examples: rows that a filter dropped with its statistics, or values that a mapper changed.

    Args:
        operator: What ran.
        before: What it was given.
        after: What it made of it.
        limit: How many examples.
        ctx: What the operator ran with.
    """
    if isinstance(operator, Filter):
        return _dropped(operator, before, after, limit, ctx)
    if operator.kind == "mapper" and len(before) == len(after):
        return _changed(before, after, limit)
    return []


def _dropped(operator: Filter, before: Batch, after: Batch, limit: int, ctx: Context) -> list[dict[str, Any]]:
    kept = set(after.ids)
    places = [at for at, one in enumerate(before.ids) if one not in kept][:limit]
    if not places:
        return []
    rows = before.take(places)
    samples = rows.samples()
    stats = _stats_of(operator, rows, ctx)
    return [
        {"what": "dropped", "id": one, "stats": why, "sample": {name: shown(sample[name]) for name in list(sample)[:6]}}
        for one, why, sample in zip(rows.ids, stats, samples, strict=True)
    ]


def _stats_of(operator: Filter, rows: Batch, ctx: Context) -> list[dict[str, Any]]:
    """Why each row was dropped: the statistics of the filter, measured again for these few."""
    names = list(operator.stats)
    if not names:
        return [{} for _ in range(len(rows))]
    measured = operator.measure(rows, ctx).stats
    values = [_listed(measured[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _changed(before: Batch, after: Batch, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    names = [name for name, values in after.changed.items() if values is not before.changed.get(name)]
    known = set(before.column_names)
    for name in names:
        new = _listed(after.changed[name])
        old = [sample.get(name) for sample in before.samples()] if name in known else [None] * len(new)
        for one, was, now in zip(before.ids, old, new, strict=True):
            if len(found) == limit:
                return found
            was_text, now_text = around_change(_plain(was), _plain(now), _CHARACTERS)
            if was_text != now_text:
                found.append({"what": "changed", "id": one, "column": name, "before": was_text, "after": now_text})
    return found


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def shown(value: Any) -> str:
    """A value as a short string; binary ones as their size."""
    text = _plain(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}..."


def around_change(before: str, after: str, width: int) -> tuple[str, str]:
    """Two strings cut to a width, so that the first place where they differ is seen."""
    if max(len(before), len(after)) <= width:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
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
    return value if isinstance(value, str) else repr(value)
