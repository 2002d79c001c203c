"""Control laws for electrically stimulated knees."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from humans_sim.actuation import FesMuscles
from humans_sim.control.follow import Follow
from humans_sim.control.motion import Motion
from humans_sim.control.task import JointTask
from humans_sim.errors import ParameterError
from humans_sim.models import Model

_QUADRICEPS = "quadriceps"
_PLAN = 0.05
"""Time between the planned torques [s]."""
_BUILD_UP = 0.5
"""Time in which the torque of a knee builds up before it is needed [s]."""
_ROUNDING = 1e-9


class KneeSwing:
    """Drives a knee from one limit to the other and back, by pulses of full calcium.

    The quadriceps are stimulated until the knee is near its extended limit, then the
    hamstrings until it is near its flexed one.

    Args:
        model: the model.
        muscles: of one knee; the ones that this law commands.
        recruitment: share of the fibres that a pulse recruits.
        margin: how near a limit the knee turns round [rad].
    """

    def __init__(
        self,
        model: Model,
        muscles: FesMuscles,
        recruitment: float = 0.8,
        margin: float = 0.02,
    ) -> None:
        """Begin with the quadriceps."""
        if len(muscles.joint_names) != 1 or len(muscles.muscle_names) != 2:
            raise ParameterError("this law drives the two muscles of one knee")
        joint = model.joint_names.index(muscles.joint_names[0])
        self._joint, self._margin = joint, margin
        self._limits = (model.lower_limits[joint], model.upper_limits[joint])
        self._charge = muscles.stimulator.charge(recruitment)
        self._extensor = muscles.muscle_names[0].endswith(_QUADRICEPS)
        self._extended = 1 if abs(self._limits[1]) < abs(self._limits[0]) else 0
        self._goal = self._extended

    def __call__(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Pulses for the two muscles [A s]."""
        angle = q[7 + self._joint]
        if abs(angle - self._limits[self._goal]) < self._margin:
            self._goal = 1 - self._goal
        pulses = np.zeros(2)
        extends = self._goal == self._extended
        pulses[0 if extends == self._extensor else 1] = self._charge
        return pulses


class FesFollow:
    """A body that follows a motion, its knees driven by stimulated muscles.

    Every joint but the knees has a torque of whole-body control, which takes the knees'
    torques as the muscles have them now. The muscles are stimulated so as to give the
    torques that the motion needs: planned ahead, because a pulse acts after a delay and
    the force follows it slowly, and corrected by the error of the knees.

    The law answers with (pulses, torques), for the two in :class:`Together`.

    Args:
        follow: whole-body control.
        muscles: the muscles.
        motion: the motion that is followed.
        ready: time at which the knees have the torque of the motion [s]; before, it
            grows from nothing, as fast as the muscles can.
        stiffness: torque for an error of a knee of one radian [N m/rad].
        damping: torque for an error of its speed [N m s/rad].
        gain: torque for an error of the torque of one newton metre [-].
        every: time between pulses [s].
    """

    def __init__(
        self,
        follow: Follow,
        muscles: FesMuscles,
        motion: Motion,
        ready: float = 0.0,
        stiffness: float = 100.0,
        damping: float = 20.0,
        gain: float = 1.0,
        every: float = 0.02,
    ) -> None:
        """Plan the torques of the knees."""
        self._follow, self._muscles, self._every = follow, muscles, every
        self._stiffness, self._damping, self._gain = stiffness, damping, gain
        joints = motion.model.joint_names
        self._knees = np.array([joints.index(name) for name in muscles.joint_names])
        self._angles = motion.target(JointTask(motion.model, muscles.joint_names))
        self._plan = self._planned(motion, ready)
        self._next_pulse = 0.0

    def _planned(self, motion: Motion, ready: float) -> CubicSpline:
        """Torques of the knees over time, as the motion needs them."""
        times = np.arange(ready, motion.times[-1], _PLAN)
        torques = [self._needed(motion, float(t)) for t in times]
        # A ramp before: as an exponential of the muscles' own time constant.
        early = np.arange(max(0.0, ready - 2 * _BUILD_UP), ready - _PLAN / 2, _PLAN)
        ramp = [torques[0] * math.exp(-(ready - t) / _BUILD_UP) for t in early]
        return CubicSpline(
            [*early, *times], [*ramp, *torques], bc_type="clamped", extrapolate=False
        )

    def _needed(self, motion: Motion, t: float) -> np.ndarray:
        k = int(np.searchsorted(motion.times, t, side="right"))
        k = min(max(k, 1), len(motion.times) - 1)
        span = motion.times[k] - motion.times[k - 1]
        speed = pin.difference(
            motion.model.pin, motion.postures[k - 1], motion.postures[k]
        )
        answer = self._follow.solve(t, motion.postures[k], speed / span)
        return answer.torques[self._knees]

    def __call__(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Pulses [A s], where they are due, and torques of the other joints [N m]."""
        now = self._muscles.joint_torques(q, v, z[: self._muscles.nz])
        given = dict(zip(self._muscles.joint_names, now, strict=True))
        torques = self._follow.solve(t, q, v, given).torques
        torques[self._knees] = 0.0
        if t < self._next_pulse - _ROUNDING:
            return None, torques
        self._next_pulse = t + self._every
        return self.pulses(t, q, v, now), torques

    def pulses(
        self, t: float, q: np.ndarray, v: np.ndarray, torques: np.ndarray
    ) -> np.ndarray:
        """Pulses for all muscles (nmuscles,) [A s]; the knees have these torques."""
        muscles, plan = self._muscles, self._plan
        now, acts = np.clip([t, t + muscles.delay], plan.x[0], plan.x[-1])
        lag = 1.0 / muscles.signal.upper
        wanted = plan(acts) + lag * plan(acts, 1)
        wanted = wanted + self._gain * (plan(now) - torques)
        angle, rate, _ = self._angles(t)
        wanted = wanted + self._stiffness * (angle - q[7 + self._knees])
        wanted = wanted + self._damping * (rate - v[6 + self._knees])
        strongest = muscles.strongest_torques(q)
        found = np.zeros(len(strongest))
        for i, torque in enumerate(strongest):
            share = wanted[muscles.knee_of[i]] / torque if torque else 0.0
            if share > 0.0:
                found[i] = muscles.stimulator.charge(min(share, 1.0))
        return found
