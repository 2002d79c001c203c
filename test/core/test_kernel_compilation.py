# SPDX-License-Identifier: Apache-2.0
"""Kernels report when they are compiled, and only then."""

from __future__ import annotations

import numba

from humans_sim.core.kernel_compilation import (
    Compilation,
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
