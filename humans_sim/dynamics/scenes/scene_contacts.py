# SPDX-License-Identifier: Apache-2.0
"""Contacts of a scene: features, solids, pairs of them, ends of joints.

Gaps, rates and Jacobians are compiled. A mover is a link of the robot or a free body;
the floor and what is fixed to it have the number -1. Contacts are, in this order:
features (balls and points of movers) with solids, places of pairs of boxes, joints with
their limits. Kernels take the fields of :class:`SceneGeometry` and :class:`SceneMotion`
as plain tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.convex_pairs import (
    BOX_SLOTS,
    FAR,
    BoxPlaces,
    basis,
    box_contacts,
    choose,
)
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.mesh_contact_kernels import ABSENT, surface_distance
from humans_sim.contact.geometry.solids import Box
from humans_sim.core.budget import CONTACTS
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.dynamics.system import SLOW
from humans_sim.results.records import LIMIT, POINT, ContactTable

_FLOOR = -1


class SceneContacts:
    """Movers (links of the robot, then bodies), what of them touches, and what.

    Features are balls and points of movers; solids belong to movers or to the ground.

    Attributes:
        joints: of the movers, in the tree.
        places: of the features, in the frames of their movers (f, 3) [m].
        balls: radii of the features (f,) [m].
        feature_mover: (f,).
        solids: rows of the solids, in the frames of their movers (s, 16).
        solid_mover: (s,); -1 for the ground.
        pairs: features with solids (p, 2).
        box_pairs: solids that meet as boxes (b, 2).
        movers: the two of each contact but for the limits (c, 2).
        limit_of: velocities that end at the limits (l,).
        limit_sign: 1 for a lower end, -1 for an upper (l,).
        limit_value: (l,) [rad].
        table: of all contacts.
        thinnest: least thickness of a solid [m].
    """

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        first: int,
        ground: Ground,
        robot: ModelSystem | None,
    ) -> None:
        """Gather free bodies (the first at joint ``first``), ground and biped."""
        self._bodies, self._ground = bodies, ground
        self._robot = None if robot is None else robot.model
        joints: list[int] = []
        places, balls, feature_mover = [], [], []
        feature_names: list[str] = []
        if robot is not None:
            joints += robot.points.joints
            places += list(robot.points.local)
            balls += robot.radii.tolist()
            feature_mover += robot.points.row.tolist()
            feature_names += robot.contact_points
        rows, solid_mover, solid_names, frictions = [], [], [], []
        largest = max([*balls, *(body.radius for body in self._bodies)], default=0.0)
        for solid, row, friction in zip(
            self._ground.solids,
            self._ground.table(largest),
            self._ground.frictions(),
            strict=True,
        ):
            rows.append(row)
            solid_mover.append(_FLOOR)
            solid_names.append(solid.name)
            frictions.append(float(friction))
        boxes = [k for k, s in enumerate(self._ground.solids) if isinstance(s, Box)]
        plain = float(self._ground.friction)
        for k, body in enumerate(self._bodies):
            mover = len(joints)
            joints.append(first + k)
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
        self.joints = joints
        self.places, self.balls = np.array(places), np.array(balls)
        self.feature_mover = np.array(feature_mover, dtype=np.int64)
        self.solids = np.array(rows).reshape(-1, 16)
        self.solid_mover = np.array(solid_mover, dtype=np.int64)
        self._pair(boxes, feature_names, solid_names, np.array(frictions))

    def _pair(
        self,
        boxes: list[int],
        feature_names: list[str],
        solid_names: list[str],
        frictions: np.ndarray,
    ) -> None:
        boxed = {int(self.solid_mover[s]) for s in boxes} - {_FLOOR}
        pairs, table, movers = [], [], []
        names: list[str] = []
        robot_movers = len(self.joints) - len(self._bodies)
        what = "what may touch in the scene"
        for f, mover in enumerate(self.feature_mover):
            CONTACTS.check(what, len(names))
            for s, other in enumerate(self.solid_mover):
                if other == mover:
                    continue
                # boxes meet as boxes, below
                if int(mover) in boxed and s in boxes:
                    continue
                # each pair of balls once
                ball = self.balls[f] > 0.0
                if ball and other > mover >= robot_movers and s not in boxes:
                    continue
                pairs.append((f, s))
                # The robot's feet are as rough as what they touch.
                k = int(mover) - robot_movers
                own = self._bodies[k].friction if k >= 0 else None
                table.append(min(frictions[s], np.inf if own is None else own))
                names.append(f"{feature_names[f]}/{solid_names[s]}")
                movers.append((int(mover), int(other)))
        box_pairs = []
        for i, a in enumerate(boxes):
            CONTACTS.check(what, len(names))
            for b in boxes[i + 1 :]:
                first, second = int(self.solid_mover[b]), int(self.solid_mover[a])
                if first == second:
                    continue
                box_pairs.append((b, a))
                for slot in range(BOX_SLOTS):
                    names.append(f"{solid_names[b]}/{solid_names[a]}.{slot}")
                    table.append(min(frictions[a], frictions[b]))
                    movers.append((first, second))
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.box_pairs = np.array(box_pairs, dtype=np.int64).reshape(-1, 2)
        self.movers = np.array(movers, dtype=np.int64).reshape(-1, 2)
        sizes = [2 * float(min(self.solids[b, 4:7])) for b in boxes]
        self.thinnest = min([self._ground.thinnest(), *sizes])
        self._limits()
        count, ends = len(names), self._limit_names
        self.table = ContactTable.of(
            names=(*names, *ends),
            kinds=(POINT,) * count + (LIMIT,) * len(ends),
            tangents=np.array([2] * count + [0] * len(ends)),
            friction=np.array([*table, *([0.0] * len(ends))]),
            restitution=np.array(
                [self._ground.restitution] * count + [0.0] * len(ends)
            ),
        )

    def _limits(self) -> None:
        """Ends of the robot's joints."""
        names, of, sign, value = [], [], [], []
        if self._robot is not None:
            for j, joint in enumerate(self._robot.joint_names):
                for end, s, limits in (
                    ("lower", 1.0, self._robot.lower_limits),
                    ("upper", -1.0, self._robot.upper_limits),
                ):
                    if np.isfinite(limits[j]):
                        names.append(f"{joint}/{end}")
                        of.append(6 + j)
                        sign.append(s)
                        value.append(float(limits[j]))
        self._limit_names = names
        self.limit_of = np.array(of, dtype=np.int64)
        self.limit_sign, self.limit_value = np.array(sign), np.array(value)


