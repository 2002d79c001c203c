# SPDX-License-Identifier: Apache-2.0
r"""A mechanism whose bodies touch with smooth surfaces, as the dynamics sees it.

*Springs and dampers* at the joints. The potential of the springs is :math:`\tfrac12 d^T
K d` with the difference d of the configuration from the rest: the vector of the
rotation at a ball joint. Their force is its exact gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.surfaces import cross
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.surfaces.surface_contact import (
    WORLD,
    NearestPoints,
    PairMotion,
    SurfaceContact,
    pair_motion,
    running_speeds,
)
from humans_sim.dynamics.system import (
    EVENT_DRIVEN,
    TIME_STEPPING,
    WORN,
    Terms,
    closing_terms,
)
from humans_sim.results.records import POINT, ContactTable
from humans_sim.results.run import joint_records


@dataclass(frozen=True, eq=False)
class JointSprings:
    """A spring and a damper for each velocity.

    Attributes:
        stiffness: (nv,) [N m/rad or N/m].
        damping: (nv,) [N m s/rad or N s/m].
        rest: configuration in which no spring pulls (nq,).
    """

    stiffness: np.ndarray
    damping: np.ndarray
    rest: np.ndarray

    def force(self, tree: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised force (nv,)."""
        bent = pin.difference(tree, self.rest, q)
        turned = pin.dDifference(tree, self.rest, q, pin.ARG1)
        return np.asarray(-turned.T @ (self.stiffness * bent) - self.damping * v)

    def energy(self, tree: pin.Model, q: np.ndarray) -> float:
        """Potential energy [J]."""
        bent = pin.difference(tree, self.rest, q)
        return 0.5 * float(bent @ (self.stiffness * bent))


class TreeChart:
    """Coordinates x around a centre: the exponential map of each joint."""

    def __init__(self, tree: pin.Model, centre: np.ndarray) -> None:
        self._tree = tree
        self._centre = pin.normalize(tree, np.array(centre, dtype=float))
        # A quaternion has one number more than its velocity has.
        self._turns = tree.nq > tree.nv

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        return np.asarray(pin.integrate(self._tree, self._centre, x))

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        if not self._turns:
            return v
        moved = pin.dIntegrate(self._tree, self._centre, x, pin.ARG1)
        return np.asarray(np.linalg.solve(moved, v))

    def worn(self, x: np.ndarray) -> bool:
        """Whether a coordinate is far from the centre; a rotation may be."""
        return self._turns and float(np.abs(x).max()) > WORN


_UNIT = 1e-6
"""How far a quaternion may be from unit length."""


