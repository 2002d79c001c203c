# SPDX-License-Identifier: Apache-2.0
"""The actuation interface: how actuation plugs into the dynamics.

An actuation has states z of its own, integrated with the mechanics in one vector, and
events of its own. The simulation calls its functions, in the words of the manual's
chapter 6:

====================  ============================================================
ActuationInitialisation  :meth:`Actuation.initialise`
ActuationDynamics        :meth:`Actuation.dynamics`
ActuationEventDetection  :meth:`Actuation.detect` and :meth:`Actuation.next_time`
ActuationEventHandling   :meth:`Actuation.handle`
ActuationStateReset      :meth:`Actuation.reset`
====================  ============================================================

Discrete states (modes, clocks, queues) are attributes of the actuation; they change in
``initialise``, ``command``, ``handle`` and ``reset`` only, never in ``dynamics``.

*Position-controlled drives*, for kernels. A motor with a torque-speed line pulls its
joint to a set point that moves at constant speed. Hobby servos are such drives
(:class:`~humans_sim.actuation.servo.Servo`); a kernel that makes a whole step evaluates
them at its stages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel, lent
from humans_sim.results.records import Event, Signal


class DriveTable(NamedTuple):
    """Drives of all joints while their commands last.

    Attributes:
        start: time at which the set points began to move [s].
        origin: where they were then (njoints,) [rad]; empty where nothing drives.
        rate: (njoints,) [rad/s].
        parameters: of each: gain, damping, stall torque, no-load speed, dead band,
            viscous and Coulomb friction, speed of the latter (njoints, 8).
        held: forces that stay as they are (nv,) [N m, N]; empty where there are none.
        places: coordinate and velocity of each joint (njoints, 2); empty: those of one
            robot, after its base.
    """

    start: float
    origin: np.ndarray
    rate: np.ndarray
    parameters: np.ndarray
    held: np.ndarray = np.zeros(0)
    places: np.ndarray = np.zeros((0, 2), dtype=np.int64)


def held_forces(forces: np.ndarray) -> DriveTable:
    """A table of forces that stay as they are (nv,) [N m, N]."""
    return DriveTable(0.0, np.zeros(0), np.zeros(0), np.zeros((0, 8)), forces)


NO_DRIVES = held_forces(np.zeros(0))
"""Nothing drives."""


@kernel
def pull(point, rate, angle, turning, parameters):
    """Torque that a motor wants, and what of it its torque-speed line gives."""
    gain, damping, stall, no_load, band = parameters[:5]
    error = point - angle
    if abs(error) <= band:
        error = 0.0
    else:
        error -= np.sign(error) * band
    demand = gain * error + damping * (rate - turning)
    # what the motor can give: less along its speed, never more than at stall
    forward = min(stall, max(0.0, stall * (1.0 - turning / no_load)))
    backward = min(stall, max(0.0, stall * (1.0 + turning / no_load)))
    return demand, min(forward, max(-backward, demand))


@kernel
def _drive_torque(point, rate, angle, turning, parameters):
    """Torque of a drive on its joint, its friction taken off."""
    viscous, coulomb, slow = parameters[5:]
    _, torque = pull(point, rate, angle, turning, parameters)
    return torque - viscous * turning - coulomb * np.tanh(turning / slow)


@kernel
def drive_torques(path, q, v, parameters):
    """Force of drives (nv,) on a ``path``: time since its origin [s], origin, rate."""
    path, q, v, parameters = lent((path, q, v, parameters))
    elapsed, origin, rate = path
    force = np.zeros(v.shape[0])
    for j in range(origin.shape[0]):
        point = origin[j] + rate[j] * elapsed
        force[6 + j] = _drive_torque(point, rate[j], q[7 + j], v[6 + j], parameters[j])
    return force


@kernel
def table_torques(drives, locked, t, q, v):
    """Force of a :class:`DriveTable` (nv,); what a lock supports is left out."""
    drives, locked, q, v = lent((drives, locked, q, v))
    start, origin, rate, parameters, held, places = drives
    if places.shape[0]:
        force = np.zeros(v.shape[0])
        for j in range(places.shape[0]):
            angle, turning = q[places[j, 0]], v[places[j, 1]]
            point = origin[j] + rate[j] * (t - start)
            force[places[j, 1]] = _drive_torque(
                point, rate[j], angle, turning, parameters[j]
            )
    else:
        force = drive_torques((t - start, origin, rate), q, v, parameters)
    for j in range(held.shape[0]):
        force[j] += held[j]
    for j in locked:
        force[j] = 0.0
    return force


class Actuation:
    """An actuation without force and state; a parent for others.

    Attributes:
        armature: inertia that the actuation adds to the coordinates (nv,), or None.
        frictional_joints: joints whose friction is part of the actuation's torques:
            what the model says of their friction then does not act besides.
        decoupled: whether it has no states, and each of its forces depends on position
            and velocity of its own coordinate alone: derivatives then cost little.
    """

    nz: int = 0
    z_names: tuple[str, ...] = ()
    armature: np.ndarray | None = None
    frictional_joints: tuple[str, ...] = ()
    decoupled: bool = False

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Set the discrete states; return z at the start (nz,)."""
        return np.zeros(self.nz)

    def command(self, t: float, command: Any) -> None:
        """Take a command of the controller."""
        raise ParameterError(f"the actuation {type(self).__name__} takes no commands")

    def expect_commands_every(self, period: float) -> None:
        """Note the time between two commands of the controller [s]."""

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Generalised force (nv,) and the rates of z (nz,)."""
        return np.zeros(len(v)), np.zeros_like(z)

    def drives(self) -> DriveTable | None:
        """Forces of :meth:`dynamics` until the next event; None: they are no table."""
        return NO_DRIVES if type(self).dynamics is Actuation.dynamics else None

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Functions whose change of sign is an event."""
        return _NONE

    def next_time(self, t: float) -> float:
        """Time of the next event that is known in advance, after t [s]."""
        return math.inf

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Handle signals and times that came; the new z, and what to record."""
        return z, ()

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Adapt to a jump of the mechanics (impact, lift-off); returns the new z."""
        return z

    def signals(self) -> tuple[Signal, ...]:
        """Its signals in a run beside z and torques, number by number."""
        return ()

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals` at a state; NaN where there is none."""
        return _NONE

    def record(self) -> dict[str, dict[str, Any]]:
        """Its record in the info of a run: mappings of plain data, by their keys."""
        return {}


_NONE = np.zeros(0)


class PartActuation(Actuation):
    """An actuation that sees the first coordinates of a system alone.

    Args:
        inner: the actuation.
        nq: how many positions it sees.
        nv: how many velocities.
        rest: velocities on which it has no force.
    """

    def __init__(self, inner: Actuation, nq: int, nv: int, rest: int) -> None:
        self._inner, self._nq, self._nv = inner, nq, nv
        self.nz, self.z_names = inner.nz, inner.z_names
        self._rest = np.zeros(rest)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Start the actuation."""
        return self._inner.initialise(t, q[: self._nq], v[: self._nv])

    def command(self, t: float, command: Any) -> None:
        """Hand a command on."""
        self._inner.command(t, command)

    def expect_commands_every(self, period: float) -> None:
        """Hand it on."""
        self._inner.expect_commands_every(period)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Its forces; none act on the rest."""
        force, rates = self._inner.dynamics(t, q[: self._nq], v[: self._nv], z)
        return np.concatenate([force, self._rest]), rates

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Its signals."""
        return self._inner.detect(t, q[: self._nq], v[: self._nv], z)

    def next_time(self, t: float) -> float:
        """Its next event [s]."""
        return self._inner.next_time(t)

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Let it handle its events."""
        return self._inner.handle(t, q[: self._nq], v[: self._nv], z, fired)

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Let it adapt to a jump of the mechanics."""
        return self._inner.reset(t, q[: self._nq], v[: self._nv], z)
