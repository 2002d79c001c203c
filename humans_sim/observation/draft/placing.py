# SPDX-License-Identifier: Apache-2.0
"""A standing person laid into markers of which little or nothing is known.

The nearest landmark of the posture is taken for each marker, the posture is fitted to
these, and so on until nothing changes (the iterated closest point of Besl and McKay,
1992, with joints). Statures, facings and arms to begin with are tried in turn. A person
of another stature is the same person in markers that are scaled.

Also the facing of a standing person, from places of markers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pinocchio as pin

from humans_sim.models.model import Model
from humans_sim.observation.draft.landmarks import Landmarks
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import WideSearch
from humans_sim.observation.search_settings import SolverSettings

_FEET, _LEGS, _ABOVE = 0.07, 0.4, 0.12
"""Up to this share of the height of all markers are feet, legs, and not the trunk."""
_CLEAR = 0.03
"""By how much feet lie ahead of legs in a facing that is beyond doubt [m]."""
_BOUND = 0.1
"""Distance beyond which a marker has no mirror image [m]."""


def possible_facings(
    positions: np.ndarray, left: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Directions in which the person may look, likeliest first, and the middle (2,).

    Without labels, which say the horizontal direction of the left (2,), the body's
    plane of symmetry shows where its sides are, and the feet, which lie ahead of the
    legs, where the front is. Positions of the markers (m, 3) [m] are z up.
    """
    heights = positions[:, 2] - positions[:, 2].min()
    total = float(heights.max())
    flat = positions[:, :2]
    middle = flat.mean(axis=0)
    if left is not None:
        return [np.array([left[1], -left[0]]) / np.linalg.norm(left)], middle
    trunk = flat[heights > _ABOVE * total]
    trunk = trunk if len(trunk) > 2 else flat
    across = np.linalg.eigh(np.cov((trunk - trunk.mean(axis=0)).T))[1][:, 1]
    across, middle = _symmetry(positions, across, trunk.mean(axis=0))
    forward = np.array([across[1], -across[0]])
    feet = flat[heights < _FEET * total] @ forward
    legs = flat[(heights >= _FEET * total) & (heights < _LEGS * total)] @ forward
    ahead = 0.0
    if len(feet) and len(legs):
        ahead = float((feet.max() + feet.min()) / 2 - np.median(legs))
    facing = forward if ahead >= 0 else -forward
    return ([facing] if abs(ahead) > _CLEAR else [facing, -facing]), middle


