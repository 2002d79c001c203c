# SPDX-License-Identifier: Apache-2.0
"""A force plate in the floor of a laboratory, and ground forces over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError

LEAST_LOAD = 20.0
"""Below this vertical force a centre of pressure is noise, and not given [N]."""


@dataclass(frozen=True, eq=False)
class GroundReaction:
    """Force of the ground on a body, in the laboratory's frame, z up.

    A standing person's vertical force is positive: body weight.

    Attributes:
        name: which plate or foot.
        times: of the samples, growing (n,) [s].
        force: on the body (n, 3) [N].
        point: at which it acts (n, 3) [m]; NaN where there is no load.
        torque: about that point (n, 3) [N m].
    """

    name: str
    times: np.ndarray
    force: np.ndarray
    point: np.ndarray
    torque: np.ndarray

    def __post_init__(self) -> None:
        """Check sizes."""
        check_series(self.times, self.force, self.point, self.torque)

    def wrench(self, about: np.ndarray) -> np.ndarray:
        """Force, and its moment about a point (n, 6) [N, N m]; zero without load.

        Args:
            about: the point (3,) or points (n, 3) [m].
        """
        moment = np.cross(self.point - about, self.force) + self.torque
        wrench = np.concatenate([self.force, moment], axis=1)
        return np.where(np.isnan(self.point).any(axis=1)[:, None], 0.0, wrench)


def check_series(times: np.ndarray, *vectors: np.ndarray) -> None:
    """Check that vectors belong to growing times; else a ParameterError."""
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ParameterError("the times of forces are not finite and growing")
    for vector in vectors:
        if vector.shape != (len(times), 3):
            raise ParameterError(
                f"vectors at {len(times)} times have shape {vector.shape}"
            )


SMALLEST_SIDE = 0.01
"""No plate is narrower [m]."""


@dataclass(frozen=True, eq=False)
class ForcePlate:
    """A plate, and what it does to the body on it, in the laboratory's frame, z up.

    Forces are those of the plate on the body: a standing person's vertical force is
    positive, and equals the body's weight.

    Attributes:
        name: as ``plate 1``.
        corners: of the surface, as the C3D format orders them: in the quadrants +x +y,
            -x +y, -x -y, +x -y of the plate's own axes, whose z points down (4, 3) [m].
        origin: of the sensors (3,) [m].
        times: of the samples (n,) [s].
        force: on the body (n, 3) [N].
        moment: on the body about the centre of the surface (n, 3) [N m]; NaN where the
            file lacks what it takes.
    """

    name: str
    corners: np.ndarray
    origin: np.ndarray
    times: np.ndarray
    force: np.ndarray
    moment: np.ndarray

    def __post_init__(self) -> None:
        """Check sizes, and that the corners span a surface."""
        check_series(self.times, self.force, self.moment)
        if self.corners.shape != (4, 3) or self.origin.shape != (3,):
            raise ParameterError("a plate has four corners and one origin")
        plate_axes(self.corners)

    def __repr__(self) -> str:
        """Name, size and samples."""
        sides = np.linalg.norm(self.corners[0] - self.corners[[1, 3]], axis=1)
        return (
            f"<ForcePlate {self.name}: {sides[0]:.2f} x {sides[1]:.2f} m, "
            f"{len(self.times)} samples>"
        )

    @property
    def centre(self) -> np.ndarray:
        """Of the surface (3,) [m]."""
        return np.asarray(self.corners.mean(axis=0))

    @property
    def normal(self) -> np.ndarray:
        """Unit vector of the surface on the upper side (3,)."""
        down = plate_axes(self.corners)[:, 2]
        return -down if down[2] <= 0 else down

    @property
    def wrench(self) -> np.ndarray:
        """On the body about the centre of the surface (n, 6) [N, N m]."""
        return np.concatenate([self.force, self.moment], axis=1)

    @property
    def loaded(self) -> np.ndarray:
        """Samples with more load than ``LEAST_LOAD`` (n,)."""
        return np.asarray(np.nan_to_num(self.force @ self.normal) > LEAST_LOAD)

    @property
    def centre_of_pressure(self) -> np.ndarray:
        """Point of the surface about which no moment tilts (n, 3) [m].

        NaN where the plate carries no load.
        """
        normal, loaded = self.normal, self.loaded
        points = np.full(self.force.shape, np.nan)
        # r in the plane with r x F = M but for the part along the normal
        load = self.force[loaded] @ normal
        offset = np.cross(normal, self.moment[loaded]) / load[:, None]
        points[loaded] = self.centre + offset
        return points

    @property
    def free_moment(self) -> np.ndarray:
        """Moment about the normal through the centre of pressure (n,) [N m].

        NaN where the plate carries no load.
        """
        lever = self.centre_of_pressure - self.centre
        left = self.moment - np.cross(lever, self.force)
        return np.asarray(left @ self.normal)

    @property
    def reaction(self) -> GroundReaction:
        """The same as a force at the centre of pressure; none without load."""
        loaded = self.loaded[:, None]
        torque = np.nan_to_num(self.free_moment)[:, None] * self.normal
        return GroundReaction(
            self.name,
            self.times,
            np.where(loaded, self.force, 0.0),
            self.centre_of_pressure,
            np.where(loaded, torque, 0.0),
        )

    def contains(self, points: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """Whether points lie within the corners, seen from above (n,).

        Args:
            points: (n, 3) [m].
            margin: by which the plate is taken larger [m].
        """
        axes = plate_axes(self.corners)[:, :2]
        inner = (points - self.centre) @ axes
        reach = np.abs((self.corners - self.centre) @ axes).max(axis=0) + margin
        return np.asarray((np.abs(inner) <= reach).all(axis=1))

    def at(self, times: np.ndarray) -> ForcePlate:
        """The plate at other times, interpolated (m,) [s]; held beyond its ends."""

        def sampled(vectors: np.ndarray) -> np.ndarray:
            columns = [np.interp(times, self.times, column) for column in vectors.T]
            return np.stack(columns, axis=1)

        return replace(
            self, times=times, force=sampled(self.force), moment=sampled(self.moment)
        )

    def moved(self, transform: pin.SE3) -> ForcePlate:
        """The plate in another frame."""
        turn, place = transform.rotation.T, transform.translation
        return replace(
            self,
            corners=self.corners @ turn + place,
            origin=self.origin @ turn + place,
            force=self.force @ turn,
            moment=self.moment @ turn,
        )


def plate_axes(corners: np.ndarray) -> np.ndarray:
    """A plate's own axes as columns (3, 3): x and y along its sides, z down.

    Raises:
        ParameterError: the corners (4, 3) span no surface.
    """
    x = corners[0] + corners[3] - corners[1] - corners[2]
    y = corners[0] + corners[1] - corners[2] - corners[3]
    z = np.cross(x, y)
    lengths = np.linalg.norm([x, y], axis=1) / 2
    area = float(np.linalg.norm(z)) / 4
    if not (lengths.min() > SMALLEST_SIDE and area > lengths.prod() / 2):
        raise ParameterError("the four corners of a plate span no surface")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])
