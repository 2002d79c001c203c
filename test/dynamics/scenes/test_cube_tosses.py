# SPDX-License-Identifier: Apache-2.0
"""Recorded tosses of a cube, where the recording is at hand."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "cube_tosses.py"


@pytest.mark.study
def test_recorded_tosses(shared_data: Path) -> None:
    """A few held-back tosses: near the recording, and not so on another table."""
    file = shared_data / "cube_tosses" / "cube_tosses.npz"
    if not file.is_file():
        pytest.skip("no recorded tosses at hand")
    names = runpy.run_path(str(BENCHMARK))
    tosses = names["read"](file)[1::40]
    assert len(tosses) >= 5
    fitted = names["errors"](names["ours"](*names["FITTED"]), tosses)
    assert np.mean(fitted.position) < 0.2
    assert np.mean(fitted.angle) < 25.0
    for friction, restitution in ((0.02, 0.0), (0.18, 0.9)):
        other = names["errors"](names["ours"](friction, restitution), tosses)
        assert other.cost > 1.5 * fitted.cost
