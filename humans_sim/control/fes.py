# SPDX-License-Identifier: Apache-2.0
"""Electrically stimulated knees: standing up, and swinging to and fro."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from humans_sim.actuation import FesMuscles
from humans_sim.control.task.whole_body import WholeBody
from humans_sim.control.trajectories.motion import Motion, Path, body_tasks
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models import Model

_AT_LIMIT = 2e-3
"""How near its limit a knee is straight [rad]."""
_AT_REST = 0.05
"""How slow a knee is that has come to its limit [rad/s]."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FesPlan:
    """How stimulated knees stand up (all assumed).

    Attributes:
        ramp_start: time at which the muscles begin to build up force [s].
        ramp: time in which they reach what the motion needs [s].
        surplus: share of it that they go beyond while the seat still carries load.
        seat_share: share of the weight below which the seat is left.
        speed: of the knees while they stretch [rad/s].
        slow_speed: of the knees near the ends of their path [rad/s].
        slow_zone: how near that is [rad].
        damping: torque for an error of that speed [N m s/rad].
        gain: torque for an error of the torque [-].
        pace_gain: acceleration of the knees for an error of their speed [1/s].
        pace_weight: how much the other joints help with that.
        hold: torque that presses straight knees against their limits [N m].
        touch: least torque that brings them there [N m].
        touch_zone: how near their limits that is [rad].
        every: time between pulses [s].
    """

    ramp_start: float = 0.3
    ramp: float = 1.2
    surplus: float = 0.3
    seat_share: float = 0.03
    speed: float = 0.7
    slow_speed: float = 0.2
    slow_zone: float = 0.6
    damping: float = 15.0
    gain: float = 2.0
    pace_gain: float = 5.0
    pace_weight: float = 5.0
    hold: float = 15.0
    touch: float = 3.0
    touch_zone: float = 0.1
    every: float = 0.02


