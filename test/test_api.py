# SPDX-License-Identifier: Apache-2.0
"""The public names: complete, documented, typed as they are loaded, nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import humans_sim as hs
from humans_sim import actuation, contact, dynamics
from humans_sim.core.lazy_names import read_stub

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "humans_sim"


def test_every_name_is_there_and_says_what_it_is() -> None:
    """Each public name loads, is the one that `dir` lists, and has a docstring."""
    for module in (hs, hs.errors):
        assert dir(module) == module.__all__ == sorted(set(module.__all__))
        for name in module.__all__:
            value = getattr(module, name)
            assert name == "__version__" or value.__doc__, name
            origin = getattr(value, "__module__", "humans_sim.")
            assert name == "__version__" or origin.startswith("humans_sim."), name


def test_names_of_the_architecture() -> None:
    """What the design promises to users is public."""
    promised = (
        "load_model Simulation Ground load_run reconstruct read_markers simulate "
    )
    promised += "report Servo IdealTorque FesMuscles Walk Push animate HumansError "
    promised += "errors Contacts Worlds"
    assert set(promised.split()) <= set(hs.__all__)


PACKAGES = (hs.anatomy, hs.bodies, hs.soft, actuation, contact, dynamics)


@pytest.mark.parametrize("module", [hs, hs.errors, *PACKAGES], ids=lambda m: m.__name__)
def test_type_checkers_see_what_is_loaded(module: ModuleType) -> None:
    """Names are those of the stubs, from the modules that stubs name."""
    stub = Path(module.__file__).with_suffix(".pyi")
    places = read_stub(stub)
    assert module.__all__ == sorted(places) and len(places) > 12
    for name, (origin, original) in places.items():
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            assert value is getattr(sys.modules[origin], original), name
    assert (LIBRARY / "py.typed").exists()


def test_unknown_name_is_refused() -> None:
    """A name that is not public says so; errors are not at the top."""
    for name in ("MuscleError", "write_report"):
        with pytest.raises(AttributeError, match=f"'humans_sim' has no .*'{name}'"):
            getattr(hs, name)


@pytest.mark.study
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
    assert sorted(names) == hs.errors.__all__


def test_docs_list_every_name() -> None:
    """docs/api.md has one line for each public name, and no other."""
    text = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^\| `([\w.]+)` \| .{8,} \|$", text, re.M)
    errors = {f"errors.{name}" for name in hs.errors.__all__} - {"errors.HumansError"}
    assert sorted(listed) == sorted({*hs.__all__, *errors})


def test_import_loads_nothing_large() -> None:
    """A program that imports the library can handle signals at once."""
    code = "import sys, humans_sim as hs; dir(hs); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    loaded = set(result.stdout.decode().split())
    assert "humans_sim.core.lazy_names" in loaded
    assert not loaded & {"numpy", "pinocchio", "numba", "scipy", "matplotlib"}
