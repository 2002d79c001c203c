# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in model files: ``0.0941*h - zhip/2`` with named lengths."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

from humans_sim.core.errors import HumansError, printable

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


LONGEST = 1000
"""Characters of an expression."""
_DEEPEST = 50
"""Operations inside each other."""


class ExpressionError(HumansError, ValueError):
    """The expression is not arithmetic on known names."""


def evaluate(expression: str | float, names: Mapping[str, float]) -> float:
    """Value of an arithmetic expression of numbers, known names, + - * / ( ).

    Only these are understood: a model file can compute a length, never run code.
    """
    if isinstance(expression, bool):
        raise ExpressionError(f"must be a number, not {expression}")
    shown = shortened(expression)
    try:
        if isinstance(expression, int | float):
            value = float(expression)
        else:
            value = _value(parse_expression(expression), names, _DEEPEST)
    except ZeroDivisionError:
        raise ExpressionError(f"'{shown}' divides by zero") from None
    except OverflowError:
        raise ExpressionError(f"'{shown}' is too large a number") from None
    if not math.isfinite(value):
        raise ExpressionError(f"'{shown}' is not a finite number")
    return value


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression of bounded length; nobody changes it.

    Calibration evaluates a model's few hundred expressions for each of its lengths.
    """
    shown = shortened(text)
    if len(text) > LONGEST:
        raise ExpressionError(
            f"the expression '{shown}' has {len(text)} characters, more than {LONGEST}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on odd numbers
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError(f"cannot read the expression '{shown}'") from error


def shortened(value: object) -> str:
    """A value for a message, at most 60 characters of it."""
    try:
        text = printable(str(value)[:100])
    except ValueError:  # whole numbers of thousands of digits have no text
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _value(node: ast.expr, names: Mapping[str, float], depth: int) -> float:
    if depth == 0:
        raise ExpressionError(f"more than {_DEEPEST} operations inside each other")
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionError("must be a number, not a truth value")
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names))
                raise ExpressionError(
                    f"unknown name '{shortened(name)}' (known: {known})"
                )
            return names[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, names, depth - 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](
                _value(left, names, depth - 1), _value(right, names, depth - 1)
            )
    raise ExpressionError(
        f"'{unparsed(node)}' is not arithmetic on numbers and lengths"
    )


def unparsed(node: ast.expr) -> str:
    """A part of an expression for a message."""
    try:
        return shortened(ast.unparse(node))
    except (RecursionError, ValueError):
        return "this"
