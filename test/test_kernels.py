# SPDX-License-Identifier: Apache-2.0
"""What the compiled kernels of the package take, and how they round."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import humans_sim

MOST = 6
"""Arguments of a kernel; what belongs together is a named tuple."""


def kernels(folder: Path) -> dict[str, ast.FunctionDef]:
    """Every function that numba compiles."""
    texts = {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    return {
        f"{path.relative_to(folder)}:{node.name}": node
        for path, text in texts.items()
        if "@kernel" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and any("kernel" in ast.dump(mark) for mark in node.decorator_list)
    }


@pytest.fixture(scope="module")
def found() -> dict[str, ast.FunctionDef]:
    """Those of the package."""
    return kernels(Path(humans_sim.__file__).parent)


def test_kernels_take_few_arguments(found: dict[str, ast.FunctionDef]) -> None:
    """No kernel takes more than six arguments (docs/architecture.md)."""
    counts = {
        name: len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
        for name, node in found.items()
    }
    assert len(counts) > 100
    assert [name for name, count in counts.items() if count > MOST] == []


def test_kernels_round_as_they_are_written(found: dict[str, ast.FunctionDef]) -> None:
    """No kernel lets the compiler round otherwise: runs would not repeat."""
    loose = [
        name
        for name, node in found.items()
        if any("fastmath" in ast.dump(mark) for mark in node.decorator_list)
    ]
    assert loose == []


def test_what_borrows_calls_what_borrows(found: dict[str, ast.FunctionDef]) -> None:
    """A kernel without references hands that on: one that makes arrays would fail."""
    borrowing = {
        name: node
        for name, node in found.items()
        if any("borrows" in ast.dump(mark) for mark in node.decorator_list)
    }
    assert len(borrowing) > 50
    counting = {name.partition(":")[2] for name in found.keys() - borrowing.keys()}
    counting -= {name.partition(":")[2] for name in borrowing}
    calls = [
        (name, part.func.id)
        for name, node in borrowing.items()
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    ]
    assert [call for call in calls if call[1] in counting] == []
