# SPDX-License-Identifier: Apache-2.0
"""A biped model in its scene, as the dynamics sees it.

Also: the table of its contacts (points with solids, joints with limits), the points
that may touch (tags, then features of its body), and its record in a run.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.body_features import BodyFeatures
from humans_sim.contact.geometry.convex_pairs import SLOTS, basis
from humans_sim.contact.geometry.foot_spheres import sphere_tags
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.bounded_kernels import BoundedGroups
from humans_sim.core.arrays import finite_array
from humans_sim.core.budget import CONTACTS
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.contact_kernels import (
    ContactGeometry,
    MovingGeometry,
    add_diagonal,
    closing_rows,
    contact_rows,
    lock,
    point_features,
    point_gap_rates,
    point_gaps,
)
from humans_sim.dynamics.joints import (
    BoundedRows,
    JointDissipation,
    joint_limits,
    locked_velocities,
)
from humans_sim.dynamics.mover_pairs import (
    body_movers,
    body_pairs,
    ground_movers,
    is_plane,
    link_movers,
    own_pairs,
)
from humans_sim.dynamics.pair_contacts import (
    Mover,
    MoverPair,
    PairContacts,
    moved_velocities,
)
from humans_sim.dynamics.scene_bodies import (
    RobotPart,
    SceneBody,
    SceneChart,
    SceneRobot,
    add_robots,
    scene_tree,
)
from humans_sim.dynamics.system import (
    EVENT_DRIVEN,
    TIME_STEPPING,
    Chart,
    FreeBaseChart,
    System,
    Terms,
)
from humans_sim.dynamics.tree_kernels import TreeTable, tree_table
from humans_sim.models import Model
from humans_sim.models.description import SelfCollision
from humans_sim.models.model import JointMemory
from humans_sim.models.points import PointSet, point_force
from humans_sim.results.record import model_and_ground
from humans_sim.results.records import LIMIT, POINT, ContactTable, Sample

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
"""Words for the coordinates and velocities of a free body."""


def contact_table(
    ground: Ground,
    points: Sequence[str],
    limits: Sequence[str],
    limit_restitution: float,
) -> ContactTable:
    """Each point with each solid, then the limits."""
    names = [
        name if len(ground.solids) == 1 else f"{name}/{solid.name}"
        for name in points
        for solid in ground.solids
    ]
    count, ends = len(names), len(limits)
    friction = np.tile(ground.frictions(), len(points))
    return ContactTable.of(
        names=(*names, *limits),
        kinds=(POINT,) * count + (LIMIT,) * ends,
        tangents=np.array([2] * count + [0] * ends),
        friction=np.concatenate([friction, np.zeros(ends)]),
        restitution=np.array([ground.restitution] * count + [limit_restitution] * ends),
    )


class JointStop(NamedTuple):
    """An end of the range of a joint.

    Attributes:
        position: coordinate of the joint.
        velocity: of the joint.
        sign: 1 at the lower end, -1 at the upper one.
        value: [rad].
    """

    name: str
    position: int
    velocity: int
    sign: float
    value: float


class ContactPoints(NamedTuple):
    """Points that may touch; n of them.

    Attributes:
        names: of the points, tags first (n,).
        links: that carry them (n,).
        points: where they are.
        features: those that are no tags; None where there are none.
    """

    names: tuple[str, ...]
    links: tuple[str, ...]
    points: PointSet
    features: BodyFeatures | None

    @classmethod
    def none(cls, tree: pin.Model) -> ContactPoints:
        """No points."""
        return cls((), (), PointSet(tree, [], np.zeros((0, 3))), None)

    @classmethod
    def of(
        cls,
        model: Model,
        tree: pin.Model,
        tags: tuple[str, ...],
        features: BodyFeatures | None,
        locked: np.ndarray,
    ) -> ContactPoints:
        """Tags of a model, and features of those of its links that can move.

        ``tree``: joints of the model, and of free bodies after them.
        """
        fixed = model.tag_points(tags)
        own = {tag.name: tag.link for tag in model.parts.tags}
        links = tuple(own[name] for name in tags)
        carriers = [fixed.joints[k] for k in fixed.row]
        if features is None:
            return cls(tags, links, PointSet(tree, carriers, fixed.local), None)
        taken = sorted(set(tags) & set(features.names))
        if taken:
            raise ParameterError(f"two contact points are called '{taken[0]}'")
        joints, places = features.in_joints(model)
        reached = PointSet(model.pin, joints, places).support.copy()
        reached[:, locked] = False
        moving = np.flatnonzero(reached.any(axis=1))
        features = features.some(moving)
        carriers += [joints[k] for k in moving]
        return cls(
            (*tags, *features.names),
            (*links, *features.links),
            PointSet(tree, carriers, np.vstack([fixed.local, places[moving]])),
            features,
        )

    def with_robot(self, tree: pin.Model, part: RobotPart) -> ContactPoints:
        """These, then the contact points of a further robot."""
        robot, model = part.robot, part.robot.model
        tags = model.contact_names
        own = ContactPoints.of(model, model.pin, tags, None, np.zeros(0, np.int64))
        before, after = self.points, own.points
        carriers = [before.joints[k] for k in before.row]
        carriers += [after.joints[k] + part.shift for k in after.row]
        return ContactPoints(
            (*self.names, *map(robot.named, own.names)),
            (*self.links, *map(robot.named, own.links)),
            PointSet(tree, carriers, np.vstack([before.local, after.local])),
            self.features,
        )

    def bounding_balls(self, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres (m, 3) and radii (m,) of balls round the points of each link [m]."""
        points = self.points
        centres = np.zeros((len(points.joints), 3))
        reaches = np.zeros(len(points.joints))
        for k in range(len(points.joints)):
            own = points.row == k
            places = points.local[own]
            centres[k] = (places.min(axis=0) + places.max(axis=0)) / 2.0
            far = np.linalg.norm(places - centres[k], axis=1) + radii[own]
            reaches[k] = far.max()
        return centres, reaches


