# SPDX-License-Identifier: Apache-2.0
r"""Sensors of a simulated robot: inertial units, feet, joint encoders.

*Feet* measure force, torque and centre of pressure. Contact forces are those of the
instant in the event-driven method, and means over the last step with time stepping. The
first reading of a run is zero there.

*Inertial units* measure in their own frames

.. math:: f = R^T (\ddot p - g), \qquad \omega = R^T \omega_{world}

p is the origin of the frame that carries the unit, and R its attitude: at rest it reads
9.81 m/s^2 upwards, in free fall nothing (REP 145). What f is depends on the method:

- event-driven, it is that of the instant, exact between events, from the left where
  forces jump. Impacts, whose acceleration is infinite, are not in it.
- with time stepping, which knows forces only as means, it is the mean since the reading
  before, along the axes of the unit at the reading; impacts are in it.

``velocity_change`` is in both the integral of f since the reading before, impacts
included: the difference of two velocities, minus what gravity did.

*Files*:

.. code-block:: yaml

    imu: {kind: imu, frame: base_link, rate: 200, accelerometer: {noise: 0.002}}
    l_foot: {kind: foot, sole: l_sole, rate: 100, force: {noise: 0.05}}
    joints: {kind: encoders, rate: 100, angle: {resolution: 0.0015}}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.budget import RATE
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_bodies import RobotPart
from humans_sim.dynamics.sensor import Sensor, SignalErrors, axes, measured_model
from humans_sim.dynamics.soles import Soles, centre_of_pressure, sole_wrench
from humans_sim.models.description import BASE_LINK
from humans_sim.models.points import frame_index
from humans_sim.results.records import Sample, Signal


@kernel
def wrenches_on_soles(poses, ends, place, force, moment):
    """Force and moment on each sole, in its own frame, about its origin (n, 2, 3).

    Args:
        poses: of the soles in the world (n, 4, 4).
        ends: contacts up to which each sole has them, after those before it (n,).
        place: of the contacts in the world (k, 3) [m].
        force: of the contacts there (k, 3) [N].
        moment: of the contacts (k, 3) [N m].
    """
    wrenches, first = np.empty((len(poses), 2, 3)), 0
    for s in range(len(poses)):
        own, pose = slice(first, ends[s]), poses[s]
        total, about = sole_wrench(
            pose[:3, :3], pose[:3, 3], place[own], force[own], moment[own]
        )
        for i in range(3):
            wrenches[s, 0, i], wrenches[s, 1, i] = total[i], about[i]
        first = ends[s]
    return wrenches


class SoleWrenches:
    """Wrenches of the scene on the soles of a robot, out of samples of its simulation.

    Attributes:
        names: of the soles.
    """

    def __init__(self, system: ModelSystem) -> None:
        """Note which contacts belong to which sole."""
        self._contacts, model = Soles(system), measured_model(system)
        self._model, self._data = model, model.data()
        self.names = tuple(sole.name for sole in model.soles)
        self._frames = [frame_index(model.pin, name) for name in self.names]
        self._poses = np.empty((len(self.names), 4, 4))

    def measure(self, sample: Sample) -> np.ndarray:
        """Force [N] and moment [N m] on each sole, in its frame (n, 2, 3)."""
        tree, data = self._model.pin, self._data
        pin.forwardKinematics(tree, data, sample.q[: tree.nq])
        for pose, frame in zip(self._poses, self._frames, strict=True):
            pose[:] = pin.updateFramePlacement(tree, data, frame).homogeneous
        points = self._contacts.points(sample)
        owned = [np.flatnonzero(own[points.rows]) for own in self._contacts.of_sole]
        rows = np.concatenate(owned)
        return wrenches_on_soles(
            self._poses,
            np.cumsum([len(part) for part in owned]),
            points.position[rows],
            points.force[rows],
            points.moment[rows],
        )


class FootReading(NamedTuple):
    """The reading of a foot, in the frame of its sole.

    Attributes:
        t: when [s].
        force: of the ground on the foot (3,) [N].
        torque: about the origin of the sole's frame (3,) [N m].
        centre_of_pressure: in the plane of the sole, out of the measured force and
            torque (3,) [m]; NaN where the measured force does not press.
    """

    t: float
    force: np.ndarray
    torque: np.ndarray
    centre_of_pressure: np.ndarray


class FootSensor(Sensor):
    """A sensor of force and torque in one sole.

    Args:
        sole: name of the sole's frame.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        force: errors of the force [N].
        torque: errors of the torque [N m].
        threshold: normal force below which there is no centre of pressure [N].
        seed: of the errors.
        name: by which controllers and records know it; that of the sole unless given.
    """

    def __init__(
        self,
        sole: str,
        period: float = 0.01,
        delay: float = 0.0,
        force: SignalErrors | None = None,
        torque: SignalErrors | None = None,
        threshold: float = 1e-9,
        seed: int = 0,
        name: str = "",
    ) -> None:
        super().__init__(name or sole, period, delay, seed)
        self.sole, self._threshold = sole, threshold
        self._force, self._torque = force or SignalErrors(), torque or SignalErrors()

    def attach(self, system: ModelSystem) -> None:
        """Find the sole."""
        model = measured_model(system)
        names = [sole.name for sole in model.soles]
        if self.sole not in names:
            known = ", ".join(names) or "none"
            raise ParameterError(
                f"{self.name}: {model.name} has no sole '{self.sole}' ({known})"
            )
        self._wrenches, self._index = SoleWrenches(system), names.index(self.sole)

    def start(self) -> None:
        """Draw errors anew."""
        super().start()
        self._force_errors = self._errors(self._force, 3)
        self._torque_errors = self._errors(self._torque, 3)

    def measure(self, t: float, state: ControlState) -> FootReading:
        """Force, torque and centre of pressure at a time [s]."""
        return self.reading_of(t, *self._wrenches.measure(state.sample)[self._index])

    def reading_of(
        self, t: float, force: np.ndarray, moment: np.ndarray
    ) -> FootReading:
        """The reading of a force [N] and a moment [N m] on its sole at a time [s]."""
        force = self._force_errors.reading(force)
        torque = self._torque_errors.reading(moment)
        pressed = centre_of_pressure(force, torque, self._threshold)
        return FootReading(t, force, torque, pressed)

    def signals(self) -> tuple[Signal, ...]:
        """Force, torque, centre of pressure."""
        return (
            *axes(self.name, "force", "N"),
            *axes(self.name, "torque", "N m"),
            *axes(self.name, "centre_of_pressure", "m"),
        )


class ImuReading(NamedTuple):
    """The reading of an inertial unit, along its own axes.

    Attributes:
        t: when [s].
        specific_force: (3,) [m/s^2].
        angular_rate: (3,) [rad/s].
        velocity_change: integral of the true specific force since the reading before,
            impacts included (3,) [m/s].
    """

    t: float
    specific_force: np.ndarray
    angular_rate: np.ndarray
    velocity_change: np.ndarray


class Imu(Sensor):
    """An inertial unit fixed to a frame of a model.

    Args:
        frame: a link or frame of the model; its origin and axes are those of the unit.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        accelerometer: errors of the specific force [m/s^2].
        gyroscope: errors of the angular rate [rad/s].
        seed: of the errors.
        name: by which controllers and records know it.
    """

    def __init__(
        self,
        frame: str = BASE_LINK,
        period: float = 0.01,
        delay: float = 0.0,
        accelerometer: SignalErrors | None = None,
        gyroscope: SignalErrors | None = None,
        seed: int = 0,
        name: str = "imu",
    ) -> None:
        super().__init__(name, period, delay, seed)
        self.frame = frame
        self.accelerometer = accelerometer or SignalErrors()
        self.gyroscope = gyroscope or SignalErrors()
        self._before: tuple[float, np.ndarray] | None = None

    def attach(self, system: ModelSystem, part: RobotPart | None = None) -> None:
        """Fix it to its frame, of the first robot or of a part of the scene.

        Of a part it measures states that are those of the part alone.
        """
        body = measured_model(system, part)
        model = body.pin
        if not model.existFrame(self.frame):
            raise ParameterError(
                f"{self.name}: {body.name} has no frame '{self.frame}'"
            )
        self._model, self._data = model, model.createData()
        self._index = frame_index(model, self.frame)
        self._gravity = system.gravity

    def start(self) -> None:
        """Forget the reading before."""
        super().start()
        self._before = None
        self._force_errors = self._errors(self.accelerometer, 3)
        self._rate_errors = self._errors(self.gyroscope, 3)

    def measure(self, t: float, state: ControlState) -> ImuReading:
        """Specific force, angular rate and velocity change at a time [s]."""
        force, rate, change = self.true_values(t, state)
        return ImuReading(
            t,
            self._force_errors.reading(force),
            self._rate_errors.reading(rate),
            change,
        )

    def true_values(
        self, t: float, state: ControlState
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Specific force, angular rate and velocity change without errors."""
        model, data, index = self._model, self._data, self._index
        nv, acceleration = model.nv, state.acceleration
        smooth = np.zeros(nv) if acceleration is None else acceleration[:nv]
        pin.forwardKinematics(model, data, state.q[: model.nq], state.v[:nv], smooth)
        turn = pin.updateFramePlacement(model, data, index).rotation.T
        own, world = pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        rate = np.array(pin.getFrameVelocity(model, data, index, own).angular)
        velocity = np.array(pin.getFrameVelocity(model, data, index, world).linear)
        since, change = 0.0, np.zeros(3)
        if self._before is not None:
            since = t - self._before[0]
            change = turn @ (velocity - self._before[1] - since * self._gravity)
        self._before = (t, velocity)
        if acceleration is not None:
            moved = pin.getFrameClassicalAcceleration(model, data, index, own).linear
            return moved - turn @ self._gravity, rate, change
        if since > 0.0:
            return change / since, rate, change
        # Before the first step nothing is known of forces: as at rest.
        return -turn @ self._gravity, rate, change

    def signals(self) -> tuple[Signal, ...]:
        """Specific force, angular rate, velocity change."""
        return (
            *axes(self.name, "specific_force", "m/s^2"),
            *axes(self.name, "angular_rate", "rad/s"),
            *axes(self.name, "velocity_change", "m/s"),
        )


