# SPDX-License-Identifier: Apache-2.0
"""Size of the library, and how many of its files three common paths pass through.

The paths: 0.2 s of ``khr1-walk``, a KHR-1 that lands from 5 mm, and the recording that
comes with the package, from its file to joint angles. Counted are the files of the
functions that run in Python, in a new process; compiled kernels count where they are
called, ``NUMBA_DISABLE_JIT=1`` shows their files, too.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import humans_sim as hs
from humans_sim.applications.example_recordings import (
    HEIGHT,
    MARKER_SET,
    MASS,
    example_file,
)

PACKAGE = Path(hs.__file__).parent


def lines_by_kind(path: Path) -> dict[str, int]:
    """Lines of a module: all, docstrings, imports, blank or comment, code."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    docstrings: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                docstrings.update(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or 0) + 1))
    plain = {
        number
        for number, line in enumerate(lines, 1)
        if (not line.strip() or line.lstrip().startswith("#"))
        and number not in docstrings
    }
    code = len(lines) - len(docstrings) - len(imports - docstrings) - len(plain)
    return {
        "lines": len(lines),
        "docstrings": len(docstrings),
        "imports": len(imports),
        "blank, comments": len(plain),
        "code": code,
    }


def passed(job: Callable[[], Any]) -> tuple[int, int]:
    """Files and functions of the library that a job runs through."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            if code.co_name != "<module>":
                seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return len({file for file, _ in seen}), len(seen)


def paths() -> dict[str, Callable[[], Any]]:
    """The jobs by their names."""
    model = hs.load_model("khr1")
    simulation = hs.Simulation(model)
    raised = model.neutral()
    raised[2] += 0.005 - min(0.0, float(model.contact(raised).min()))
    start = raised, np.zeros(model.nv)
    recording = example_file()
    return {
        "0.2 s of khr1-walk": lambda: hs.simulate("khr1-walk", t_end=0.2),
        "a landing": lambda: simulation.run(*start, t_end=0.05),
        "a recording": lambda: hs.reconstruct(
            recording, MARKER_SET, height=HEIGHT, mass=MASS
        ),
    }


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-paths", action="store_true", help="size alone")
    options = parser.parse_args()
    files = sorted(PACKAGE.rglob("*.py"))
    total: dict[str, int] = {}
    for path in files:
        for kind, count in lines_by_kind(path).items():
            total[kind] = total.get(kind, 0) + count
    print(f"{len(files)} modules; " + "; ".join(f"{n} {k}" for k, n in total.items()))
    if not options.no_paths:
        for name, job in paths().items():
            file_count, functions = passed(job)
            print(f"{name}: {file_count} files, {functions} functions")


if __name__ == "__main__":
    main()
