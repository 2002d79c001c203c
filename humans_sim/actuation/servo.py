r"""Hobby servos: position control with limited speed and torque.

Each joint has a set point that runs to its command at the speed of the servo's speed
step, and a motor that pulls the joint there:

.. math:: \tau = \operatorname{sat}\bigl(k_p\, e + k_d (\dot r - \dot q)\bigr)
   - b\, \dot q - c \tanh(\dot q / \omega_c)

e is the error beyond the dead band; the torque is limited by the line from the stall
torque at rest to zero at the no-load speed. The rotor turns with the joint through the
gear: its inertia, times the ratio squared, adds to the joint's (``armature``), and on a
light robot it is the larger part.

Defaults are the KRS-784ICS of the KHR-1: commonly quoted 0.85 N m stall torque and
60 degrees in 0.168 s. No data sheet gives the others: gain, damping, friction, dead
band and rotor inertia are ours, of the size that small geared servos have.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from humans_sim.dynamics.hooks import Actuation
from humans_sim.errors import ParameterError
from humans_sim.models import Model

_ARRIVED = 1e-12


class Servo(Actuation):
    """Position servos in all joints of a model; the command is (njoints,) [rad].

    Attributes:
        armature: inertia of the rotors at the joints (nv,) [kg m^2].
    """

    def __init__(
        self,
        model: Model,
        *,
        gain: float = 12.0,
        damping: float = 0.25,
        stall_torque: float = 0.85,
        no_load_speed: float = 6.23,
        speed: float = 6.23,
        dead_band: float = 0.0,
        viscous: float = 0.002,
        coulomb: float = 0.01,
        coulomb_speed: float = 0.05,
        rotor_inertia: float = 1.5e-3,
    ) -> None:
        """Put a servo into every joint.

        Args:
            model: the model.
            gain: torque for an error of one radian [N m/rad].
            damping: torque for a speed error [N m s/rad].
            stall_torque: largest torque at rest [N m].
            no_load_speed: speed at which no torque is left [rad/s].
            speed: how fast the set point runs to the command [rad/s].
            dead_band: error that the servo does not see [rad].
            viscous: friction of the gear [N m s/rad].
            coulomb: friction of the gear [N m].
            coulomb_speed: speed at which that friction is three quarters there [rad/s].
            rotor_inertia: of the rotor, at the joint [kg m^2].
        """
        self._n = len(model.joint_names)
        numbers = {
            "gain": gain,
            "damping": damping,
            "dead_band": dead_band,
            "viscous": viscous,
            "coulomb": coulomb,
            "rotor_inertia": rotor_inertia,
        }
        positive = {
            "stall_torque": stall_torque,
            "no_load_speed": no_load_speed,
            "speed": speed,
            "coulomb_speed": coulomb_speed,
        }
        for name, value in {**numbers, **positive}.items():
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be 0 or more, not {value}")
            if name in positive and value == 0:
                raise ParameterError(f"{name} must be above zero")
        self._parameters = np.array(
            [
                gain,
                damping,
                stall_torque,
                no_load_speed,
                dead_band,
                viscous,
                coulomb,
                coulomb_speed,
            ]
        )
        self._speed = speed
        self.armature = np.concatenate([np.zeros(6), np.full(self._n, rotor_inertia)])
        self._start_time, self._arrival = 0.0, math.inf
        self._from = np.zeros(self._n)
        self._target = np.zeros(self._n)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hold the posture of the start."""
        self._start_time, self._arrival = t, math.inf
        self._from = np.array(q[7:])
        self._target = self._from.copy()
        return np.zeros(0)

    def set_point(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the servos want to be, and how fast that moves (njoints,)."""
        way = self._target - self._from
        done = self._speed * (t - self._start_time)
        reached = np.abs(way) <= done + _ARRIVED
        point = np.where(reached, self._target, self._from + np.sign(way) * done)
        return point, np.where(reached, 0.0, np.sign(way) * self._speed)

    def command(self, t: float, command: np.ndarray) -> None:
        """Let the set points run to these angles from now on."""
        angles = np.asarray(command, dtype=float)
        if angles.shape != (self._n,) or not np.isfinite(angles).all():
            raise ParameterError(
                f"{self._n} finite joint angles are wanted, not {command}"
            )
        self._from = self.set_point(t)[0]
        self._target, self._start_time = angles.copy(), t
        self._arrival = self._next_arrival(t)

    def _next_arrival(self, t: float) -> float:
        ways = np.abs(self._target - self._from) / self._speed
        times = self._start_time + ways[ways > _ARRIVED]
        later = times[times > t + _ARRIVED]
        return float(later.min()) if later.size else math.inf

    def next_time(self, t: float) -> float:
        """When the next set point arrives: its speed jumps to zero."""
        return self._arrival

    def handle(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray,
        fired: np.ndarray,
    ) -> tuple[np.ndarray, tuple[()]]:
        """A set point has arrived: wait for the next one."""
        self._arrival = self._next_arrival(t)
        return z, ()

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the servos on the joints."""
        return _torques(
            t - self._start_time,
            self._from,
            self._target,
            self._speed,
            q,
            v,
            self._parameters,
        ), z


@njit(cache=True)
def _torques(elapsed, origin, target, speed, q, v, parameters):
    gain, damping, stall, no_load, band, viscous, coulomb, slow = parameters
    force = np.zeros(v.shape[0])
    for j in range(origin.shape[0]):
        way = target[j] - origin[j]
        done = speed * elapsed
        if abs(way) <= done + _ARRIVED:
            point, rate = target[j], 0.0
        else:
            point, rate = origin[j] + np.sign(way) * done, np.sign(way) * speed
        error, turning = point - q[7 + j], v[6 + j]
        if abs(error) <= band:
            error = 0.0
        else:
            error -= np.sign(error) * band
        torque = gain * error + damping * (rate - turning)
        # what the motor can give: less along its speed, never more than at stall
        forward = min(stall, max(0.0, stall * (1.0 - turning / no_load)))
        backward = min(stall, max(0.0, stall * (1.0 + turning / no_load)))
        torque = min(forward, max(-backward, torque))
        force[6 + j] = torque - viscous * turning - coulomb * np.tanh(turning / slow)
    return force
