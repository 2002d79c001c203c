# SPDX-License-Identifier: Apache-2.0
"""Docstrings of what `hs` offers: arguments have their words, examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from typing import Any

import pytest

import humans_sim as hs

NAMES = [
    name
    for name in hs.__all__
    if inspect.isclass(getattr(hs, name)) or inspect.isroutine(getattr(hs, name))
]
OWN = {"self", "cls", "args", "kwargs", "kwds"}


def lacking(value: Any) -> list[str]:
    """Arguments of a function or class that its docstring does not name."""
    function = value.__init__ if inspect.isclass(value) else value
    text = f"{inspect.getdoc(value)}\n{inspect.getdoc(function)}"
    names = set(inspect.signature(function).parameters) - OWN
    return sorted(name for name in names if not re.search(rf"\b{name}\b", text))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_described(name: str) -> None:
    """Every argument that users give is in the docstring."""
    value = getattr(hs, name)
    made_by_the_library = name == "Model"  # by load_model
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert made_by_the_library or lacking(value) == []


def test_a_lacking_argument_is_seen() -> None:
    """An argument without a word is found."""

    def moved(q: float, speed: float) -> None:
        """Move something to q."""

    assert lacking(moved) == ["speed"]


def test_examples_run() -> None:
    """What examples print is what their docstrings say."""
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    found = 0
    for name in NAMES:
        for test in finder.find(getattr(hs, name), name, globs={}):
            found += bool(test.examples)
            result = runner.run(test)
            assert result.failed == 0, name
    assert found >= 4
