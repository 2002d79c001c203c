# SPDX-License-Identifier: Apache-2.0
"""A biped model in its scene, as the dynamics sees it.

Also: the table of its contacts (points with solids, joints with limits), the points
that may touch (tags, then features of its body), and its record in a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.body_features import BodyFeatures
from humans_sim.contact.geometry.foot_spheres import sphere_tags
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.bounded_kernels import BoundedGroups
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError
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
from humans_sim.dynamics.link_pairs import link_pairs
from humans_sim.dynamics.self_contacts import SelfContacts
from humans_sim.dynamics.system import (
    EVENT_DRIVEN,
    TIME_STEPPING,
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
from humans_sim.results.records import LIMIT, POINT, ContactTable

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
    def of(
        cls,
        model: Model,
        tags: tuple[str, ...],
        features: BodyFeatures | None,
        locked: np.ndarray,
    ) -> ContactPoints:
        """Tags of a model, and features of those of its links that can move."""
        fixed = model.tag_points(tags)
        own = {tag.name: tag.link for tag in model.parts.tags}
        links = tuple(own[name] for name in tags)
        if features is None:
            return cls(tags, links, fixed, None)
        taken = sorted(set(tags) & set(features.names))
        if taken:
            raise ParameterError(f"two contact points are called '{taken[0]}'")
        joints, places = features.in_joints(model)
        reached = PointSet(model.pin, joints, places).support.copy()
        reached[:, locked] = False
        moving = np.flatnonzero(reached.any(axis=1))
        features = features.some(moving)
        carriers = [fixed.joints[k] for k in fixed.row] + [joints[k] for k in moving]
        return cls(
            (*tags, *features.names),
            (*links, *features.links),
            PointSet(model.pin, carriers, np.vstack([fixed.local, places[moving]])),
            features,
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
    """The equations of motion of a model whose points may touch the scene.

    Contacts are, in this order: each contact point with each solid, then the lower and
    the upper limit of each joint that is free to move, then the points of each pair of
    links that may touch. A contact point with a radius is a ball around the point.

    Attributes:
        radii: of the balls around the contact points (npoints,) [m].
        armature: inertia of drives on the diagonal of the mass matrix (nv,).
    """

    def __init__(
        self,
        model: Model,
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
        dissipation: JointDissipation | None = None,
    ) -> None:
        """Put a model into a scene, its ``ground``.

        ``locked`` and ``gravity`` are as of a ``Simulation``; ``limits``,
        ``limit_restitution``, ``radii`` and ``contacts`` (its points) as of
        ``Contacts``. ``features`` of the body touch in addition; ``self_collision`` and
        ``dissipation`` are the model's own unless given.
        """
        self.model, self.ground = model, ground
        self.name = model.name
        self.nq, self.nv = model.nq, model.nv
        self.position_names = (*(f"base_{n}" for n in POSE), *model.joint_names)
        self.velocity_names = (*(f"base_{n}" for n in TWIST), *model.joint_names)
        self.locked = locked_velocities(model, locked)
        tags = model.contact_names if contacts is None else tuple(contacts)
        touching = ContactPoints.of(model, tags, features, self.locked)
        names, self.contact_links, points, self.features = touching
        self.contact_points, self.points = names, points
        self.radii = self._radii(radii or {})
        self.armature = np.zeros(self.nv) if armature is None else armature
        if self.armature.shape != (self.nv,):
            raise ParameterError(f"armature must have {self.nv} entries")
        self._has_armature = bool(np.any(self.armature))
        self.thinnest = ground.thinnest()
        self._pin, self._own_data = model.pin, None
        if gravity is not None:
            self._pin = pin.Model(model.pin)
            self._pin.gravity = pin.Motion(
                finite_array(gravity, (3,), "gravity"), np.zeros(3)
            )
            self._own_data = self._pin.createData()
        self._joints = points.joints
        lower, upper = self.joint_limits = joint_limits(model, limits)
        free = [j for j in range(len(lower)) if 6 + j not in self.locked]
        bounded_below = [j for j in free if np.isfinite(lower[j])]
        bounded_above = [j for j in free if np.isfinite(upper[j])]
        own_pairs = link_pairs(model, self_collision or SelfCollision(enabled=False))
        self.own_links = SelfContacts(own_pairs, self._pin, len(model.joint_names))
        rough = None if self_collision is None else self_collision.friction
        self.contacts = contact_table(
            ground,
            self.contact_points,
            [f"{model.joint_names[j]}/lower" for j in bounded_below]
            + [f"{model.joint_names[j]}/upper" for j in bounded_above],
            limit_restitution,
        ).with_links(self.own_links.names, ground.friction if rough is None else rough)
        self._poses = np.zeros((len(self._joints), 3, 4))
        self._motions = np.zeros((len(self._joints), 2, 6))
        centres, reaches = touching.bounding_balls(self.radii)
        still = ContactGeometry(
            local=points.local,
            row=points.row,
            poses=self._poses,
            radius=self.radii,
            solids=ground.table(float(self.radii.max(initial=0.0))),
            meshes=ground.mesh_data(),
            limit_joint=np.array(bounded_below + bounded_above, dtype=np.int64),
            limit_sign=np.array(
                [1.0] * len(bounded_below) + [-1.0] * len(bounded_above)
            ),
            limit_value=np.array(
                [lower[j] for j in bounded_below] + [upper[j] for j in bounded_above]
            ),
            centre=centres,
            reach=reaches,
        )
        self._pairs = len(names) * len(still.solids)
        self._first_link = len(self.contacts) - len(self.own_links)
        # Plain tuples: numba takes a microsecond to see the type of a named one.
        self._still = tuple(still)
        self._moving = tuple(
            MovingGeometry(
                still=self._still,
                motions=self._motions,
                support=points.support,
                gravity=np.array(self._pin.gravity.linear),
            )
        )
        self._memory: JointMemory | None = None
        self._support = points.support
        self.dissipation = dissipation or JointDissipation.of(model)
        self.damped = bool(self.dissipation.damping.any())
        friction = self.dissipation.friction.copy()
        friction[self.locked] = 0.0
        turning = np.zeros(len(self.contacts))
        turning[: self._pairs] = 1.0
        balls = turning.copy()
        balls[: self._pairs] = np.repeat(self.radii > 0, len(still.solids))
        self._bounded = BoundedRows(
            friction, ground.torsional * turning, ground.rolling * balls
        )
        self.dissipates = self.damped or self._bounded.any

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
        """Accelerations of links that touch each other are not computed."""
        both = (EVENT_DRIVEN, TIME_STEPPING)
        return both[1:] if len(self.own_links) else both

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall (3,) [m/s^2]."""
        return np.array(self._pin.gravity.linear)

    @property
    def weight(self) -> float:
        """Of the model in this gravity [N]."""
        return self.model.mass * float(np.linalg.norm(self.gravity))

    def chart(self, q: np.ndarray) -> FreeBaseChart:
        """Coordinates around a configuration."""
        return FreeBaseChart(q)

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used.

        A run begins here: nothing is known of where links touch.
        """
        self.own_links.forget()
        self.model.check_configuration(q)
        self.model.check_velocity(v)
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

    def are_links_apart(self, q: np.ndarray, v: np.ndarray, time: float) -> bool:
        """Whether no links can touch each other soon; their gaps then count as 1 m.

        Args:
            q: configuration.
            v: velocity.
            time: half a step [s].
        """
        links, tree = self.own_links, self._tree_arrays
        if not len(links):
            return True
        if tree is not None and links.are_far(tree, q, v, time):
            return True
        pin.forwardKinematics(self._pin, self._data, q)
        links.choose(self._data, q, v, time)
        return links.none_chosen

    @cached_property
    def _tree_arrays(self) -> tuple[np.ndarray, ...] | None:
        """The tree as a plain tuple."""
        return None if self.tree is None else tuple(self.tree)

    @cached_property
    def tree(self) -> TreeTable | None:
        """The model's links as arrays; None where it has joints of several axes."""
        rotors = self.model.rotors
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
        model = self.model
        data = self._data
        mass = pin.crba(self._pin, data, q, pin.Convention.WORLD)
        bias = pin.nonLinearEffects(self._pin, data, q, v)
        rotors = model.rotors
        if rotors is not None:
            model.check_reach(rotors.add_inertia(q, rotors.table, mass))
            model.check_reach(rotors.add_effects(q, v, rotors.table, bias))
        if self._has_armature:
            add_diagonal(mass, self.armature)
        if self.damped:
            bias += self.dissipation.damping * v
        return data, mass, bias

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        data, mass, bias = self._equations(q, v)
        if len(which):
            self._read(data, 2)
            links = which >= self._first_link
            gap, rows, drift = contact_rows(which[~links], data.J, self._moving, q)
            if links.any():
                own = which - self._first_link
                gap, rows, drift = self.own_links.joined(data, own, (gap, rows, drift))
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
        if len(self.own_links):
            own = self.own_links.active(data, q, v, time, closed[self._first_link :])
            if len(own):
                which = np.concatenate([which, own + self._first_link])
                own = which - self._first_link
                gap, rows, drift = self.own_links.joined(data, own, (gap, rows, drift))
        if len(self.locked):
            lock(self.locked, mass, bias, rows)
        return which, Terms(mass, bias, gap, rows, drift)

    @property
    def rubbing_joints(self) -> np.ndarray:
        """Velocities that have dry friction and are not locked (indices)."""
        return self._bounded.joints

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
            jacobian, solids = self._data.J, self._pairs // len(self.contact_points)
            turning = np.flatnonzero(which < self._pairs)  # neither limits nor links
            rows = contact_rows(which[turning], jacobian, self._moving, q)[1]
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
        if self._pairs or len(self.own_links):
            pin.forwardKinematics(self._pin, data, q)
            self._read(data, 0)
        gaps: np.ndarray = point_gaps(self._still, q)
        if len(self.own_links):
            return self.own_links.with_gaps(gaps, data, q)
        return gaps

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
        if self._pairs:
            pin.forwardKinematics(self._pin, data, q, v)
            self._read(data, 1)
        gap, rate = point_gap_rates(self._still, self._motions, q, v)
        if not len(self.own_links):
            return gap, rate
        pin.computeJointJacobians(self._pin, data, q)
        own, own_rate = self.own_links.gap_rates(data, q, v)
        return np.concatenate([gap, own]), np.concatenate([rate, own_rate])

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic = self.model.kinetic_energy(q, v) + 0.5 * float(self.armature @ v**2)
        return kinetic, float(pin.computePotentialEnergy(self._pin, self._data, q))

    def point_force(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link (nv,).

        Args:
            q: configuration.
            link: a link or frame; empty for the base.
            point: in the link's frame [m].
            force: in the world [N].
        """
        generalised = point_force(self._pin, self._data, q, link, point, force)
        generalised[self.locked] = 0.0
        return generalised


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
