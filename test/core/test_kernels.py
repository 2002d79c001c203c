# SPDX-License-Identifier: Apache-2.0
"""Machine code is what the sources say, is kept, and is compiled once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import humans_sim
from humans_sim.core import kernels
from humans_sim.core.kernels import kernel, lent, small_matrix, small_vector

PACKAGE = Path(humans_sim.__file__).parent
CONSTANT = "FACTOR = 3.0\n"
CALLEE = """
from humans_sim.core.kernels import kernel

@kernel
def callee(x):
    return x + 1.0
"""
CALLER = """
from humans_sim.core.callee import callee
from humans_sim.core.constant import FACTOR
from humans_sim.core.kernels import kernel

@kernel(error_model="numpy")
def caller(x):
    return FACTOR * callee(x)
"""
PROGRAM = """
from humans_sim.core.caller import caller
from humans_sim.core.kernel_compilation import report_compilation

EDIT
reports = []
with report_compilation(reports.append):
    value = caller(1.0)
print(value, max((report.count for report in reports), default=0))
"""
"""Prints what the caller computes, and how many kernels were compiled for it."""


THREADS = """
import os, threading, time
from humans_sim.core import kernels
from humans_sim.core.caller import caller

close, together = os.close, threading.Barrier(2)

def slowly(descriptor):
    time.sleep(0.2)
    close(descriptor)

kernels.os.close = slowly
failures = []

def call():
    together.wait()
    try:
        assert caller(1.0) == 6.0
    except Exception as error:
        failures.append(error)

threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(1.0, len(failures))
"""
"""Two threads use a kernel for the first time; prints how many of them failed."""


@pytest.fixture
def core(tmp_path: Path) -> Path:
    """The folder ``core`` of a copy of the package, with two kernels in two files."""
    folder = tmp_path / PACKAGE.name / "core"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "core", folder, ignore=ignored)
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(PACKAGE / name, folder.parent)
    (folder / "constant.py").write_text(CONSTANT)
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


def start(
    core: Path, edit: str = "", program: str = PROGRAM, **variables: str
) -> subprocess.Popen[str]:
    """The program, with an edit between the import and the compilation."""
    root = str(core.parents[1])
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    # Bytecode of a source that changes twice in a second would count as the new one's.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", program.replace("EDIT", edit)],
        cwd=root,
        env={**environment, "PYTHONPATH": root, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[float, int]:
    """The value, and how many kernels were compiled."""
    output, _ = process.communicate()
    assert process.returncode == 0
    value, count = output.split()
    return float(value), int(count)


def test_an_edited_callee_changes_its_caller(core: Path) -> None:
    """A kernel in another file, or a constant there; old machine code is removed."""
    assert finish(start(core)) == (6.0, 2)
    assert finish(start(core)) == (6.0, 0)
    (core / "callee.py").write_text(CALLEE.replace("1.0", "2.0"))
    assert finish(start(core)) == (9.0, 2)
    (core / "constant.py").write_text("FACTOR = 5.0\n")
    assert finish(start(core)) == (15.0, 1), "the callee does not see the constant"
    assert finish(start(core)) == (15.0, 0)
    folders = (core.parent / "__pycache__" / "kernels").iterdir()
    modules = sorted(folder.name.rsplit(".", 2)[0] for folder in folders)
    assert modules == ["humans_sim.core.callee", "humans_sim.core.caller"]


def test_threads_side_by_side_compile_once(core: Path) -> None:
    """One closes the lock of the machine code, and the other one does not."""
    assert finish(start(core, program=THREADS)) == (1.0, 0)


@pytest.mark.study
def test_processes_side_by_side_compile_once(core: Path, tmp_path: Path) -> None:
    """Each kernel in one process only, here where the user keeps machine code."""
    processes = [start(core, NUMBA_CACHE_DIR=str(tmp_path / "kept")) for _ in range(3)]
    done = [finish(process) for process in processes]
    assert {value for value, _ in done} == {6.0}
    assert sum(compiled for _, compiled in done) == 2
    assert not (core.parent / "__pycache__" / "kernels").exists()


@pytest.mark.study
def test_a_source_that_changed_after_its_import(core: Path) -> None:
    """What is compiled then is of the old text, and is not kept under the new one."""
    edited = CALLEE.replace("1.0", "2.0")
    edit = f"open({str(core / 'callee.py')!r}, 'w').write({edited!r})"
    assert finish(start(core, edit)) == (6.0, 2)
    assert finish(start(core)) == (9.0, 2)


@pytest.fixture
def fresh_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder for machine code is looked for anew."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernels, "_passing", [])
    kernels.cache_root.cache_clear()
    yield
    kernels.cache_root.cache_clear()


@pytest.mark.usefixtures("fresh_root")
def test_a_place_for_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package, else the user's cache, else a folder that ends with the process."""

    def root() -> Path:
        kernels.cache_root.cache_clear()
        return kernels.cache_root()

    assert root() == PACKAGE / "__pycache__" / "kernels"
    monkeypatch.setattr(kernels, "PACKAGE", Path("/proc/x/y"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert root().parent == tmp_path / "humans_sim" and kernels.are_kernels_kept()
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/x")
    folder = root()
    assert folder.is_dir() and not kernels.are_kernels_kept()
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)


@kernel
def turned(frame, vector):
    """A vector by a matrix, with arrays that are lent and that lie on the stack."""
    (matrix, (arm,)), product = lent((frame, (vector,))), small_vector(3)
    for i in range(3):
        row = matrix[i]
        product[i] = row[0] * arm[0] + row[1] * arm[1] + row[2] * arm[2]
    return product[0], product[1], product[2]


@kernel
def turned_twice(frame, vector):
    """The same twice; each call has small arrays of its own."""
    square, half = small_matrix(3, 3), small_vector(3)
    square[:] = 0.0
    for i in range(3):
        for j in range(3):
            for k in range(3):
                square[i, j] += frame[i, k] * frame[k, j]
    half[0], half[1], half[2] = turned(frame, vector)
    once = turned(frame, half)
    return once, turned(square, vector)


def test_lent_and_small_arrays_are_arrays() -> None:
    """Rows of them are theirs, and the caller's references stay as many as before."""
    rng = np.random.default_rng(3)
    frame, vector = rng.normal(size=(3, 3)), rng.normal(size=3)
    references = sys.getrefcount(frame), sys.getrefcount(vector)
    for _ in range(3):
        once, twice = turned_twice(frame, vector)
        np.testing.assert_allclose(once, frame @ frame @ vector, rtol=1e-12)
        np.testing.assert_allclose(twice, frame @ frame @ vector, rtol=1e-12)
    assert (sys.getrefcount(frame), sys.getrefcount(vector)) == references


BORROWER = """
import numpy as np
from humans_sim.core.kernels import kernel

@kernel(borrows=True)
def same(x):
    return x

@kernel(borrows=True)
def total(x):
    row = x[1]
    return row[0] + row[1]
"""
REFUSED = """
import numpy as np
from humans_sim.core.borrower import same, total

refused = 0
try:
    same(np.zeros(2))
except TypeError:
    refused = 1
print(total(np.arange(4.0).reshape(2, 2)), refused)
"""


def test_a_kernel_that_borrows_returns_no_array(core: Path) -> None:
    """Its caller would give back a reference that nobody counted."""
    (core / "borrower.py").write_text(BORROWER)
    assert finish(start(core, program=REFUSED)) == (5.0, 1)
