# SPDX-License-Identifier: Apache-2.0
"""Bodies of a scene: a ball, a box, or points; with mass and friction.

Their joints and coordinates, too, after those of a robot; and further robots, whose
joints and coordinates come last.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.bodies.mass_properties import (
    BodyError,
    MassProperties,
    of_box,
    of_sphere,
)
from humans_sim.contact.geometry.solids import Ball, Box
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.system import Chart, FreeBaseChart
from humans_sim.models import Model


@dataclass(frozen=True)
class SceneBody:
    """A free body that can touch and be touched.

    Attributes:
        name: of the body.
        properties: its mass.
        points: corners of it, in its frame (n, 3) [m].
        radius: of the balls around these points [m].
        solid: what touches, in its frame; None: everything goes through it.
        friction: Coulomb's coefficient; of two that touch, the lower one counts; None:
            the scene's.
    """

    name: str
    properties: MassProperties
    points: np.ndarray
    radius: float = 0.0
    solid: Box | Ball | None = None
    friction: float | None = field(default=None)

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise BodyError(f"{self.name}: its points must be rows of 3 numbers")
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise BodyError(f"{self.name}: the radius must be 0 or more")
        if self.friction is not None and not self.friction >= 0:
            raise BodyError(f"{self.name}: friction must not be negative")
        object.__setattr__(self, "points", points)

    @classmethod
    def ball(
        cls, name: str, mass: float, radius: float, friction: float | None = None
    ) -> SceneBody:
        """A solid ball."""
        properties = of_sphere(mass, radius)
        solid = Ball(radius, name=name, friction=friction)
        return cls(name, properties, np.zeros((1, 3)), radius, solid, friction)

    @classmethod
    def box(
        cls,
        name: str,
        mass: float,
        size: tuple[float, float, float],
        friction: float | None = None,
    ) -> SceneBody:
        """A solid box; its faces, edges and corners touch."""
        properties = of_box(mass, size)
        signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
        solid = Box(size, name=name, friction=friction)
        return cls(name, properties, signs * np.array(size), 0.0, solid, friction)

    def named(self, name: str) -> SceneBody:
        """The same body under another name."""
        solid = None if self.solid is None else replace(self.solid, name=name)
        return replace(self, name=name, solid=solid)

    def record(self) -> dict[str, Any]:
        """Name and shape as plain data: a ball, or the box around its points."""
        if isinstance(self.solid, Ball):
            shape: dict[str, Any] = {"shape": "ball", "radius": self.solid.radius}
        elif isinstance(self.solid, Box):
            shape = {"shape": "box", "size": [float(x) for x in self.solid.size]}
        else:
            size = np.ptp(self.points, axis=0) + 2 * self.radius
            shape = {"shape": "box", "size": size.tolist()}
        return {"name": self.name, "mass": self.properties.mass, **shape}


@dataclass(frozen=True)
class SceneRobot:
    """A robot of a scene.

    Attributes:
        name: before the names of its links, joints and contacts, as ``robot2/l_foot``;
            the first one has none.
        model: of it.
        dissipation: in its joints; None: that of the model.
    """

    name: str
    model: Model
    dissipation: JointDissipation | None = None

    def __post_init__(self) -> None:
        if "/" in self.name:
            raise ParameterError(f"a robot cannot be called '{self.name}'")
        if self.name and self.model.rotors is not None:
            raise ParameterError(
                f"{self.name}: the geared rotors of {self.model.name} are those of the "
                "first robot alone; load it without (rotors=False)"
            )

    def named(self, part: str) -> str:
        """Name of a link, joint or contact in the scene."""
        return f"{self.name}/{part}" if self.name else part

    def own(self, name: str) -> str:
        """The robot's own name of a link, joint or contact in the scene."""
        return name.removeprefix(self.named(""))

    @property
    def resistance(self) -> JointDissipation:
        """Damping and dry friction of its joints."""
        given = self.dissipation
        return JointDissipation.of(self.model) if given is None else given


