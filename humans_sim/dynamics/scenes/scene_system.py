# SPDX-License-Identifier: Apache-2.0
"""A robot and free bodies in one scene, as the dynamics sees them.

All of them stand in one tree of pinocchio's: the robot first, then a free flyer for
each body. So they share one mass matrix and one contact problem, and a robot can push a
box. Made for the method ``time_stepping``: the accelerations of contacts between
movers, which event-driven simulation needs, are not computed.

Actuation and control of the robot see the robot alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.loads import Load, Moving
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.contact.geometry.body_features import BodyFeatures
from humans_sim.contact.geometry.convex_pairs import BOX_SLOTS, CHOICE
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.bounded_kernels import BoundedGroups
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.actuation_interface import Actuation, PartActuation
from humans_sim.dynamics.contact_kernels import add_diagonal
from humans_sim.dynamics.controller import ControlFunction, Controller, ControlState
from humans_sim.dynamics.joints import BoundedRows, JointDissipation
from humans_sim.dynamics.link_pairs import link_pairs, own_links
from humans_sim.dynamics.model_system import (
    POSE,
    TWIST,
    ModelSystem,
    touching_record,
)
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_contacts import (
    SceneContacts,
    SceneGeometry,
    SceneMotion,
    closing,
    gyroscopic,
    scene_geometry,
    scene_rates,
    scene_rows,
    world_solids,
)
from humans_sim.dynamics.self_contacts import SelfContacts, moved_velocities
from humans_sim.dynamics.system import TIME_STEPPING, Chart, FreeBaseChart, Terms
from humans_sim.models import Model
from humans_sim.results.record import model_and_ground


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

    def __init__(self, centre: np.ndarray, robot: int, bodies: int) -> None:
        """Coordinates around ``centre``; ``robot``: how many are the robot's."""
        cuts = [robot] if robot else []
        cuts += [robot + 7 * (k + 1) for k in range(bodies)]
        starts = [0, *cuts[:-1]]
        kinds = [FreeBaseChart] if robot else []
        kinds += [BodyChart] * bodies
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


_ENERGY = 1e-4
"""Energy that a step may add, relative: putting gaps right does a little work."""


