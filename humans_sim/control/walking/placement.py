# SPDX-License-Identifier: Apache-2.0
"""Where the plan of a walk lies in the world, and how the robot is seen there.

A plan has a world of its own. The robot slips and drifts, so what is drawn or published
of the plan is moved along with the foot that stands: heading and place on the floor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.pattern import PatternPoint
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.swing import minimum_jerk
from humans_sim.core.convex_polygon import inside
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model


class BodyCentre(NamedTuple):
    """The centre of mass of a body.

    Attributes:
        position: in the world (3,) [m].
        velocity: (3,) [m/s].
    """

    position: np.ndarray
    velocity: np.ndarray


class PlanPlacement:
    """Moves points of a plan to where the robot really is.

    Attributes:
        pose: of the plan's world in the real one: a turn about z and a shift.
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        """The plan is taken to lie right until the robot is seen."""
        self._model = model
        self._names = {
            ContactPhase.LEFT_FOOT: settings.left,
            ContactPhase.RIGHT_FOOT: settings.right,
        }
        self.reset()

    def reset(self) -> None:
        """The plan lies right again."""
        self.pose = pin.SE3.Identity()
        self._support = ContactPhase.LEFT_FOOT

    def see(self, plan: PatternPoint, q: np.ndarray) -> None:
        """Lay the planned foot that stands where it really is.

        With both feet on the ground the one that stood last counts.

        Args:
            plan: of the time of q.
            q: the configuration, base included.
        """
        if plan.support in self._names:
            self._support = plan.support
        left = self._support is ContactPhase.LEFT_FOOT
        planned = (plan.left if left else plan.right).pose
        real = self._model.frame_pose(q, self._names[self._support])
        self.pose = _level(real) * _level(planned).inverse()
        self.pose.translation[2] = real.translation[2] - planned.translation[2]

    def point(self, place: np.ndarray) -> np.ndarray:
        """A point of the plan (3,) in the world [m]."""
        return self.pose.act(place)


class Approach:
    """A smooth motion of the joints from where they are to where they should be.

    Args:
        start: angles at the beginning (njoints,) [rad].
        end: at the end.
        t_start: when it begins [s].
        duration: [s].
    """

    def __init__(
        self, start: np.ndarray, end: np.ndarray, t_start: float, duration: float
    ) -> None:
        """Begin."""
        if not duration > 0:
            raise ParameterError(f"the duration must be above 0 s, not {duration}")
        self._start, self._end = np.array(start), np.array(end)
        self._t_start, self._duration = t_start, duration

    def at(self, t: float) -> np.ndarray:
        """Angles at a time (njoints,) [rad]; smooth, at rest at both ends."""
        share = min(max((t - self._t_start) / self._duration, 0.0), 1.0)
        return self._start + minimum_jerk(share)[0] * (self._end - self._start)

    def over(self, t: float) -> bool:
        """Whether the end is reached."""
        return t >= self._t_start + self._duration


def body_centre(model: Model, q: np.ndarray, v: np.ndarray) -> BodyCentre:
    """Centre of mass and its velocity."""
    data = model.buffers
    pin.centerOfMass(model.pin, data, q, v)
    return BodyCentre(data.com[0].copy(), data.vcom[0].copy())


def support_margin(plan: PatternPoint, zmp: np.ndarray) -> float:
    """Distance of a zero-moment point inside the edge of the support, or NaN [m].

    Args:
        plan: the plan.
        zmp: in the world of the plan (3,) [m].
    """
    return inside(plan.support_polygon).depth(zmp[:2])


def _level(pose: pin.SE3) -> pin.SE3:
    """The same place on the floor, and the same heading."""
    forward = pose.rotation[:, 0]
    heading = float(np.arctan2(forward[1], forward[0]))
    return pin.SE3(pin.utils.rotate("z", heading), np.append(pose.translation[:2], 0.0))
