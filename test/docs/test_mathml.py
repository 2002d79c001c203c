# SPDX-License-Identifier: Apache-2.0
"""Equations of the pages: indices, accents, lines that may break."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

EXTENSION = Path(__file__).resolve().parents[2] / "docs" / "_ext" / "mathml.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names of the extension."""
    pytest.importorskip("sphinx")
    return run_path(str(EXTENSION))


def tags(text: str) -> str:
    """Elements of an equation, one after the other, without its text."""
    return " ".join(re.findall(r"<(m\w+)", text)[1:])


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"\dot s_1", "msub mover mi mo mn"),
        (r"\bar T_i^{-1}", "msubsup mover mi mo mi mrow mo mn"),
        (r"\hat p", "mover mi mo"),
        (r"\sum_i x_i", "munder mo mi msub mi mi"),
    ],
)
def test_indices_are_beside(script: dict[str, Any], tex: str, expected: str) -> None:
    """An index of an accented letter is beside it, that of a sum below it."""
    assert tags(script["mathml"](tex, False)) == expected


def test_bars_keep_their_size(script: dict[str, Any]) -> None:
    """Bars of a norm are no taller than what is between them."""
    text = script["mathml"](r"\| f_{i,t} \| \le 1", True)
    assert text.count('stretchy="false"') == 2


def test_lines_break(script: dict[str, Any]) -> None:
    """Equations of one line are apart; one with braces or an environment is whole."""
    assert len(script["parts"](r"a = b , \qquad c = d")) == 2
    assert len(script["parts"](r"\frac{a \qquad b}{c}")) == 1
    assert len(script["parts"](r"\begin{bmatrix} a \qquad b \end{bmatrix}")) == 1
