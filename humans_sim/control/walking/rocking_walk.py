# SPDX-License-Identifier: Apache-2.0
r"""A walk by torques for ankles that do not roll: the body rocks from foot to foot.

A sole without a roll joint is level only below an upright leg. On one foot the body
cannot be balanced sideways: it tips about an edge of that sole, as a pendulum on a
point, and the next foot has to be where it falls. Steps are short, so that it tips by a
few degrees only, and every foot is put by the capture point :math:`\xi = c + \dot c /
\omega` as it will be at the landing, :math:`\xi(T) = p + (\xi - p) e^{\omega (T - t)}`
(Koolen et al. 2012; Englsberger, Ott and Albu-Schaeffer 2015):

.. math:: p_x' = \xi_x(T) - \frac{v T}{e^{\omega T} - 1}, \qquad
    p_y' = \xi_y(T) \pm \frac{d}{1 + e^{\omega T}}

with the distance d of the edges about which it tips, the outer ones. Along the walk the
ankle has a pitch joint, and the zero-moment point in the sole corrects in between. Step
by step the capture point is right again, whatever it was before.

*Contacts* that control assumes are the corners of the edge that is lower, so that it
expects the sole to tip as it does.

*Start*: one foot is lifted for just as long as the body needs to fall into the rocking.
*Stop*: the foot that lands stays, and so does the other.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    JointTask,
)
from humans_sim.control.task.whole_body import (
    SIGNALS,
    GuardedWholeBody,
    WeightedTask,
    WholeBody,
)
from humans_sim.control.walking.footsteps import Side, bump, minimum_jerk
from humans_sim.control.walking.pattern import WalkPattern
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models.legs import sole_named, support_tags, tag_places
from humans_sim.results.records import Signal

MOST_PERIOD = 0.005
"""Longest time between two calls [s]."""
_COM, _TRUNK, _POSTURE, _FOOT = 100.0, 30.0, 0.3, 50.0
"""Weights of the tasks; assumed: balance first, then the foot, the trunk, the rest."""
_HEIGHT, _UPRIGHT, _SWING, _STANDING = 5.6, 14.0, 84.0, 1.9
"""Stiffness of height, trunk, foot in the air, and centre of mass while it stands, over
the square of the pendulum's rate: a foot comes to its place within a short step."""
_TIPPED, _STILL = 1e-4, 0.01
"""Difference of an edge's height from the other's with which a sole is tipped [m], and
speed of the centre of mass below which a level sole stands, in heights and time
constants."""
_LANDED, _SOONEST = 3e-4, 0.5
"""Height of a foot that has landed [m], and the least share of a swing."""
LANDS = 0.94
"""Share of a swing at which the foot touches: it comes down softly, one edge first."""
_FIXED = 0.85
"""Share of a swing from which the place of the foot stays."""
_SINKING = 0.1
"""How fast a foot goes on down that finds no floor in time, in heights and time
constants."""
_TOO_LATE = 1.1
"""Growth of a distance until the landing below which the sole corrects nothing."""
_IN_PLACE, _FASTER = 2, 3
"""Steps before it goes ahead, and in which it comes to its speed: the rocking first."""
_RETURN = 0.15
"""Share of the distance from the line of the walk that a step takes up."""
_REACH, _NARROW, _WIDE = 1.5, 0.7, 1.6
"""Longest step, in those of the walk, and least and largest width, in stances: what
legs do beyond that is not known."""


