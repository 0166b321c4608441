"""Examples of what an operator changed or left out, for people to look at."""

from typing import Any

from jinx_pipeline.operators.base import Operator
from jinx_pipeline.operators.batch import Batch

_CHARACTERS = 400


def traced(operator: Operator, before: Batch, after: Batch, limit: int) -> list[dict[str, Any]]:
    """Up to `limit` examples: rows that a filter dropped with its statistics, or values that a mapper changed.

    Args:
        operator: What ran.
        before: What it was given.
        after: What it made of it.
        limit: How many examples.
    """
    if operator.kind == "filter":
        return _dropped(before, after, limit)
    if operator.kind == "mapper" and len(before) == len(after):
        return _changed(before, after, limit)
    return []


def _dropped(before: Batch, after: Batch, limit: int) -> list[dict[str, Any]]:
    kept = set(after.ids)
    places = [at for at, one in enumerate(before.ids) if one not in kept][:limit]
    if not places:
        return []
    rows = before.take(places)
    samples = rows.samples()
    return [
        {"what": "dropped", "id": one, "sample": {name: shown(sample[name]) for name in list(sample)[:6]}}
        for one, sample in zip(rows.ids, samples, strict=True)
    ]


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
            was_text, now_text = shown(was), shown(now)
            if was_text != now_text:
                found.append({"what": "changed", "id": one, "column": name, "before": was_text, "after": now_text})
    return found


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def shown(value: Any) -> str:
    """A value as a short string; binary ones as their size."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value):,} bytes>"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}..."
