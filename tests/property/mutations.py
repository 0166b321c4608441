"""Small changes to bytes, as Hypothesis draws and shrinks them."""

from hypothesis import strategies as st

Change = tuple[str, float, bytes]

CHANGES: st.SearchStrategy[list[Change]] = st.lists(
    st.tuples(
        st.sampled_from(["flip", "put", "insert", "cut", "end", "append", "repeat"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=4),
    ),
    max_size=4,
)


def changed(data: bytes, changes: list[Change]) -> bytes:
    """`data` after all changes; a place is given as a share of the length."""
    for kind, share, piece in changes:
        at = int(share * len(data))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ 1 << piece[0] % 8]) + data[at + 1 :]
        elif kind == "put":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + piece[0] % 16 :]
        elif kind == "end":
            data = data[:at]
        elif kind == "append":
            data += piece
        elif kind == "repeat":
            data += data
    return data


def mutated(*seeds: bytes) -> st.SearchStrategy[bytes]:
    """One of the seeds with some changes."""
    return st.builds(changed, st.sampled_from(seeds), CHANGES)


def mutated_text(*seeds: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One of the seeds with some parts put into it, and some characters gone."""

    def mixed(seed: str, changes: list[tuple[float, int, str]]) -> str:
        for share, gone, part in changes:
            at = int(share * len(seed))
            seed = seed[:at] + part + seed[at + gone :]
        return seed

    change = st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 3), parts)
    return st.builds(mixed, st.sampled_from(seeds), st.lists(change, max_size=4))
