"""Conditions over fields, written as Python expressions: parsed, never evaluated as code."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from jinx_pipeline.sample.paths import text_of

Test = Callable[[Mapping[str, Any]], Any]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, container: container is not None and value in container,
    ast.NotIn: lambda value, container: container is None or value not in container,
}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUAL = (ast.Eq, ast.NotEq)
_MAX_LENGTH = 10_000
_MAX_DEPTH = 50


class ExpressionError(ValueError):
    """Raised if an expression cannot be parsed, or is not allowed in a condition."""


def parse(text: str) -> tuple[Test, tuple[str, ...]]:
    """A condition, and the paths that it reads.

    Comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`, also in chains), `and`, `or`, `not`, numbers,
    strings, lists, `True`, `False`, `None`, and fields with dots. `==`, `!=`, `<`, `<=`, `>` and `>=` are false if a
    value is missing, as in Data-Juicer; only `== None` and `!= None` look for missing values.

    Returns:
        A function of the values by path, and the paths.

    Raises:
        ExpressionError: The text is not a valid condition.
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"the condition has {len(text)} characters; at most {_MAX_LENGTH} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"the condition {text!r} does not parse: {error}") from None
    paths: dict[str, None] = {}
    return _test(tree, paths, 0), tuple(paths)


def _test(node: ast.expr, paths: dict[str, None], depth: int) -> Test:  # noqa: PLR0911 - one return per kind of node
    if depth > _MAX_DEPTH:
        raise ExpressionError(f"the condition is nested more than {_MAX_DEPTH} deep")
    match node:
        case ast.BoolOp(op=op, values=values):
            tests = [_test(value, paths, depth + 1) for value in values]
            combine = all if isinstance(op, ast.And) else any
            return lambda sample: combine(test(sample) for test in tests)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _test(operand, paths, depth + 1)
            return lambda sample: not inner(sample)
        case ast.Compare(left=left, ops=ops, comparators=right):
            operands = (left, *right)
            sides = [_test(side, paths, depth + 1) for side in operands]
            asks_for_none = [isinstance(side, ast.Constant) and side.value is None for side in operands]
            return lambda sample: _chain([side(sample) for side in sides], ops, asks_for_none)
        case ast.Name() | ast.Attribute():
            path = text_of(_steps(node))
            paths[path] = None
            return lambda sample: sample[path]
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            values = [_test(element, paths, depth + 1) for element in elements]
            return lambda sample: [value(sample) for value in values]
        case ast.Constant(value=value) if not isinstance(value, bytes | complex):
            return lambda _: value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return lambda _: -number
        case _:
            raise ExpressionError(f"the condition may not hold `{ast.unparse(node)}`; use comparisons, and, or, not")


def _steps(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (*_steps(node.value), node.attr)
    raise ExpressionError(f"`{ast.unparse(node)}` is not a field; write names with dots")


def _chain(values: list[Any], ops: list[ast.cmpop], asks_for_none: list[bool]) -> bool:
    return all(
        _holds(op, values[at], values[at + 1], asks_for_none=asks_for_none[at] or asks_for_none[at + 1])
        for at, op in enumerate(ops)
    )


def _holds(op: ast.cmpop, left: Any, right: Any, *, asks_for_none: bool) -> bool:
    if (left is None or right is None) and (isinstance(op, _ORDER) or (isinstance(op, _EQUAL) and not asks_for_none)):
        return False
    try:
        return bool(_COMPARE[type(op)](left, right))
    except KeyError:
        raise ExpressionError("`is` is not allowed here; use ==") from None
