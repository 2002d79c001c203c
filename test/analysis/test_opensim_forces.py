# SPDX-License-Identifier: Apache-2.0
"""Forces for OpenSim: what is written reads back, and its work is that of the body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from strolls import known, walking

import humans_sim as hs
from humans_sim.analysis.force_comparison import (
    write_external_loads,
    write_generalised_forces,
)
from humans_sim.analysis.inverse_dynamics import InverseDynamics, inverse_dynamics
from humans_sim.observation.posture.opensim_files import BASE_COLUMNS, write_mot


@pytest.fixture(scope="module")
def forces(human: hs.Model) -> InverseDynamics:
    """Of a walk that turns and tilts."""
    q = walking(human, 80)
    angle = 0.4 * np.sin(np.arange(80) / 15)
    axis = np.array([0.5, -0.3, 0.8]) / np.linalg.norm([0.5, -0.3, 0.8])
    q[:, 3:6], q[:, 6] = np.sin(angle / 2)[:, None] * axis, np.cos(angle / 2)
    return inverse_dynamics(known(human, q), cutoff=0.0)


def table(path: Path) -> dict[str, np.ndarray]:
    """Columns of a file of OpenSim, by name."""
    head, _, body = path.read_text().partition("endheader\n")
    lines = body.splitlines()
    names = lines[0].split("\t")
    values = np.array([[float(x) for x in line.split("\t")] for line in lines[1:]])
    assert f"nRows={len(values)}" in head and f"nColumns={len(names)}" in head
    return dict(zip(names, values.T, strict=True))


def test_loads_read_back(forces: InverseDynamics, tmp_path: Path) -> None:
    """The reader of force files gives the forces, points and torques again."""
    path = write_external_loads(forces, tmp_path / "loads.mot")
    right, left = hs.read_force_file(path)
    assert (right.name, left.name) == ("ground_force_r", "ground_force_l")
    for reaction, sole in ((right, "r_sole"), (left, "l_sole")):
        ours = forces.reaction(sole)
        np.testing.assert_allclose(reaction.force, ours.force, atol=1e-9)
        loaded = ours.force[:, 2] > 20.0
        assert loaded.any()
        np.testing.assert_allclose(reaction.point[loaded], ours.point[loaded])
        wrench = reaction.wrench(np.zeros(3))[loaded]
        np.testing.assert_allclose(wrench, forces.feet[sole][loaded], atol=0.5)


def test_generalised_forces_do_the_residuals_work(
    forces: InverseDynamics, tmp_path: Path, human: hs.Model
) -> None:
    """The base's moments times the rates of its angles are the residual's power."""
    sto = table(write_generalised_forces(forces, tmp_path / "forces.sto"))
    motion = table(write_mot(known(human, forces.q), tmp_path / "motion.mot"))
    assert list(sto)[1:7] == [f"{n}_moment" for n in BASE_COLUMNS[:3]] + [
        f"{n}_force" for n in BASE_COLUMNS[3:]
    ]
    np.testing.assert_array_equal(sto["l_knee_moment"], forces.torques[:, _knee(human)])
    power = np.zeros(80)
    for name in BASE_COLUMNS:
        rate = np.gradient(motion[name], 0.01)
        angle = name in BASE_COLUMNS[:3]
        force = sto[f"{name}_moment" if angle else f"{name}_force"]
        power += force * (np.radians(rate) if angle else rate)
    speeds = forces.v[:, :6].reshape(-1, 2, 3)
    turns = [pin.Quaternion(q[3:7]).matrix() for q in forces.q]
    turned = np.einsum("nij,nkj->nki", turns, speeds).reshape(-1, 6)
    expected = (turned * forces.residual).sum(axis=1)
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(
        power[2:-2], expected[2:-2], atol=0.02 * np.ptp(expected)
    )


def _knee(human: hs.Model) -> int:
    return human.joint_names.index("l_knee")
