# SPDX-License-Identifier: Apache-2.0
r"""The HuMAnS view of a model: its coordinates, its axes, its function names.

The HuMAnS vector holds the joint angles, then the base: three translations and three
angles (about x, y, z), on axes x forward, y up, z right. It is a view on pinocchio's
free-flyer, :math:`q_h \mapsto q`, :math:`v = E(q_h) \dot q_h`, so that

.. math:: M_h = E^T M E, \qquad N_h = E^T (N + M \dot E \dot q_h).

Sides: a mirror image of a posture has equal left and right joint values. Human36's
frames use the left values as printed in the manual (figure 2.4) and minus the right
values for rotations about x and y.

*Seen from a link*: frames, tags and centre of mass, with derivatives. The manual's
``FrameMatrixInPelvisFrame``, ``TagPositionInPelvisFrame`` and
``COMPositionInPelvisFrame`` (section 8.1.1), for any link, or for the world. With the
link at o, turned by R with the angular velocity :math:`\omega`, a point p is seen at

.. math::
    s = R^T d, \quad d = p - o, \qquad
    \dot s = R^T(\dot d - \omega \times d) = J(q)\,v

.. math::
    \ddot s = J(q)\,a + R^T\bigl(\ddot d - \dot\omega \times d
        - \omega \times (\omega \times d)
        - 2\,\omega \times (\dot d - \omega \times d)\bigr)_{a = 0}

The last term is the drift: the h(q, qdot) of the manual's (8.2). Axes of a link are
parallel to the world's (x forward, y left, z up) in the zero position; the manual's
frames of Bip are turned from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.models.description import HumansLayout
from humans_sim.models.points import ROS_FROM_HUMANS, frame_index, to_humans

if TYPE_CHECKING:
    from humans_sim.models.model import Model


_SINGULAR = 1e-8


class HumansView:
    """A model in HuMAnS coordinates; made by ``model.humans``."""

    def __init__(self, model: Model, layout: HumansLayout) -> None:
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
        """A vector of as many numbers as there are coordinates."""
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
    """Pinocchio q and v, the bias, the base block of E, and whether all is finite."""
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


_WORLD = pin.LOCAL_WORLD_ALIGNED


class _Motion(NamedTuple):
    """A frame that moves, on world axes: pose, velocity, Jacobian, acceleration."""

    origin: np.ndarray
    rotation: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    jacobian: np.ndarray
    acceleration: np.ndarray


class FrameView:
    """The view of a model from one of its links, or from the world.

    Args:
        model: the model.
        reference: name of a link or frame; empty for the world.
    """

    def __init__(self, model: Model, reference: str = "") -> None:
        """Use :meth:`humans_sim.Model.seen_from`."""
        self._model, self.reference = model, reference
        self._id = self._frame(reference) if reference else None
        self._still = np.zeros(model.nv)
        self._tags = model.tag_points(model.tag_names)

    def pose(self, q: np.ndarray, frame: str) -> pin.SE3:
        """Pose of a link or frame (FrameMatrixInPelvisFrame)."""
        identifier = self._frame(frame)
        data = self._move(q, self._still)
        return self._pose(data).actInv(self._place(data, identifier))

    def frame_jacobian(self, q: np.ndarray, frame: str) -> np.ndarray:
        """Jacobian of a frame: its origin's rows, then its angular velocity (6, nv)."""
        identifier = self._frame(frame)
        data = self._move(q, self._still)
        about = self._base(data)
        seen = self._motion(data, identifier, self._still)
        linear = _seen_jacobians(about, seen.origin[None], seen.jacobian[None, :3])
        angular = about.rotation.T @ (seen.jacobian[3:] - about.jacobian[3:])
        return np.vstack([linear[0], angular])

    def frame_drift(self, q: np.ndarray, v: np.ndarray, frame: str) -> np.ndarray:
        """Acceleration of a frame at zero acceleration: linear, then angular (6,)."""
        identifier = self._frame(frame)
        data = self._move(q, v)
        v = np.asarray(v, dtype=float)
        about = self._base(data, v)
        seen = self._motion(data, identifier, v)
        linear = _seen_drifts(
            about, seen.origin[None], seen.linear[None], seen.acceleration[None, :3]
        )
        relative = seen.angular - about.angular
        angular = seen.acceleration[3:] - about.acceleration[3:]
        angular = angular - np.cross(about.angular, relative)
        return np.concatenate([linear[0], about.rotation.T @ angular])

    def tags(self, q: np.ndarray) -> np.ndarray:
        """Tags, then the centre of mass (ntags + 1, 3) [m].

        The manual's TagPositionInPelvisFrame and, in the last row,
        COMPositionInPelvisFrame.
        """
        data = self._move(q, self._still)
        base = self._pose(data)
        return (self._points(data) - base.translation) @ base.rotation

    def tags_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobians of the tags and of the centre of mass (ntags + 1, 3, nv)."""
        data = self._move(q, self._still)
        return _seen_jacobians(
            self._base(data), self._points(data), self._point_jacobians(data)
        )

    def tags_drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Their accelerations at zero acceleration (ntags + 1, 3) [m/s^2]."""
        data = self._move(q, v)
        v = np.asarray(v, dtype=float)
        points, speeds = self._points(data), self._point_jacobians(data) @ v
        pin.centerOfMass(self._model.pin, data, pin.ACCELERATION, False)
        tags = self._tags.accelerations(data)
        accelerations = np.vstack([tags, data.acom[0]])
        return _seen_drifts(self._base(data, v), points, speeds, accelerations)

    def com(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass of the whole body (3,) [m] (COMPositionInPelvisFrame)."""
        return self.tags(q)[-1]

    def com_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobian of the centre of mass (3, nv)."""
        return self.tags_jacobian(q)[-1]

    def com_drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Acceleration of the centre of mass at zero acceleration (3,) [m/s^2]."""
        return self.tags_drift(q, v)[-1]

    def _frame(self, name: str) -> int:
        if not self._model.pin.existFrame(name):
            raise ParameterError(f"{self._model.name} has no frame called '{name}'")
        return frame_index(self._model.pin, name)

    def _move(self, q: np.ndarray, v: np.ndarray) -> pin.Data:
        """Placements, velocities, Jacobians, and accelerations with a = 0."""
        model, data = self._model, self._model.buffers
        q, v = model.check_configuration(q), model.check_velocity(v)
        pin.forwardKinematics(model.pin, data, q, v, self._still)
        pin.computeJointJacobians(model.pin, data)
        return data

    def _place(self, data: pin.Data, identifier: int) -> pin.SE3:
        return pin.updateFramePlacement(self._model.pin, data, identifier).copy()

    def _pose(self, data: pin.Data) -> pin.SE3:
        return pin.SE3.Identity() if self._id is None else self._place(data, self._id)

    def _points(self, data: pin.Data) -> np.ndarray:
        tags = self._tags.positions(data)
        com = pin.centerOfMass(self._model.pin, data, pin.POSITION, False)
        return np.vstack([tags, com])

    def _point_jacobians(self, data: pin.Data) -> np.ndarray:
        tags = self._tags.jacobians(data)
        com = pin.jacobianCenterOfMass(self._model.pin, data, False)
        return np.concatenate([tags, np.array(com)[None]])

    def _motion(self, data: pin.Data, identifier: int, v: np.ndarray) -> _Motion:
        model, place = self._model.pin, self._place(data, identifier)
        jacobian = np.array(pin.getFrameJacobian(model, data, identifier, _WORLD))
        moving = pin.getFrameClassicalAcceleration(model, data, identifier, _WORLD)
        velocity = jacobian @ v
        return _Motion(
            np.array(place.translation),
            np.array(place.rotation),
            velocity[:3],
            velocity[3:],
            jacobian,
            np.array(moving.vector),
        )

    def _base(self, data: pin.Data, v: np.ndarray | None = None) -> _Motion:
        """The frame from which things are seen."""
        v = self._still if v is None else v
        if self._id is not None:
            return self._motion(data, self._id, v)
        zero = np.zeros(3)
        return _Motion(
            zero, np.eye(3), zero, zero, np.zeros((6, self._model.nv)), np.zeros(6)
        )


def _seen_jacobians(
    base: _Motion, points: np.ndarray, jacobians: np.ndarray
) -> np.ndarray:
    """Jacobians of points in the world (n, 3, nv), seen from a frame that moves."""
    distance = points - base.origin
    turn = np.cross(base.jacobian[3:].T[None], distance[:, None, :])
    relative = jacobians - base.jacobian[None, :3] - turn.transpose(0, 2, 1)
    return np.einsum("ji,njk->nik", base.rotation, relative)


def _seen_drifts(
    base: _Motion, points: np.ndarray, speeds: np.ndarray, accelerations: np.ndarray
) -> np.ndarray:
    """Accelerations of points in the world (n, 3), seen from a frame that moves."""
    omega, distance = base.angular, points - base.origin
    turned = np.cross(omega, distance)
    relative = speeds - base.linear - turned
    seen = accelerations - base.acceleration[:3]
    seen = seen - np.cross(base.acceleration[3:], distance)
    seen = seen - np.cross(omega, turned) - 2.0 * np.cross(omega, relative)
    return seen @ base.rotation
