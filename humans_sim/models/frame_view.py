# SPDX-License-Identifier: Apache-2.0
r"""Frames, tags and the centre of mass as seen from a link, with their derivatives.

The manual's ``FrameMatrixInPelvisFrame``, ``TagPositionInPelvisFrame`` and
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

from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    from humans_sim.models.model import Model

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
    """What a model looks like from one of its links, or from the world.

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
        moved: np.ndarray = (self._points(data) - base.translation) @ base.rotation
        return moved

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
        return int(self._model.pin.getFrameId(name))

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
    seen: np.ndarray = np.einsum("ji,njk->nik", base.rotation, relative)
    return seen


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
    on_axes: np.ndarray = seen @ base.rotation
    return on_axes
