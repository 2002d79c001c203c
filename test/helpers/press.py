# SPDX-License-Identifier: Apache-2.0
"""A small model whose hand comes down on its base: post, arm and hand on a plate."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import humans_sim as hs

POST, ARM, THICK, PLATE = 0.16, 0.2, 0.02, 0.1
"""Height of the shoulder above the plate, length of the arm, thickness of the hand and
of the plate [m]."""

_LINK = """<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/>
<inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial>
<collision><origin xyz="{centre}"/><geometry><box size="{size}"/></geometry></collision>
</link>
"""
_JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/>
<child link="{child}"/><origin xyz="{place}"/><axis xyz="{axis}"/>
<limit lower="-2" upper="2" effort="10" velocity="10"/></joint>
"""


def press(folder: Path, side: str = "") -> hs.Model:
    """The model; with the text of the YAML file beside its URDF."""
    links = (
        ("base_link", "0 0 0", 5, 0.1, f"0.6 0.3 {PLATE}"),
        ("post", "0 0 0.07", 1, 0.01, "0.04 0.04 0.14"),
        ("arm", "0.07 0 0", 1, 0.004, "0.14 0.04 0.02"),
        ("hand", "0.1 0 0", 0.5, 0.001, f"0.16 0.08 {THICK}"),
    )
    joints = (
        ("turn", "base_link", "post", f"-0.25 0 {PLATE / 2 + 0.01}", "0 0 1"),
        ("shoulder", "post", "arm", f"0 0 {POST - 0.01}", "0 1 0"),
        ("wrist", "arm", "hand", f"{ARM} 0 0", "0 1 0"),
    )
    text = "".join(
        _LINK.format(name=name, centre=centre, mass=mass, i=inertia, size=size)
        for name, centre, mass, inertia, size in links
    ) + "".join(
        _JOINT.format(name=name, parent=parent, child=child, place=place, axis=axis)
        for name, parent, child, place, axis in joints
    )
    path = folder / "press.urdf"
    path.write_text(f'<robot name="press">{text}</robot>')
    if side:
        path.with_suffix(".yaml").write_text(side)
    return hs.load_model(path)


def hand_above(model: hs.Model, height: float, tilt: float = 0.0) -> np.ndarray:
    """The hand's middle plane so far above the plate, tilted [m, rad]."""
    q = model.neutral()
    q[8] = np.arcsin((POST - height) / ARM)
    q[9] = tilt - q[8]
    return q
