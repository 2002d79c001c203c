# SPDX-License-Identifier: Apache-2.0
r"""How far an estimate of the base may have drifted: its covariance.

Feet slip and roll much alike at every step, so that errors grow with the distance, not
with its root as independent ones would. Each comes from a rate :math:`b_j` that nobody
knows, of which a standard deviation is assumed: slip along the path, across it and as
the base turns, and heading lost per distance and per turn. To the first order the error
of place and heading is

.. math:: (e_x, e_y, e_\psi) = \sum_j b_j\, g_j

where a step by :math:`(d_x, d_y)` adds to each :math:`g_j` what its rate does in that
step, and :math:`g_{j\psi}\,(-d_y, d_x)` to its place, as a wrong heading does. Height
and tilt are handed from foot to foot, and lose a little each time, unless the floor is
level and known; an inertial unit knows tilt and heading.

Departures from a filter: no measurement takes drift back, as none of place is there;
and steps count from one change of the reference foot to the next, so that swaying from
foot to foot is no distance. What no sensor sees is not in it: soles that turn on the
floor, without an inertial unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.settings import check_settings, describe, setting


@describe
@dataclass(frozen=True)
class DriftRates:
    """Standard deviations of the errors of an observer.

    Lengths are shares of the height of the base where the model stands in its zero
    position.
    """

    slip: float = setting(0.02, "slip along and across the path [m/m]", 0.0)
    pivot: float = setting(0.04, "slip per angle turned [heights/rad]", 0.0)
    heading: float = setting(0.015, "heading lost per height walked [rad]", 0.0)
    turning: float = setting(0.15, "heading lost per angle turned [rad/rad]", 0.0)
    rise: float = setting(0.0008, "height lost at a step [heights]", 0.0)
    tilt: float = setting(0.001, "tilt lost at a step [rad]", 0.0)
    place: float = setting(0.015, "place over a foot that rolls [heights]", 0.0)
    angle: float = setting(0.03, "angle over a foot that rolls [rad]", 0.0)
    attitude: float = setting(0.005, "angle by an inertial unit [rad]", 0.0)
    speed: float = setting(0.15, "linear velocity [heights/s]", 0.0)
    spin: float = setting(0.5, "angular velocity over a foot [rad/s]", 0.0)
    gyration: float = setting(0.1, "the same by an inertial unit [rad/s]", 0.0)

    def __post_init__(self) -> None:
        """Refuse what is no standard deviation."""
        check_settings(self)


class DriftCovariance:
    """Follows the covariance of an estimate from step to step.

    Args:
        rates: of the errors.
        height: of the base [m].
        level: whether the floor is level, at a height that is known.
    """

    def __init__(self, rates: DriftRates, height: float, level: bool) -> None:
        self._rates, self._height, self._level = rates, height, level
        self.begin(pin.SE3.Identity())

    def begin(self, base: pin.SE3) -> None:
        """Nothing has drifted yet."""
        self._last, self._steps, self._distance = base, 0, 0.0
        self._effects = np.zeros((6, 3))
        self._fallen = np.zeros(6)

    def step(self, base: pin.SE3, led: bool) -> None:
        """Another foot is the reference; led: an inertial unit knows the heading."""
        moved = (base.translation - self._last.translation)[:2]
        turn = abs(pin.log3(self._last.rotation.T @ base.rotation)[2])
        across = np.array([-moved[1], moved[0]])
        g, rates = self._effects, self._rates
        g[:, :2] += np.outer(g[:, 2], across)
        g[0, :2] += rates.slip * moved
        g[1, :2] += rates.slip * across
        g[[2, 3], [0, 1]] += rates.pivot * self._height * turn
        way = float(np.linalg.norm(moved))
        if not led:
            g[4, 2] += rates.heading * way / self._height
            g[5, 2] += rates.turning * turn
        self._last = base
        self._steps += 1
        self._distance += way

    def reckon(self, dt: float, led: bool) -> None:
        """The base went on with its last velocity for some time [s]."""
        self._fallen += (self.velocity_std(led) * dt) ** 2

    def velocity_std(self, led: bool) -> np.ndarray:
        """Standard deviations of linear [m/s] and angular velocity [rad/s] (6,)."""
        rates = self._rates
        spin = rates.gyration if led else rates.spin
        return np.repeat([rates.speed * self._height, spin], 3)

    def matrix(self, led: bool) -> np.ndarray:
        """Covariance (6, 6) of place [m] and rotation [rad], axes of the world."""
        rates, height = self._rates, self._height
        steps = 0 if self._level else self._steps
        variances = self._fallen.copy()
        variances[:3] += (rates.place * height) ** 2
        variances[2] += (rates.rise * height * steps) ** 2
        variances[3:] += (rates.attitude if led else rates.angle) ** 2
        if not led:
            tilt = (rates.tilt * steps) ** 2
            levers = [height, height, self._distance, 1.0, 1.0, 0.0]
            variances += tilt * np.square(levers)
        covariance = np.diag(variances)
        covariance[np.ix_([0, 1, 5], [0, 1, 5])] += self._effects.T @ self._effects
        return covariance


def heading_of(rotation: np.ndarray) -> float:
    """Angle of the x axis of a rotation about the vertical [rad]."""
    return math.atan2(rotation[1, 0], rotation[0, 0])
