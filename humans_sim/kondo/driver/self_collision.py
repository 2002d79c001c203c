# SPDX-License-Identifier: Apache-2.0
"""Set points that let a robot's own links touch each other are not sent.

The solids are the collision shapes of the robot's model, the pairs those of
:mod:`humans_sim.contact.geometry.link_pairs`, and the ones that the file names. A pose
touches where two solids overlap by more than the file allows: the lengths of the model
are assumed, and its drawn shapes are not the robot to the millimetre. A robot whose
links touch already, bent by hand, may move as long as they go no deeper.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pinocchio as pin

from humans_sim.control.trajectories.joint_trajectory import JointPath
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.robot_settings import AllowedOverlap, RobotSettings
from humans_sim.kondo.driver.safety import JointCommandError
from humans_sim.models import Model, load_model

SPACING = 3.0
"""Largest change of a joint between two poses that are checked [deg]."""
_PERIOD = 0.02
"""Time between two looks at a path [s]."""
_AHEAD = 120.0
"""A path is checked for so long before it begins; its later set points one by one, as
they come [s]."""
_DEEPER = 5e-4
"""Links that touch already may overlap by so much more: whole degrees are sent [m]."""


class SelfCollisionError(JointCommandError):
    """A command that would let two links of the robot touch; nothing of it was sent."""


class SelfCollisionCheck:
    """Whether poses let a robot's own links touch.

    Args:
        overlap: how deep its links may overlap.

    Raises:
        ParameterError: the model has no such joint, or no such link.
    """

    def __init__(self, settings: RobotSettings, overlap: AllowedOverlap) -> None:
        self._names = settings.joint_names
        self._model, self._geometry, self._links = _solids(settings.model, overlap)
        places = {name: k for k, name in enumerate(self._model.joint_names)}
        missing = sorted(set(self._names) - set(places))
        if missing:
            raise ParameterError(f"{self._model.name} has no joint '{missing[0]}'")
        self._columns = np.array([7 + places[name] for name in self._names])
        self._q = self._model.neutral()
        self._data = self._model.pin.createData()
        self._found = pin.GeometryData(self._geometry)
        allowed = {frozenset(pair): depth for pair, depth in overlap.pairs.items()}
        self._margins = [
            -allowed.get(frozenset(pair), overlap.depth) for pair in self._links
        ]
        for k in range(len(self._links)):
            self._allow(k, self._margins[k])
        self._broad = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(
            self._model.pin, self._geometry, self._found
        )
        self._lock = threading.Lock()

    def check(self, poses: np.ndarray) -> None:
        """Refuse a path on which links touch.

        Args:
            poses: of the joints that have a servo, in the order of the channels
                (n, joints) [rad]; the first is where the robot is.

        Raises:
            SelfCollisionError: they do; it names the links and the place.
        """
        with self._lock:
            if self._first(poses[1:]) is None:
                return
            touching = self._touching(poses[0])
            try:
                for k, distance in touching.items():
                    self._allow(k, min(distance - _DEEPER, self._margins[k]))
                at = self._first(poses[1:])
                if at is not None:
                    raise SelfCollisionError(self._words(poses, at + 1))
            finally:
                for k in touching:
                    self._allow(k, self._margins[k])

    def check_path(self, path: JointPath, present: Mapping[str, float]) -> None:
        """Refuse a path, from the present set points to its end, as a whole.

        Args:
            path: where the joints shall be.
            present: set points of all joints [rad].

        Raises:
            SelfCollisionError: links touch on it.
        """
        self.check(np.array(list(self._sampled(path, present))))

    def _sampled(
        self, path: JointPath, present: Mapping[str, float]
    ) -> Iterator[np.ndarray]:
        """Poses of a path that are no more than the spacing apart."""
        last = np.array([present[name] for name in self._names])
        yield last
        end = min(path.duration, _AHEAD)
        for k in range(math.ceil(end / _PERIOD) + 1):
            angles = {**present, **path.angles(min(k * _PERIOD, end))}
            pose = np.array([angles[name] for name in self._names])
            steps = math.ceil(np.degrees(np.abs(pose - last).max()) / SPACING)
            if steps > 1 or k * _PERIOD >= end:
                # From the last one that was checked, evenly.
                for step in range(1, steps + 1):
                    yield last + (pose - last) * (step / steps)
                last = pose

    def _first(self, poses: np.ndarray) -> int | None:
        """Place of the first pose that touches; None: none does."""
        for k, pose in enumerate(poses):
            self._q[self._columns] = pose
            if pin.computeCollisions(
                self._model.pin, self._data, self._broad, self._q, True
            ):
                return k
        return None

    def _touching(self, pose: np.ndarray) -> dict[int, float]:
        """Pairs of solids that touch in a pose, and their distances [m]."""
        self._q[self._columns] = pose
        pin.updateGeometryPlacements(
            self._model.pin, self._data, self._geometry, self._found, self._q
        )
        return {
            k: pin.computeDistance(self._geometry, self._found, k).min_distance
            for k in range(len(self._links))
            if pin.computeCollision(self._geometry, self._found, k)
        }

    def _allow(self, pair: int, margin: float) -> None:
        self._found.collisionRequests[pair].security_margin = margin

    def _words(self, poses: np.ndarray, at: int) -> str:
        touching = self._touching(poses[at])
        k = min(touching, key=touching.__getitem__)
        one, other = self._links[k]
        return (
            f"{one} and {other} would touch, {1e3 * -touching[k]:.0f} mm deep, on "
            f"{100 * at / (len(poses) - 1):.0f} % of the path: lead them around each "
            "other, or turn self_collision off"
        )


def check_clear(settings: RobotSettings, path: JointPath) -> None:
    """Refuse a path on which links touch, from its own beginning; nothing moves.

    Joints that it does not name are at zero.

    Args:
        settings: of the robot; without self-collision nothing is refused.
        path: where the joints shall be.

    Raises:
        SelfCollisionError: links touch on it.
    """
    if settings.self_collision is not None:
        check = SelfCollisionCheck(settings, settings.self_collision)
        zero = dict.fromkeys(settings.joint_names, 0.0)
        check.check_path(path, zero | path.angles(0.0))


@lru_cache(maxsize=4)
def _solids(
    name: str, overlap: AllowedOverlap
) -> tuple[Model, pin.GeometryModel, Sequence[tuple[str, str]]]:
    """A model, its solids, and the links of each pair of solids."""
    # It needs what simulates: not before a robot is energised.
    from humans_sim.contact.geometry.link_pairs import pair_geometry, touching_links

    model = load_model(name)
    own = model.parts.self_collision.with_changes({"include": list(overlap.pairs)})
    return model, *pair_geometry(model, touching_links(model, own), rounded=True)
