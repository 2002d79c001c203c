# SPDX-License-Identifier: Apache-2.0
"""Entities of a simulation, by name: robot, free bodies, fixed solids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.body_features import hull_of, shapes_of_joints
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import Box
from humans_sim.contact.geometry.terrain import FurtherContact, TriangleMesh
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_bodies import RobotPart
from humans_sim.dynamics.scenes.scene_system import SceneSystem

_HUMAN = "human"
"""Models of people have it in their name."""


class EntityKind(Enum):
    """The kind of an entity; the value is its tag."""

    ROBOT = "robot"
    HUMAN = "human"
    BODY = "body"
    SOLID = "solid"


@dataclass(frozen=True)
class BoxBounds:
    """A box with its edges along the axes of a frame.

    Attributes:
        low: corner with the lowest coordinates (3,) [m].
        high: the opposite one (3,) [m].
    """

    low: np.ndarray
    high: np.ndarray

    def around(self, pose: pin.SE3) -> BoxBounds:
        """The box along the axes of the world around this one at a pose."""
        corners = np.array(
            [
                pose.act(np.array(c))
                for c in product(*np.stack([self.low, self.high], axis=1))
            ]
        )
        return BoxBounds(corners.min(axis=0), corners.max(axis=0))

    def meets_ball(self, centre: np.ndarray, radius: float) -> bool:
        """Whether a ball touches the box."""
        nearest = np.clip(centre, self.low, self.high)
        return bool(np.linalg.norm(nearest - centre) <= radius)

    def meets_box(self, other: BoxBounds) -> bool:
        """Whether two boxes along the same axes touch."""
        return bool((self.low <= other.high).all() and (other.low <= self.high).all())


class Entities:
    """The entities of a system; poses are those of base_link and of centres of mass.

    Args:
        names: of the robots, in the order of the system.
    """

    def __init__(
        self, names: Sequence[str], system: ModelSystem | SceneSystem, ground: Ground
    ) -> None:
        self._system = system
        self._robots = dict(zip(names, system.robots, strict=True))
        self._bodies = system.bodies if isinstance(system, SceneSystem) else ()
        self._numbers = {body.name: k for k, body in enumerate(self._bodies)}
        self.kinds = {
            name: EntityKind.HUMAN
            if _HUMAN in part.robot.model.name
            else EntityKind.ROBOT
            for name, part in self._robots.items()
        }
        self.kinds.update(dict.fromkeys(self._numbers, EntityKind.BODY))
        self._solids = {}
        for solid in ground.solids:
            if isinstance(solid, FurtherContact):
                continue
            name = self.free_name(solid.name)
            self._solids[name] = solid
            self.kinds[name] = EntityKind.SOLID

    def free_name(self, name: str) -> str:
        """The name, or one like it that is not taken."""
        number, free = 1, name
        while free in self.kinds:
            number += 1
            free = f"{name}_{number}"
        return free

    def pose(self, name: str, q: np.ndarray) -> pin.SE3:
        """Where an entity is in the world."""
        if name in self._solids:
            solid = self._solids[name]
            if isinstance(solid, Box):
                turn = np.eye(3) if solid.rotation is None else solid.rotation
                return pin.SE3(np.array(turn, float), np.array(solid.centre, float))
            return pin.SE3.Identity()
        first = self._place(name)[0]
        return pin.XYZQUATToSE3(q[first : first + 7])

    def velocity(self, name: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Linear and angular velocity in the world (6,) [m/s, rad/s]."""
        if name in self._solids:
            return np.zeros(6)
        first = self._place(name)[1]
        turn, own = self.pose(name, q).rotation, v[first : first + 6]
        linear = turn @ own[:3] if name in self._robots else own[:3]
        return np.concatenate([linear, turn @ own[3:]])

    def acceleration(
        self, name: str, q: np.ndarray, v: np.ndarray, rates: np.ndarray
    ) -> np.ndarray:
        """Linear and angular acceleration in the world (6,), from the rates of v."""
        if name in self._solids:
            return np.zeros(6)
        first = self._place(name)[1]
        turn, own = self.pose(name, q).rotation, rates[first : first + 6]
        linear = own[:3]
        if name in self._robots:  # the base's velocity turns with its frame
            speed, spin = v[first : first + 3], v[first + 3 : first + 6]
            linear = turn @ (own[:3] + np.cross(spin, speed))
        return np.concatenate([linear, turn @ own[3:]])

    def placed(
        self,
        name: str,
        q: np.ndarray,
        v: np.ndarray,
        pose: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """A state in which an entity is elsewhere, or moves otherwise.

        Pose (7,) and velocity (6,) are in the world; None: as it is. What cannot move
        is refused.
        """
        if name in self._solids:
            raise ConfigurationError(f"{name} is part of the ground and stays there")
        first, speeds = self._place(name)
        if velocity is None:
            velocity = self.velocity(name, q, v)
        q, v = q.copy(), v.copy()
        if pose is not None:
            q[first : first + 7] = pose
        turn = self.pose(name, q).rotation
        linear = velocity[:3]
        if name in self._robots:
            linear = turn.T @ linear
        v[speeds : speeds + 6] = np.concatenate([linear, turn.T @ velocity[3:]])
        return q, v

    def bounds(self, name: str, q: np.ndarray) -> BoxBounds | None:
        """The box around an entity in its own frame; None: it has no end."""
        if name in self._robots:
            return self._robot_bounds(self._robots[name], q)
        solid = self._solids.get(name)
        if name in self._numbers:
            body = self._bodies[self._numbers[name]]
            low, high = body.points.min(axis=0), body.points.max(axis=0)
            return BoxBounds(low - body.radius, high + body.radius)
        if isinstance(solid, Box):
            half = np.array(solid.size) / 2.0
            return BoxBounds(-half, half)
        if isinstance(solid, TriangleMesh):
            vertices = np.asarray(solid.vertices)
            return BoxBounds(vertices.min(axis=0), vertices.max(axis=0))
        return None

    def _robot_bounds(self, part: RobotPart, q: np.ndarray) -> BoxBounds:
        """The box around all collision shapes in the posture of q."""
        model = part.robot.model
        data, q = model.data(), q[part.q]
        pin.forwardKinematics(model.pin, data, q)
        base = pin.XYZQUATToSE3(q[:7])
        ends = [np.array([base.actInv(tag) for tag in model.tags(q)])]
        for joint, shapes in shapes_of_joints(model).items():
            hull = hull_of(shapes)
            pose = base.actInv(data.oMi[joint])
            centres = hull.centres @ pose.rotation.T + pose.translation
            for sign in (-1.0, 1.0):
                ends.append(centres + sign * hull.radii[:, None])
        points = np.concatenate(ends)
        return BoxBounds(points.min(axis=0), points.max(axis=0))

    def _place(self, name: str) -> tuple[int, int]:
        """Where the coordinates and the velocities of a mover begin."""
        if name in self._robots:
            part = self._robots[name]
            return part.q.start, part.v.start
        k = self._numbers[name]
        return self._system.robot_nq + 7 * k, self._system.robot_nv + 6 * k
