# SPDX-License-Identifier: Apache-2.0
"""Contact points of a robot in the world, and wrenches on its soles.

A simulation keeps contact forces along the normal and the tangents of each contact;
here they are vectors in the world, and their sums in the frames of the soles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_pairs import SLOTS
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import HalfSpace
from humans_sim.contact.problem.law import OPEN
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import contact_rows
from humans_sim.dynamics.event_driven.model_rates import CompiledModel
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_bodies import RobotPart
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_columns,
    tree_poses,
    tree_state,
    write_poses,
)
from humans_sim.models.legs import load_tags
from humans_sim.models.points import frame_index
from humans_sim.results.records import Sample


@kernel
def contacts_in_world(model, q, v, which, forces, root):
    """What touches first, normals, velocities, forces, moments in the world (k, 3).

    The contacts are those of one robot, whose base is the joint ``root`` of the tree.
    """
    tree, moving, poses, _, links, _ = model
    local, row, _, radius, solids = moving[0][:5]
    state = tree_state(tree, v.shape[0])
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    write_poses(links, state, poses)
    jacobian, none = TreeState(*state).jacobian, np.empty((0, 3))
    _, rows = contact_rows(which, jacobian, moving, q, none)
    base, k = TreeState(*state).rotation[root], which.shape[0]
    first = TreeTable(*tree).velocity[root]
    place, normal, velocity = np.zeros((k, 3)), np.zeros((k, 3)), np.zeros((k, 3))
    force, moment, frame = np.zeros((k, 3)), np.zeros((k, 3)), np.empty((3, 3))
    for c in range(k):
        p = which[c] // solids.shape[0]
        # A shift of the base moves every point alike: these columns are the frame.
        for i in range(3):
            for j in range(3):
                frame[i, j] = 0.0
                for m in range(3):
                    frame[i, j] += rows[c, i, first + m] * base[j, m]
        for i in range(3):
            speed = 0.0
            for m in range(v.shape[0]):
                speed += rows[c, i, m] * v[m]
            for j in range(3):
                velocity[c, j] += frame[i, j] * speed
                force[c, j] += frame[i, j] * forces[0, which[c], i]
                moment[c, j] += frame[i, j] * forces[1, which[c], i]
        for i in range(3):
            normal[c, i] = frame[0, i]
            place[c, i] = poses[row[p], i, 3] - radius[p] * frame[0, i]
            for j in range(3):
                place[c, i] += poses[row[p], i, j] * local[p, j]
    return place, normal, velocity, force, moment


@kernel
def sole_wrench(turn, origin, place, force, moment):
    """Force and moment on a sole, in its own frame and about its origin."""
    total, about = np.zeros(3), np.zeros(3)
    for c in range(place.shape[0]):
        x, y, z = place[c, 0], place[c, 1], place[c, 2]
        x, y, z = x - origin[0], y - origin[1], z - origin[2]
        about[0] += y * force[c, 2] - z * force[c, 1] + moment[c, 0]
        about[1] += z * force[c, 0] - x * force[c, 2] + moment[c, 1]
        about[2] += x * force[c, 1] - y * force[c, 0] + moment[c, 2]
        for i in range(3):
            total[i] += force[c, i]
    own, own_about = np.zeros(3), np.zeros(3)
    for i in range(3):
        for j in range(3):
            own[i] += turn[j, i] * total[j]
            own_about[i] += turn[j, i] * about[j]
    return own, own_about


_LOAD = 1e-9
"""Normal force below which a sole carries nothing [N]."""


@dataclass(frozen=True)
class PointContacts:
    """Contacts of a model's points at one time, in the world; n rows.

    Attributes:
        rows: which contacts of :class:`Soles` these are (n,).
        mode: 0 open, 1 sticking, 2 sliding (n,).
        gap: distance to the surface (n,) [m].
        position: what touches first: the point, or a place on its ball (n, 3) [m].
        normal: from the surface to the model (n, 3).
        velocity: of the place that touches (n, 3) [m/s].
        force: of the surface on the model (n, 3) [N].
        moment: of torsional and rolling friction on the model (n, 3) [N m].
    """

    rows: np.ndarray
    mode: np.ndarray
    gap: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True)
class SoleLoad:
    """The load of the scene on one sole, in the sole's own frame.

    Attributes:
        name: frame of the sole.
        mode: 0, no point closed; 2, a closed point slides; else 1.
        closed: number of closed contacts.
        force: [N].
        moment: about the origin of the sole's frame [N m].
        centre_of_pressure: in the plane z = 0 of the frame [m]; NaN without load.
    """

    name: str
    mode: int
    closed: int
    force: np.ndarray
    moment: np.ndarray
    centre_of_pressure: np.ndarray


class Soles:
    """Looks at samples of a simulation of a model, its contacts and its soles.

    Attributes:
        names: of all contacts.
        links: that each is of; empty of joint limits.
        surfaces: that each is with.
        of_sole: for each sole of the model, which contacts load it (nc,) bool.
    """

    def __init__(self, system: ModelSystem, part: RobotPart | None = None) -> None:
        """Note which contact belongs to which point and sole of a robot.

        Names are the robot's own. Of several robots it is the first one unless given.
        """
        if system.robot is None:
            raise ParameterError("a scene without a robot has no soles")
        self._part = part = system.robots[0] if part is None else part
        robot = part.robot
        self._system, self._model = system, robot.model
        solids = [solid.name for solid in system.ground.solids]
        points = [name for name in system.contact_points for _ in solids]
        pairs = [pair for pair in system.pairs.pairs for _ in range(SLOTS)]
        own = [(link, s) for link in system.contact_links for s in solids]
        own += [("", "")] * (len(system.contacts) - len(points) - len(pairs))
        self._signs = system.link_contacts(part)
        for pair, sign in zip(pairs, self._signs[len(own) :], strict=True):
            both = pair.first.name, pair.second.name
            own.append(both[::-1] if sign < 0 else both)
        self.names = tuple(map(robot.own, system.contacts.names))
        self.links, self.surfaces = ([robot.own(row[k]) for row in own] for k in (0, 1))
        self._first_pair = len(own) - len(pairs)
        self._data = self._model.data()
        self._compiled = CompiledModel.of(system)
        tree = self._model.pin
        self._frames = [frame_index(tree, sole.name) for sole in self._model.soles]
        self._point = np.repeat(np.arange(len(system.contact_points)), len(solids))
        self._radius = np.repeat(system.radii, len(solids))[:, None]
        features = set(() if system.features is None else system.features.names)
        self._listed = np.array([name not in features for name in points], dtype=bool)
        carriers = [system.points.joints[k] for k in system.points.row]
        self._own = np.repeat([part.carries(joint) for joint in carriers], len(solids))
        feet = [int(tree.frames[k].parentJoint) + part.shift for k in self._frames]
        ends = [(pair.second, pair.first) for pair in pairs]
        joints = [
            both[int(sign > 0)].joint if sign else -1
            for both, sign in zip(ends, self._signs[self._first_pair :], strict=True)
        ]
        self.of_sole = [
            np.concatenate(
                [
                    np.isin(points, [robot.named(tag) for tag in load_tags(sole)]),
                    np.zeros(self._first_pair - len(points), dtype=bool),
                    np.array([joint == foot for joint in joints], dtype=bool),
                ]
            )
            for sole, foot in zip(self._model.soles, feet, strict=True)
        ]

    def points(self, sample: Sample) -> PointContacts:
        """The contacts of all tags, and those of the body that are closed.

        Joint limits are left out, and so are the many points of a body in the air.
        """
        n = len(self._listed)
        touching = self._listed | (sample.contacts[:n] != OPEN)
        which = np.flatnonzero(self._own & touching)
        moments = (
            sample.moments if len(sample.moments) else np.zeros_like(sample.forces)
        )
        if self._compiled is not None:
            forces = np.array([sample.forces, moments])
            place, normal, velocity, force, moment = contacts_in_world(
                self._compiled.arrays,
                sample.q,
                sample.v,
                which,
                forces,
                self._part.shift,
            )
        else:
            rows = self._system.terms(sample.q, sample.v, which).jacobian
            # A shift of the base moves every point alike: these are the frames.
            q, first = sample.q[self._part.q], self._part.v.start
            moved = rows[:, :, first : first + 3]
            frames = moved @ pin.Quaternion(q[3:7]).matrix().T
            normal = frames[:, 0]
            centres = self._system.point_places(sample.q)[self._point[which]]
            place = centres - self._radius[which] * normal
            turned = frames.transpose(0, 2, 1)
            velocity = (turned @ (rows @ sample.v)[:, :, None])[:, :, 0]
            force = (turned @ sample.forces[which][:, :, None])[:, :, 0]
            moment = (turned @ moments[which][:, :, None])[:, :, 0]
        own = [place, normal, velocity, force, moment]
        more, *pairs = self._system.bearing_pairs(sample, self._signs)
        if len(more):
            which = np.concatenate([which, more])
            both = zip(own, [*pairs, np.zeros_like(pairs[0])], strict=True)
            own = [np.concatenate(parts) for parts in both]
        return PointContacts(which, sample.contacts[which], sample.gaps[which], *own)

    def loads(self, sample: Sample, points: PointContacts) -> list[SoleLoad]:
        """The load on each sole of the model; ``points`` by :meth:`points`."""
        soles, tree = [], self._model.pin
        pin.forwardKinematics(tree, self._data, sample.q[self._part.q])
        for sole, frame, own in zip(
            self._model.soles, self._frames, self.of_sole, strict=True
        ):
            which = own[points.rows]
            pose = pin.updateFramePlacement(tree, self._data, frame)
            mode = points.mode[which]
            total, moment = sole_wrench(
                np.array(pose.rotation),
                np.array(pose.translation),
                points.position[which],
                points.force[which],
                points.moment[which],
            )
            soles.append(
                SoleLoad(
                    sole.name,
                    int(mode.max(initial=OPEN)),  # SLIDE above STICK above OPEN
                    int(np.count_nonzero(mode != OPEN)),
                    total,
                    moment,
                    centre_of_pressure(total, moment),
                )
            )
        return soles


def square_to_floor(q: np.ndarray, ground: Ground) -> np.ndarray:
    """A start on level ground, put on the first half space of a scene (nq,)."""
    floor = next((s for s in ground.solids if isinstance(s, HalfSpace)), None)
    if floor is None or not any(floor.normal[:2]):
        return q
    normal = np.asarray(floor.normal, dtype=float)
    normal /= np.linalg.norm(normal)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
    moved = pin.SE3(turn, (normal @ np.asarray(floor.point, dtype=float)) * normal)
    return np.append(pin.SE3ToXYZQUAT(moved * pin.XYZQUATToSE3(q[:7])), q[7:])


def centre_of_pressure(
    force: np.ndarray, moment: np.ndarray, least: float = _LOAD
) -> np.ndarray:
    """Where a load on a sole acts in its plane (3,) [m]; NaN up to ``least`` [N]."""
    if force[2] <= least:
        return np.full(3, np.nan)
    return np.array([-moment[1] / force[2], moment[0] / force[2], 0.0])
