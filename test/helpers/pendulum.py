# SPDX-License-Identifier: Apache-2.0
"""A pendulum as a URDF: one hinge, with or without damping and dry friction."""

from __future__ import annotations

from pathlib import Path

import humans_sim as hs

MASS, REACH, SPIN = 2.0, 0.5, 0.1
"""Mass [kg], distance of its centre from the hinge [m], inertia about it [kg m^2]."""
INERTIA = SPIN + MASS * REACH**2
WEIGHT = MASS * 9.81 * REACH
"""Largest torque of gravity about the hinge [N m]."""

_URDF = """<robot name="pendulum">
<link name="base"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rod"><inertial><origin xyz="0 0 -{reach}"/><mass value="{mass}"/>
  <inertia ixx="{spin}" iyy="{spin}" izz="{spin}" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
  {dynamics}</joint></robot>
"""


def pendulum(folder: Path, dynamics: str = "") -> hs.Model:
    """The pendulum.

    Args:
        folder: of its file.
        dynamics: element ``<dynamics>`` of the hinge.
    """
    path = folder / "pendulum.urdf"
    text = _URDF.format(reach=REACH, mass=MASS, spin=SPIN, dynamics=dynamics)
    path.write_text(text)
    return hs.load_model(path)