class RockingWalk(Controller):
    """Joint torques with which a biped without ankle roll walks straight ahead.

    It walks with a velocity [m/s] from its start to its stop [s]; it is called once a
    period [s].

    Attributes:
        guarded: whole-body control, which counts its failures.
        stands: whether the walk has not begun, or is over.
    """

    def __init__(
        self,
        body: WholeBody,
        pattern: WalkPattern,
        forward: float,
        start: float = 0.5,
        stop: float = math.inf,
        period: float = 0.005,
    ) -> None:
        model, settings = pattern.model, pattern.settings
        self.guarded = GuardedWholeBody(body, period)
        self.period, self._settings, self._model = period, settings, model
        self._start, self._stop = start, stop
        self._omega, self._first = pattern.omega, pattern.standing()
        names = {Side.LEFT: settings.left, Side.RIGHT: settings.right}
        self._frames = names
        self._contacts, self._places = {}, {}
        for side, name in names.items():
            tags = support_tags(sole_named(model, name))
            self._contacts[side] = body.contacts(tags)
            self._places[side] = tag_places(model, sole_named(model, name), tags)
        outwards = {side: side * self._places[side][:, 1] for side in Side}
        self._outer = {
            side: far > 0.5 * (far.min() + far.max()) for side, far in outwards.items()
        }
        parts = [(far, self._outer[side]) for side, far in outwards.items()]
        self._out = float(np.mean([far[outer].mean() for far, outer in parts]))
        self._in = float(np.mean([far[~outer].mean() for far, outer in parts]))
        apart = settings.stance_width + 2.0 * self._out
        lasts = LANDS * settings.step_duration
        growth = math.exp(self._omega * lasts)
        self._aside = apart / (1.0 + growth)
        self._longest, self._growth = forward * lasts, growth
        rate, square = self._omega * settings.com_height, self._omega**2
        self._still, self._sinking = _STILL * rate, _SINKING * rate
        com = CentreOfMass(model)
        plane, height = np.array([_COM, _COM, 0.0]), np.array([0.0, 0.0, _COM])
        self._falls = WeightedTask(com, self._falling, plane, 0.0, 0.0)
        self._holds = WeightedTask(com, self._resting, plane, _STANDING * square)
        self._tasks = [
            WeightedTask(com, self._level, height, _HEIGHT * square),
            WeightedTask(
                FrameOrientation(model, "base_link"),
                self._trunk,
                _TRUNK,
                _UPRIGHT * square,
            ),
            WeightedTask(JointTask(model), self._joints, _POSTURE),
        ]
        rows = _FOOT * np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
        self._feet = {
            side: WeightedTask(
                FramePose(model, name), self._foot, rows, _SWING * square
            )
            for side, name in names.items()
        }
        self.reset()

    def reset(self) -> None:
        """Stand."""
        self.guarded.reset()
        self.stance: Side | None = None
        self._time = -math.inf
        self._begun = 0.0
        self._duration = self._settings.step_duration
        self._over, self._line, self._steps = False, 0.0, 0
        self._length = self._ahead = 0.0

    @property
    def stands(self) -> bool:
        """Whether the walk has not begun, or is over."""
        return self.stance is None

    def signals(self) -> tuple[Signal, ...]:
        """Failures of whole-body control, joints at their limits."""
        return SIGNALS

    def signal_values(self) -> np.ndarray:
        """Numbers of the signals after the last call."""
        return self.guarded.signal_values()

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques at time t (njoints,) [N m]."""
        if t < self._time:  # another run
            self.reset()
        self._time = t
        q, v = state.q, state.v
        data = self._model.buffers
        pin.centerOfMass(self._model.pin, data, q, v)
        self._com, self._velocity = np.array(data.com[0]), np.array(data.vcom[0])
        self._poses = {
            side: self._model.frame_pose(q, name) for side, name in self._frames.items()
        }
        gaps = self.guarded.body.system.gaps(q)
        self._gaps = {side: gaps[rows] for side, rows in self._contacts.items()}
        self._switch(t)
        tasks = list(self._tasks)
        if self.stance is None:
            tasks.append(self._holds)
            contacts = [self._bearing(side) for side in Side]
        else:
            self._aim(t)
            tasks += [self._falls, self._feet[self.stance.other]]
            contacts = [self._bearing(self.stance)]
        return self.guarded.solve(t, q, v, tasks, np.concatenate(contacts))

    def _switch(self, t: float) -> None:
        """Lift a foot where the walk begins, and where the other one has landed."""
        if self.stance is None:
            if not self._over and self._start <= t < self._stop:
                self._lift(t, Side.LEFT, self._first_duration())
            return
        swing = self.stance.other
        elapsed = t - self._begun
        landed = float(self._gaps[swing].min()) < _LANDED
        if landed and elapsed > _SOONEST * self._duration:
            if t >= self._stop:
                self.stance, self._over = None, True
            else:
                self._lift(t, swing, self._settings.step_duration)

    def _lift(self, t: float, stance: Side, duration: float) -> None:
        """Begin a step on one foot."""
        if self.stance is None:
            self._line = float(self._middle()[1])
            self._steps = 0
        self.stance, self._begun, self._duration = stance, t, duration
        share = min(max(self._steps - _IN_PLACE, 0) / _FASTER, 1.0)
        self._length = share * self._longest
        self._ahead = self._length / (self._growth - 1.0)
        self._steps += 1
        self._from = self._poses[stance.other].copy()
        self._goal = self._from.translation[:2].copy()

    def _off_line(self, stance: Side) -> float:
        """How far to the left of its line the body walks, by the foot that stands."""
        y = float(self._poses[stance].translation[1])
        return y - 0.5 * stance * self._settings.stance_width - self._line

    def _first_duration(self) -> float:
        """Time of the first step, in which the body falls into the rocking [s]."""
        half = 0.5 * self._settings.stance_width
        missing = half + self._out - self._aside
        return math.log1p(missing / (half + self._in)) / self._omega

    def _edge(self, side: Side) -> np.ndarray:
        """Which corners of a sole are on the edge about which it tips."""
        outer, gaps = self._outer[side], self._gaps[side]
        higher = float(gaps[outer].mean() - gaps[~outer].mean())
        if abs(higher) > _TIPPED:
            return outer if higher < 0.0 else ~outer
        speed = side * float(self._velocity[1])
        if self.stance is None and abs(speed) < self._still:
            return np.ones(len(outer), dtype=bool)
        return outer if speed > 0.0 else ~outer

    def _bearing(self, side: Side) -> np.ndarray:
        """The contacts of a sole that carry load."""
        return self._contacts[side][self._edge(side)]

    def _aim(self, t: float) -> None:
        """Where the zero-moment point is, and where the foot in the air lands."""
        assert self.stance is not None
        swing, omega, settings = self.stance.other, self._omega, self._settings
        sole = self._poses[self.stance]
        x, y, _ = sole.translation.tolist()
        corners = self._places[self.stance][self._edge(self.stance)]
        edge = np.array([sole.act(corner) for corner in corners])
        capture = (self._com + self._velocity / omega)[:2]
        left = max(LANDS * self._duration - (t - self._begun), 0.0)
        growth = math.exp(omega * left)
        # Along the walk the capture point shall leave the sole as planned.
        zmp = ahead = x + settings.zmp_forward
        if growth > _TOO_LATE:
            leaves = ahead + self._ahead + self._length
            zmp = (capture[0] * growth - leaves) / (growth - 1.0)
        low, high = edge[:, 0].min(), edge[:, 0].max()
        room = min(settings.zmp_margin, 0.5 * (high - low))
        zmp = min(max(zmp, low + room), high - room)
        self._zmp = np.array([zmp, edge[:, 1].mean()])
        if t - self._begun > _FIXED * self._duration:
            return
        landing = self._zmp + (capture - self._zmp) * growth
        step = landing[0] - self._ahead - ahead
        reach = _REACH * settings.max_forward
        aside = landing[1] + swing * (self._aside - self._out)
        aside += _RETURN * self._off_line(self.stance)
        width = swing * (aside - y) / settings.stance_width
        width = min(max(width, _NARROW), _WIDE) * settings.stance_width
        step = min(max(step, -reach), reach)
        self._goal = np.array([x + step, y + swing * width])

    # Targets of the tasks.

    def _falling(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pull = np.zeros(3)
        pull[:2] = self._omega**2 * (self._com[:2] - self._zmp)
        return self._com, self._velocity, pull

    def _resting(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = self._middle()
        place[0] += self._settings.zmp_forward
        return place, np.zeros(3), np.zeros(3)

    def _level(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = self._middle()
        if self.stance is not None:
            place = self._poses[self.stance].translation.copy()
        place[2] += self._settings.com_height
        return place, np.zeros(3), np.zeros(3)

    def _middle(self) -> np.ndarray:
        """Between the soles (3,) [m]."""
        left, right = (self._poses[side].translation for side in Side)
        return np.asarray(0.5 * (left + right))

    def _trunk(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pitch = pin.rpy.rpyToMatrix(0.0, self._settings.trunk_pitch, 0.0)
        return pin.log3(pitch), np.zeros(3), np.zeros(3)

    def _joints(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        none = np.zeros(len(self._first) - 7)
        return self._first[7:], none, none

    def _foot(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        elapsed = t - self._begun
        s = min(elapsed / self._duration, 1.0)
        far, pace = minimum_jerk(s)
        high, climb = bump(s)
        share = self._duration / self._settings.step_duration
        lift = min(share, 1.0) * self._settings.foot_lift
        start = self._from.translation
        late = max(elapsed - self._duration, 0.0)
        place, speed = np.zeros(6), np.zeros(6)
        place[:2] = start[:2] + far * (self._goal - start[:2])
        assert self.stance is not None
        floor = self._poses[self.stance].translation[2]
        place[2] = (
            start[2] + far * (floor - start[2]) + lift * high - self._sinking * late
        )
        if s < 1.0:
            speed[:2] = pace / self._duration * (self._goal - start[:2])
            speed[2] = (lift * climb + pace * (floor - start[2])) / self._duration
        else:
            speed[2] = -self._sinking
        return place, speed, np.zeros(6)
