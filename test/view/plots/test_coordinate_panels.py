# SPDX-License-Identifier: Apache-2.0
"""Units of coordinates; quaternions are shown as angles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.dynamics import Simulation
from humans_sim.dynamics.problems import chain
from humans_sim.results.record import coordinate_units, shown_coordinates
from humans_sim.view.plots.run_plots import coordinate_panels

BODY = ("x", "y", "z", "qx", "qy", "qz", "qw")


def run_of(names: tuple[str, ...], q: np.ndarray, **info: Any) -> Any:
    """What is needed of a run."""
    t = np.arange(len(q), dtype=float)
    return SimpleNamespace(t=t, q=q, position_names=names, velocity_names=(), info=info)


def test_units_by_names() -> None:
    """Of runs without a record."""
    names = ("height", "sleeve_angle", "x", "bead_3", "box_qx", "upper")
    run = run_of(names, np.zeros((2, 6)))
    assert coordinate_units(run) == ("m", "rad", "m", "m", "1", "")


def test_units_of_a_system() -> None:
    """A system that says its units has them in its run."""
    run = Simulation(chain(0.1)).run(np.array([0.2, 0.3]), t_end=0.02)
    assert coordinate_units(run) == ("rad", "rad")
    (panel,) = coordinate_panels(run)
    assert panel.label == "angle [°]"


def test_turns_of_a_body() -> None:
    """A body that turns about z three times: yaw grows to 1080 degrees."""
    yaw = np.linspace(0.0, 6 * np.pi, 40)
    turns = Rotation.from_rotvec(np.outer(yaw, [0.0, 0.0, 1.0])).as_quat()
    q = np.hstack([np.tile([1.0, 2.0, 3.0], (40, 1)), turns])
    run = run_of(tuple(f"top_{k}" for k in range(7)), q, bodies=[{}])
    positions, angles = coordinate_panels(run)
    assert positions.names == ["top_x", "top_y", "top_z"]
    assert positions.label == "position [m]"
    assert angles.names == ["top_roll", "top_pitch", "top_yaw"]
    assert angles.label == "angle [°]"
    assert np.allclose(angles.values[:, 2], np.degrees(yaw))
    assert np.allclose(angles.values[:, :2], 0.0)


def test_turns_by_names() -> None:
    """A quaternion is known by its names, with what stands around it."""
    names = ("height", *(f"box_{n}" for n in BODY))
    q = np.zeros((1, 8))
    q[0, 4:] = Rotation.from_euler("ZYX", [0.3, 0.2, 0.1]).as_quat()
    shown = shown_coordinates(run_of(names, q))
    assert shown.names[-3:] == ("box_roll", "box_pitch", "box_yaw")
    assert shown.values[0, -3:] == pytest.approx([0.1, 0.2, 0.3])
    assert shown.units == ("m",) * 4 + ("rad",) * 3


def test_joints_of_a_mechanism() -> None:
    """Their kinds decide."""
    kinds = ("JointModelRY", "JointModelPZ", "JointModelSpherical")
    joints = [{"name": n, "kind": kind} for n, kind in zip("abc", kinds, strict=True)]
    names = ("ankle", "pelvis", "hip_0", "hip_1", "hip_2", "hip_3")
    q = np.array([[0.5, 0.8, 0.0, 0.0, 0.0, 1.0]])
    shown = shown_coordinates(run_of(names, q, joints=joints))
    assert shown.names == ("ankle", "pelvis", "hip_roll", "hip_pitch", "hip_yaw")
    assert shown.units == ("rad", "m", "rad", "rad", "rad")


@pytest.mark.parametrize("joints", [3, "abc", [4], [{"kind": 1}], []])
def test_damaged_records(joints: Any) -> None:
    """A record that does not fit is left aside."""
    run = run_of(("x", "angle"), np.zeros((2, 2)), joints=joints, bodies=joints)
    assert coordinate_units(run) == ("m", "rad")
