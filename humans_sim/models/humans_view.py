# SPDX-License-Identifier: Apache-2.0
r"""The HuMAnS view of a model: its coordinates, its axes, its function names.

The HuMAnS vector holds the joint angles, then the base: three translations and three
angles (about x, y, z), on axes x forward, y up, z right. It is a view on pinocchio's
free-flyer, :math:`q_h \mapsto q`, :math:`v = E(q_h) \dot q_h`, so that

.. math:: M_h = E^T M E, \qquad N_h = E^T (N + M \dot E \dot q_h).

Sides: a mirror image of a posture has equal left and right joint values. Human36's
frames use the left values as printed in the manual (figure 2.4) and minus the right
values for rotations about x and y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ConfigurationError
from humans_sim.core.kernels import kernel
from humans_sim.models.axes import ROS_FROM_HUMANS, to_humans
from humans_sim.models.description import HumansLayout

if TYPE_CHECKING:
    from humans_sim.models.model import Model

_SINGULAR = 1e-8


class HumansView:
    """A model in HuMAnS coordinates; made by ``model.humans``."""

    def __init__(self, model: Model, layout: HumansLayout) -> None:
        """View of ``model`` with the given layout."""
        self._model = model
        self._layout = layout
        self.size = model.nv
        self._shape = (model.nv,)
        position = {name: i for i, name in enumerate(model.joint_names)}
        self._joint = np.array([position[name] for name in layout.joints], dtype=int)
        self._order = np.array(["xyz".index(axis) for axis in layout.base_rotation])
        self._axes = np.ascontiguousarray(ROS_FROM_HUMANS.T[self._order])
        self._height = layout.base_height

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates, joints first."""
        base = ("base_x", "base_y", "base_z", "base_rx", "base_ry", "base_rz")
        return (*self._layout.joints, *base)

    def sized(self, vector: np.ndarray, name: str) -> np.ndarray:
        """A vector of as many numbers as there are coordinates.

        Raises:
            ConfigurationError: it has another shape.
        """
        vector = np.asarray(vector, dtype=float)
        if vector.shape != self._shape:
            raise ConfigurationError(
                f"{name} of {self._model.name} has {self.size} HuMAnS coordinates "
                f"(joints, then base), not shape {vector.shape}"
            )
        return vector

    def to_pin(
        self, q_h: np.ndarray, qdot_h: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pinocchio configuration and velocity of HuMAnS coordinates and rates."""
        qdot_h = np.zeros(self.size) if qdot_h is None else qdot_h
        q, v, _, _ = self._map(q_h, qdot_h)
        return q, v

    def from_pin(
        self, q: np.ndarray, v: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """HuMAnS coordinates and rates of a pinocchio configuration and velocity.

        Raises:
            ConfigurationError: the base attitude is where its three angles are
                singular (the second rotation at 90 degrees).
        """
        q = self._model.check_configuration(q)
        q_h, qdot_h = np.zeros(self.size), np.zeros(self.size)
        q_h[:-6] = q[7:][self._joint]
        q_h[-6:-3] = to_humans(q[:3])
        q_h[-5] -= self._height
        rotation = to_humans(to_humans(Rotation.from_quat(q[3:7]).as_matrix()).T).T
        second = rotation[self._order[0], self._order[2]]
        if abs(second) > 1.0 - _SINGULAR:
            raise ConfigurationError(
                "the base is turned by 90 degrees about its second axis: the three "
                "HuMAnS angles are singular there; use pinocchio's configuration"
            )
        order = self._layout.base_rotation.upper()
        q_h[-3:][self._order] = Rotation.from_matrix(rotation).as_euler(order)
        if v is not None:
            v = self._model.check_velocity(v)
            qdot_h[:-6] = v[6:][self._joint]
            _, _, _, base = self._map(q_h, qdot_h)
            qdot_h[-6:] = np.linalg.solve(base, v[:6])
        return q_h, qdot_h

    def _map(
        self, q_h: np.ndarray, qdot_h: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio q, v, the bias Edot qdot_h, and the base block of E (6, 6)."""
        q_h, qdot_h = self.sized(q_h, "q"), self.sized(qdot_h, "qdot")
        q, v, bias, base, finite = _base_map(
            q_h, qdot_h, self._joint, self._order, self._axes, self._height
        )
        if not finite:
            for name, vector in (("q", q_h), ("qdot", qdot_h)):
                bad = np.flatnonzero(~np.isfinite(vector))
                if bad.size:
                    raise ConfigurationError(
                        f"{name}[{bad[0]}] = {vector[bad[0]]} is not a finite number"
                    )
        return q, v, bias, base

    def tags(self, q_h: np.ndarray) -> np.ndarray:
        """Tags, then the centre of mass (ntags + 1, 3) [m]."""
        return to_humans(self._model.tags(self.to_pin(q_h)[0]))

    def tags_jacobian(self, q_h: np.ndarray) -> np.ndarray:
        """Jacobian of the tags, rows x1, y1, z1, x2, ... (3 ntags, n)."""
        q, _, _, base = self._map(q_h, np.zeros(self.size))
        jacobian = self._model.tags_jacobian(q)
        return self._columns(jacobian, base).reshape(-1, self.size)

    def com(self, q_h: np.ndarray) -> np.ndarray:
        """Centres of mass of the segments, then of the body (nsegments + 1, 3) [m]."""
        return to_humans(self._model.segment_coms(self.to_pin(q_h)[0]))

    def inertia(self, q_h: np.ndarray) -> np.ndarray:
        """Inertia matrix in HuMAnS coordinates (n, n)."""
        q, _, _, base = self._map(q_h, np.zeros(self.size))
        matrix = np.empty((self.size, self.size))
        _congruence(self._model.inertia(q), self._joint, base, matrix)
        return matrix

    def nl_effects(self, q_h: np.ndarray, qdot_h: np.ndarray) -> np.ndarray:
        """Nonlinear effects and gravity in HuMAnS coordinates (n,)."""
        q, v, bias, base = self._map(q_h, qdot_h)
        model = self._model
        # One pass of inverse dynamics gives N + M Edot qdot.
        force = model.inverse_dynamics(q, v, bias)
        out = np.empty(self.size)
        _transpose_times(force, self._joint, base, out)
        return out

    def contact(self, q_h: np.ndarray) -> np.ndarray:
        """Contact points, all x, all y (heights), all z (3 ncontacts,) [m]."""
        points = to_humans(self._model.contact(self.to_pin(q_h)[0]))
        return points.T.ravel()

    def contact_jacobian(self, q_h: np.ndarray) -> np.ndarray:
        """Jacobian of :meth:`contact` (3 ncontacts, n)."""
        q, _, _, base = self._map(q_h, np.zeros(self.size))
        jacobian = self._columns(self._model.contact_jacobian(q), base)
        return jacobian.transpose(1, 0, 2).reshape(-1, self.size)

    def contact_hessian(self, q_h: np.ndarray, qdot_h: np.ndarray) -> np.ndarray:
        """Second-derivative terms s(q, qdot) of :meth:`contact` (3 ncontacts,)."""
        q, v, bias, _ = self._map(q_h, qdot_h)
        return to_humans(self._model.contact_hessian(q, v, bias)).T.ravel()

    def _columns(self, jacobian: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Point Jacobians (n, 3, nv) on HuMAnS axes and coordinates."""
        turned = np.einsum("ji,njk->nik", ROS_FROM_HUMANS, jacobian)
        joints = turned[:, :, 6:][:, :, self._joint]
        return np.concatenate([joints, turned[:, :, :6] @ base], axis=2)


@kernel
def _turn(axis, angle):
    """Rotation matrix about a unit axis (Rodrigues)."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    t = 1.0 - c
    return np.array(
        [
            [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
        ]
    )


@kernel
def _cross(a, b):
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )


@kernel
def _quaternion(r):
    """Unit quaternion (x, y, z, w) of a rotation matrix, from its largest entry."""
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    q = np.empty(4)
    if trace > max(r[0, 0], r[1, 1], r[2, 2]):
        q[3] = 1.0 + trace
        q[0], q[1], q[2] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    else:
        i = 0
        if r[1, 1] > r[i, i]:
            i = 1
        if r[2, 2] > r[i, i]:
            i = 2
        j, k = (i + 1) % 3, (i + 2) % 3
        q[i] = 1.0 + r[i, i] - r[j, j] - r[k, k]
        q[j] = r[j, i] + r[i, j]
        q[k] = r[k, i] + r[i, k]
        q[3] = r[k, j] - r[j, k]
    return q / np.sqrt(np.sum(q * q))


@kernel
def _base_map(q_h, qdot_h, joint, order, axes, height):
    """Pinocchio q and v, the bias, the base block of E, and whether all is finite.

    Rotations act on ROS axes.
    """
    n = joint.size
    q, v, bias = np.empty(n + 7), np.empty(n + 6), np.zeros(n + 6)
    base = np.zeros((6, 6))
    total = 0.0
    for i in range(n + 6):
        total += q_h[i] + qdot_h[i]
    for i in range(n):
        q[7 + joint[i]] = q_h[i]
        v[6 + joint[i]] = qdot_h[i]
    q[0], q[1], q[2] = q_h[n], -q_h[n + 2], q_h[n + 1] + height
    second = _turn(axes[1], q_h[n + 3 + order[1]])
    third = _turn(axes[2], q_h[n + 3 + order[2]])
    rotation = _turn(axes[0], q_h[n + 3 + order[0]]) @ second @ third
    q[3:7] = _quaternion(rotation)
    # Body angular velocity = c1 a1' + c2 a2' + c3 a3', columns in the body's frame.
    c1 = third.T @ (second.T @ axes[0])
    c2 = third.T @ axes[1]
    c3 = axes[2]
    rate = np.empty(3)
    for i in range(3):
        rate[i] = qdot_h[n + 3 + order[i]]
        base[3 + i, 3 + order[0]] = c1[i]
        base[3 + i, 3 + order[1]] = c2[i]
        base[3 + i, 3 + order[2]] = c3[i]
        # rotation.T times the ROS images of the HuMAnS axes x, y, z
        base[i, 0] = rotation[0, i]
        base[i, 1] = rotation[2, i]
        base[i, 2] = -rotation[1, i]
    v[:6] = base @ qdot_h[n:]
    omega = v[3:6].copy()
    bias[:3] = -_cross(omega, v[:3])
    bias[3:6] = -rate[0] * (rate[2] * _cross(c3, c1) + rate[1] * _cross(c2, c1))
    bias[3:6] -= rate[1] * rate[2] * _cross(c3, c2)
    return q, v, bias, base, np.isfinite(total)


@kernel
def _transpose_times(force, joint, base, out):
    """E^T times a generalised force."""
    n = joint.size
    for i in range(n):
        out[i] = force[6 + joint[i]]
    for b in range(6):
        out[n + b] = 0.0
        for a in range(6):
            out[n + b] += base[a, b] * force[a]


@kernel
def _congruence(m, joint, base, out):
    """E^T M E with the joints permuted and the base block given."""
    n = joint.size
    for i in range(n):
        for j in range(n):
            out[i, j] = m[6 + joint[i], 6 + joint[j]]
        for b in range(6):
            total = 0.0
            for a in range(6):
                total += m[6 + joint[i], a] * base[a, b]
            out[i, n + b] = total
            out[n + b, i] = total
    block = base.T @ np.ascontiguousarray(m[:6, :6]) @ base
    out[n:, n:] = block