class SceneGeometry(NamedTuple):
    """Geometry of all that may touch in a scene.

    Attributes:
        poses: rotation and place of the movers (m, 3, 4).
        places: features in the frames of their movers (f, 3) [m].
        radii: of the features; zero for points (f,) [m].
        feature_mover: mover of each feature (f,).
        solids: rows of the solids, in the world (s, 16).
        meshes: numbers of all meshes that the rows point to, or None.
        pairs: feature and solid of each contact of theirs (c, 2).
        box_pairs: solids of each pair of boxes (b, 2).
    """

    poses: np.ndarray
    places: np.ndarray
    radii: np.ndarray
    feature_mover: np.ndarray
    solids: np.ndarray
    meshes: np.ndarray | None
    pairs: np.ndarray
    box_pairs: np.ndarray


class SceneMotion(NamedTuple):
    """Velocities that move the contacts.

    Attributes:
        support: velocities that move each mover (m, nv).
        movers: first and second mover of each contact; -1 for the floor (c, 2).
        limit_of: velocity of each joint limit (l,).
        limit_sign: 1 at a lower limit, -1 at an upper one (l,).
    """

    support: np.ndarray
    movers: np.ndarray
    limit_of: np.ndarray
    limit_sign: np.ndarray


@kernel
def world_solids(local, mover, poses, out):
    """Rows of solids in the world, from those in the frames of their movers."""
    for s in range(local.shape[0]):
        out[s] = local[s]
        if mover[s] < 0:
            continue
        pose = poses[mover[s]]
        for i in range(3):
            total = pose[i, 3]
            for k in range(3):
                total += pose[i, k] * local[s, 1 + k]
            out[s, 1 + i] = total
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += pose[i, k] * local[s, 7 + 3 * k + j]
                out[s, 7 + 3 * i + j] = total
    return out