class JointReading(NamedTuple):
    """The reading of the encoders of all joints.

    Attributes:
        t: when [s].
        angles: (njoints,) [rad].
        speeds: as measured; otherwise their changes since the reading before, over the
            time since, and zero at the first one (njoints,) [rad/s].
    """

    t: float
    angles: np.ndarray
    speeds: np.ndarray


class JointEncoders(Sensor):
    """Encoders in all joints of a model.

    Args:
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        angle: errors of the angles; ``resolution`` is a step of the encoder [rad].
        speed: errors of the speeds of joints that have tachometers [rad/s]; None: there
            are none, and speeds are differences of the angles.
        seed: of the errors.
        name: by which controllers and records know them.
    """

    def __init__(
        self,
        period: float = 0.01,
        delay: float = 0.0,
        angle: SignalErrors | None = None,
        speed: SignalErrors | None = None,
        seed: int = 0,
        name: str = "joints",
    ) -> None:
        super().__init__(name, period, delay, seed)
        self._angle, self._speed = angle or SignalErrors(), speed
        self._joints: tuple[str, ...] = ()
        self._before: JointReading | None = None

    def attach(self, system: ModelSystem, part: RobotPart | None = None) -> None:
        """Note the joints, as :meth:`Imu.attach`."""
        self._joints = measured_model(system, part).joint_names

    def start(self) -> None:
        """Forget the reading before."""
        super().start()
        self._before = None
        self._source = self._errors(self._angle, len(self._joints))
        self._tachometers = None
        if self._speed is not None:
            self._tachometers = self._errors(self._speed, len(self._joints))

    def measure(self, t: float, state: ControlState) -> JointReading:
        """Angles and speeds at a time [s]."""
        count = len(self._joints)
        angles = self._source.reading(state.q[7 : 7 + count])
        speeds, before = np.zeros(count), self._before
        if self._tachometers is not None:
            speeds = self._tachometers.reading(state.v[6 : 6 + count])
        elif before is not None and t > before.t:
            speeds = (angles - before.angles) / (t - before.t)
        self._before = JointReading(t, angles, speeds)
        return self._before

    def signals(self) -> tuple[Signal, ...]:
        """Angles, then speeds."""
        return (
            *(Signal(f"{self.name}/{joint}/angle", "rad") for joint in self._joints),
            *(Signal(f"{self.name}/{joint}/speed", "rad/s") for joint in self._joints),
        )


