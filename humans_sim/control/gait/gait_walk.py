# SPDX-License-Identifier: Apache-2.0
"""A human walks by torques: whole-body control along a stride, with steps that adapt.

The controller follows a :class:`~humans_sim.control.gait.gait_cycle.GaitCycle`. Its
contacts are points: the heel from heel strike, the whole foot once it is flat, the toes
from heel-off to toe-off, each only where it touches. The stride is laid on the ground
anew at every heel strike: place and phase of the motion are those of the foot that has
landed. Between strikes the capture point (J. Pratt et al., "Capture point: a step
toward humanoid push recovery", Humanoids 2006) leads: what it will be off at the next
heel strike is added to the place of the next foot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.control.gait.gait_cycle import LEG, SIDES, GaitCycle, GaitPoint, ease
from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    JointTask,
)
from humans_sim.control.task.whole_body import (
    ControlError,
    Target,
    WeightedTask,
    WholeBody,
)
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.contacts import Contacts
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import TIME_STEPPING, System
from humans_sim.models import Model
from humans_sim.models.legs import sole_named

_COM, _COM_STIFFNESS, _COM_DAMPING = 100.0, 20.0, 10.0
"""Weight of the centre of mass over the ground, Kp [1/s^2] and Kv [1/s]: its capture
point comes back twice as fast as it would run away."""
_HEIGHT, _PELVIS, _SWING, _ROLL = 20.0, 30.0, 30.0, 20.0
"""Weights of the height, the pelvis, a foot in the air, one on its heel or its toes;
assumed. Joints weigh one."""
_RISING, _POSTURE, _STEPPING, _ROLLING = 80.0, 150.0, 900.0, 400.0
"""Kp of the height, of pelvis and joints, of a foot in the air, of one on its heel or
its toes [1/s^2]; assumed: feet are in place within a step, the trunk gives way."""
_FRICTION = 0.95
"""Share of the ground's friction that the forces may use."""
_SETTLING = 40.0
"""Rate at which points of a foot that are close come to the ground [1/s]: a sole is put
down, it does not fall down."""
_PLACE, _EASE = 0.95, 20.0
"""Share of the capture point's error that a step takes up; how fast [1/s]."""
_TO_TREAD = 0.5
"""Share of the way to its place on the tread that a step goes back: all of it
overshoots, since the body has to follow."""
_FIXED = 0.08
"""How long before a heel strike its place stays [s]."""
_FORWARD, _INWARD, _OUTWARD = 0.3, 0.08, 0.3
"""How far a step goes beside its place in the stride [m]."""
_TOUCH, _LANDED = 2e-3, 3e-4
"""Heights at which a point carries load, and at which a foot has landed [m]."""
_EARLY = 0.12
"""How long before its time a foot may land [strides]."""
_LATE = 0.4
"""Phase up to which a foot that has not landed is late [strides]."""
_RESET = 0.6
"""Share of what a foot lands early or late that the phase takes up."""
_SINK = 0.4
"""How fast a foot that is late goes down [m/s]."""
_SHIFTED = 0.9
"""Phase at which a foot in the air is above its new place, before it lands
[strides]."""


