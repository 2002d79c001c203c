# SPDX-License-Identifier: Apache-2.0
"""Names that are loaded at their first use: those of stubs, and functions of records.

A program must handle signals before large libraries load, and ``humans-sim --help``
need not wait for them. A module's stub (``.pyi``) is what type checkers and editors
read, too, so that each name is written once.

A record (a run, a reconstruction) knows nothing of plots, pages and reports in the
layers above: it asks for their functions by name, here.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

REGISTRY = {
    "run_text": "humans_sim.analysis.summary",
    "plot_run": "humans_sim.view.plots.run_plots",
    "run_topics": "humans_sim.view.run_topics",
    "posture_topics": "humans_sim.view.run_topics",
    "animate": "humans_sim.view.film.animation",
    "write_posture_report": "humans_sim.view.reports.posture_report",
}
"""The module of each function."""


def read_stub(path: Path) -> dict[str, tuple[str, str]]:
    """Module and name there of each public name of a stub.

    Public are ``from module import name as name`` and ``other = name``.
    """
    imported, public = {}, {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                imported[alias.name] = (node.module, alias.name)
                if alias.asname:
                    public[alias.asname] = imported[alias.name]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    public[target.id] = imported[node.value.id]
    return public


def stub_names(
    module: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__``, ``__all__`` of a module with a stub beside it."""
    places = read_stub(Path(file).with_suffix(".pyi"))
    public = sorted(places)

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        origin, original = places[name]
        if origin == module:  # a module below this one
            return import_module(f"{module}.{original}")
        value: object = getattr(import_module(origin), original)
        setattr(sys.modules[module], name, value)
        return value

    return load, public.copy, public


def registered(name: str) -> Callable[..., Any]:
    """A function of :data:`REGISTRY`; its module is imported now."""
    function: Callable[..., Any] = getattr(import_module(REGISTRY[name]), name)
    return function
