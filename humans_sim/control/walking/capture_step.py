# SPDX-License-Identifier: Apache-2.0
r"""Landing place and time of a step after a push, by the linear inverted pendulum.

The capture point :math:`\xi = c + \dot c / \omega` runs away from the zero-moment point
p below the sole that stands,

.. math:: \xi(T) = p + (\xi - p)\, e^{\omega T}

which is at the edge nearest to it once the body tips. An error e of it against the plan
grows likewise, less what a zero-moment point moved by :math:`\delta` holds back:

.. math:: e(T) = \delta + (e - \delta)\, e^{\omega T}

With :math:`\delta = e / (1 - e^{-\omega T})` nothing is left. The sole limits
:math:`\delta`; what is left has to be caught by a step (Koolen, de Boer, Rebula,
Goswami and Pratt 2012). Of all times that a swing may take the one is chosen whose
landing, within reach and speed of the leg, misses the capture point the least (after
Khadiv, Herzog, Moosavian and Righetti 2016, who solve a quadratic program).

A body whose joints are held tips as one piece: its own inertia I counts, and
:math:`\omega^2 = m g h / (m h^2 + I)`.

*One leg alone*: joint angles for a place of its sole, from the base as it is measured:
a body that was pushed is not where its plan has it, and the foot shall land flat.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.footsteps import Side, SolePair
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP, sole_legs
from humans_sim.models import Model

_LEAST, _MOST, _GRID = 0.1, 0.26, 0.02
"""Times that a swing takes, and their distance [s]."""
_LATE = 0.02
"""Time until a foot moves at its speed [s]."""
_INSIDE, _TOES = 0.04, 0.06
"""How far behind the heel's edge and before the toes' a capture point shall be in the
sole that lands [m]: the body is stopped by what is between them."""
_PAST = 0.03
"""How far a foot lands past the other one where the body tips over its toes or its heel
[m]."""
_NARROW = 0.83
"""Least distance of the feet, in stances: legs do not cross."""
_DELAY = 0.1
"""Distance by which a landing may miss to be earlier by a second [m/s]."""


def capture_after(
    capture: np.ndarray, low: np.ndarray, high: np.ndarray, growth: float
) -> np.ndarray:
    """The capture point after a time on a sole that holds it back as it can [m].

    In the axes of the sole, whose coordinates are from low to high (2,) [m]; the growth
    of a distance in that time is exp(omega T).
    """
    zmp = np.clip(capture, low, high)
    return np.asarray(zmp + (capture - zmp) * growth)


def error_at_landing(error: float, low: float, high: float, growth: float) -> float:
    """The error of the capture point when the foot lands, one axis [m].

    The error of now is measured less planned, the growth until then exp(omega T), above
    1; the zero-moment point may go from low, negative, to high off its plan [m].
    """
    moved = min(max(error * growth / (growth - 1.0), low), high)
    return moved + (error - moved) * growth


def capturable_distance(reach: float, growth: float, steps: int) -> float:
    """How far beyond an edge of the sole a capture point can be caught by steps [m].

    Each step moves the edge by its reach r [m], while the distance grows by g =
    exp(omega T), above 1: N steps suffice for r times the sum of g to the powers -1 to
    -N (Koolen et al. 2012).
    """
    return reach * sum(growth**-k for k in range(1, steps + 1))


class Landing(NamedTuple):
    """Where the swing foot lands, in the axes of the foot that stands (2,) [m].

    The swing has a duration [s]; missing: from there to where it should be [m].
    """

    place: np.ndarray
    duration: float
    missing: float


class CaptureStep:
    """Chooses landings for one biped; omega is of the body that tips [rad/s]."""

    def __init__(self, settings: WalkSettings, soles: SolePair, omega: float) -> None:
        self._settings, self.omega = settings, omega
        self._boxes = {
            side: (corners.min(axis=0), corners.max(axis=0))
            for side, corners in soles.corners.items()
        }

    def soonest(self, side: Side, capture: np.ndarray, foot: np.ndarray) -> Landing:
        """The best landing of a swing that begins: see :meth:`landing`."""
        times = np.arange(_LEAST, _MOST + 0.5 * _GRID, _GRID).tolist()
        choices = [self.landing(side, capture, foot, time, time) for time in times]
        return min(choices, key=lambda made: made.missing + _DELAY * made.duration)

    def landing(
        self,
        side: Side,
        capture: np.ndarray,
        foot: np.ndarray,
        duration: float,
        left: float,
    ) -> Landing:
        """The landing of a swing under way, of which some time is left [s].

        In the axes of the foot that stands: the capture point (2,), and where the swing
        foot left (2,) [m].
        """
        settings = self._settings
        heel, toes = self._boxes[side.other]
        later = capture_after(capture, heel, toes, math.exp(self.omega * left))
        low, high = self._boxes[side]
        ahead = float(later[0])
        x = max(float(foot[0]), ahead - float(high[0]) + _TOES)
        x = min(x, ahead - float(low[0]) - _INSIDE)
        if capture[0] > toes[0]:
            x = max(x, _PAST)
        elif capture[0] < heel[0]:
            x = min(x, -_PAST)
        # Outwards at the capture point; inwards the leg that stands is in the way.
        middle = 0.5 * float(low[1] + high[1])
        width = max(side * (float(later[1]) - middle), settings.stance_width)
        landing_target = np.array([x, side * width])
        reach = settings.catch_reach
        goal = np.array(
            [min(max(x, -reach), reach), side * min(width, settings.catch_width)]
        )
        way = goal - foot
        size = math.hypot(*way)
        most = settings.catch_speed * max(duration - _LATE, 0.0)
        place = foot + way * min(1.0, most / size) if size > 0 else goal
        place[1] = side * max(side * place[1], _NARROW * settings.stance_width)
        return Landing(place, duration, float(np.linalg.norm(landing_target - place)))


_STEPS, _LONGEST, _CLOSE, _DAMPING = 8, 0.4, 1e-5, 1e-6
"""Of the search for a leg: how many, the longest one [rad], and the error at which it
ends [m, rad]; damped, because a leg may be straight."""


class SwingLegs:
    """Both legs of a biped, each for itself.

    Attributes:
        joints: of each leg, as indices of joints (n,).
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        self._model, sides = model, (Side.LEFT, Side.RIGHT)
        soles = (settings.left, settings.right)
        legs = sole_legs(model, *soles)
        self.joints = {
            side: np.array(leg.joints) for side, leg in zip(sides, legs, strict=True)
        }
        self._frames = {
            side: model.pin.getFrameId(sole)
            for side, sole in zip(sides, soles, strict=True)
        }
        self._rows = np.arange(5 if settings.turns == SLIP else 6)

    def sole(self, base: pin.SE3, joints: np.ndarray, side: Side) -> pin.SE3:
        """Pose of a sole, from that of the base and joint angles (njoints,) [rad]."""
        tree, data = self._model.pin, self._model.buffers
        pin.forwardKinematics(tree, data, _configuration(base, joints))
        return pin.SE3(pin.updateFramePlacement(tree, data, self._frames[side]))

    def reach(
        self, base: pin.SE3, joints: np.ndarray, side: Side, sole: pin.SE3
    ) -> np.ndarray:
        """Joint angles with those of one leg such that its sole is nearest to a pose.

        The search begins at ``joints`` (njoints,) [rad]; the heading of the sole counts
        where hips turn.
        """
        own = self.joints[side]
        low, high = self._model.lower_limits[own], self._model.upper_limits[own]
        q = _configuration(base, joints)
        for _ in range(_STEPS):
            rows = self._jacobian(q, side)[np.ix_(self._rows, 6 + own)]
            pose = self._model.buffers.oMf[self._frames[side]]
            away = pin.log3(sole.rotation @ pose.rotation.T)
            error = np.concatenate([sole.translation - pose.translation, away])
            error = error[self._rows]
            if float(np.abs(error).max()) < _CLOSE:
                break
            square = rows @ rows.T + _DAMPING * np.eye(len(error))
            step = rows.T @ np.linalg.solve(square, error)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _CLOSE))
            q[7 + own] = np.clip(q[7 + own] + step, low, high)
        return np.asarray(q[7:])

    def spread(self, joints: np.ndarray, side: Side, angle: float) -> np.ndarray:
        """Joint angles with one leg lifted outwards by the joint that lifts it most.

        From ``joints`` (njoints,), by an angle [rad].
        """
        own = self.joints[side]
        outwards = side * self._jacobian(_configuration(_ORIGIN, joints), side)[1]
        joint = int(own[np.argmax(np.abs(outwards[6 + own]))])
        turned = joints[joint] + angle * np.sign(outwards[6 + joint])
        lifted = np.array(joints)
        limits = self._model.lower_limits[joint], self._model.upper_limits[joint]
        lifted[joint] = np.clip(turned, *limits)
        return lifted

    def _jacobian(self, q: np.ndarray, side: Side) -> np.ndarray:
        """Of a sole in the world's axes (6, nv)."""
        tree, data, frame = self._model.pin, self._model.buffers, self._frames[side]
        return np.asarray(
            pin.computeFrameJacobian(tree, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        )


_ORIGIN = pin.SE3.Identity()


def _configuration(base: pin.SE3, joints: np.ndarray) -> np.ndarray:
    return np.concatenate([pin.SE3ToXYZQUAT(base), joints])