class ModelSystem:
    """The equations of motion of a model that touches the scene, itself and bodies.

    Contacts are, in this order: each contact point with each solid, then the lower and
    the upper limit of each joint that is free to move, then the points of each pair of
    solids that may touch. A contact point with a radius is a ball around the point.

    Attributes:
        radii: of the balls around the contact points (npoints,) [m].
        armature: inertia of drives on the diagonal of the mass matrix (nv,).
        bodies: free bodies; their coordinates follow those of the model.
        others: further robots; theirs come last.
        pairs: contacts of links, bodies and what stands on the ground, as solids.
        step_restitution: of all contacts, as time steps take it: -1 less that of pairs,
            which are not put onto each other's surfaces but come there by themselves.
    """

    def __init__(
        self,
        model: Model | None,
        ground: Ground,
        *,
        locked: Sequence[str] = (),
        limits: bool | Mapping[str, tuple[float, float]] = True,
        limit_restitution: float = 0.0,
        radii: Mapping[str, float] | None = None,
        armature: np.ndarray | None = None,
        contacts: Sequence[str] | None = None,
        gravity: Sequence[float] | None = None,
        features: BodyFeatures | None = None,
        self_collision: SelfCollision | None = None,
        solid: bool = False,
        dissipation: JointDissipation | None = None,
        bodies: Sequence[SceneBody] = (),
        others: Sequence[SceneRobot] = (),
    ) -> None:
        """Put a model, bodies and further robots into a scene, its ``ground``.

        ``locked`` and ``gravity`` are as of a ``Simulation``; ``limits``,
        ``limit_restitution``, ``radii`` and ``contacts`` (its points) as of
        ``Contacts``. ``features`` of the body touch in addition; ``self_collision`` and
        ``dissipation`` are the model's own unless given; ``solid``: links touch the
        ground with their solids (a half space, where there are features, only those of
        links that have more vertices).
        """
        self._model, self.ground, self.bodies = model, ground, tuple(bodies)
        self.name = "scene" if model is None else model.name
        self._joint_names = names = () if model is None else model.joint_names
        self._set_tree(model, gravity, others)
        self.nq, self.nv = self._pin.nq, self._pin.nv
        self.position_names, self.velocity_names = (
            (
                *(f"base_{n}" for n in words if model is not None),
                *names,
                *(f"{body.name}_{n}" for body in self.bodies for n in words),
                *(
                    part.robot.named(n)
                    for part in self.others
                    for n in (
                        *(f"base_{word}" for word in words),
                        *part.robot.model.joint_names,
                    )
                ),
            )
            for words in (POSE, TWIST)
        )
        self.locked, self._tags = np.zeros(0, dtype=np.int64), tuple[str, ...]()
        touching = ContactPoints.none(self._pin)
        lower = upper = np.zeros(0)
        if model is not None:
            self.locked = locked_velocities(model, locked)
            tags = model.contact_names if contacts is None else tuple(contacts)
            self._tags = tags
            touching = ContactPoints.of(model, self._pin, tags, features, self.locked)
            lower, upper = joint_limits(model, limits)
        self.joint_limits = lower, upper
        for part in self.others:
            touching = touching.with_robot(self._pin, part)
        self.contact_points, self.contact_links, points, self.features = touching
        self.points = points
        self.radii = self._radii(radii or {})
        self.armature = np.zeros(self.nv)
        if armature is not None:
            self.take_armature(armature)
        self._joints = points.joints
        stops = self._stops()
        self.pairs = PairContacts(
            self._pin,
            self._solid_pairs(self_collision, solid),
            self._corners(len(self.contact_points)),
        )
        self.thinnest = ground.thinnest()
        self.contacts = contact_table(
            ground,
            self.contact_points,
            [stop.name for stop in stops],
            limit_restitution,
        ).joined(self.pairs.table())
        CONTACTS.check("what may touch in the scene", len(self.contacts))
        self._first_pair = len(self.contacts) - len(self.pairs)
        self.step_restitution = self.contacts.restitution.copy()
        self.step_restitution[self._first_pair :] *= -1.0
        self.step_restitution[self._first_pair :] -= 1.0
        centres, reaches = touching.bounding_balls(self.radii)
        still = ContactGeometry(
            local=points.local,
            row=points.row,
            poses=np.zeros((len(self._joints), 3, 4)),
            radius=self.radii,
            solids=ground.table(float(self.radii.max(initial=0.0))),
            meshes=ground.mesh_data(),
            limit_joint=np.array(
                [(stop.position, stop.velocity) for stop in stops], dtype=np.int64
            ).reshape(-1, 2),
            limit_sign=np.array([stop.sign for stop in stops]),
            limit_value=np.array([stop.value for stop in stops]),
            centre=centres,
            reach=reaches,
        )
        self._point_contacts = len(self.contact_points) * len(still.solids)
        self._make_buffers(still)
        self._support = points.support
        self.dissipation = self._dissipation(dissipation)
        self.damped = bool(self.dissipation.damping.any())
        friction = self.dissipation.friction.copy()
        friction[self.locked] = 0.0
        turning = np.zeros(len(self.contacts))
        turning[: self._point_contacts] = 1.0
        balls = turning.copy()
        balls[: self._point_contacts] = np.repeat(self.radii > 0, len(still.solids))
        self._bounded = BoundedRows(
            friction, ground.torsional * turning, ground.rolling * balls
        )
        self.dissipates = self.damped or self._bounded.any

    def _stops(self) -> list[JointStop]:
        """Lower, then upper limits of the joints of each robot that are free."""
        stops = []
        ranges = [("", self.joint_limits, self._joint_names, 7, 6)]
        for robot, _, q, v in self.others:
            own = robot.model
            limits = own.lower_limits, own.upper_limits
            ranges.append(
                (robot.named(""), limits, own.joint_names, q.start + 7, v.start + 6)
            )
        for prefix, limits, names, first, turning in ranges:
            for sign, end, values in zip(
                (1.0, -1.0), ("lower", "upper"), limits, strict=True
            ):
                stops += [
                    JointStop(
                        f"{prefix}{name}/{end}", first + j, turning + j, sign, value
                    )
                    for j, (name, value) in enumerate(zip(names, values, strict=True))
                    if turning + j not in self.locked and np.isfinite(value)
                ]
        return stops

    def _make_buffers(self, still: ContactGeometry) -> None:
        """Contact geometry with poses and motions of links of its own."""
        self._poses = np.zeros((len(self._joints), 3, 4))
        self._motions = np.zeros((len(self._joints), 2, 6))
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._still: tuple[Any, ...] = tuple(still._replace(poses=self._poses))
        self._moving: tuple[Any, ...] = tuple(
            MovingGeometry(
                still=self._still,
                motions=self._motions,
                support=self.points.support,
                gravity=np.array(self._pin.gravity.linear),
            )
        )
        self._memory: JointMemory | None = None

    def with_own_buffers(self) -> Self:
        """The same equations for another thread: tables are shared, buffers are not."""
        other = copy.copy(self)
        other._make_buffers(ContactGeometry(*self._still))
        other.pairs = self.pairs.with_own_buffers()
        other._own_data = self._pin.createData()
        other.tree = self.tree  # computed once for all
        return other

    def _set_tree(
        self,
        model: Model | None,
        gravity: Sequence[float] | None,
        others: Sequence[SceneRobot],
    ) -> None:
        """The joints of all that moves, and their data."""
        self._own_data: pin.Data | None = None
        self.others: list[RobotPart] = []
        if model is not None:
            self._pin = model.pin
            self.robot_nq, self.robot_nv = model.nq, model.nv
        else:
            self.robot_nq = self.robot_nv = 0
        if self.bodies or others or gravity is not None:
            self._pin, self.first_body = scene_tree(self.bodies, model)
            self.others = add_robots(self._pin, others)
            if gravity is not None:
                self._pin.gravity = pin.Motion(
                    finite_array(gravity, (3,), "gravity"), np.zeros(3)
                )
            self._own_data = self._pin.createData()

    def take_armature(self, armature: np.ndarray) -> None:
        """Add the inertia of the biped's drives to the mass matrix (its nv,).

        Where they have some, it takes the place of the model's own.
        """
        if armature.shape not in ((self.nv,), (self.robot_nv,)):
            raise ParameterError(f"armature must have {self.robot_nv} entries")
        own = np.array(self._pin.armature[: len(armature)])
        self.armature[: len(armature)] = np.where(armature > 0.0, armature - own, 0.0)

    def take_robot_armature(self, part: RobotPart, armature: np.ndarray) -> None:
        """The same of a further robot (its nv,)."""
        own = np.array(self._pin.armature[part.v])
        self.armature[part.v] = np.where(armature > 0.0, armature - own, 0.0)

    @property
    def model(self) -> Model:
        """The biped."""
        if self._model is None:
            raise ParameterError(f"{self.name} has no biped")
        return self._model

    @property
    def robot(self) -> Model | None:
        """The biped; None where there is none."""
        return self._model

    @property
    def robots(self) -> list[RobotPart]:
        """The biped, if there is one, then further robots."""
        if self._model is None:
            return []
        places, speeds = slice(0, self.robot_nq), slice(0, self.robot_nv)
        first = RobotPart(SceneRobot("", self._model), 0, places, speeds)
        return [first, *self.others]

    def _corners(self, count: int) -> dict[int, np.ndarray]:
        """The first contact points and the radii of their balls, by joint (t, 4)."""
        points = np.column_stack([self.points.local, self.radii])[:count]
        return {
            joint: points[self.points.row[:count] == k]
            for k, joint in enumerate(self.points.joints)
        }

    def _solid_pairs(self, own: SelfCollision | None, solid: bool) -> list[MoverPair]:
        """Links, bodies and what stands on the ground, in pairs that may touch."""
        ground, links, pairs = self.ground, list[Mover](), list[MoverPair]()
        among = bool(self.bodies or self.others)
        if self._model is not None and (solid or among or own is not None):
            links = link_movers(self._model, self._corners(len(self._tags)))
            if own is not None:
                pairs += own_pairs(self._model, links, own, ground)
        if solid:
            exact = set[str]()
            if self.features is not None:
                exact = {m.name for m in links} - set(self.features.beyond)
            pairs += [
                MoverPair(link, other, POINT, friction, ground.restitution)
                for link in links
                for other, friction in ground_movers(ground)
                if self._moves(link.joint)
                and not (link.name in exact and is_plane(other))
            ]
        if self.bodies:
            pairs += body_pairs(self.bodies, self.first_body, links, ground)
        return pairs + self._robot_pairs(links)

    def _robot_pairs(self, links: Sequence[Mover]) -> list[MoverPair]:
        """Links of further robots with themselves, what is before them, the ground."""
        pairs, ground = list[MoverPair](), self.ground
        if not self.others:
            return pairs
        fixed, bounce = ground_movers(ground), ground.restitution
        plain = float(ground.frictions().max(initial=ground.friction))
        before = [(link, plain) for link in links]
        before += body_movers(self.bodies, self.first_body, ground)
        corners = self._corners(len(self.contact_points))
        for robot, shift, _, _ in self.others:
            tags = {joint - shift: rows for joint, rows in corners.items()}
            own = link_movers(robot.model, tags)
            moved = {
                link.name: link._replace(
                    name=robot.named(link.name), joint=link.joint + shift
                )
                for link in own
            }
            pairs += [
                pair._replace(
                    first=moved[pair.first.name], second=moved[pair.second.name]
                )
                for pair in own_pairs(
                    robot.model, own, robot.model.parts.self_collision, ground
                )
            ]
            pairs += [
                MoverPair(link, other, POINT, min(friction, plain), bounce)
                for link in moved.values()
                for other, friction in (*fixed, *before)
            ]
            before += [(link, plain) for link in moved.values()]
        return pairs

    def _moves(self, joint: int) -> bool:
        """Whether a joint moves where some velocities are locked."""
        moved = moved_velocities(self._pin, joint)
        moved[self.locked] = False
        return bool(moved.any())

    def _dissipation(self, given: JointDissipation | None) -> JointDissipation:
        """Damping and dry friction of the joints; bodies have none."""
        if given is None:
            given = JointDissipation(np.zeros(0), np.zeros(0))
            if self._model is not None:
                given = JointDissipation.of(self._model)
        damping, friction = np.zeros(self.nv), np.zeros(self.nv)
        damping[: len(given.damping)] = given.damping
        friction[: len(given.friction)] = given.friction
        for part in self.others:
            own = part.robot.resistance
            damping[part.v], friction[part.v] = own.damping, own.friction
        return replace(given, damping=damping, friction=friction)

    def _radii(self, radii: Mapping[str, float]) -> np.ndarray:
        names = self.contact_points
        radii_of_points = np.zeros(len(names))
        if self.features is not None and len(self.features.radii):
            radii_of_points[-len(self.features.radii) :] = self.features.radii
        for name, radius in radii.items():
            if name not in names:
                raise ParameterError(f"{self.name} has no contact point '{name}'")
            if not (np.isfinite(radius) and radius >= 0):
                raise ParameterError(f"radius of {name} must be 0 or more: {radius}")
            radii_of_points[names.index(name)] = radius
        return radii_of_points

    @property
    def methods(self) -> tuple[str, ...]:
        """Accelerations of solids that touch each other are not computed.

        Where a model's own do, the event-driven method hands over to time steps.
        """
        both = (EVENT_DRIVEN, TIME_STEPPING)
        return both[1:] if self.bodies or self.others else both

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall (3,) [m/s^2]."""
        return np.array(self._pin.gravity.linear)

    @property
    def weight(self) -> float:
        """Of the model in this gravity [N]."""
        return self.model.mass * float(np.linalg.norm(self.gravity))

    def chart(self, q: np.ndarray) -> Chart:
        """Coordinates around a configuration."""
        if self.bodies or self.others:
            others = [part.robot.model.nq for part in self.others]
            return SceneChart(q, self.robot_nq, len(self.bodies), others)
        return FreeBaseChart(q)

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used.

        A run begins here: nothing is known of where solids touch.
        """
        self.pairs.forget()
        if self.bodies or self.others:
            self._check_bodies(q, v)
        if self._model is not None:
            self._model.check_configuration(q[: self.robot_nq])
            self._model.check_velocity(v[: self.robot_nv])
        if len(self.locked) and np.any(v[self.locked]):
            moving = self.locked[np.flatnonzero(v[self.locked])[0]]
            raise ParameterError(
                f"{self.velocity_names[moving]} is locked: its velocity must be zero"
            )

    @property
    def contact_arrays(
        self,
    ) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray, list[int]]:
        """Contacts as kernels take them: a moving geometry, and its buffers.

        Returns:
            fields of a :class:`MovingGeometry`; its poses (m, 3, 4) and motions
            (m, 2, 6), which are to be written before it is used; the joints that they
            belong to.
        """
        return self._moving, self._poses, self._motions, self._joints

    def _check_bodies(self, q: np.ndarray, v: np.ndarray) -> None:
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise ConfigurationError(
                f"{self.nq} coordinates and {self.nv} velocities must be given"
            )
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ConfigurationError("coordinates and velocities must be finite")
        for robot, _, places, speeds in self.others:
            robot.model.check_configuration(q[places])
            robot.model.check_velocity(v[speeds])
        end = self.robot_nq + 7 * len(self.bodies)
        for body, part in zip(
            self.bodies, q[self.robot_nq : end].reshape(-1, 7), strict=True
        ):
            length = float(np.linalg.norm(part[3:]))
            if abs(length - 1.0) > 1e-6:
                raise ConfigurationError(
                    f"the quaternion of {body.name} has the length {length:g}"
                )

    @cached_property
    def tree(self) -> TreeTable | None:
        """The model's links as arrays; None where it has joints of several axes."""
        rotors = None if self._model is None else self._model.rotors
        table = None if rotors is None else rotors.table
        return tree_table(self._pin, self.armature, table, self.locked)

    @property
    def _data(self) -> pin.Data:
        return self.model.buffers if self._own_data is None else self._own_data

    def _read(self, data: pin.Data, order: int) -> None:
        """Poses of the links that touch, with velocities and accelerations by order."""
        if self._memory is None or self._memory.data is not data:
            self._memory = JointMemory(data, self._joints)
        self._memory.read_poses(self._poses)
        if order > 0:
            self._memory.read_velocities(self._motions)
        if order > 1:
            self._memory.read_accelerations(self._motions)

    def _equations(
        self, q: np.ndarray, v: np.ndarray
    ) -> tuple[pin.Data, np.ndarray, np.ndarray]:
        """Mass matrix and bias; the data then holds what contacts need."""
        data, model = self._data, self._model
        mass = pin.crba(self._pin, data, q, pin.Convention.WORLD)
        bias = pin.nonLinearEffects(self._pin, data, q, v)
        rotors = None if model is None else model.rotors
        if model is not None and rotors is not None:
            model.check_reach(rotors.add_inertia(q, rotors.table, mass))
            model.check_reach(rotors.add_effects(q, v, rotors.table, bias))
        add_diagonal(mass, self.armature)
        if self.damped:
            bias += self.dissipation.damping * v
        return data, mass, bias

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        data, mass, bias = self._equations(q, v)
        if len(which):
            self._read(data, 2)
            links = which >= self._first_pair
            points = which[~links]
            drift = np.zeros((len(points), 3))
            gap, rows = contact_rows(points, data.J, self._moving, q, drift)
            if links.any():
                own = which - self._first_pair
                gap, rows, drift = self.pairs.joined(data, own, (gap, rows, drift))
        else:
            gap, rows, drift = _NO_GAP, np.zeros((0, 3, self.nv)), _NO_DRIFT
        if len(self.locked):
            lock(self.locked, mass, bias, rows)
        return Terms(mass, bias, gap, rows, drift)

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        data, mass, bias = self._equations(q, v)
        self._read(data, 2)
        which, gap, rows, drift = closing_rows(time, closed, data.J, self._moving, q, v)
        if len(self.pairs):
            own = self.pairs.active(data, time, closed[self._first_pair :])
            if len(own):
                which = np.concatenate([which, own + self._first_pair])
                own = which - self._first_pair
                gap, rows, drift = self.pairs.joined(data, own, (gap, rows, drift))
        if len(self.locked):
            lock(self.locked, mass, bias, rows)
        return which, Terms(mass, bias, gap, rows, drift)

    @property
    def rubbing_joints(self) -> np.ndarray:
        """Velocities that have dry friction and are not locked (indices)."""
        return self._bounded.joints

    @property
    def dry_groups(self) -> BoundedGroups:
        """Rows of dry friction of joints, which are the same in every step."""
        return self._bounded.dry

    @property
    def turning_friction(self) -> bool:
        """Whether contacts have rolling or torsional friction."""
        return self._bounded.turns

    def bounded_groups(self, q: np.ndarray, which: np.ndarray) -> BoundedGroups | None:
        """Rows of dry, rolling and torsional friction, after equations of motion at q.

        Args:
            q: configuration.
            which: contacts of the step (k,).
        """
        if not self._bounded.any:
            return None
        spin = np.zeros((len(which), 3, self.nv))
        if self._bounded.turns:
            jacobian = self._data.J
            solids = self._point_contacts // len(self.contact_points)
            turning = np.flatnonzero(
                which < self._point_contacts
            )  # neither limits nor links
            geometry = (jacobian, self._moving, q, _NO_DRIFT)
            rows = contact_rows(which[turning], *geometry)[1]
            # A shift of the base moves every point alike: these columns are the frames.
            frames = rows[:, :, :3] @ pin.Quaternion(q[3:7]).matrix().T
            for c, frame in zip(turning, frames, strict=True):
                moves = self._support[which[c] // solids]
                spin[c] = frame @ (jacobian[3:] * moves)
            spin[:, :, self.locked] = 0.0
        return self._bounded.groups(which, spin)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        data = self._data
        if self._point_contacts or len(self.pairs):
            pin.forwardKinematics(self._pin, data, q)
            self._read(data, 0)
        gaps: np.ndarray = point_gaps(self._still, q)
        if len(self.pairs):
            return self.pairs.with_gaps(gaps, data)
        return gaps

    def solid_gap(self, q: np.ndarray, watched: float = np.inf) -> float:
        """Least gap of points of pairs of solids at q, if that is ``watched`` or less.

        Contact points that touch by themselves are left out [m].
        """
        pin.forwardKinematics(self._pin, self._data, q)
        return min(watched, self.pairs.least_gap(self._data))

    def gaps_anew(self, q: np.ndarray, v: np.ndarray, time: float) -> np.ndarray:
        """Gaps of all contacts with the points of pairs at q; half a step is time."""
        if len(self.pairs):
            pin.forwardKinematics(self._pin, self._data, q, v)
            self.pairs.choose(self._data, time)
            self.pairs.settled = True
        return self.gaps(q)

    def link_contacts(self, part: RobotPart) -> np.ndarray:
        """Contacts of a robot's links with what is not of it, as solids (nc,).

        1 where its link is the first of the two, -1 where it is the second, else 0.
        """
        signs = np.zeros(len(self.contacts))
        for k, pair in enumerate(self.pairs.pairs):
            if pair.kind == POINT:
                own = slice(self._first_pair + SLOTS * k, None)
                sign = part.carries(pair.first.joint) - part.carries(pair.second.joint)
                signs[own][:SLOTS] = sign
        return signs

    def bearing_pairs(
        self, sample: Sample, signs: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Closed contacts of a robot's links with what is not of it, as solids.

        At the last step's end, as they act on the robot: contacts (k,); places,
        normals, velocities and forces in the world (k, 3).

        Args:
            sample: of a simulation of the system.
            signs: of :meth:`link_contacts`.
        """
        first, none = self._first_pair, tuple(np.zeros((0, 3)) for _ in range(5))
        if not len(self.pairs):
            return none
        closed = (sample.contacts != 0) & (signs != 0)
        if not closed[first:].any():
            return none
        pin.forwardKinematics(self._pin, self._data, sample.q, sample.v)
        slots, (at, normal, speed) = self.pairs.bearing(self._data, closed[first:])
        forces = sample.forces[first + slots]
        frames = np.empty((len(slots), 3, 3))
        for frame, n in zip(frames, normal, strict=True):
            basis(n, frame)
        force = np.einsum("kij,ki->kj", frames, forces)
        sign = signs[first + slots, None]
        return first + slots, at, sign * normal, sign * speed, sign * force

    def point_places(self, q: np.ndarray) -> np.ndarray:
        """The contact points in the world (npoints, 3) [m]."""
        pin.forwardKinematics(self._pin, self._data, q)
        return self.points.positions(self._data)

    def surface_features(self, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Numbers of what some contacts of points are with: a face, an edge (k,).

        Args:
            q: configuration.
            which: indices of the contacts (k,).
        """
        data = self._data
        pin.forwardKinematics(self._pin, data, q)
        self._read(data, 0)
        return point_features(self._still, which)

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates [m, m/s; rad, rad/s]."""
        data = self._data
        if self._point_contacts or len(self.pairs):
            pin.forwardKinematics(self._pin, data, q, v)
            self._read(data, 1)
        gap, rate = point_gap_rates(self._still, self._motions, q, v)
        if not len(self.pairs):
            return gap, rate
        pin.computeJointJacobians(self._pin, data, q)
        own, own_rate = self.pairs.gap_rates(data)
        return np.concatenate([gap, own]), np.concatenate([rate, own_rate])

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        if self.bodies or self.others:
            kinetic = float(pin.computeKineticEnergy(self._pin, self._data, q, v))
        else:
            kinetic = self.model.kinetic_energy(q, v)
        kinetic += 0.5 * float(self.armature @ v**2)
        return kinetic, float(pin.computePotentialEnergy(self._pin, self._data, q))

    def pose(self, q: np.ndarray, name: str) -> pin.SE3:
        """Where a body is: its centre of mass and axes."""
        k = [body.name for body in self.bodies].index(name)
        part = q[self.robot_nq + 7 * k : self.robot_nq + 7 * k + 7]
        return pin.XYZQUATToSE3(finite_array(part, (7,), f"pose of {name}"))

    def point_force(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link (nv,).

        Args:
            q: configuration.
            link: a link, frame or body; empty for the base.
            point: in its frame [m].
            force: in the world [N].
        """
        names = [body.name for body in self.bodies]
        if link in names:
            k = names.index(link)
            act, first = np.zeros(self.nv), self.robot_nv + 6 * k
            turn = self.pose(q, link).rotation
            act[first : first + 3] = force
            act[first + 3 : first + 6] = np.cross(point, turn.T @ force)
            return act
        if self._model is None:
            raise ParameterError(f"the scene has no body '{link}'")
        generalised = point_force(self._pin, self._data, q, link, point, force)
        generalised[self.locked] = 0.0
        return generalised


def can_hand_over(model: Model, ground: Ground, resistance: JointDissipation) -> bool:
    """Whether the event-driven method can go on by time steps where solids touch.

    It cannot with joints of several axes, dry friction of joints, rolling friction, or
    on ground that gives way: there links touch with their contact points alone.
    """
    bounded = resistance.friction.any() or ground.rolling or ground.torsional
    several = any(joint.nv != 1 for joint in list(model.pin.joints)[2:])
    return not (bounded or several or ground.surface is not None)


_NO_GAP, _NO_DRIFT = np.zeros(0), np.zeros((0, 3))


@runtime_checkable
class Recorded(Protocol):
    """A system that describes itself for the record of a run."""

    def record(self) -> dict[str, Any]:
        """Plain data."""


def scene_record(system: System) -> dict[str, Any]:
    """Model, solids and radii as plain data; nothing for general coordinates."""
    if isinstance(system, Recorded):
        return system.record()
    if not isinstance(system, ModelSystem):
        return {}
    record = model_and_ground(system.model, system.ground)
    surface = system.ground.surface
    if surface is not None:  # its state is that of the last sample
        record[getattr(surface, "record_key", "surface")] = surface.record()
    if len(system.pairs) and system.features is not None:
        record["handed_over"] = sorted({pair.name for pair in system.pairs.pairs})
    return {**record, **touching_record(system)}


def touching_record(system: ModelSystem) -> dict[str, Any]:
    """The record of a model's contacts, as plain data."""
    balls = sphere_tags(system.model)
    features = system.features
    own = set(() if features is None else features.names)
    radii = zip(system.contact_points, system.radii.tolist(), strict=True)
    return {
        "radii": {name: radius for name, radius in radii if radius and name not in own},
        **({} if features is None else {"features": features.record()}),
        **({"sphere_tags": balls} if balls else {}),
        **({"armature": system.armature.tolist()} if system.armature.any() else {}),
        **system.dissipation.record(system.velocity_names),
    }
