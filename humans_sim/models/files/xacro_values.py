# SPDX-License-Identifier: Apache-2.0
"""Values of xacro expressions: arithmetic, comparisons, a fixed list of functions.

xacro hands its expressions to Python. Here a syntax tree is walked that knows numbers,
truth values, words and the names given; nothing can be called but the functions below,
and no value grows beyond a bound.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from humans_sim.core.errors import HumansError
from humans_sim.core.expressions import (
    ExpressionError,
    parse_expression,
    shortened,
    unparsed,
)

Value = int | float | bool | str
Names = Callable[[str], Value | None]
"""The value of a name; None where there is no such name."""
LONGEST_WORD = 10_000
"""Characters of a value."""
_LARGEST = 2**63
_DEEPEST = 50
_MOST_ARGUMENTS = 8


def _power(base: float, exponent: float) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(exponent) * math.log2(max(abs(base), 1)) > 128:
        raise OverflowError
    return base**exponent


def _round(number: float, digits: int = 0) -> float:
    if abs(digits) > 20:
        raise ExpressionError("round() knows up to 20 digits")
    return round(number, digits) if digits else round(number)


_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Mapping[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_MATH = "acos asin atan atan2 ceil copysign cos cosh degrees exp fabs floor fmod hypot "
_MATH += "log log10 log2 pow radians sin sinh sqrt tan tanh"
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _MATH.split()},
    **{made.__name__: made for made in (abs, bool, float, int, max, min, str)},
    "round": _round,
}
CONSTANTS: Mapping[str, Value] = {
    **{name: getattr(math, name) for name in ("e", "pi", "tau")},
    **{"true": True, "false": False},
}


def evaluate_value(expression: str, names: Names) -> Value:
    """Value of an expression of xacro.

    Args:
        expression: what stands between ``${`` and ``}``.
        names: looks up properties and parameters.

    Raises:
        ExpressionError: on anything but arithmetic, comparisons, words and the known
            functions; on an unknown name; on a value that is too large.
    """
    tree, shown = parse_expression(expression), shortened(expression)
    try:
        return _value(tree, names, _DEEPEST)
    except ZeroDivisionError:
        raise ExpressionError(f"'{shown}' divides by zero") from None
    except OverflowError:
        raise ExpressionError(f"'{shown}' is too large a number") from None
    except HumansError:  # of a name that is itself an expression
        raise
    except (TypeError, ValueError) as error:
        raise ExpressionError(f"'{shown}': {error}") from None


def literal(text: str) -> Value:
    """A word of a file as what it looks like: a number, a truth value, or itself."""
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    if "_" not in text and len(text) <= 100:
        for kind in (int, float):
            try:
                return _bounded(kind(text))
            except (ValueError, OverflowError):
                continue
    return {"true": True, "True": True, "false": False, "False": False}.get(text, text)


def _value(node: ast.expr, names: Names, depth: int) -> Value:
    if depth == 0:
        raise ExpressionError(f"more than {_DEEPEST} operations inside each other")

    def part(node: ast.expr) -> Any:
        return _value(node, names, depth - 1)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return _bounded(constant)
        case ast.Name(id=name):
            return _named(name, names)
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _bounded(_UNARY[type(op)](part(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _combined(type(op), part(left), part(right))
        case ast.BoolOp(op=op, values=values):
            result: Value = False
            for item in values:
                result = part(item)
                if bool(result) != isinstance(op, ast.And):
                    break
            return result
        case ast.Compare(left=left, ops=ops, comparators=others):
            value = part(left)
            for order, other in zip(ops, map(part, others), strict=True):
                if type(order) not in _COMPARE:
                    return _refuse(node)
                if not _COMPARE[type(order)](value, other):
                    return False
                value = other
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if part(test) else orelse, names, depth - 1)
        case ast.Call(func=func, args=arguments, keywords=[]):
            if len(arguments) <= _MOST_ARGUMENTS:
                return _bounded(_function(func)(*map(part, arguments)))
    return _refuse(node)


def _refuse(node: ast.expr) -> Value:
    raise ExpressionError(
        f"'{unparsed(node)}' is beyond the arithmetic that is read here: expand the "
        "file with xacro itself, and load the URDF"
    )


def _named(name: str, names: Names) -> Value:
    value = names(name)
    if value is None:
        value = CONSTANTS.get(name)
    if value is None:
        raise ExpressionError(f"unknown name '{shortened(name)}'")
    return value


def _function(node: ast.expr) -> Callable[..., Any]:
    match node:
        case ast.Name(id=name) if name in FUNCTIONS:
            return FUNCTIONS[name]
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in FUNCTIONS:
            return FUNCTIONS[name]
    raise ExpressionError(f"there is no function '{unparsed(node)}'")


def _combined(kind: type, left: Value, right: Value) -> Value:
    # Words are joined; any other operation on them is not arithmetic.
    if isinstance(left, str) != isinstance(right, str) or (
        isinstance(left, str) and kind is not ast.Add
    ):
        raise ExpressionError(
            f"'{shortened(left)}' and '{shortened(right)}' cannot be combined"
        )
    return _bounded(_BINARY[kind](left, right))


def _bounded(value: Any) -> Value:
    if isinstance(value, str):
        if len(value) > LONGEST_WORD:
            raise ExpressionError(f"a word of {len(value)} characters is too long")
        return value
    if not isinstance(value, bool | int | float):
        raise ExpressionError(f"'{shortened(value)}' is no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError(f"'{value}' is no finite number")
    if isinstance(value, int) and abs(value) >= _LARGEST:
        raise OverflowError
    return value