class RobotPart(NamedTuple):
    """Where a robot is in the scene.

    Attributes:
        shift: of its joints, from their numbers in the model.
        q: its coordinates.
        v: its velocities.
    """

    robot: SceneRobot
    shift: int
    q: slice
    v: slice

    def carries(self, joint: int) -> bool:
        """Whether a joint of the scene is one of the robot's."""
        return 0 < joint - self.shift < self.robot.model.pin.njoints


def add_robots(tree: pin.Model, robots: Sequence[SceneRobot]) -> list[RobotPart]:
    """Give further robots to a tree, after what it has."""
    parts = []
    for robot in robots:
        own, shift = robot.model.pin, tree.njoints - 1
        q, v = slice(tree.nq, tree.nq + own.nq), slice(tree.nv, tree.nv + own.nv)
        for k in range(1, own.njoints):
            parent = int(own.parents[k])
            joint = tree.addJoint(
                parent + shift if parent else 0,
                own.joints[k],
                own.jointPlacements[k],
                robot.named(own.names[k]),
            )
            tree.appendBodyToJoint(joint, own.inertias[k], pin.SE3.Identity())
        armature = np.array(tree.armature)
        armature[v] = own.armature
        tree.armature = armature
        for frame in own.frames:
            if frame.type != pin.FrameType.JOINT and frame.parentJoint:
                joint, name = int(frame.parentJoint) + shift, robot.named(frame.name)
                place, kind = frame.placement, frame.type
                tree.addFrame(pin.Frame(name, joint, 0, place, kind), False)
        parts.append(RobotPart(robot, shift, q, v))
    return parts


def scene_tree(
    bodies: Sequence[SceneBody], robot: Model | None
) -> tuple[pin.Model, int]:
    """One tree of everything, and the joint of the first body."""
    tree = pin.Model() if robot is None else pin.Model(robot.pin)
    first = tree.njoints
    for body in bodies:
        # Velocities of the centres in the world's frame: a free flyer has them in its
        # own, where a step would not keep the momentum of a body that spins.
        free = pin.JointModelComposite(2)
        free.addJoint(pin.JointModelTranslation())
        free.addJoint(pin.JointModelSpherical())
        joint = tree.addJoint(0, free, pin.SE3.Identity(), f"body_{body.name}")
        mass = body.properties
        inertia = pin.Inertia(mass.mass, np.zeros(3), mass.inertia)
        tree.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return tree, first


class BodyChart(FreeBaseChart):
    """Coordinates of a free body whose velocity is expressed in the world's frame."""

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x; only the spin is in the body's frame."""
        rates = super().rates(x, v)
        rates[:3] = v[:3]
        return rates


class SceneChart:
    """Charts of free bases one after the other."""

    def __init__(
        self, centre: np.ndarray, robot: int, bodies: int, others: Sequence[int] = ()
    ) -> None:
        """Coordinates around ``centre``; how many are of the robot, of each other."""
        cuts = [robot] if robot else []
        cuts += [robot + 7 * (k + 1) for k in range(bodies)]
        for own in others:
            cuts.append(cuts[-1] + own)
        starts = [0, *cuts[:-1]]
        kinds = [FreeBaseChart] if robot else []
        kinds += [BodyChart] * bodies + [FreeBaseChart] * len(others)
        # Each has a coordinate less than numbers: those of a quaternion are four.
        self._charts: list[tuple[Chart, slice]] = [
            (kind(centre[a:b]), slice(a - k, b - k - 1))
            for k, (kind, a, b) in enumerate(zip(kinds, starts, cuts, strict=True))
        ]

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        return np.concatenate([c.configuration(x[p]) for c, p in self._charts])

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        return np.concatenate([c.rates(x[p], v[p]) for c, p in self._charts])

    def worn(self, x: np.ndarray) -> bool:
        """Whether anything has turned far from the centre's attitude."""
        return any(c.worn(x[p]) for c, p in self._charts)