class GaitWalk(Controller):
    """Joint torques that walk a stride again and again, along x, up or down.

    It starts in the middle of a stride, with :meth:`start` and :meth:`start_velocity`.

    Args:
        cycle: the stride.
        period: time between two calls [s].
        phase: of the stride at the start, with one foot flat on the ground.

    Attributes:
        cycle: the stride.
        period: time between two calls [s].
        phase: of the stride now, whole numbers at left heel strikes.
        point: of the stride at the last call.
        strikes: times of the heel strikes so far, by side [s].
        shift: of the next step beside its place in the stride, x and y [m].
        failures: calls without an answer; the torques of the call before went on.
    """

    def __init__(
        self, cycle: GaitCycle, period: float = 0.005, phase: float = 0.25
    ) -> None:
        if not period > 0:
            raise ParameterError(f"the period must be above zero, not {period}")
        self.cycle, self.period, self._first = cycle, period, phase
        model = cycle.model
        self._body: WholeBody | None = None
        com = CentreOfMass(model)
        plane, height = np.array([_COM, _COM, 0.0]), np.array([0.0, 0.0, _HEIGHT])
        pelvis = FrameOrientation(model, "base_link")
        self._tasks = [
            WeightedTask(com, self._com, plane, _COM_STIFFNESS, _COM_DAMPING),
            WeightedTask(com, self._com, height, _RISING),
            WeightedTask(pelvis, self._pelvis, _PELVIS, _POSTURE),
            WeightedTask(JointTask(model), self._joints, 1.0, _POSTURE),
        ]
        feet = {side: FramePose(model, f"{side}_sole") for side in SIDES}
        turned = np.array([0.0, 0.0, 0.0, _ROLL, _ROLL, _ROLL])
        self._swing, self._roll = (
            {
                side: WeightedTask(foot, self._foot(side), weight, stiffness)
                for side, foot in feet.items()
            }
            for weight, stiffness in ((_SWING, _STEPPING), (turned, _ROLLING))
        )
        tags = model.tags(model.neutral())
        self._tags = {}  # of the soles, from heel to toe
        for side in SIDES:
            names = sole_named(model, f"{side}_sole").contacts
            rows = np.array([model.tag_names.index(name) for name in names])
            self._tags[side] = rows[np.argsort(tags[rows, 0])]
        pairs = zip(model.joint_names, model.effort_limits, strict=True)
        legs = tuple(f"{side}_{joint}" for side in SIDES for joint in LEG)
        self._limits = {name: (-most, most) for name, most in pairs if name in legs}
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.phase, self._time = self._first, -math.inf
        self._origin, self.shift = np.zeros(3), np.zeros(2)
        toe_off = self.cycle.settings.times.toe_off
        self._down = {side: self.leg_phase(side) < toe_off for side in SIDES}
        self.strikes: dict[str, list[float]] = {side: [] for side in SIDES}
        self.point: GaitPoint = self.cycle.at(self.phase)
        self.failures, self._torques = 0, np.zeros(len(self.cycle.model.joint_names))

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Time steps, and feet that touch with the points of their soles."""
        contacts = Contacts(points=model.contact_names, whole_body=False)
        return {"method": TIME_STEPPING, "contacts": contacts}

    def attach(self, system: System) -> None:
        """Take the scene of a simulation of the same model as the one to walk in."""
        model = self.cycle.model
        if not isinstance(system, ModelSystem) or system.model is not model:
            raise ParameterError("simulation and stride must be of one model object")
        locked = [model.joint_names[k - 6] for k in system.locked if k >= 6]
        gravity = system.gravity.tolist()
        scene = ModelSystem(model, system.ground, locked=locked, gravity=gravity)
        friction = _FRICTION * system.ground.friction
        body = WholeBody(scene, friction, settling=_SETTLING)
        self._body = body
        owners = np.array([name.split("/")[0] for name in scene.contacts.names])
        self._contacts = {
            side: [np.flatnonzero(owners == model.tag_names[k]) for k in tags]
            for side, tags in self._tags.items()
        }

    def start(self) -> np.ndarray:
        """Configuration in which it starts."""
        return self.cycle.at(self._first).q

    def start_velocity(self) -> np.ndarray:
        """Velocity with which it starts."""
        return self.cycle.at(self._first).v

    def leg_phase(self, side: str) -> float:
        """Phase of a leg: 0 at its heel strike, below 1."""
        return (self.phase + (0.0 if side == "l" else 0.5)) % 1.0

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques at time t (njoints,) [N m], in the scene of a simulation."""
        if self._body is None:
            raise ParameterError("a gait walks in a simulation: it has no scene yet")
        if t < self._time:  # another run
            self.reset()
        elapsed = t - self._time if math.isfinite(self._time) else 0.0
        self.phase += elapsed / self.cycle.period
        self._time = t
        tags = self.cycle.model.tags(state.q)
        gaps = self._body.system.gaps(state.q)
        # Of each point of a sole the contact with what is nearest to it.
        near = {
            side: np.array([own[np.argmin(gaps[own])] for own in points])
            for side, points in self._contacts.items()
        }
        for side in SIDES:  # feet leave the ground at toe-off
            leg = self.leg_phase(side)
            if self.cycle.settings.times.toe_off <= leg < 1.0 - _EARLY:
                self._down[side] = False
        self._land(t, tags, {side: gaps[near[side]].min() for side in SIDES})
        self.point = self.cycle.at(self.phase)
        self._place_step(state, elapsed)
        tasks, contacts = list(self._tasks), [np.zeros(0, dtype=np.int64)]
        for side in SIDES:
            if not self._down[side]:
                tasks.append(self._swing[side])
                continue
            active = self._active(side, gaps[near[side]])
            contacts.append(near[side][active])
            if not active.all():
                tasks.append(self._roll[side])
        joined = np.concatenate(contacts)
        try:
            solution = self._body.solve(
                t, state.q, state.v, tasks, joined, self._limits
            )
        except ControlError:
            self.failures += 1
            return self._torques
        limits = self.cycle.model.effort_limits
        self._torques = np.clip(solution.torques, -limits, limits)
        return self._torques

    def _active(self, side: str, gaps: np.ndarray) -> np.ndarray:
        """Which points of a foot on the ground carry load, from heel to toe."""
        leg, times = self.leg_phase(side), self.cycle.settings.times
        active = np.zeros(len(gaps), dtype=bool)
        if leg >= 1.0 - _EARLY:  # landed before its time
            active[0] = True
            return active
        if leg >= times.heel_off:
            active[-1] = True
            return active
        active[:] = gaps < _TOUCH
        if leg < times.flat:
            active[0] = True
        if leg < 0.5 * times.flat:
            active[1:] = False
        if not active.any():
            active[np.argmin(gaps)] = True
        return active

    def _land(self, t: float, tags: np.ndarray, gaps: dict[str, float]) -> None:
        """Lay the stride on the ground where a foot has landed."""
        for side in SIDES:
            leg, rows = self.leg_phase(side), self._tags[side]
            too_early = _LATE < leg < 1.0 - _EARLY
            if self._down[side] or too_early or gaps[side] > _LANDED:
                continue
            self._down[side] = True
            self.strikes[side].append(t)
            late = leg if leg < 0.5 else leg - 1.0
            planned = self.cycle.at(self.phase - late).feet[side]
            self.phase -= _RESET * late
            heel = planned.act(np.array([-self.cycle.lengths.heel, 0.0, 0.0]))
            self._origin = tags[rows[0]] - heel
            self.shift = np.zeros(2)

    def _place_step(self, state: ControlState, elapsed: float) -> None:
        """Where the foot in the air shall land beside its place in the stride."""
        swing = [side for side in SIDES if not self._down[side]]
        if len(swing) != 1 or self.leg_phase(swing[0]) < _LATE:
            return
        left = (1.0 - self.leg_phase(swing[0])) * self.cycle.period
        if left < _FIXED:
            return
        error, rate = self._capture_error(state)
        shift = _PLACE * math.exp(rate * left) * error
        strike = self.phase + left / self.cycle.period
        heading = self.cycle.path(strike).rotation[:2, :2]
        shift = heading.T @ shift
        if self.cycle.settings.rise:  # treads stay where they are
            shift[0] -= _TO_TREAD * self._origin[0]
        outward = 1.0 if swing[0] == "l" else -1.0
        shift[0] = np.clip(shift[0], -_FORWARD, _FORWARD)
        shift[1] = outward * np.clip(outward * shift[1], -_INWARD, _OUTWARD)
        self.shift += min(_EASE * elapsed, 1.0) * (heading @ shift - self.shift)

    def _capture_error(self, state: ControlState) -> tuple[np.ndarray, float]:
        """Capture point less that of the stride [m], and how fast that grows [1/s]."""
        model, planned_com = self.cycle.model, self.point.com
        data = model.buffers
        pin.centerOfMass(model.pin, data, state.q, state.v)
        assert self._body is not None
        gravity = float(np.linalg.norm(self._body.system.gravity))
        above = planned_com[0, 2] - self.cycle.incline * planned_com[0, 0]
        rate = math.sqrt(gravity / above)
        place = (np.array(data.com[0]) - self._origin - planned_com[0])[:2]
        return place + (np.array(data.vcom[0])[:2] - planned_com[1, :2]) / rate, rate

    # Targets of the tasks.

    def _com(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place, speed, rate = self.point.com
        return place + self._origin, speed, rate

    def _joints(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        point = self.point
        return point.q[7:], point.v[6:], point.a[6:]

    def _pelvis(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        point = self.point
        turn = pin.Quaternion(point.q[3:7]).matrix()
        return pin.log3(turn), turn @ point.v[3:6], turn @ point.a[3:6]

    def _foot(self, side: str) -> Target:
        def at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            leg, point = self.leg_phase(side), self.point
            speed, rate = point.foot_rates[side]
            target = FramePose.target(point.feet[side])
            part = 1.0
            if self._down[side]:
                return target, speed, rate
            if leg < _LATE:  # where it should have landed, and on downwards
                landing = self.cycle.at(self.phase - leg).feet[side]
                target = FramePose.target(landing)
                target[2] -= _SINK * leg * self.cycle.period
                speed, rate = np.array([0, 0, -_SINK, 0, 0, 0]), np.zeros(6)
            else:
                toe_off = self.cycle.settings.times.toe_off
                part = min((leg - toe_off) / (_SHIFTED - toe_off), 1.0)
            moved = ease(part)
            target[:3] += self._origin
            target[:2] += moved * self.shift
            target[2] += moved * self.shift[0] * math.tan(self.cycle.settings.slope)
            return target, speed, rate

        return at