class SceneSystem:
    """Free bodies on a ground, with a robot or without one.

    Configurations are the robot's, then seven numbers for each body: place of its
    centre of mass, quaternion (x, y, z, w); velocities are the robot's, then six
    numbers each: velocity of the centre in the world's frame, spin in the body's.

    Attributes:
        robot: None where there is none.
        touching: the robot with what of it touches, as if it were alone; or None.
    """

    methods: tuple[str, ...] = (TIME_STEPPING,)
    bias_at_midpoint = True
    """Time steps need not predict the velocity that the bias is taken at."""

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        ground: Ground | None = None,
        *,
        robot: Model | None = None,
        radii: Mapping[str, float] | None = None,
        contacts: Sequence[str] | None = None,
        armature: np.ndarray | None = None,
        gravity: Sequence[float] | None = None,
        self_collision: bool | Mapping[str, Any] | None = None,
        features: BodyFeatures | None = None,
        dissipation: JointDissipation | None = None,
    ) -> None:
        """Put bodies, and a robot, on a ground.

        ``armature`` is that of the robot's drives; ``gravity`` [m/s^2] 9.81 downwards,
        or the robot's, unless given; ``radii``, ``contacts``, ``self_collision``,
        ``features`` and ``dissipation`` are as of a ``ModelSystem``.
        """
        if not bodies:
            raise BodyError("a scene needs a body")
        names = [body.name for body in bodies]
        if len(set(names)) != len(names):
            raise BodyError(f"two bodies have one name: {', '.join(names)}")
        if robot is not None and robot.rotors is not None:
            raise ParameterError(
                f"{robot.name} has geared rotors, which a scene of bodies does not know"
            )
        self.robot, self.bodies = robot, tuple(bodies)
        self.ground = Ground() if ground is None else ground
        self.name = robot.name if robot else "scene"
        self._pin, self._first = scene_tree(self.bodies, robot)
        if gravity is not None:
            self._pin.gravity.linear = np.asarray(gravity, dtype=float)
        self._data = self._pin.createData()
        self.nq, self.nv = self._pin.nq, self._pin.nv
        self.robot_nq = robot.nq if robot else 0
        self.robot_nv = robot.nv if robot else 0
        self.locked = np.zeros(0, dtype=np.int64)
        self.position_names, self.velocity_names = (
            (
                *(f"base_{n}" for n in words if robot),
                *(robot.joint_names if robot else ()),
                *(f"{body}_{n}" for body in names for n in words),
            )
            for words in (POSE, TWIST)
        )
        self._armature = np.zeros(self.nv)
        if armature is not None:
            self._armature[: len(armature)] = armature
        self.touching: ModelSystem | None = None
        if robot is not None:
            self.touching = ModelSystem(
                robot, self.ground, radii=radii, contacts=contacts, features=features
            )
        known = self._known = SceneContacts(
            self.bodies, self._first, self.ground, self.touching
        )
        self._links: SelfContacts | None = None
        self.contacts, self.thinnest = known.table, known.thinnest
        self._first_link = len(self.contacts)
        if robot is not None:
            own = own_links(robot, self_collision, TIME_STEPPING)
            pairs = link_pairs(robot, own)
            self._links = SelfContacts(pairs, self._pin, len(robot.joint_names))
            rough = self.ground.friction if own.friction is None else own.friction
            self.contacts = known.table.with_links(self._links.names, rough)
        self._set_dissipation(dissipation)
        self._solids = known.solids.copy()
        self._poses = np.zeros((len(known.joints), 3, 4))
        self._twists = np.zeros((len(known.joints), 2, 3))
        self._shapes = tuple(
            SceneGeometry(
                poses=self._poses,
                places=known.places,
                radii=known.balls,
                feature_mover=known.feature_mover,
                solids=self._solids,
                meshes=self.ground.mesh_data(),
                pairs=known.pairs,
                box_pairs=known.box_pairs,
            )
        )
        support = np.array([moved_velocities(self._pin, j) for j in known.joints])
        self._motion = tuple(
            SceneMotion(
                support=support,
                movers=known.movers,
                limit_of=known.limit_of,
                limit_sign=known.limit_sign,
            )
        )
        count = len(known.box_pairs)
        self._choices = np.zeros((count, CHOICE), dtype=np.int64)
        self._active = np.zeros((count, BOX_SLOTS), dtype=np.bool_)
        self._chosen = False

    def _set_dissipation(self, given: JointDissipation | None) -> None:
        """Damping and dry friction of the robot's joints; bodies have none."""
        if self.ground.rolling or self.ground.torsional:
            raise ParameterError(
                "rolling and torsional friction are those of a model's own contact "
                "points: a scene of bodies does not know them"
            )
        none = JointDissipation(np.zeros(0), np.zeros(0))
        if given is None:
            given = none if self.robot is None else JointDissipation.of(self.robot)
        bodies = (0, self.nv - len(given.damping))
        self.dissipation = replace(
            given,
            damping=np.pad(given.damping, bodies),
            friction=np.pad(given.friction, bodies),
        )
        self.damped = bool(self.dissipation.damping.any())
        smooth = np.zeros(len(self.contacts))
        self._bounded = BoundedRows(self.dissipation.friction, smooth, smooth)
        self.dissipates = self.damped or self._bounded.any

    def bounded_groups(self, q: np.ndarray, which: np.ndarray) -> BoundedGroups | None:
        """Rows of dry friction."""
        if not self._bounded.any:
            return None
        return self._bounded.groups(which, np.zeros((0, 3, self.nv)))

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall (3,) [m/s^2]."""
        return np.array(self._pin.gravity.linear)

    def record(self) -> dict[str, Any]:
        """The record of the scene in a run."""
        return {
            **model_and_ground(self.robot, self.ground),
            **({} if self.touching is None else touching_record(self.touching)),
            "bodies": [body.record() for body in self.bodies],
            "energy_tolerance": _ENERGY,
            **self.dissipation.record(self.velocity_names),
        }

    def configuration(
        self,
        places: Mapping[str, Sequence[float]],
        robot: np.ndarray | None = None,
        rotations: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """A configuration from what is usually known.

        Args:
            places: centres of mass of all bodies, by name [m].
            robot: the robot's configuration.
            rotations: of bodies that are turned, by name (3, 3).

        Raises:
            ConfigurationError: a body is left out, or unknown.
        """
        names = [body.name for body in self.bodies]
        given = {*places, *(rotations or {})}
        if set(places) != set(names) or not given <= set(names):
            raise ConfigurationError(f"places of {', '.join(names)} must be given")
        parts = []
        if self.robot is not None:
            if robot is None:
                raise ConfigurationError("the robot's configuration is missing")
            parts.append(self.robot.check_configuration(robot))
        for name in names:
            turn = np.eye(3) if rotations is None else rotations.get(name, np.eye(3))
            parts.append(real_array(places[name], f"place of {name}"))
            turn = finite_array(turn, (3, 3), f"rotation of {name}")
            parts.append(pin.Quaternion(turn).coeffs())
        return np.concatenate(parts)

    def pose(self, q: np.ndarray, name: str) -> pin.SE3:
        """Where a body is: its centre of mass and axes."""
        k = [body.name for body in self.bodies].index(name)
        part = q[self.robot_nq + 7 * k : self.robot_nq + 7 * k + 7]
        return pin.XYZQUATToSE3(finite_array(part, (7,), f"pose of {name}"))

    def chart(self, q: np.ndarray) -> SceneChart:
        """Coordinates around a configuration."""
        return SceneChart(q, self.robot_nq, len(self.bodies))

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used.

        A run begins here: nothing is known of where boxes touch.
        """
        self._chosen = False
        if self._links is not None:
            self._links.forget()
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise ConfigurationError(
                f"{self.nq} coordinates and {self.nv} velocities must be given"
            )
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ConfigurationError("coordinates and velocities must be finite")
        for start in self._quaternions():
            length = float(np.linalg.norm(q[start : start + 4]))
            if abs(length - 1.0) > 1e-6:
                raise ConfigurationError(f"a quaternion has the length {length:g}")

    def _quaternions(self) -> list[int]:
        first = [3] if self.robot is not None else []
        return first + [self.robot_nq + 7 * k + 3 for k in range(len(self.bodies))]

    def _read(self, moving: bool) -> None:
        """Poses, and twists about the world's origin, of all movers."""
        for k, joint in enumerate(self._known.joints):
            pose = self._data.oMi[joint]
            self._poses[k, :, :3], self._poses[k, :, 3] = (
                pose.rotation,
                pose.translation,
            )
            if moving:
                twist = pose.act(self._data.v[joint])
                self._twists[k, 0], self._twists[k, 1] = twist.linear, twist.angular
        world_solids(
            self._known.solids, self._known.solid_mover, self._poses, self._solids
        )

    def _geometry(self, anew: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps, points, normals; the points of boxes are chosen anew, or stay."""
        fixed, self._chosen = self._chosen and not anew, True
        return scene_geometry(self._shapes, self._choices, self._active, fixed)

    def _limit_gaps(self, q: np.ndarray) -> np.ndarray:
        return self._known.limit_sign * (
            q[1 + self._known.limit_of] - self._known.limit_value
        )

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        pin.forwardKinematics(self._pin, self._data, q)
        self._read(False)
        gaps = np.concatenate([self._geometry(False)[0], self._limit_gaps(q)])
        if self._links is not None:
            return self._links.with_gaps(gaps, self._data, q)
        return gaps

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates."""
        pin.forwardKinematics(self._pin, self._data, q, v)
        self._read(True)
        gap, rate, *_ = self._all_rates(q, v)
        if self._links is None:
            return gap, rate
        pin.computeJointJacobians(self._pin, self._data, q)
        own, own_rate = self._links.gap_rates(self._data, q, v)
        return np.concatenate([gap, own]), np.concatenate([rate, own_rate])

    def _all_rates(
        self, q: np.ndarray, v: np.ndarray, anew: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        gap, point, normal = self._geometry(anew)
        rate = scene_rates(point, normal, self._known.movers, self._twists)
        return (
            np.concatenate([gap, self._limit_gaps(q)]),
            np.concatenate([rate, self._known.limit_sign * v[self._known.limit_of]]),
            point,
            normal,
        )

    def _equations(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = pin.crba(self._pin, self._data, q, pin.Convention.WORLD)
        bias = pin.nonLinearEffects(self._pin, self._data, q, v)
        add_diagonal(mass, self._armature)
        if self.damped:
            bias += self.dissipation.damping * v
        return mass, bias

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        mass, bias = self._equations(q, v)
        self._read(True)
        gap, _, point, normal = self._all_rates(q, v)
        return self._terms(mass, bias, np.asarray(which), gap, point, normal)

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are closed or close within a time, and their equations.

        The bias is that of the spins which the bodies would have after the time: of the
        middle of a step, where it is half a step. With the old spins, a body that
        tumbles would gain energy.
        """
        mass, bias = self._equations(q, v)
        for k, body in enumerate(self.bodies):
            part = slice(self.robot_nv + 6 * k + 3, self.robot_nv + 6 * k + 6)
            inertia, old = body.properties.inertia, v[part]
            bias[part] += gyroscopic(inertia, old, time) - np.cross(old, inertia @ old)
        self._read(True)
        gap, rate, point, normal = self._all_rates(q, v, anew=True)
        which = closing(gap, rate, time, closed)
        if self._links is not None:
            modes = closed[self._first_link :]
            own = self._links.active(self._data, q, v, time, modes)
            which = np.concatenate([which, own + self._first_link])
        return which, self._terms(mass, bias, which, gap, point, normal)

    def _terms(
        self,
        mass: np.ndarray,
        bias: np.ndarray,
        which: np.ndarray,
        gap: np.ndarray,
        point: np.ndarray,
        normal: np.ndarray,
    ) -> Terms:
        links = which >= self._first_link
        others = which[~links]
        rows = scene_rows(others, self._data.J, self._motion, point, normal)
        gap, drift = gap[others], np.zeros((len(others), 3))
        if self._links is not None and links.any():
            own = which - self._first_link
            gap, rows, drift = self._links.joined(self._data, own, (gap, rows, drift))
        return Terms(mass, bias, gap, rows, drift)

    def point_force(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link or body (nv,).

        Args:
            q: configuration.
            link: a body, or a link of the robot; empty for its base.
            point: in the frame of the link or body [m].
            force: in the world [N].

        Raises:
            ParameterError: there is no such thing.
        """
        names, act = [body.name for body in self.bodies], np.zeros(self.nv)
        if link in names:
            pose, k = self.pose(q, link), self.robot_nv + 6 * names.index(link)
            act[k : k + 3] = force
            act[k + 3 : k + 6] = np.cross(point, pose.rotation.T @ force)
        elif self.touching is None:
            raise ParameterError(f"the scene has no body '{link}'")
        else:
            own = self.touching.point_force(q[: self.robot_nq], link, point, force)
            act[: self.robot_nv] = own
        return act

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic = pin.computeKineticEnergy(self._pin, self._data, q, v)
        kinetic += 0.5 * float(self._armature @ v**2)
        return float(kinetic), float(
            pin.computePotentialEnergy(self._pin, self._data, q)
        )


class SceneActuation(PartActuation):
    """The actuation of a robot among free bodies, on which loads act in their order."""

    def __init__(
        self,
        scene: SceneSystem,
        robot: Actuation | None = None,
        loads: Sequence[Load] = (),
    ) -> None:
        self._scene, self._loads, nv = scene, tuple(loads), scene.robot_nv
        super().__init__(robot or Actuation(), scene.robot_nq, nv, scene.nv - nv)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the robot's actuation and of the loads."""
        forces, rates = super().dynamics(t, q, v, z)
        if self._loads:
            moving = moving_bodies(self._scene, q, v)
            force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
            for load in self._loads:
                load.add(t, moving, force, torque)
            turned = np.einsum("nji,nj->ni", moving.frames, torque)
            forces[self._nv :] = np.concatenate([force, turned], axis=1).ravel()
        return forces, rates


def moving_bodies(scene: SceneSystem, q: np.ndarray, v: np.ndarray) -> Moving:
    """The motion of a scene's bodies, in the world's frame."""
    places = q[scene.robot_nq :].reshape(-1, 7)
    speeds = v[scene.robot_nv :].reshape(-1, 2, 3)
    frames = np.array(
        [pin.Quaternion(row[3:].copy()).normalized().matrix() for row in places]
    )
    spins = np.einsum("nij,nj->ni", frames, speeds[:, 1])
    return Moving(places[:, :3], frames, speeds[:, 0], spins)


class SceneController(Controller):
    """Shows a robot's controller the robot alone, without contacts and forces."""

    def __init__(self, scene: SceneSystem, robot: ControlFunction) -> None:
        self._robot, self._nq, self._nv = robot, scene.robot_nq, scene.robot_nv
        self.period = robot.period if isinstance(robot, Controller) else None

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command of the robot's controller."""
        own = ControlState(state.q[: self._nq], state.v[: self._nv], state.z)
        return self._robot(t, own)
