# SPDX-License-Identifier: Apache-2.0
"""A biped on a floor as a MuJoCo model, with contacts as hard as they get.

Bodies, joints and inertias are those of the pinocchio model; each contact point is a
tiny ball, as in ``mujoco_scenes.py``.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

import humans_sim as hs

VERSION: str = mujoco.__version__
_BALL = 1e-6
_MODEL = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{step!r}" gravity="0 0 -9.81" cone="elliptic" solver="Newton"
    integrator="implicitfast"/>
  <default>
    <geom type="sphere" condim="3" friction="{friction!r} 0 0" size="{ball!r}"
      solref="{constant!r} 1" contype="1" conaffinity="2"/>
    <joint armature="{armature!r}"/>
    <position kp="{gain!r}" kv="{damping!r}"/>
  </default>
  <worldbody>
    <geom type="plane" size="9 9 1" contype="2" conaffinity="1"/>
    {bodies}
  </worldbody>
  <actuator>
    {drives}
  </actuator>
</mujoco>
"""


def biped(
    model: hs.Model,
    step: float,
    friction: float,
    gain: float,
    damping: float,
    armature: float,
) -> mujoco.MjModel:
    """A model with a position drive in every joint.

    Args:
        model: the biped.
        step: time step [s]; the contacts' time constant is two of them.
        friction: Coulomb's coefficient.
        gain: of the drives [N m/rad].
        damping: of the drives [N m s/rad].
        armature: inertia of the drives [kg m^2].
    """
    names = model.pin.names
    return mujoco.MjModel.from_xml_string(
        _MODEL.format(
            step=step,
            friction=friction,
            ball=_BALL,
            constant=2 * step,
            armature=armature,
            gain=gain,
            damping=damping,
            bodies=_body(model, 1, _axes(model)),
            drives="\n".join(f'<position joint="{name}"/>' for name in names[2:]),
        )
    )


def positions(q: np.ndarray) -> np.ndarray:
    """MuJoCo's qpos: the quaternion's real part comes first."""
    return np.concatenate([q[:3], q[6:7], q[3:6], q[7:]])


def _axes(model: hs.Model) -> dict[int, np.ndarray]:
    """Axis of each joint in its own frame."""
    data, q = model.pin.createData(), model.neutral()
    axes = {}
    for joint in range(2, model.pin.njoints):
        jacobian = pin.computeJointJacobian(model.pin, data, q, joint)
        axes[joint] = jacobian[3:, model.pin.joints[joint].idx_v]
    return axes


def _body(model: hs.Model, joint: int, axes: dict[int, np.ndarray]) -> str:
    pose, inertia = model.pin.jointPlacements[joint], model.pin.inertias[joint]
    turn = pin.Quaternion(pose.rotation).coeffs()[[3, 0, 1, 2]]
    moments = inertia.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    if joint == 1:
        moving = "<freejoint/>"
    else:
        limits = np.array([model.lower_limits, model.upper_limits])[:, joint - 2]
        moving = (
            f'<joint name="{model.pin.names[joint]}" axis="{_numbers(axes[joint])}" '
            f'range="{_numbers(limits)}"/>'
        )
    points = model.contact_points
    balls = [
        f'<geom pos="{_numbers(place)}"/>'
        for place, row in zip(points.local, points.row, strict=True)
        if points.joints[row] == joint
    ]
    parts = [_body(model, int(child), axes) for child in model.pin.children[joint]]
    return (
        f'<body pos="{_numbers(pose.translation)}" quat="{_numbers(turn)}">{moving}'
        f'<inertial pos="{_numbers(inertia.lever)}" mass="{inertia.mass!r}" '
        f'fullinertia="{_numbers(moments)}"/>{"".join(balls + parts)}</body>'
    )


def _numbers(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)
