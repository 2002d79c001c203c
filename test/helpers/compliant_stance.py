# SPDX-License-Identifier: Apache-2.0
"""A body that moves on springs under its soles, by forward dynamics alone.

It shares nothing with inverse dynamics but the model: articulated-body accelerations,
forces that are known functions of the points' places, and a small step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import humans_sim as hs
from humans_sim.models.legs import support_tags
from humans_sim.models.points import frame_index

STEP = 1e-4
"""Of the integration [s]."""
_STIFFNESS, _DAMPING = 3e4, 200.0
"""Of the ground under each point [N/m, N s/m]."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A simulated motion.

    Attributes:
        t: times (n,) [s].
        q: configurations (n, nq).
        torques: of the joints (n, nv - 6) [N m].
        wrenches: of each sole about the origin (n, 6) [N, N m].
    """

    t: np.ndarray
    q: np.ndarray
    torques: np.ndarray
    wrenches: dict[str, np.ndarray]


def compliant_stance(model: hs.Model, end: float, period: float) -> Stance:
    """A person bends the knees and swings the arms on soft ground.

    Args:
        model: with two soles.
        end: time [s].
        period: between the samples [s].
    """
    tree, data = model.pin, model.data()
    q, v = model.standing(np.zeros(model.nq - 7)), np.zeros(model.nv)
    q[2] -= model.mass * 9.81 / (8 * _STIFFNESS)
    rest = q[7:].copy()
    inertia = np.diag(model.inertia(q))[6:]
    legs = np.array([_in(name, ("hip", "knee")) for name in model.joint_names])
    ankles = np.array([_in(name, ("ankle",)) for name in model.joint_names])
    gain = np.where(legs, 2000.0, np.where(ankles, 800.0, 900.0 * inertia))
    damping = np.where(legs, 60.0, np.where(ankles, 3.0, 40.0 * inertia))
    swing = np.zeros(len(rest))
    for name, angle in (("knee", -0.3), ("shoulder_pitch", 1.0), ("hip_pitch", 0.1)):
        for side, share in (("l", 1.0), ("r", 0.8)):
            swing[model.joint_names.index(f"{side}_{name}")] = angle * share
    points = {s.name: model.tag_points(support_tags(s)) for s in model.soles}
    joints = {s: tree.frames[frame_index(tree, s)].parentJoint for s in points}
    pin.computeJointJacobians(tree, data, q)
    anchors = {s: p.positions(data) * (1.0, 1.0, 0.0) for s, p in points.items()}
    every, steps = round(period / STEP), round(end / STEP)
    rows: list[tuple[np.ndarray, ...]] = []
    outer = pin.StdVec_Force([pin.Force.Zero() for _ in range(tree.njoints)])
    for step in range(steps + 1):
        t = step * STEP
        pin.computeJointJacobians(tree, data, q)
        wrenches = []
        for sole, corners in points.items():
            places = corners.positions(data)
            speeds = corners.jacobians(data) @ v
            forces = -_STIFFNESS * (places - anchors[sole]) - _DAMPING * speeds
            forces[places[:, 2] > 0] = 0.0
            wrench = np.concatenate(
                [forces.sum(axis=0), np.cross(places, forces).sum(axis=0)]
            )
            wrenches.append(wrench)
            outer[joints[sole]] = data.oMi[joints[sole]].actInv(pin.Force(wrench))
        target = rest + swing * (1 - np.cos(2 * np.pi * t / 0.4)) / 2
        torques = -gain * (q[7:] - target) - damping * v[6:]
        if step % every == 0:
            rows.append((np.array([t]), q.copy(), torques, *wrenches))
        force = np.concatenate([np.zeros(6), torques])
        v = v + STEP * pin.aba(tree, data, q, v, force, outer)
        q = pin.integrate(tree, q, v * STEP)
    t_all, q_all, torque, *loads = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return Stance(t_all[:, 0], q_all, torque, dict(zip(points, loads, strict=True)))


def _in(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
