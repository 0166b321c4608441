"""The name that was probably meant."""

from collections.abc import Iterable


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
