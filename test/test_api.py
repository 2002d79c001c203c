# SPDX-License-Identifier: Apache-2.0
"""The public names: complete, documented, typed as they are loaded, nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import humans_sim as hs

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "humans_sim"


def test_every_name_is_there_and_says_what_it_is() -> None:
    """Each public name loads, is the one that `dir` lists, and has a docstring."""
    assert dir(hs) == sorted(set(hs.__all__))
    for name in hs.__all__:
        value = getattr(hs, name)
        assert name == "__version__" or value.__doc__, name
        assert name == "__version__" or value.__module__.startswith("humans_sim."), name


def test_names_of_the_architecture() -> None:
    """What the design promises to users is public."""
    promised = (
        "load_model Simulation Ground load_run reconstruct read_markers simulate "
    )
    promised += "report Servo IdealTorque FesMuscles Walk Push animate HumansError"
    assert set(promised.split()) <= set(hs.__all__)


def test_type_checkers_see_what_is_loaded() -> None:
    """The imports for type checkers name the modules from which names are loaded."""
    tree = ast.parse((LIBRARY / "__init__.py").read_text())
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("humans_sim")
        for alias in node.names
    }
    assert imported.keys() == set(hs.__all__)
    for name, (module, original) in imported.items():
        assert getattr(hs, name) is getattr(sys.modules[module], original), name
    assert (LIBRARY / "py.typed").exists()


def test_every_error_is_public() -> None:
    """All typed errors of the library are public, each by a name of its own."""
    bases = {"HumansError"}
    classes = [
        (node.name, {b.id for b in node.bases if isinstance(b, ast.Name)})
        for path in LIBRARY.rglob("*.py")
        if path.relative_to(LIBRARY).parts[0] != "nodes"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    while children := {name for name, parents in classes if parents & bases} - bases:
        bases |= children
    names = [name for name, _ in classes if name in bases]
    assert len(names) == len(set(names)) > 30
    assert set(names) <= set(hs.__all__)


def test_docs_list_every_name() -> None:
    """docs/api.md has one line for each public name, and no other."""
    text = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| .{8,} \|$", text, re.M)
    assert sorted(listed) == sorted(hs.__all__)


def test_import_loads_nothing_large() -> None:
    """A program that imports the library can handle signals at once."""
    code = "import sys, humans_sim as hs; dir(hs); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    loaded = set(result.stdout.decode().split())
    assert "humans_sim.core.errors" in loaded
    assert not loaded & {"numpy", "pinocchio", "numba", "scipy", "matplotlib"}
