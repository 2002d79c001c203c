# SPDX-License-Identifier: Apache-2.0
r"""Task functions: quantities s(q) that a control law steers.

A task gives its value s, its Jacobian J and its drift, so that

.. math:: \dot s = J(q) v, \qquad \ddot s = J(q) a + drift(q, v)

with pinocchio's velocity v and acceleration a (nv). An orientation has no coordinates
without singularity: its value is a rotation vector, its rate the angular velocity in
the world, and its error the rotation that is still to be made, in the world.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.models import Model
from humans_sim.models.points import frame_index

_WORLD = pin.LOCAL_WORLD_ALIGNED


class TaskTerms(NamedTuple):
    """A task at one state: s (m,), J (m, nv), second derivative of s at a = 0 (m,)."""

    value: np.ndarray
    jacobian: np.ndarray
    drift: np.ndarray


class Task(ABC):
    """A quantity of a model, with its first and second derivatives.

    A kind of task says how it is read from pinocchio's data after one pass of
    kinematics; :class:`Stacked` shares that pass among its tasks.

    Attributes:
        names: name of each component.
        size: number of components m.
    """

    def __init__(self, model: Model, names: Sequence[str]) -> None:
        self.model = model
        self.names = tuple(names)
        self.size = len(self.names)
        self._still = np.zeros(model.nv)

    def value(self, q: np.ndarray) -> np.ndarray:
        """Value s(q) (m,)."""
        data = self.model.buffers
        pin.forwardKinematics(self.model.pin, data, self.model.check_configuration(q))
        return self.read_value(data, q)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobian J(q) (m, nv)."""
        data = self.model.buffers
        q = self.model.check_configuration(q)
        pin.computeJointJacobians(self.model.pin, data, q)
        return self.read_jacobian(data)

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Second derivative of s at zero acceleration (m,)."""
        return self.read_drift(self._move(q, v))

    def terms(self, q: np.ndarray, v: np.ndarray) -> TaskTerms:
        """Value, Jacobian and drift from one pass of kinematics."""
        data = self._move(q, v)
        pin.computeJointJacobians(self.model.pin, data)
        return TaskTerms(
            self.read_value(data, q), self.read_jacobian(data), self.read_drift(data)
        )

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The error to the target (m,): a small error e is closed by J v = e."""
        return self.difference(self.value(q), target)

    def difference(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The same from a value that is known: target less value (m,)."""
        return self.check_target(target) - value

    def check_target(self, target: np.ndarray) -> np.ndarray:
        """The target as an array, or a :class:`ConfigurationError`."""
        target = np.asarray(target, dtype=float)
        if target.shape != (self.size,):
            raise ConfigurationError(
                f"a target of this task has {self.size} entries "
                f"({', '.join(self.names)}), not shape {target.shape}"
            )
        return target

    def _move(self, q: np.ndarray, v: np.ndarray) -> pin.Data:
        """Placements, velocities, and accelerations of a motion with a = 0."""
        model, data = self.model, self.model.buffers
        q, v = model.check_configuration(q), model.check_velocity(v)
        pin.forwardKinematics(model.pin, data, q, v, self._still)
        return data

    @abstractmethod
    def read_value(self, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Value; the joints' placements are up to date."""

    @abstractmethod
    def read_jacobian(self, data: pin.Data) -> np.ndarray:
        """Jacobian; the joints' Jacobians are up to date."""

    @abstractmethod
    def read_drift(self, data: pin.Data) -> np.ndarray:
        """Drift; velocities, and accelerations at a = 0, are up to date."""


class _FrameTask(Task):
    """Rows of the pose of a frame: position [m], rotation vector [rad]."""

    ROWS = slice(0, 6)

    def __init__(self, model: Model, frame: str) -> None:
        if not model.pin.existFrame(frame):
            raise ParameterError(f"{model.name} has no frame called '{frame}'")
        parts = ("x", "y", "z", "rx", "ry", "rz")[self.ROWS]
        super().__init__(model, [f"{frame}_{part}" for part in parts])
        self.frame = frame
        self._id = frame_index(model.pin, frame)

    @staticmethod
    def target(pose: pin.SE3) -> np.ndarray:
        """Position and rotation vector of a pose (6,)."""
        return np.concatenate([pose.translation, pin.log3(pose.rotation)])

    def read_value(self, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Position and rotation vector."""
        pose = pin.updateFramePlacement(self.model.pin, data, self._id)
        return self.target(pose)[self.ROWS]

    def read_jacobian(self, data: pin.Data) -> np.ndarray:
        """The frame's Jacobian, on world axes."""
        tree = self.model.pin
        return pin.getFrameJacobian(tree, data, self._id, _WORLD)[self.ROWS]

    def read_drift(self, data: pin.Data) -> np.ndarray:
        """Linear acceleration of the origin, then angular acceleration."""
        tree = self.model.pin
        change = pin.getFrameClassicalAcceleration(tree, data, self._id, _WORLD)
        return change.vector[self.ROWS]


class FramePosition(_FrameTask):
    """Origin of a frame (``l_sole``, ``gaze``...) in the world (3) [m]."""

    ROWS = slice(0, 3)


class FrameOrientation(_FrameTask):
    """Orientation of a frame in the world, as a rotation vector (3) [rad]."""

    ROWS = slice(3, 6)

    def difference(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Rotation from value to target, in the world."""
        return _turn_between(value, self.check_target(target))


class FramePose(_FrameTask):
    """Position [m], then a rotation vector [rad], of a frame of the model (6)."""

    def difference(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Displacement, then rotation, from value to target, in the world."""
        error = self.check_target(target) - value
        error[3:] = _turn_between(value[3:], target[3:])
        return error


class CentreOfMass(Task):
    """Centre of mass of the whole model in the world (3) [m]."""

    def __init__(self, model: Model) -> None:
        super().__init__(model, ("com_x", "com_y", "com_z"))

    def read_value(self, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Position."""
        return np.array(pin.centerOfMass(self.model.pin, data, pin.POSITION, False))

    def read_jacobian(self, data: pin.Data) -> np.ndarray:
        """Jacobian of the centre of mass."""
        return np.array(pin.jacobianCenterOfMass(self.model.pin, data, False))

    def read_drift(self, data: pin.Data) -> np.ndarray:
        """Acceleration of the centre of mass."""
        pin.centerOfMass(self.model.pin, data, pin.ACCELERATION, False)
        return np.array(data.acom[0])


def joint_places(model: Model, names: Sequence[str]) -> np.ndarray:
    """Places of joints in ``model.joint_names``; ParameterError: it has one not."""
    for name in names:
        if name not in model.joint_names:
            raise ParameterError(f"{model.name} has no joint called '{name}'")
    return np.array([model.joint_names.index(name) for name in names], dtype=int)


class JointTask(Task):
    """Angles of some joints, by default of all in the model's order (m) [rad]."""

    def __init__(self, model: Model, joints: Sequence[str] | None = None) -> None:
        chosen = model.joint_names if joints is None else tuple(joints)
        super().__init__(model, chosen)
        places = joint_places(model, chosen)
        self._q = 7 + places
        self._constant = np.zeros((self.size, model.nv))
        self._constant[np.arange(self.size), 6 + places] = 1.0

    def read_value(self, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Angles."""
        return np.asarray(q, dtype=float)[self._q]

    def read_jacobian(self, data: pin.Data) -> np.ndarray:
        """Ones and zeros."""
        return self._constant.copy()

    def read_drift(self, data: pin.Data) -> np.ndarray:
        """Zero."""
        return np.zeros(self.size)


class Stacked(Task):
    """Several tasks of one model as one, in the order given; ``rows`` of each."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        if not tasks:
            raise ParameterError("a stack of tasks needs one at least")
        model = tasks[0].model
        if any(task.model is not model for task in tasks):
            raise ParameterError("the tasks of a stack must be of one model object")
        super().__init__(model, [name for task in tasks for name in task.names])
        self.tasks = tuple(tasks)
        ends = np.cumsum([0, *(task.size for task in tasks)]).tolist()
        self.rows = tuple(slice(a, b) for a, b in zip(ends, ends[1:], strict=False))

    def difference(self, value: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Differences of the tasks, one after the other."""
        target = self.check_target(target)
        parts = zip(self.tasks, self.rows, strict=True)
        return np.concatenate(
            [task.difference(value[rows], target[rows]) for task, rows in parts]
        )

    def read_value(self, data: pin.Data, q: np.ndarray) -> np.ndarray:
        """Values of the tasks, one after the other."""
        return np.concatenate([task.read_value(data, q) for task in self.tasks])

    def read_jacobian(self, data: pin.Data) -> np.ndarray:
        """Jacobians of the tasks, one below the other."""
        return np.concatenate([task.read_jacobian(data) for task in self.tasks])

    def read_drift(self, data: pin.Data) -> np.ndarray:
        """Drifts of the tasks, one after the other."""
        return np.concatenate([task.read_drift(data) for task in self.tasks])


def _turn_between(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rotation vector, in the world, that turns one orientation into another."""
    return pin.log3(pin.exp3(end) @ pin.exp3(start).T)
