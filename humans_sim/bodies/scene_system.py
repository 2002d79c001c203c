"""A robot and free bodies in one scene, as the dynamics sees them.

All of them stand in one tree of pinocchio's: the robot first, then a free flyer for
each body. So they share one mass matrix and one contact problem, and a robot can push a
box. Made for the method ``time_stepping``: the accelerations of contacts between
movers, which event-driven simulation needs, are not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.box_pairs import CHOICE, SLOTS
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.bodies.scene_bodies import SceneBody
from humans_sim.bodies.scene_chart import SceneChart
from humans_sim.bodies.scene_kernels import (
    closing,
    gyroscopic,
    scene_geometry,
    scene_rates,
    scene_rows,
    world_solids,
)
from humans_sim.contact.ground import Ground
from humans_sim.contact.solids import Box
from humans_sim.dynamics.contact_kernels import add_diagonal
from humans_sim.dynamics.record import model_and_ground
from humans_sim.dynamics.system import LIMIT, POINT, ContactTable, Terms
from humans_sim.errors import ConfigurationError, ParameterError
from humans_sim.models import Model

_BODY = ("x", "y", "z", "qx", "qy", "qz", "qw")
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_FLOOR = -1
_ENERGY = 1e-4
"""Energy that a step may add, relative: putting gaps right does a little work."""


class SceneSystem:
    """Free bodies on a ground, with a robot or without one.

    Configurations are the robot's, then seven numbers for each body: place of its
    centre of mass, quaternion (x, y, z, w); velocities are the robot's, then six
    numbers each: velocity of the centre in the world's frame, spin in the body's.

    Attributes:
        robot: None where there is none.
        bodies: in their order.
        ground: what does not move.
    """

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
    ) -> None:
        """Put bodies, and a robot, on a ground.

        Args:
            bodies: free ones.
            ground: a floor unless given.
            robot: a biped model.
            radii: balls around the robot's contact points, by name [m].
            contacts: tags of the robot that may touch; its contact points unless given.
            armature: inertia of the robot's drives (nv of the robot,).
            gravity: [m/s^2]; 9.81 downwards, or the robot's, unless given.

        Raises:
            BodyError: there is no body, or two have one name.
            ParameterError: the robot has no such point, or has geared rotors.
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
        self.name = "+".join([robot.name] if robot else []) or "scene"
        self._pin, self._first = _tree(self.bodies, robot)
        if gravity is not None:
            self._pin.gravity.linear = np.asarray(gravity, dtype=float)
        self._data = self._pin.createData()
        self.nq, self.nv = self._pin.nq, self._pin.nv
        self.robot_nq = robot.nq if robot else 0
        self.robot_nv = robot.nv if robot else 0
        self.locked = np.zeros(0, dtype=np.int64)
        joints = tuple(robot.joint_names) if robot else ()
        base = ("base",) if robot else ()
        self.position_names = (
            *(f"{b}_{n}" for b in base for n in _BODY),
            *joints,
            *(f"{body}_{n}" for body in names for n in _BODY),
        )
        self.velocity_names = (
            *(f"{b}_{n}" for b in base for n in _TWIST),
            *joints,
            *(f"{body}_{n}" for body in names for n in _TWIST),
        )
        self._armature = np.zeros(self.nv)
        if armature is not None:
            self._armature[: len(armature)] = armature
        self._gather(radii or {}, contacts)

    def _gather(
        self, radii: Mapping[str, float], contacts: Sequence[str] | None
    ) -> None:
        """Movers, features, solids, and which of them may touch."""
        joints: list[int] = []
        places, balls, feature_mover, feature_names = [], [], [], []
        if self.robot is not None:
            points = self.robot.contact_points
            tags = self.robot.contact_names
            if contacts is not None:
                points, tags = self.robot.tag_points(contacts), tuple(contacts)
            for name in radii:
                if name not in tags:
                    raise ParameterError(f"{self.robot.name} has no point '{name}'")
            joints += [int(j) for j in points.joints]
            for k, tag in enumerate(tags):
                places.append(points.local[k])
                balls.append(float(radii.get(tag, 0.0)))
                feature_mover.append(int(points.row[k]))
                feature_names.append(tag)
        rows, solid_mover, solid_names, frictions = [], [], [], []
        for solid, friction in zip(
            self.ground.solids, self.ground.frictions(), strict=True
        ):
            rows.append(solid.row())
            solid_mover.append(_FLOOR)
            solid_names.append(solid.name)
            frictions.append(float(friction))
        boxes = [k for k, s in enumerate(self.ground.solids) if isinstance(s, Box)]
        plain = float(self.ground.friction)
        for k, body in enumerate(self.bodies):
            mover = len(joints)
            joints.append(self._first + k)
            single = len(body.points) == 1
            for p, point in enumerate(body.points):
                places.append(point - body.properties.center)
                balls.append(body.radius)
                feature_mover.append(mover)
                feature_names.append(body.name if single else f"{body.name}.{p}")
            if body.solid is not None:
                row = body.solid.row()
                row[1:4] -= body.properties.center
                if isinstance(body.solid, Box):
                    boxes.append(len(rows))
                rows.append(row)
                solid_mover.append(mover)
                solid_names.append(body.name)
                frictions.append(plain if body.friction is None else body.friction)
        self._joints = joints
        self._places, self._balls = np.array(places), np.array(balls)
        self._feature_mover = np.array(feature_mover, dtype=np.int64)
        self._local_solids = np.array(rows).reshape(-1, 16)
        self._solids = self._local_solids.copy()
        self._solid_mover = np.array(solid_mover, dtype=np.int64)
        self._poses = np.zeros((len(joints), 3, 4))
        self._twists = np.zeros((len(joints), 2, 3))
        self._support = np.array([_columns(self._pin, j) for j in joints])
        self._pair(boxes, feature_names, solid_names, np.array(frictions))

    def _pair(
        self,
        boxes: list[int],
        feature_names: list[str],
        solid_names: list[str],
        frictions: np.ndarray,
    ) -> None:
        boxed = {int(self._solid_mover[s]) for s in boxes} - {_FLOOR}
        pairs, table, names, movers = [], [], [], []
        robot_movers = self._first_body_mover()
        for f, mover in enumerate(self._feature_mover):
            for s, other in enumerate(self._solid_mover):
                if other == mover:
                    continue
                # boxes meet as boxes, below
                if int(mover) in boxed and s in boxes:
                    continue
                # each pair of balls once
                if (
                    self._is_ball(f)
                    and other > mover >= robot_movers
                    and s not in boxes
                ):
                    continue
                pairs.append((f, s))
                table.append(min(frictions[s], self._own_friction(int(mover))))
                names.append(f"{feature_names[f]}/{solid_names[s]}")
                movers.append((int(mover), int(other)))
        box_pairs = []
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                first, second = int(self._solid_mover[b]), int(self._solid_mover[a])
                if first == second:
                    continue
                box_pairs.append((b, a))
                for slot in range(SLOTS):
                    names.append(f"{solid_names[b]}/{solid_names[a]}.{slot}")
                    table.append(min(frictions[a], frictions[b]))
                    movers.append((first, second))
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._box_pairs = np.array(box_pairs, dtype=np.int64).reshape(-1, 2)
        self._movers = np.array(movers, dtype=np.int64).reshape(-1, 2)
        self._choices = np.zeros((len(box_pairs), CHOICE), dtype=np.int64)
        self._active = np.zeros((len(box_pairs), SLOTS), dtype=np.bool_)
        self._chosen = False
        sizes = [2 * float(min(self._local_solids[b, 4:7])) for b in boxes]
        self.thinnest = min([self.ground.thinnest(), *sizes])
        self._limits()
        count, ends = len(names), self._limit_names
        self.contacts = ContactTable.of(
            names=(*names, *ends),
            kinds=(POINT,) * count + (LIMIT,) * len(ends),
            tangents=np.array([2] * count + [0] * len(ends)),
            friction=np.array([*table, *([0.0] * len(ends))]),
            restitution=np.array([self.ground.restitution] * count + [0.0] * len(ends)),
        )

    def _own_friction(self, mover: int) -> float:
        """Of a body; the robot's feet are as rough as what they touch."""
        k = mover - self._first_body_mover()
        own = self.bodies[k].friction if k >= 0 else None
        return np.inf if own is None else own

    def _first_body_mover(self) -> int:
        return len(self._joints) - len(self.bodies)

    def _is_ball(self, feature: int) -> bool:
        return bool(self._balls[feature] > 0.0)

    def _limits(self) -> None:
        """Ends of the robot's joints."""
        names, of, sign, value = [], [], [], []
        if self.robot is not None:
            for j, joint in enumerate(self.robot.joint_names):
                for end, s, limits in (
                    ("lower", 1.0, self.robot.lower_limits),
                    ("upper", -1.0, self.robot.upper_limits),
                ):
                    if np.isfinite(limits[j]):
                        names.append(f"{joint}/{end}")
                        of.append(6 + j)
                        sign.append(s)
                        value.append(float(limits[j]))
        self._limit_names = names
        self._limit_of = np.array(of, dtype=np.int64)
        self._limit_sign, self._limit_value = np.array(sign), np.array(value)

    def record(self) -> dict[str, Any]:
        """What a run keeps of the scene."""
        return {
            **model_and_ground(self.robot, self.ground),
            "bodies": [body.record() for body in self.bodies],
            "energy_tolerance": _ENERGY,
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
            raise ConfigurationError(f"places of {', '.join(names)} are wanted")
        parts = []
        if self.robot is not None:
            if robot is None:
                raise ConfigurationError("the robot's configuration is wanted, too")
            self.robot.check_configuration(robot)
            parts.append(np.asarray(robot, dtype=float))
        for name in names:
            turn = np.eye(3) if rotations is None else rotations.get(name, np.eye(3))
            parts.append(np.asarray(places[name], dtype=float))
            parts.append(pin.Quaternion(np.asarray(turn, dtype=float)).coeffs())
        return np.concatenate(parts)

    def pose(self, q: np.ndarray, name: str) -> pin.SE3:
        """Where a body is: its centre of mass and axes."""
        k = [body.name for body in self.bodies].index(name)
        part = q[self.robot_nq + 7 * k : self.robot_nq + 7 * k + 7]
        return pin.XYZQUATToSE3(part)

    def chart(self, q: np.ndarray) -> SceneChart:
        """Coordinates around a configuration."""
        return SceneChart(q, self.robot_nq, len(self.bodies))

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used.

        A run begins here: nothing is known of where boxes touch.
        """
        self._chosen = False
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise ConfigurationError(
                f"{self.nq} coordinates and {self.nv} velocities are wanted"
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
        for k, joint in enumerate(self._joints):
            pose = self._data.oMi[joint]
            self._poses[k, :, :3], self._poses[k, :, 3] = (
                pose.rotation,
                pose.translation,
            )
            if moving:
                twist = pose.act(self._data.v[joint])
                self._twists[k, 0], self._twists[k, 1] = twist.linear, twist.angular
        world_solids(self._local_solids, self._solid_mover, self._poses, self._solids)

    def _geometry(self, anew: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps, points, normals; the points of boxes are chosen anew, or stay."""
        fixed, self._chosen = self._chosen and not anew, True
        return scene_geometry(
            self._poses,
            self._places,
            self._balls,
            self._feature_mover,
            self._solids,
            self._pairs,
            self._box_pairs,
            self._choices,
            self._active,
            fixed,
        )

    def _limit_gaps(self, q: np.ndarray) -> np.ndarray:
        return self._limit_sign * (q[1 + self._limit_of] - self._limit_value)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts [m, rad]."""
        pin.forwardKinematics(self._pin, self._data, q)
        self._read(False)
        return np.concatenate([self._geometry(False)[0], self._limit_gaps(q)])

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates."""
        pin.forwardKinematics(self._pin, self._data, q, v)
        self._read(True)
        gap, rate, *_ = self._all_rates(q, v)
        return gap, rate

    def _all_rates(
        self, q: np.ndarray, v: np.ndarray, anew: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        gap, point, normal = self._geometry(anew)
        rate = scene_rates(point, normal, self._movers, self._twists)
        return (
            np.concatenate([gap, self._limit_gaps(q)]),
            np.concatenate([rate, self._limit_sign * v[self._limit_of]]),
            point,
            normal,
        )

    def _equations(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = pin.crba(self._pin, self._data, q, pin.Convention.WORLD)
        bias = pin.nonLinearEffects(self._pin, self._data, q, v)
        add_diagonal(mass, self._armature)
        return mass, bias

    def _tumble(self, v: np.ndarray, time: float, bias: np.ndarray) -> None:
        """Put the gyroscopic torques of spins after a time into the bias."""
        for k, body in enumerate(self.bodies):
            part = slice(self.robot_nv + 6 * k + 3, self.robot_nv + 6 * k + 6)
            inertia, old = body.properties.inertia, v[part]
            bias[part] += gyroscopic(inertia, old, time) - np.cross(old, inertia @ old)

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        mass, bias = self._equations(q, v)
        self._read(True)
        gap, _, point, normal = self._all_rates(q, v)
        return self._terms(mass, bias, np.asarray(which), gap, point, normal)

    def closing_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, kept: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are kept or close within a time, and their equations.

        The bias is that of the spins which the bodies would have after the time: of the
        middle of a step, where it is half a step. With the old spins, a body that
        tumbles would gain energy.
        """
        mass, bias = self._equations(q, v)
        self._tumble(v, time, bias)
        self._read(True)
        gap, rate, point, normal = self._all_rates(q, v, anew=True)
        which = closing(gap, rate, time, kept)
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
        rows = scene_rows(
            which,
            self._data.J,
            self._support,
            self._movers,
            point,
            normal,
            self._limit_of,
            self._limit_sign,
        )
        return Terms(mass, bias, gap[which], rows, np.zeros((len(which), 3)))

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic = pin.computeKineticEnergy(self._pin, self._data, q, v)
        kinetic += 0.5 * float(self._armature @ v**2)
        return float(kinetic), float(
            pin.computePotentialEnergy(self._pin, self._data, q)
        )


def _tree(bodies: Sequence[SceneBody], robot: Model | None) -> tuple[pin.Model, int]:
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


def _columns(tree: pin.Model, joint: int) -> np.ndarray:
    """Velocities that move a joint (nv,) bool."""
    found = np.zeros(tree.nv, dtype=bool)
    for j in tree.supports[joint]:
        if j > 0:
            start = tree.idx_vs[j]
            found[start : start + tree.nvs[j]] = True
    return found
