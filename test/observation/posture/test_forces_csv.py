# SPDX-License-Identifier: Apache-2.0
"""Tables of torques and of the ground's reaction."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from humans_sim.observation.posture.export import write_forces_csv


@pytest.mark.parametrize("ground", [None, np.arange(12.0).reshape(2, 6) / 7])
def test_numbers_come_back(tmp_path: Path, ground: np.ndarray | None) -> None:
    """A line a sample; the ground's columns only where it is known."""
    torques = np.array([[0.1, -2e-17], [3.0, 4.0]])
    forces = SimpleNamespace(t=np.array([0.0, 0.01]), torques=torques, ground=ground)
    path = write_forces_csv(forces, ("l_knee", "r_knee"), tmp_path / "f.csv")
    names = path.read_text().splitlines()[0].split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert names[:3] == ["time", "l_knee", "r_knee"]
    assert np.array_equal(table[:, 1:3], torques)
    assert len(names) == table.shape[1] == (3 if ground is None else 9)
    if ground is not None:
        assert names[5] == "ground_fz" and np.array_equal(table[:, 3:], ground)
