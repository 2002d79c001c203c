# SPDX-License-Identifier: Apache-2.0
"""What the compiled kernels of the package take."""

from __future__ import annotations

import ast
from pathlib import Path

import humans_sim

MOST = 6
"""Arguments of a kernel; what belongs together is a named tuple."""


def kernels(folder: Path) -> dict[str, int]:
    """Number of arguments of every function that numba compiles."""
    counts = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            if any("njit" in ast.dump(mark) for mark in node.decorator_list):
                given = node.args
                every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                counts[f"{path.relative_to(folder)}:{node.name}"] = len(every)
    return counts


def test_kernels_take_few_arguments() -> None:
    """No kernel takes more than six arguments (docs/architecture.md)."""
    counts = kernels(Path(humans_sim.__file__).parent)
    assert len(counts) > 100
    assert [name for name, count in counts.items() if count > MOST] == []
