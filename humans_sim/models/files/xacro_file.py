# SPDX-License-Identifier: Apache-2.0
"""xacro files expanded to URDF, without running anything that stands in them.

The package xacro evaluates ``${...}`` as Python, with checks that can be got around.
This reader knows properties, macros, conditions, arguments, and files beside the first
one or in packages around it (``$(find ...)``). What it does not know (lists,
``load_yaml``, ``element``) is an error that says so.

*Expressions*: arithmetic, comparisons, a fixed list of functions. xacro hands its
expressions to Python. Here a syntax tree is walked that knows numbers, truth values,
words and the names given; nothing can be called but the functions below, and no value
grows beyond a bound.
"""

from __future__ import annotations

import ast
import math
import operator
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from humans_sim.core.bounded_text import element_at, parse_xml
from humans_sim.core.errors import HumansError, ModelFileError
from humans_sim.core.expressions import (
    ExpressionError,
    parse_expression,
    shortened,
    unparsed,
)
from humans_sim.core.files import read_text
from humans_sim.core.resources import packages_around

Value = int | float | bool | str
Names = Callable[[str], Value | None]
"""The value of a name; None where there is no such name."""
LONGEST_WORD = 10_000
"""Characters of a value."""
_LARGEST = 2**63
_DEEPEST_EXPRESSION = 50
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
    """Value of an expression of xacro: arithmetic, comparisons, known functions."""
    tree, shown = parse_expression(expression), shortened(expression)
    try:
        return _value(tree, names, _DEEPEST_EXPRESSION)
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
        raise ExpressionError(
            f"more than {_DEEPEST_EXPRESSION} operations inside each other"
        )

    def part(node: ast.expr) -> Any:
        return _value(node, names, depth - 1)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return _bounded(constant)
        case ast.Name(id=name):
            value = names(name)
            value = CONSTANTS.get(name) if value is None else value
            if value is None:
                raise ExpressionError(f"unknown name '{shortened(name)}'")
            return value
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


MOST = 50_000
"""Elements and expressions that an expansion may go through."""
LONGEST = 1 << 24
"""Characters that it may make."""
_DEEPEST = 60
"""Elements, macros, properties and files inside each other."""
_MOST_FILES = 50
_PREFIXES = ("{http://www.ros.org/wiki/xacro}", "{http://ros.org/wiki/xacro}")
_PART = re.compile(r"\$\$+(?=[({])|\$\{([^}]*)\}|\$\(([^)]*)\)")
_PARAMETER = re.compile(r"(\*{0,2}[A-Za-z_]\w*)(?::?=(\^\|?)?('[^']*'|\S*))?")


_PACKAGE = re.compile(r"[A-Za-z][\w-]{0,99}", re.ASCII)


@dataclass
class _Scope:
    """Names that are known at a place: of the place itself, then of its caller."""

    above: _Scope | None = None
    values: dict[str, Value] = field(default_factory=dict)
    lazy: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, tuple[list[ET.Element], _Scope | None]] = field(
        default_factory=dict
    )
    """Elements, with the scope that they are read in; None: where they are put."""

    def chain(self) -> Iterator[_Scope]:
        """This scope and those above it."""
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.above


@dataclass(frozen=True)
class _Macro:
    parameters: Mapping[str, tuple[bool, str | None]]
    blocks: tuple[str, ...]
    body: ET.Element


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> ET.Element:
    """The URDF of a xacro file; what it includes is beside it or in packages there."""
    try:
        return _Expander(path, arguments or {}).robot()
    except RecursionError:
        raise ModelFileError("xacro: expressions are nested too deeply", path) from None