_ERRORS = tuple(field.name for field in fields(SignalErrors))
_COMMON = ("delay", "seed")
_KINDS: dict[
    str, tuple[Callable[..., Sensor], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
] = {
    "imu": (Imu, (), ("frame",), ("accelerometer", "gyroscope")),
    "foot": (FootSensor, ("sole",), ("threshold",), ("force", "torque")),
    "encoders": (JointEncoders, (), (), ("angle", "speed")),
}
"""What makes each kind, what it must have, may have, and its signals with errors."""
_WORDS = ("frame", "sole")


def read_sensors(path: Path | str) -> list[Sensor]:
    """The sensors that a file describes, by name.

    Args:
        path: the file, ``.yaml``.

    Raises:
        ModelFileError: the file is missing, or something in it is wrong; it names the
            line and the key.
    """
    return sensors_of(read_yaml(path))


def sensors_of(value: YamlValue) -> list[Sensor]:
    """The sensors that a section of a file describes."""
    return [_sensor(name, entry) for name, entry in value.mapping().items()]


def _sensor(name: str, entry: YamlValue) -> Sensor:
    kind = entry.mapping()
    if "kind" not in kind:
        raise entry.error(f"the kind is missing: one of {', '.join(_KINDS)}")
    make, needed, optional, signals = _KINDS[kind["kind"].choice(tuple(_KINDS))]
    given = entry.fields(("kind", "rate", *needed), (*optional, *signals, *_COMMON))
    rate = given["rate"].positive()
    RATE.check("a sensor", rate, error=given["rate"].error)
    arguments: dict[str, Any] = {"name": name, "period": 1.0 / rate}
    for key in (*needed, *optional, "delay"):
        if key in given:
            word = key in _WORDS
            arguments[key] = given[key].text() if word else given[key].number()
    if "seed" in given:
        arguments["seed"] = given["seed"].whole()
    for key in signals:
        if key in given:
            arguments[key] = _errors(given[key])
    with located_errors(entry):
        return make(**arguments)


def _errors(value: YamlValue) -> SignalErrors:
    given = value.fields((), _ERRORS)
    with located_errors(value):
        return SignalErrors(**{key: number.number() for key, number in given.items()})
