# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of others."""

from __future__ import annotations

import random
import re
import time

import pytest

import humans_sim as hs
from humans_sim.core.posix_expression import PosixExpression

NAMES = ("box", "ball", "khr1", "box_2", "aaab", "", "a-b]", "x.y", "bob")


def drawn(generator: random.Random, depth: int = 0) -> str:
    """An expression that Python's ``re`` reads in the same way, and is quick with."""
    kind = generator.randrange(9)
    if kind < 3 or depth > 3:
        return generator.choice("abox.")
    if kind == 3:
        return generator.choice(["[a-c]", "[^x]", "[b-]", "[]a]", "\\."])
    if kind == 4:
        return f"({drawn(generator, depth + 1)}|{drawn(generator, depth + 1)})"
    if kind == 5:
        count = generator.choice(["*", "+", "?", "{1,2}", "{2}", "{0,}"])
        return f"({drawn(generator, depth + 1)}){count}"
    if kind == 6:
        return generator.choice(["^", "$"])
    return drawn(generator, depth + 1) + drawn(generator, depth + 1)


def test_it_finds_what_re_finds() -> None:
    """On expressions that both know, Python's own module is the oracle."""
    generator = random.Random(22)
    hits = 0
    for _ in range(300):
        text = drawn(generator)
        for name in NAMES:
            expected = re.search(text, name) is not None
            assert PosixExpression(text).found_in(name) == expected, (text, name)
            hits += expected
    assert 500 < hits < 2500


def test_hostile_expressions_are_quick() -> None:
    """What keeps ``re`` busy for ever is answered at once."""
    start = time.process_time()
    assert not PosixExpression("(a+)+$").found_in("a" * 60 + "b")
    assert not PosixExpression("(((a?){255}){255}){255}b").found_in("a" * 60)
    assert not PosixExpression("((((a|aa)*)*)*)*c$").found_in("a" * 60)
    assert not PosixExpression("a*" * 90 + "b").found_in("a" * 60)
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(", "is missing at letter 2"),
        ("a)", "without '('"),
        ("[a", "']' is missing"),
        ("*a", "nothing to repeat"),
        ("a**", "nothing to repeat"),
        ("a{2", "numbers in"),
        ("a{3,2}", "lower number first"),
        ("a{999}", "up to 255"),
        ("[b-a]", "backwards"),
        ("\\", "after"),
        ("(" * 9 + ")" * 9, "brackets in brackets"),
        ("a" * 300, "at most 200"),
    ],
)
def test_wrong_expressions(text: str, problem: str) -> None:
    """Said with the place."""
    with pytest.raises(hs.errors.ParameterError, match=re.escape(problem)):
        PosixExpression(text)
