"""Random filter expressions, each with what it means for a sample: a model in Python of three-valued logic."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

Row = dict[str, Any]
FALSE, UNKNOWN, TRUE = 0, 1, 2
# What a comparison may be that cannot be made.
ANY = frozenset({FALSE, UNKNOWN, TRUE})

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
INTEGERS = [
    -(2**63),
    -3,
    -1,
    0,
    1,
    2,
    3,
    2**31,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    -(10**40),
    2**127,
]
FLOATS = [-1e300, -2.5, -1.0, -0.0, 0.5, 1.0, 3.0, float(2**53), 2.0**63, 2.0**127, 1e300]
STRINGS = ["", "a", "ab", "B", "é", "ÉA", "it's", "\\", "\n", '"', "\U0001f600", "zz"]


class Part(NamedTuple):
    """A piece of an expression and what it gives for a sample: a value, or the set of its possible answers."""

    text: str
    of: Callable[[Row], Any]


class CannotCompareError(Exception):
    """A value that an operation does not take."""


def at(row: Row, path: list[str]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def path(*names: str, text: str = "") -> Part:
    return Part(text or ".".join(names), lambda row: at(row, list(names)))


def length(part: Part) -> Part:
    def of(row: Row) -> Any:
        value = part.of(row)
        if value is not None and not isinstance(value, str | list | dict):
            raise CannotCompareError
        return None if value is None else len(value)

    return Part(f"len({part.text})", of)


def quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def literal(value: Any) -> Part:
    return Part(quoted(value) if isinstance(value, str) else repr(value), lambda row: value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def compared(left: Any, sign: str, right: Any) -> int:
    if left is None or right is None:
        return UNKNOWN
    if not (is_number(left) and is_number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        raise CannotCompareError
    return TRUE if COMPARISONS[sign](left, right) else FALSE


def test(text: str, of: Callable[[Row], int]) -> Part:
    def answers(row: Row) -> frozenset[int]:
        try:
            return frozenset({of(row)})
        except CannotCompareError:
            return ANY

    return Part(text, answers)


def comparison(left: Part, sign: str, right: Part) -> Part:
    return test(f"{left.text} {sign} {right.text}", lambda row: compared(left.of(row), sign, right.of(row)))


def arithmetic(left: Part, sign: str, right: Part) -> Part:
    def of(row: Row) -> Any:
        values = [left.of(row), right.of(row)]
        if None in values:
            return None
        if not all(map(is_number, values)):
            raise CannotCompareError
        if values[1] == 0 and sign in {"/", "//", "%"}:
            return None
        return OPERATORS[sign](*values)

    return Part(f"({left.text} {sign} {right.text})", of)


def negative(part: Part) -> Part:
    return arithmetic(literal(0), "-", part)._replace(text=f"-{part.text}")


def lowered(part: Part) -> Part:
    def of(row: Row) -> Any:
        value = part.of(row)
        if value is not None and not isinstance(value, str):
            raise CannotCompareError
        return None if value is None else value.lower()

    return Part(f"lower({part.text})", of)


def searched(function: str, text: Part, part: Part) -> Part:
    method = {"contains": "__contains__"}.get(function, function)

    def of(row: Row) -> int:
        # As the core does, which looks at the second only where the first is a string or missing.
        values = [text.of(row), part.of(row)]
        if any(value is not None and not isinstance(value, str) for value in values):
            raise CannotCompareError
        if None in values:
            return UNKNOWN
        return TRUE if getattr(values[0], method)(values[1]) else FALSE

    return test(f"{function}({text.text}, {part.text})", of)


def member(value: Part, items: list[Any], *, negated: bool) -> Part:
    def of(row: Row) -> int:
        found = value.of(row)
        if found is None:
            return UNKNOWN
        # `any` over a generator: what follows an equal one is not looked at.
        return TRUE if any(compared(found, "==", item) == TRUE for item in items) else FALSE

    listed = ", ".join(literal(item).text for item in items)
    inside = test(f"{value.text} in [{listed}]", of)
    return inverted(inside)._replace(text=f"{value.text} not in [{listed}]") if negated else inside


def is_none(value: Part, *, negated: bool) -> Part:
    sign = "is not None" if negated else "is None"
    return test(f"{value.text} {sign}", lambda row: TRUE if (value.of(row) is None) != negated else FALSE)


def is_true(value: Part) -> Part:
    def of(row: Row) -> int:
        found = value.of(row)
        if found is None:
            return UNKNOWN
        if not isinstance(found, bool):
            raise CannotCompareError
        return TRUE if found else FALSE

    return test(value.text, of)


def inverted(part: Part) -> Part:
    return Part(f"not {part.text}", lambda row: frozenset(2 - answer for answer in part.of(row)))


def joined(word: str, parts: list[Part]) -> Part:
    choose = min if word == "and" else max

    def of(row: Row) -> frozenset[int]:
        answers = parts[0].of(row)
        for part in parts[1:]:
            answers = frozenset(choose(one, other) for one in answers for other in part.of(row))
        return answers

    return Part("(" + f" {word} ".join(part.text for part in parts) + ")", of)


def chained(first: Part, one: str, middle: Part, two: str, last: Part) -> Part:
    both = joined("and", [comparison(first, one, middle), comparison(middle, two, last)])
    return both._replace(text=f"{first.text} {one} {middle.text} {two} {last.text}")


N, K, F, S, B, L, MIXED = (path(name) for name in ("n", "k", "f", "s", "b", "l", "mixed"))
M, MN, MS, DOTTED = path("m"), path("m", "n"), path("m", "s"), path("m", "a.b", text='m."a.b"')
PATHS = st.sampled_from([N, K, F, S, B, L, MIXED, M, MN, MS, DOTTED])
SIGNS = st.sampled_from(sorted(COMPARISONS))

SMALL = st.sampled_from([K, F, B, MIXED, *map(literal, [-2, 0, 1, 3, 0.5, -2.5, True])])
COMPUTED = st.recursive(
    SMALL,
    lambda inner: st.one_of(
        st.builds(arithmetic, inner, st.sampled_from(sorted(OPERATORS)), inner), inner.map(negative)
    ),
    max_leaves=4,
)
NUMBERS = st.one_of(
    st.sampled_from([N, K, F, B, MN, MIXED, *map(length, [S, L, MS, MIXED, M])]),
    st.sampled_from(INTEGERS + FLOATS).map(literal),
    COMPUTED,
)
TEXTS = st.one_of(
    st.sampled_from([S, MS, DOTTED, MIXED, lowered(S), lowered(MIXED)]), st.sampled_from(STRINGS).map(literal)
)
TESTS = st.one_of(
    st.builds(comparison, NUMBERS, SIGNS, NUMBERS),
    st.builds(comparison, TEXTS, SIGNS, TEXTS),
    st.builds(chained, NUMBERS, SIGNS, NUMBERS, SIGNS, NUMBERS),
    st.builds(is_none, PATHS, negated=st.booleans()),
    st.sampled_from([B, MIXED]).map(is_true),
    st.builds(searched, st.sampled_from(["contains", "startswith", "endswith"]), TEXTS, TEXTS),
    st.builds(
        member, NUMBERS, st.lists(st.sampled_from([*INTEGERS, *FLOATS, True]), max_size=4), negated=st.booleans()
    ),
    st.builds(member, TEXTS, st.lists(st.sampled_from(STRINGS), max_size=4), negated=st.booleans()),
)
EXPRESSIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        inner.map(inverted), st.builds(joined, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3))
    ),
    max_leaves=6,
)


_ABSENT = object()


def _sparse(members: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of which some members are None or absent."""
    gaps = st.sampled_from([None, _ABSENT])
    filled = {name: st.one_of(values, values, values, gaps) for name, values in members.items()}
    whole = st.fixed_dictionaries(filled)
    return whole.map(lambda row: {name: value for name, value in row.items() if value is not _ABSENT})


MEMBERS = {"n": st.integers(-3, 3), "s": st.sampled_from(STRINGS), "a.b": st.sampled_from(STRINGS)}
COLUMNS = {
    "n": st.sampled_from(INTEGERS),
    "k": st.integers(-3, 3),
    "f": st.sampled_from([*FLOATS, float("nan"), float("inf"), float("-inf")]),
    "s": st.sampled_from(STRINGS),
    "b": st.booleans(),
    "l": st.lists(st.integers(0, 3), max_size=3),
    "mixed": st.one_of(st.integers(-1, 1), st.sampled_from(STRINGS), st.booleans(), st.just([1])),
    "m": _sparse(MEMBERS),
}
ROWS = st.lists(_sparse(COLUMNS), min_size=4, max_size=16)