class _Expander:
    def __init__(self, path: Path, arguments: Mapping[str, str]) -> None:
        self._path = path
        self._folder = Path(os.path.realpath(path)).parent
        self._roots = [self._folder]
        self._given = dict(arguments)
        self._arguments = dict(arguments)
        self._macros: dict[str, _Macro] = {}
        self._count = self._length = self._depth = self._files = 0

    def robot(self) -> ET.Element:
        root = self._read(self._path)
        made = self._made(root, scope := _Scope())
        made.extend(self._children(root, scope))
        return made

    def _read(self, path: Path) -> ET.Element:
        self._files += 1
        if self._files > _MOST_FILES:
            raise self._error(f"it includes more than {_MOST_FILES} files")
        return parse_xml(read_text(path, ModelFileError), path)

    def _error(self, message: str, key: str | None = None) -> ModelFileError:
        return ModelFileError(f"xacro: {message}", self._path, key=key)

    def _deeper(self) -> None:
        self._count += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("macros, properties or elements are nested too deeply")
        if self._count > MOST:
            raise self._error(f"it goes through more than {MOST} elements")

    def _children(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        made: list[ET.Element] = []
        self._deeper()
        for child in element:
            made += self._element(child, scope)
        self._depth -= 1
        return made

    def _element(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        self._count += 1
        name = _instruction(element)
        if name is None:
            made = self._made(element, scope)
            if element.text and element.text.strip():
                made.text = self._text(element.text, scope)
            made.extend(self._children(element, scope))
            return [made]
        if name in ("if", "unless"):
            value = self._needed(element, "value", scope)
            kept = self._truth(value, name) == (name == "if")
            return self._children(element, scope) if kept else []
        if name in ("property", "macro", "arg", "include", "insert_block"):
            expanded: list[ET.Element] = getattr(self, f"_{name}")(element, scope)
            return expanded
        if name == "call":
            name = self._needed(element, "macro", scope)
        if name not in self._macros:
            raise self._error("there is no such macro above", f"xacro:{name}")
        return self._called(name, element, scope)

    def _property(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        name = element.get("name", "")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise self._error(f"'{shortened(name)}' is no name", "xacro:property")
        target, where = scope, element.get("scope")
        if where == "global":
            target = list(scope.chain())[-1]
        elif where == "parent":
            target = scope.above or scope
        value = element.get("value", element.get("default"))
        if value is None:
            target.blocks[name] = list(element), None
            return []
        if "value" not in element.attrib and self._knows(name, scope):
            return []
        target.values.pop(name, None)
        if target is scope:
            target.lazy[name] = value
        else:
            target.values[name] = self._result(value, scope)
        return []

    def _macro(self, element: ET.Element, _: _Scope) -> list[ET.Element]:
        name = element.get("name", "").removeprefix("xacro:")
        parameters: dict[str, tuple[bool, str | None]] = {}
        blocks = []
        text, place = element.get("params", ""), 0
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            match = _PARAMETER.match(text, place)
            if match is None:
                raise self._error(f"cannot read its params '{shortened(text)}'", name)
            word, inherited, default = match.groups()
            if word.startswith("*"):
                blocks.append(word)
            else:
                known = inherited != "^" or None
                parameters[word] = (
                    inherited is not None,
                    default if default is not None and known else None,
                )
            place = match.end()
        self._macros[name] = _Macro(parameters, tuple(blocks), element)
        return []

    def _arg(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        name = self._needed(element, "name", scope)
        if name not in self._given and "default" in element.attrib:
            self._arguments[name] = self._needed(element, "default", scope)
        return []

    def _include(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        name = self._needed(element, "filename", scope)
        if "ns" in element.attrib:
            raise self._error("name spaces of included files are not read here", name)
        if "\0" in name:
            raise self._error("this is no name of a file", shortened(name))
        target = Path(os.path.realpath(self._path.parent / name))
        if not any(target.is_relative_to(root) for root in self._roots):
            raise self._error(
                "only files beside the first one, and in packages that it finds there, "
                "are included",
                shortened(name),
            )
        outer, self._path = self._path, target
        made = self._children(self._read(target), scope)
        self._path = outer
        return made

    def _insert_block(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        name = self._needed(element, "name", scope)
        for place in scope.chain():
            if name in place.blocks:
                elements, own = place.blocks[name]
                return [
                    made
                    for child in elements
                    for made in self._inserted(child, own or scope)
                ]
        raise self._error("there is no such block", f"insert_block {shortened(name)}")

    def _inserted(self, element: ET.Element, scope: _Scope) -> list[ET.Element]:
        self._deeper()
        made = self._element(element, scope)
        self._depth -= 1
        return made

    def _called(
        self, name: str, element: ET.Element, scope: _Scope
    ) -> list[ET.Element]:
        macro, where = self._macros[name], f"xacro:{name}"
        inner = _Scope(scope)
        for key, text in element.attrib.items():
            if key == "macro" and _instruction(element) == "call":
                continue
            if key not in macro.parameters:
                raise self._error(f"the macro has no parameter '{key}'", where)
            inner.values[key] = self._result(text, scope)
        for key, (inherited, default) in macro.parameters.items():
            if key in inner.values:
                continue
            if inherited and self._knows(key, scope):
                inner.values[key] = self._looked_up(key, scope) or 0
            elif default is not None:
                inner.values[key] = self._result(default, scope)
            else:
                raise self._error(f"the parameter '{key}' is missing", where)
        rest = list(element)
        for word in macro.blocks:
            key = word.lstrip("*")
            if word.startswith("**"):
                chosen = [child for child in rest if child.tag == key]
            else:
                chosen = rest[:1]
            if not chosen:
                raise self._error(f"the block '{key}' is missing", where)
            rest.remove(chosen[0])
            whole = not word.startswith("**")
            inner.blocks[key] = [chosen[0]] if whole else list(chosen[0]), scope
        if rest:
            raise self._error("there are blocks that the macro does not take", where)
        return self._children(macro.body, inner)

    def _needed(self, element: ET.Element, name: str, scope: _Scope) -> str:
        text = element.get(name)
        if text is None:
            raise self._error(f"'{name}' is missing", f"xacro:{_instruction(element)}")
        return self._text(text, scope)

    def _truth(self, text: str, where: str) -> bool:
        value = literal(text.strip())
        if isinstance(value, str):
            message = f"'{shortened(text)}' is neither true nor false"
            raise self._error(message, f"xacro:{where}")
        return bool(value)

    def _made(self, element: ET.Element, scope: _Scope) -> ET.Element:
        """An element of the URDF, at the place of the one that it is made of."""
        attributes = {
            key: self._text(text, scope) for key, text in element.attrib.items()
        }
        return element_at(element, element.tag, attributes)

    def _text(self, text: str, scope: _Scope) -> str:
        """Text with its expressions and arguments replaced."""

        def replaced(match: re.Match[str]) -> str:
            if match[1] is not None:
                return str(self._value(match[1], scope))
            if match[2] is not None:
                return self._command(match[2])
            return match[0][1:]

        made = _PART.sub(replaced, text)
        self._length += len(made)
        if self._length > LONGEST:
            raise self._error(f"it makes more than {LONGEST} characters")
        return made

    def _result(self, text: str, scope: _Scope) -> Value:
        """The value of a property or parameter."""
        alone = _PART.fullmatch(text)
        if alone and alone[1] is not None:
            return self._value(alone[1], scope)
        return literal(self._text(text, scope))

    def _value(self, expression: str, scope: _Scope) -> Value:
        self._deeper()
        try:
            value = evaluate_value(expression, lambda n: self._looked_up(n, scope))
        except ExpressionError as error:
            raise self._error(str(error)) from None
        self._depth -= 1
        return value

    def _command(self, text: str) -> str:
        words = text.split()
        if len(words) == 2 and words[0] == "arg" and words[1] in self._arguments:
            return self._arguments[words[1]]
        if len(words) == 2 and words[0] == "arg":
            raise self._error(f"the argument '{shortened(words[1])}' is not given")
        if len(words) == 2 and words[0] == "find":
            return str(self._package(words[1]))
        raise self._error(
            f"'$({shortened(text)})' is not read here: expand the file with xacro "
            "itself, and load the URDF"
        )

    def _package(self, name: str) -> Path:
        """The folder of a package; its files may be included then."""
        if not _PACKAGE.fullmatch(name):
            raise self._error("this is no name of a package", shortened(name))
        for folder in packages_around(name, self._folder):
            root = Path(os.path.realpath(folder))
            if root not in self._roots:
                self._roots.append(root)
            return root
        raise self._error(
            f"the package '{shortened(name)}' is in no folder around {self._folder}: "
            "put it there, or expand the file with xacro itself"
        )

    def _knows(self, name: str, scope: _Scope) -> bool:
        return any(name in s.values or name in s.lazy for s in scope.chain())

    def _looked_up(self, name: str, scope: _Scope) -> Value | None:
        for place in scope.chain():
            if name not in place.values and name in place.lazy:
                place.values[name] = self._result(place.lazy[name], place)
            if name in place.values:
                return place.values[name]
        return None


def _instruction(element: ET.Element) -> str | None:
    """The name of an element of xacro; None for an element of the URDF."""
    for prefix in _PREFIXES:
        if element.tag.startswith(prefix):
            return element.tag[len(prefix) :]
    return None
