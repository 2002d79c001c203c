# SPDX-License-Identifier: Apache-2.0
"""Links, frames and joints of one name are told apart, everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.models.points import frame_index

SOURCES = Path(hs.__file__).parent
INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
ROBOT = f"""<robot name="twins">
<link name="base_link"><inertial><mass value="1"/>{INERTIA}</inertial></link>
<link name="waist"><inertial><mass value="2"/>{INERTIA}</inertial></link>
<link name="hand"/>
<joint name="waist" type="revolute"><parent link="base_link"/><child link="waist"/>
  <origin xyz="0 0 0.5"/><limit lower="-1" upper="1" effort="3" velocity="4"/></joint>
<joint name="hand" type="fixed"><parent link="waist"/><child link="hand"/>
  <origin xyz="0.25 0 0"/></joint>
</robot>
"""


def test_a_link_and_a_joint_of_one_name(tmp_path: Path) -> None:
    """The name stands for the link; pinocchio alone refuses to choose."""
    path = tmp_path / "twins.urdf"
    path.write_text(ROBOT)
    path.with_suffix(".yaml").write_text(
        "tags:\n  - {name: tip, link: hand, xyz: [0.1, 0, 0]}\n"
        "  - {name: top, link: waist, xyz: [0, 0, 0.3]}\n"
        "frames:\n  - {name: l_sole, link: waist, xyz: [0, 0, -0.1]}\n"
        "contacts: [tip, top]\nsoles: {l_sole: [top]}\n"
    )
    model = hs.load_model(path)
    with pytest.raises(Exception, match="[Ss]everal frames"):
        model.pin.getFrameId("waist")
    assert model.pin.frames[frame_index(model.pin, "waist")].type == pin.FrameType.BODY
    q = model.standing(np.zeros(1))
    np.testing.assert_allclose(model.frame_pose(q, "hand").translation, [0.25, 0, 0])
    np.testing.assert_allclose(model.tags(q)[:2], [[0.35, 0, 0], [0, 0, 0.3]])
    assert model.seen_from("waist").pose(q, "hand").translation[0] == 0.25
    assert model.seen_from("l_sole").pose(q, "waist").translation[2] == 0.1
    hs.Simulation(model).run(q, np.zeros(model.nv), t_end=0.01)


def test_names_that_are_nothing(khr1: hs.Model) -> None:
    """They are an error with the name, not the number behind the last frame."""
    with pytest.raises(hs.errors.ParameterError, match="no link or frame 'tail'"):
        frame_index(khr1.pin, "tail")


def test_frames_are_found_in_one_place() -> None:
    """No source asks pinocchio for a frame without saying which kind it is."""
    bare = re.compile(r"\bgetFrameId\(\s*([^(),]|\([^()]*\))*\)")
    assert bare.search("model.getFrameId(str(name))")
    assert not bare.search("model.getFrameId(str(name), pin.FrameType.BODY)")
    for path in sorted(SOURCES.rglob("*.py")):
        found = bare.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: {found and found[0]}: use frame_index"