class SurfaceSystem:
    """A tree of joints, and pairs of surfaces that may touch.

    A pair is a joint that may open: it keeps its bodies from sinking into each other
    and lets them slide, roll and pivot; with friction they roll without sliding. A knee
    whose condyle rolls on a plateau is such a pair between thigh and shank.
    """

    methods: tuple[str, ...] = (EVENT_DRIVEN, TIME_STEPPING)
    thinnest = np.inf

    def __init__(
        self,
        tree: pin.Model,
        pairs: Sequence[SurfaceContact],
        name: str = "surfaces",
        drawn: Sequence[Mapping[str, Any]] = (),
        springs: JointSprings | None = None,
    ) -> None:
        """Put surfaces on the joints of a tree; gravity is the tree's own.

        ``drawn`` are bodies as runs record them, on the floor z = 0: one for each
        joint, all of them free flyers, or any number with the names of their ``joint``.
        """
        names = [pair.name for pair in pairs]
        if len(set(names)) != len(names):
            raise ParameterError(f"two contacts have one name: {', '.join(names)}")
        joints = list(tree.names)[1:]
        for pair in pairs:
            for joint in (pair.first_joint, pair.second_joint):
                if joint != WORLD and joint not in joints:
                    raise ParameterError(
                        f"contact '{pair.name}': no joint '{joint}'; there are "
                        f"{', '.join(joints)}"
                    )
        self.tree, self.pairs, self.name = tree, tuple(pairs), name
        self._drawn, self._springs = tuple(drawn), springs
        self.nq, self.nv = tree.nq, tree.nv
        self.locked = np.zeros(0, dtype=np.int64)
        self.contacts = ContactTable.of(
            names,
            [POINT] * len(names),
            2,
            [pair.friction for pair in pairs],
            [pair.restitution for pair in pairs],
        )
        self.position_names = _numbered(tree, tree.nqs)
        self.velocity_names = _numbered(tree, tree.nvs)
        self._data = tree.createData()
        self._joints = [
            tuple(
                0 if joint == WORLD else int(tree.getJointId(joint))
                for joint in (pair.first_joint, pair.second_joint)
            )
            for pair in pairs
        ]
        self._nearest = [NearestPoints(pair) for pair in pairs]

    def record(self) -> dict[str, Any]:
        """The record of the mechanism in a run."""
        if not self._drawn:
            return {}
        bodies = [dict(body) for body in self._drawn]
        if not any("joint" in body for body in bodies):
            return {"bodies": bodies}
        joints = joint_records(self.tree)
        return {} if joints is None else {"bodies": bodies, "joints": joints}

    def chart(self, q: np.ndarray) -> TreeChart:
        """Coordinates around a configuration."""
        return TreeChart(self.tree, q)

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used.

        A run begins here: nothing is known of where surfaces touch.
        """
        for nearest in self._nearest:
            nearest.forget()
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise ConfigurationError(
                f"{self.name} has {self.nq} coordinates "
                f"({', '.join(self.position_names)}) and {self.nv} velocities, not "
                f"{q.shape} and {v.shape}"
            )
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ConfigurationError(f"q and v of {self.name} must be finite")
        if not pin.isNormalized(self.tree, q, _UNIT):
            raise ConfigurationError(
                f"a quaternion in q of {self.name} has no length 1"
            )

    def _poses(self, k: int) -> tuple[pin.SE3, pin.SE3]:
        one, two = self._joints[k]
        return self._data.oMi[one], self._data.oMi[two]

    def _pair(self, k: int) -> PairMotion:
        poses = self._poses(k)
        found = self._nearest[k].find(poses[0].actInv(poses[1]))
        return pair_motion(self.pairs[k], found, poses)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all pairs [m]."""
        pin.forwardKinematics(self.tree, self._data, q)
        gaps = np.empty(len(self.pairs))
        for k, nearest in enumerate(self._nearest):
            one, two = self._poses(k)
            gaps[k] = nearest.find(one.actInv(two)).gap
        return gaps

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all pairs and their rates."""
        pin.forwardKinematics(self.tree, self._data, q, v)
        gaps, rates = np.empty(len(self.pairs)), np.empty(len(self.pairs))
        for k in range(len(self.pairs)):
            pair = self._pair(k)
            velocity, _ = self._relative_motion(k, pair)
            gaps[k], rates[k] = pair.gap, pair.frame[0] @ velocity
        return gaps, rates

    def _relative_motion(
        self, k: int, pair: PairMotion
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of body 2 relative to body 1 at the points; both spins (2, 3)."""
        at, spins = [], []
        for joint, point in zip(self._joints[k], pair.points, strict=True):
            twist = self._data.oMi[joint].act(self._data.v[joint])
            linear, angular = np.zeros(3), np.zeros(3)
            if joint:
                linear, angular = twist.linear, twist.angular
            at.append(linear + cross(angular, point))
            spins.append(angular)
        return at[1] - at[0], np.array(spins)

    def _acceleration(self, joint: int, point: np.ndarray) -> np.ndarray:
        """Of a body's point in the world, where all joints have no acceleration."""
        if joint == 0:
            return np.zeros(3)
        pose, data = self._data.oMi[joint], self._data
        speed, rate = data.v[joint], data.a[joint]
        arm = pose.actInv(point)
        velocity = speed.linear + cross(speed.angular, arm)
        own = rate.linear + cross(rate.angular, arm) + cross(speed.angular, velocity)
        return np.asarray(pose.rotation @ own)

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which``."""
        pin.computeJointJacobians(self.tree, self._data, q)
        pin.forwardKinematics(self.tree, self._data, q, v, np.zeros(self.nv))
        count = len(which)
        gap, drift = np.empty(count), np.empty((count, 3))
        rows = np.zeros((count, 3, self.nv))
        for row, k in enumerate(which):
            pair = self._pair(int(k))
            velocity, spins = self._relative_motion(int(k), pair)
            speeds = running_speeds(pair, velocity, spins)
            gap[row], change = pair.gap, np.zeros(3)
            for side, joint in enumerate(self._joints[int(k)]):
                sign, point = (-1.0, 1.0)[side], pair.points[side]
                change += sign * self._acceleration(joint, point)
                change += sign * cross(spins[side], speeds[side])
                if joint:
                    rows[row] += sign * pair.frame @ self._jacobian(joint, point)
            drift[row] = pair.frame @ change
            bent = pair.frame[1:].T @ (
                pair.bending[0] @ (pair.frame[1:] @ speeds[0])
            ) + cross(spins[0], pair.frame[0])
            drift[row, 0] += bent @ velocity
        mass = pin.crba(self.tree, self._data, q, pin.Convention.WORLD)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = np.array(pin.nonLinearEffects(self.tree, self._data, q, v))
        if self._springs is not None:
            bias -= self._springs.force(self.tree, q, v)
        return Terms(mass, bias, gap, rows, drift)

    def _jacobian(self, joint: int, point: np.ndarray) -> np.ndarray:
        """Of a body's point in the world (3, nv)."""
        whole = pin.getJointJacobian(
            self.tree, self._data, joint, pin.ReferenceFrame.WORLD
        )
        return np.asarray(whole[:3] - pin.skew(point) @ whole[3:])

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        return closing_terms(self, q, v, time, closed)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        kinetic = pin.computeKineticEnergy(self.tree, self._data, q, v)
        potential = float(pin.computePotentialEnergy(self.tree, self._data, q))
        if self._springs is not None:
            potential += self._springs.energy(self.tree, q)
        return float(kinetic), potential


def _numbered(tree: pin.Model, sizes: Sequence[int]) -> tuple[str, ...]:
    """Names of coordinates: a joint's own, numbered where it has several."""
    names: list[str] = []
    for name, size in list(zip(tree.names, sizes, strict=True))[1:]:
        names += [name] if size == 1 else [f"{name}_{k}" for k in range(size)]
    return tuple(names)