class FesStand(Controller):
    """A body that stands up, its knees driven by stimulated muscles.

    Every joint but the knees has a torque of whole-body control, which takes the
    torques of the knees as the muscles have them now. Seated, the body follows a motion
    in time. Once the muscles carry enough for the seat to be left, the knees lead and
    the body follows the path of its postures by their angle; straight knees press
    against their limits.

    It answers with (pulses, torques), for the two in :class:`CompositeActuation`.

    Args:
        body: whole-body control.
        muscles: of the knees.
        motion: what the body does while it is seated, by time.
        path: what it does then, by the angle of the knees.
        seated: contacts that carry load at first.
        standing: contacts that carry load then.
        plan: how the knees are driven.
        period: time between two calls [s].

    Attributes:
        needed: torque of each knee at rest, by its angle on the path [N m].
        risen: when the seat was left [s], or None.
    """

    def __init__(
        self,
        body: WholeBody,
        muscles: FesMuscles,
        motion: Motion,
        path: Path,
        seated: Sequence[str],
        standing: Sequence[str],
        plan: FesPlan | None = None,
        period: float = 0.005,
    ) -> None:
        self._body, self._muscles, self._path = body, muscles, path
        self._plan = FesPlan() if plan is None else plan
        self.period = period
        model = motion.model
        self._seated_tasks = body_tasks(model, motion.target)
        self._tasks = body_tasks(model, path.target)
        self._feet = body.contacts(standing)
        self._seat = np.setdiff1d(body.contacts(seated), self._feet)
        joints = model.joint_names
        self._knees = np.array([joints.index(name) for name in muscles.joint_names])
        self._limits = body.system.joint_limits[1][self._knees]
        self._weight = body.system.weight
        still, torques = np.zeros(model.nv), []
        for at, q in zip(path.angles, path.postures, strict=True):
            solution = body.solve(at, q, still, self._tasks, self._feet, pace=0.0)
            torques.append(solution.torques[self._knees].mean())
        self.needed = CubicSpline(path.angles, torques)
        self.risen: float | None = None
        self._next_pulse, self._last = -math.inf, -math.inf

    def __call__(
        self, t: float, state: ControlState
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Pulses [A s], where they are due, and torques of the other joints [N m]."""
        muscles, q, v = self._muscles, state.q, state.v
        if t < self._last:  # another run
            self.risen, self._next_pulse = None, -math.inf
        self._last = t
        now = muscles.joint_torques(q, v, state.z[: muscles.nz])
        if self.risen is None:
            # Torques while the seat carries load; it is left once that is next to none.
            contacts = np.concatenate([self._feet, self._seat])
            solution = self._body.solve(
                t, q, v, self._seated_tasks, contacts, self._given(now)
            )
            load = solution.forces[len(self._feet) :, 0].sum()
            ready = t > self._plan.ramp_start + self._plan.ramp
            if ready and load < self._plan.seat_share * self._weight:
                self.risen = t
            torques = solution.torques
        if self.risen is not None:
            torques = self._rise(q, v, now)
        torques[self._knees] = 0.0
        if t < self._next_pulse - _ROUNDING:
            return None, torques
        self._next_pulse = t + self._plan.every
        return self._pulses(self._desired_torque(t, q, v), q, now), torques

    def _given(self, now: np.ndarray) -> dict[str, tuple[float, float]]:
        names = self._muscles.joint_names
        return {name: (x, x) for name, x in zip(names, now.tolist(), strict=True)}

    def _rise(self, q: np.ndarray, v: np.ndarray, now: np.ndarray) -> np.ndarray:
        at, pace = self._path.parameter(q, v)
        given = self._given(now)
        straight = q[7 + self._knees] > self._limits - _AT_LIMIT
        straight &= np.abs(v[6 + self._knees]) < _AT_REST
        for k in np.flatnonzero(straight):
            # The limit takes what the muscle gives too much.
            given[self._muscles.joint_names[k]] = (-math.inf, float(now[k]))
        plan, target = self._plan, None
        if straight.all():
            pace = 0.0
        else:
            faster = plan.pace_gain * (self._speed(at) - pace)
            target = (faster, plan.pace_weight)
        tasks, feet = self._tasks, self._feet
        return self._body.solve(
            at, q, v, tasks, feet, given, pace=pace, pace_target=target
        ).torques

    def _desired_torque(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """Torque that a knee shall have when the next pulse acts [N m]."""
        plan = self._plan
        at, pace = self._path.parameter(q, v)
        start, end = self._path.ends
        if self.risen is None:
            share = (t + self._muscles.delay - plan.ramp_start) / plan.ramp
            share = min(max(share, 0.0), 1.0 + plan.surplus)
            return share * float(self.needed(start))
        ahead = at + pace * self._muscles.delay
        needed = float(self.needed(min(max(ahead, min(start, end)), max(start, end))))
        push = plan.damping * (self._speed(ahead) - pace)
        if abs(end - at) < plan.touch_zone:
            push = plan.hold if abs(end - at) < _AT_LIMIT else max(push, plan.touch)
        return needed + push

    def _speed(self, at: float) -> float:
        """How fast the knees shall go: slower near the ends of their path [rad/s]."""
        plan, (start, end) = self._plan, self._path.ends
        near = min(abs(at - start), abs(end - at)) / plan.slow_zone
        speed = plan.slow_speed + min(near, 1.0) * (plan.speed - plan.slow_speed)
        return math.copysign(speed, end - start)

    def _pulses(self, desired: float, q: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Pulses for all muscles (nmuscles,) [A s]; the knees have these torques."""
        muscles, gain = self._muscles, self._plan.gain
        strongest = muscles.strongest_torques(q)
        charges = np.zeros(len(strongest))
        for i, torque in enumerate(strongest):
            knee = muscles.knee_of[i]
            share = (desired + gain * (desired - now[knee])) / torque if torque else 0.0
            if share > 0.0:
                charges[i] = muscles.stimulator.charge(min(share, 1.0))
        return charges


_QUADRICEPS = "quadriceps"


class KneeSwing(Controller):
    """Drives a knee from one limit to the other and back, by pulses of full calcium.

    The quadriceps are stimulated until the knee is near its extended limit, then the
    hamstrings until it is near its flexed one.

    Args:
        muscles: of one knee; the ones that it commands.
        recruitment: share of the fibres that a pulse recruits.
        margin: how near a limit the knee turns round [rad].
        period: time between two pulses [s]; 20 ms, assumed: the slowest train that
            keeps the calcium at its maximum.
    """

    def __init__(
        self,
        model: Model,
        muscles: FesMuscles,
        recruitment: float = 0.8,
        margin: float = 0.02,
        period: float = 0.02,
    ) -> None:
        if len(muscles.joint_names) != 1 or len(muscles.muscle_names) != 2:
            raise ParameterError("this controller drives the two muscles of one knee")
        joint = model.joint_names.index(muscles.joint_names[0])
        self._joint, self._margin, self.period = joint, margin, period
        self._limits = (model.lower_limits[joint], model.upper_limits[joint])
        self._charge = muscles.stimulator.charge(recruitment)
        self._extensor = muscles.muscle_names[0].endswith(_QUADRICEPS)
        self._extended = 1 if abs(self._limits[1]) < abs(self._limits[0]) else 0
        self._goal, self._last = self._extended, -math.inf

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Pulses for the two muscles [A s]."""
        if t < self._last:  # another run
            self._goal = self._extended
        self._last, angle = t, state.q[7 + self._joint]
        if abs(angle - self._limits[self._goal]) < self._margin:
            self._goal = 1 - self._goal
        pulses = np.zeros(2)
        extends = self._goal == self._extended
        pulses[0 if extends == self._extensor else 1] = self._charge
        return pulses