@kernel
def scene_geometry(geometry, choices, active, fixed):
    """Gap, point and normal (from the second mover to the first) of every contact."""
    poses, places, radii, feature_mover, solids, meshes, pairs, box_pairs = geometry
    single = pairs.shape[0]
    count = single + BOX_SLOTS * box_pairs.shape[0]
    gap, point, normal = np.empty(count), np.zeros((count, 3)), np.zeros((count, 3))
    place, hessian = np.empty(3), np.empty((3, 3))
    for c in range(single):
        f, s = pairs[c]
        pose = poses[feature_mover[f]]
        for i in range(3):
            place[i] = pose[i, 3]
            for k in range(3):
                place[i] += pose[i, k] * places[f, k]
        gap[c] = surface_distance(solids[s], meshes, place, normal[c], hessian)
        gap[c] -= radii[f]
        for i in range(3):
            point[c, i] = place[i] - radii[f] * normal[c, i]
    for k in range(box_pairs.shape[0]):
        a, b = box_pairs[k]
        part = slice(single + BOX_SLOTS * k, single + BOX_SLOTS * (k + 1))
        if not fixed:
            choose(solids[a], solids[b], choices[k])
        box_places = BoxPlaces(active[k], gap[part], point[part], normal[part])
        box_contacts(solids[a], solids[b], choices[k], fixed, box_places)
    return gap, point, normal


@kernel
def scene_rates(point, normal, movers, twists):
    """Rates of the gaps; twists are linear at the world's origin, and angular."""
    rate = np.empty(point.shape[0])
    for c in range(point.shape[0]):
        total = 0.0
        for side in range(2):
            m = movers[c, side]
            if m < 0:
                continue
            v, w, p = twists[m, 0], twists[m, 1], point[c]
            along = (
                normal[c, 0] * (v[0] + w[1] * p[2] - w[2] * p[1])
                + normal[c, 1] * (v[1] + w[2] * p[0] - w[0] * p[2])
                + normal[c, 2] * (v[2] + w[0] * p[1] - w[1] * p[0])
            )
            total += along if side == 0 else -along
        rate[c] = total
    return rate


@kernel
def scene_rows(which, jacobian, motion, point, normal):
    """Jacobians of some contacts, in their own frames (k, 3, nv)."""
    support, movers, limit_of, limit_sign = motion
    nv, count = jacobian.shape[1], point.shape[0]
    rows = np.zeros((which.shape[0], 3, nv))
    frame = np.empty((3, 3))
    for r in range(which.shape[0]):
        c = which[r]
        if c >= count:
            rows[r, 0, limit_of[c - count]] = limit_sign[c - count]
            continue
        basis(normal[c], frame)
        p = point[c]
        for side in range(2):
            m = movers[c, side]
            if m < 0:
                continue
            sign = 1.0 if side == 0 else -1.0
            for j in range(nv):
                if not support[m, j]:
                    continue
                w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
                c0 = jacobian[0, j] + w1 * p[2] - w2 * p[1]
                c1 = jacobian[1, j] + w2 * p[0] - w0 * p[2]
                c2 = jacobian[2, j] + w0 * p[1] - w1 * p[0]
                for i in range(3):
                    rows[r, i, j] += sign * (
                        frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
                    )
    return rows


@kernel
def closing(gap, rate, time, kept):
    """Contacts that are kept or close within a time."""
    which = np.empty(gap.shape[0], np.int64)
    count = 0
    for c in range(gap.shape[0]):
        near = gap[c] <= time * max(-rate[c], SLOW)
        if near or (kept[c] != 0 and gap[c] != FAR and gap[c] < ABSENT):
            which[count] = c
            count += 1
    return which[:count]


@kernel
def gyroscopic(inertia, spin, time):
    """The torque w x I w of the spin w that a free body has after a time.

    By Newton's method on I (w - spin) + time w x I w = 0.
    """
    w = spin.copy()
    matrix = np.empty((3, 3))
    for _ in range(3):
        momentum = inertia @ w
        # w x I w, and its derivative: w^ I - (I w)^
        torque = np.cross(w, momentum)
        cross_w, cross_m = _hat(w), _hat(momentum)
        matrix[:] = inertia + time * (cross_w @ inertia - cross_m)
        residual = inertia @ (w - spin) + time * torque
        w = w - np.linalg.solve(matrix, residual)
    return np.cross(w, inertia @ w)


@kernel
def _hat(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
