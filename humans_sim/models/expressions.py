"""Arithmetic in model files: ``0.0941*h - zhip/2`` with named lengths."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

_BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: dict[type, Callable[[float], float]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class ExpressionError(ValueError):
    """The expression is not arithmetic on known names."""


def evaluate(expression: str | float, names: Mapping[str, float]) -> float:
    """Value of an arithmetic expression of numbers, known names, + - * / ( ).

    Only these are understood: a model file can compute a length, never run code.

    Raises:
        ExpressionError: on anything else, an unknown name, a division by zero
            or a value that is not finite.
    """
    if isinstance(expression, bool):
        raise ExpressionError(f"a number is wanted, not {expression}")
    if isinstance(expression, (int, float)):
        value = float(expression)
    else:
        try:
            tree = ast.parse(expression, mode="eval")
        except (SyntaxError, ValueError) as error:
            raise ExpressionError(f"cannot read the expression '{expression}'") from (
                error
            )
        try:
            value = _value(tree.body, names)
        except ZeroDivisionError:
            raise ExpressionError(f"'{expression}' divides by zero") from None
    if not math.isfinite(value):
        raise ExpressionError(f"'{expression}' is not a finite number")
    return value


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionError("a number is wanted, not a truth value")
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names))
                raise ExpressionError(f"unknown name '{name}' (known: {known})")
            return names[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
    raise ExpressionError(
        f"'{ast.unparse(node)}' is not arithmetic on numbers and lengths"
    )
