# SPDX-License-Identifier: Apache-2.0
"""Kernels report when they are compiled, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

from humans_sim.core.kernel_compilation import (
    Compilation,
    are_kernels_kept,
    ensure_cache,
    forward,
    report_compilation,
)


def test_compilations_are_counted() -> None:
    """One inside another is reported, too; a second call compiles nothing."""

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    reports: list[Compilation] = []
    with report_compilation(reports.append):
        assert outer(1) == 4
        before = len(reports)
        assert outer(2) == 6
        assert len(reports) == before
        forward(Compilation("elsewhere", 1, 0.5))
        assert reports[-1].kernel == "elsewhere"
    assert [c.kernel for c in reports[:-1]] == ["outer", "inner", "outer", ""]
    assert [c.count for c in reports[:-1]] == [0, 0, 1, 2]
    assert reports[3].seconds >= reports[0].seconds
    outer(1.0)
    assert len(reports) == before + 1


CACHED = """
    from humans_sim.core.kernel_compilation import report_compilation
    import numpy as np
    from humans_sim.core.rotations import straighten
    reports = []
    with report_compilation(reports.append):
        straighten(np.eye(3)[None])
    print(len(reports))
"""


def test_what_is_in_the_cache_is_not_compiled(tmp_path: Path) -> None:
    """A second process loads what a first one compiled, wherever it is kept."""
    counts = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CACHED)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        counts.append(int(done.stdout))
    assert counts[0] > 0 and counts[1] == 0


def test_a_place_for_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where neither the package nor the home can be written, another folder serves."""
    monkeypatch.setattr("humans_sim.core.kernel_compilation._passing", [])
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert ensure_cache() is None
    monkeypatch.setattr(
        "humans_sim.core.kernel_compilation.__file__", "/proc/x/file.py"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ensure_cache() is None and are_kernels_kept()
    monkeypatch.setattr(os, "access", lambda *_: False)
    folder = ensure_cache()
    assert folder is not None and folder.is_dir() and not are_kernels_kept()
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
