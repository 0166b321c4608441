"""The name that was probably meant, and names of other libraries."""

from collections.abc import Iterable

# What people type who come from other libraries, and what it is called here.
FROM_ELSEWHERE = {
    "add_column": "ds.map(lambda sample: {**sample, ...})",
    "batch": "ds.iter_batches(size)",
    "cast_column": "ds.map(f), or ds.decode({field: kind})",
    "features": "ds.fields",
    "head": "ds[:5]",
    "remove_columns": "ds.drop_columns(names)",
    "rename_column": "ds.map(f), or jinx convert --rename old=new",
    "rename_columns": "ds.map(f), or jinx convert --rename old=new",
    "save_to_disk": "jinx.convert(ds, path)",
    "set_format": "ds.iter_batches(size, format='numpy')",
    "shape": "(len(ds), len(ds.column_names))",
    "skip": "ds[n:]",
    "to_dict": "ds.to_list(), or next(ds.iter_batches(len(ds), format='columns'))",
    "to_json": "jinx.convert(ds, 'out.jsonl')",
    "to_parquet": "jinx.convert(ds, 'out.parquet')",
    "to_polars": "polars.DataFrame(ds)",
    "train_test_split": "train, test = ds.split(0.9, seed=1)",
    "with_format": "ds.iter_batches(size, format='numpy'), or jinx.torch.Loader",
    "with_transform": "ds.map(f)",
}


def hint(name: str, candidates: Iterable[str]) -> str:
    """`"; did you mean 'score'?"`, or nothing when no candidate is near."""
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""


def unknown_field(name: str, known: Iterable[str]) -> str:
    """What to say about a field that does not exist: the nearest name, or those there are."""
    names = list(known)
    near = hint(name, names)
    if near:
        return f"no field {name!r}{near}"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")  # noqa: PLR2004 - what fits into a line
    return f"no field {name!r}; there are: {shown}" if names else f"no field {name!r}"