def _symmetry(
    positions: np.ndarray, across: np.ndarray, middle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Normal of the plane in which markers mirror each other best, and its middle."""
    best = (math.inf, across, middle)
    for angle in np.radians(np.arange(-40.0, 41.0, 4.0)):
        turn = np.array(
            [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        )
        normal = turn @ across
        for offset in np.arange(-0.06, 0.061, 0.02):
            side = (positions[:, :2] - middle) @ normal - offset
            mirrored = positions.copy()
            mirrored[:, :2] -= 2.0 * side[:, None] * normal
            apart = np.linalg.norm(positions[:, None] - mirrored[None], axis=2)
            cost = float(np.minimum(apart.min(axis=1), _BOUND).mean())
            if cost < best[0]:
                best = (cost, normal, middle + offset * normal)
    return best[1], best[2]


FAR = 0.1
"""Distance from a landmark beyond which a marker is not at it [m]."""
STATURES = (1.0, 2.3)
"""Of persons [m]."""
_USUAL, _USUAL_SPREAD = 1.7, 0.15
"""Of grown persons [m]; what is less likely has to fit better."""
_LOOSE = 0.3
"""Robust scale of the fit [m]."""
_SKIN_WEIGHT = 0.1
"""Of a marker somewhere on a limb, against one at a landmark."""
_UPRIGHT, _ARM = 1e-2, 1e-3
"""Pull of legs and trunk, and of arms, to a standing posture [m^2/rad^2]."""
_DAMPING = 0.1
_ARMS = ((0.15, 0.1, 0.0), (0.5, 0.3, 0.0), (1.4, 0.0, 0.0), (0.2, 1.3, 0.2))
"""Shoulder roll, elbow pitch and shoulder pitch of standing persons [rad]."""
_ARM_FITS = 0.04
"""Markers of an arm that are nearer to their places leave nothing to look for [m]."""
_ARM_JOINTS = ("shoulder_roll", "shoulder_pitch", "shoulder_yaw", "elbow_pitch")
_ARM_ANGLES = ((0.1, 0.5, 1.3), (-0.2, 0.3, 1.0), (-0.7, 0.0, 0.7), (0.1, 0.8, 1.5))
"""Postures of an arm that are tried [rad]."""
_SHARES = (0.98, 0.93, 0.87, 0.82, 0.55)
"""Height of the topmost marker in statures: vertex, head, shoulder, pelvis."""
_QUICK, _THOROUGH, _KEPT = 3, 10, 4
"""Rounds for every start and for the best ones, and how many these are."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A posture with a place for each marker.

    Attributes:
        height: stature [m].
        q: the posture (nq,) of a model of its own stature.
        nearest: landmark of each marker (m,).
        distances: to all landmarks, on a person of this stature (m, n) [m].
        cost: mean squared distance, bounded by :data:`FAR`, and what an unusual posture
            or stature costs [m^2].
    """

    height: float
    q: np.ndarray
    nearest: np.ndarray
    distances: np.ndarray
    cost: float

    def near(self) -> np.ndarray:
        """Distance of each marker from its landmark (m,) [m]."""
        return np.asarray(self.distances[np.arange(len(self.nearest)), self.nearest])


class PersonFitter:
    """Lays a person into markers.

    Args:
        model: a human of any stature.
        places: of the model.
        positions: of the markers, z up (m, 3) [m].
    """

    def __init__(self, model: Model, places: Landmarks, positions: np.ndarray) -> None:
        self.model = model
        self.places = places
        self._positions = positions
        self._tree = Tree.of(model)
        markers = places.markers.markers
        self._marked = MarkedTree(self._tree, *marker_bodies(model, markers))
        self._settings = SolverSettings(outlier=_LOOSE)
        none = np.zeros(model.nv - 6)
        self._rest = np.clip(none, self._tree.lower, self._tree.upper)
        arms = ("clavicle", "shoulder", "elbow", "wrist", "head")
        self._pull = np.array(
            [
                _ARM if any(word in name for word in arms) else _UPRIGHT
                for name in model.joint_names
            ]
        )

    def find(
        self, allowed: np.ndarray, left: np.ndarray | None, height: float | None
    ) -> Fit:
        """The person who stands in the markers.

        Landmarks (m, n) are allowed for each marker; labels may say the horizontal
        direction of the left (2,), and the stature may be known [m].
        """
        low, high = self._positions[:, 2].min(), self._positions[:, 2].max()
        statures = [height] if height else [(high - low) / share for share in _SHARES]
        facings, middle = possible_facings(self._positions, left)
        begun = []
        for stature in statures:
            stature = float(np.clip(stature, *STATURES))
            for facing in facings:
                for arms in _ARMS:
                    q = self._standing(stature, facing, middle, float(low), arms)
                    begun.append(self._rounds(stature, q, allowed, _QUICK))
        begun.sort(key=lambda fit: fit.cost)
        fits = [
            self._rounds(fit.height, fit.q, allowed, _THOROUGH) for fit in begun[:_KEPT]
        ]
        if not height:
            fits = [self._scaled(fit, allowed) for fit in fits]
        best = min(fits, key=lambda fit: fit.cost)
        for side in "rl":
            best = self._with_arm(side, best, allowed)
        return best

    def refit(self, fit: Fit, allowed: np.ndarray) -> Fit:
        """The same person with other landmarks allowed."""
        return self._rounds(fit.height, fit.q, allowed, _THOROUGH)

    def _scaled(self, fit: Fit, allowed: np.ndarray) -> Fit:
        """The same with the stature that fits best, by halving the step."""
        step = 0.04
        while step > 0.003:
            tried = []
            for factor in (1.0 - step, 1.0 + step):
                height = fit.height * factor
                if STATURES[0] <= height <= STATURES[1]:
                    q = fit.q.copy()
                    q[:3] /= factor
                    tried.append(self._rounds(height, q, allowed, _QUICK))
            better = min(tried, key=lambda other: other.cost, default=fit)
            if better.cost < fit.cost:
                fit = better
            else:
                step /= 2
        return fit

    def _with_arm(self, side: str, fit: Fit, allowed: np.ndarray) -> Fit:
        """The same with an arm in another posture, where that fits better."""
        segments = self.places.segments[fit.nearest]
        arm = np.isin(
            segments, [f"{side}_{part}" for part in ("arm", "forearm", "hand")]
        )
        if not (fit.near()[arm] > _ARM_FITS).any():
            return fit
        names = self.model.joint_names
        joints = [7 + names.index(f"{side}_{word}") for word in _ARM_JOINTS]
        fits = [fit]
        for angles in product(*_ARM_ANGLES):
            q = fit.q.copy()
            q[joints] = angles
            fits.append(self._rounds(fit.height, q, allowed, _QUICK))
        best = min(fits, key=lambda other: other.cost)
        return self._rounds(best.height, best.q, allowed, _THOROUGH)

    def _rounds(
        self, height: float, q: np.ndarray, allowed: np.ndarray, most: int
    ) -> Fit:
        size = height / self.model.height
        scaled = self._positions / size
        exact = self.places.exact
        nearest, distances = self._nearest(q, scaled, allowed)
        for _ in range(most):
            body, local = self._marked.body[nearest], self._marked.local[nearest]
            chosen = MarkedTree(self._tree, body, local)
            search = WideSearch(chosen, self._rest, self._settings)
            weight = np.where(exact[nearest], 1.0, _SKIN_WEIGHT)
            q = search.search(
                q, scaled, weight, self._pull, self._rest, _LOOSE, _DAMPING
            )[0]
            before = nearest
            nearest, distances = self._nearest(q, scaled, allowed)
            if (nearest == before).all():
                break
        fit = Fit(height, q, nearest, distances * size, 0.0)
        bounded = np.minimum(fit.near(), FAR)
        bent = float((self._pull * (q[7:] - self._rest) ** 2).sum()) / len(nearest)
        unusual = ((height - _USUAL) / _USUAL_SPREAD) ** 2 / 4.0
        cost = (float((bounded**2).mean()) + bent * size**2) * (1.0 + unusual)
        return replace(fit, cost=cost)

    def _nearest(
        self, q: np.ndarray, scaled: np.ndarray, allowed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        apart = scaled[:, None] - self._marked.places(q)[None]
        distances = np.linalg.norm(apart, axis=2)
        return np.where(allowed, distances, np.inf).argmin(axis=1), distances

    def _standing(
        self,
        height: float,
        facing: np.ndarray,
        middle: np.ndarray,
        low: float,
        arms: tuple[float, float, float],
    ) -> np.ndarray:
        """A person on a floor just below the lowest marker."""
        model = self.model
        size = height / model.height
        q = model.neutral().copy()
        words = ("shoulder_roll", "elbow_pitch", "shoulder_pitch")
        for side in "rl":
            for word, angle in zip(words, arms, strict=True):
                q[7 + model.joint_names.index(f"{side}_{word}")] = angle
        yaw = math.atan2(facing[1], facing[0])
        q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, 0.0, yaw]))).coeffs()
        q[:3] = 0.0
        q[2] = (low - 0.02) / size - model.tags(q)[:-1, 2].min()
        q[:2] = middle / size
        return q
