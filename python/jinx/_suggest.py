"""Suggestions in error messages: the nearest name, or the jinx name for a function of another library."""

from collections.abc import Iterable, Sequence

# Names from other libraries, and the equivalents here.
FROM_ELSEWHERE = {
    "add_column": "ds.map(lambda sample: {name: value})",
    "batch": "ds.iter_batches(size)",
    "cast_column": "ds.map(f), or ds.decode({column: kind})",
    "columns": "ds.column_names, or ds.schema for what they hold",
    "features": "ds.schema",
    "fields": "ds.schema",
    "head": "ds[:5]",
    "remove_columns": "ds.drop_columns(names)",
    "rename_column": "ds.map(f, remove_columns=[name]), or jinx convert --rename old=new",
    "rename_columns": "ds.map(f, remove_columns=names), or jinx convert --rename old=new",
    "save_to_disk": "jinx.convert(ds, path)",
    "set_format": "ds.iter_batches(size, format='numpy')",
    "set_transform": "ds.with_transform(f)",
    "shape": "(len(ds), len(ds.column_names))",
    "skip": "ds[n:]",
    "to_dict": "ds.to_list(), or next(ds.iter_batches(len(ds), format='columns'))",
    "to_json": "jinx.convert(ds, 'out.jsonl')",
    "to_parquet": "jinx.convert(ds, 'out.parquet')",
    "to_polars": "polars.DataFrame(ds)",
    "train_test_split": "train, test = ds.split(0.9, seed=1)",
    "with_format": "ds.iter_batches(size, format='numpy'), or jinx.torch.Loader",
}


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that the user probably meant, if any is similar."""
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def hint(name: str, candidates: Iterable[str]) -> str:
    """`"; did you mean 'score'?"`, or nothing if no candidate is similar."""
    suggestion = nearest(name, candidates)
    return "" if suggestion is None else f"; did you mean {suggestion!r}?"


def unknown_column(name: str, candidates: Iterable[str]) -> str:
    """The message for a column that does not exist: the nearest name, or all names."""
    names = list(candidates)
    if "," in name:
        return f"no column {name!r}; several are a list: {[part.strip() for part in name.split(',')]!r}"
    near = hint(name, names)
    if near:
        return f"no column {name!r}{near}"
    return f"no column {name!r}; there are: {some_of(names)}" if names else f"no column {name!r}"


def unknown_member(path: Sequence[str], depth: int, candidates: Iterable[str]) -> str:
    """The message for a path that no sample has: the nearest path, or the names that exist there.

    Args:
        path: The names in it.
        depth: The index of the wrong name.
        candidates: The names that exist instead.
    """
    message = f"no column {path_text(path)!r}"
    names, parent = list(candidates), path_text(path[:depth])
    remainder = ".".join(path[depth:])
    suggestion = remainder if remainder in names else nearest(path[depth], names)
    if suggestion is not None:
        return f"{message}; did you mean {path_text([*path[:depth], suggestion])!r}?"
    if not names:
        return f"{message}; {parent!r} is not a dict" if parent else message
    return f"{message}; {parent!r} has: {some_of(names)}" if parent else f"{message}; there are: {some_of(names)}"


def path_text(path: Sequence[str | None]) -> str:
    """A path as users write it: `messages[].image`; a name that holds dots is quoted."""
    text = ""
    for part in path:
        if part is None:
            text += "[]"
            continue
        is_quoted = part.startswith('"') or (len(path) > 1 and "." in part)
        name = '"' + part.replace('"', '""') + '"' if is_quoted else part
        text += f".{name}" if text else name
    return text


def some_of(names: Sequence[str]) -> str:
    """The first dozen of some names, for a message."""
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")  # noqa: PLR2004 - as many as fit into a line
