# SPDX-License-Identifier: Apache-2.0
"""Overlaps of the solids of a run, by their convex distance.

Independent of the contacts that the simulation knew of: every pair of solids is looked
at in every sample, by :mod:`~humans_sim.contact.geometry.drawn_solids`.

- Links with each other, whether or not they touched in the simulation, but for
  neighbours and links that overlap in the zero position
  (:mod:`~humans_sim.contact.geometry.link_pairs`).
- Links and free bodies with all solids of the ground, but for feet that stand on balls
  (``sphere_tags``), which take the place of what is drawn.
- Links with free bodies and with links of other robots, and bodies with each other.

Each solid counts as it is, one by one: a box with its corners, a capsule with its
radius, of a mesh the convex hull. Of a link these are its ``<collision>`` elements, or
the ``<visual>`` ones of a link without any; of a sole, the thin plate between its
contact points. What a link with collision elements draws
beyond them is not solid, by the choice of whoever wrote its URDF, and is not judged. A
cylinder is the prism of 32 sides that touches in its place
(:mod:`~humans_sim.models.collision_shapes`).

How deep two convex solids overlap is the least motion that takes them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.drawn_solids import DrawnSolid, least_distance
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.link_pairs import link_solids, usual_pairs
from humans_sim.contact.geometry.mesh_overlap import MeshSurface
from humans_sim.contact.geometry.solids import Box, HalfSpace
from humans_sim.contact.geometry.terrain import TriangleMesh
from humans_sim.core.arrays import row_blocks
from humans_sim.core.errors import RunFileError
from humans_sim.models.legs import tag_of
from humans_sim.models.model import JointMemory, Model
from humans_sim.models.points import frame_index
from humans_sim.results.record import recorded_ground, sound_record
from humans_sim.results.run_robots import RunRobot, run_robots

if TYPE_CHECKING:
    from humans_sim.results.run import Run

_ROWS = 2048
"""Samples that are looked at together, at most."""


class Overlap(NamedTuple):
    """The deepest overlap of a run; of nothing, zero deep, where there is none.

    Attributes:
        depth: [m]; NaN where a configuration is no number.
        names: of the two, links, bodies or solids of the ground.
        time: [s].
        left_out: pairs of links that the model's own file lets go through each other.
    """

    depth: float
    names: tuple[str, ...]
    time: float
    left_out: int = 0


class _Part(NamedTuple):
    """A solid of something that moves: its name, and the number of its pose.

    ``rolls``: whether it is of a foot that rolls over the ground on balls; ``robot``:
    number of the robot whose ``link`` it is of, -1 of none.
    """

    name: str
    solid: DrawnSolid
    pose: int
    rolls: bool = False
    robot: int = -1
    link: str = ""


def deepest_overlap(run: Run) -> Overlap | None:
    """The deepest overlap of all samples; None where nothing could overlap.

    Raises:
        HumansError: the run's model is not there any more, or a mesh of it.
    """
    with_bodies = "bodies" in run.info
    if "joints" in run.info or (with_bodies and "solids" not in run.info):
        return None  # rolling surfaces, which are no solids
    bodies = len(run.info.get("bodies", ()))
    robots = run_robots(run)
    if not robots and not with_bodies:
        return None
    parts, joints = _parts(robots, run)
    if run.q.shape[1] != 7 * bodies + sum(robot.model.nq for robot in robots):
        raise RunFileError("the run has other coordinates than its model and bodies")
    left_out = [_left_out(robot.model) for robot in robots]
    partners = _partners(parts, robots, left_out)
    ground = recorded_ground(run.info)
    if not parts or not (ground.solids or any(partners)):
        return None
    search = _Search(parts, partners, ground, float(run.t[0]))
    for start, poses in _blocks(run, robots, joints, bodies):
        times = run.t[start : start + len(poses)]
        odd = ~np.isfinite(poses).all(axis=(1, 2, 3))
        if odd.any():
            return Overlap(np.nan, (), float(times[np.argmax(odd)]))
        search.look(poses, times)
    return search.worst._replace(left_out=sum(map(len, left_out)))


def _parts(robots: Sequence[RunRobot], run: Run) -> tuple[list[_Part], list[list[int]]]:
    """Solids of links, then of bodies; joints of each robot in the order of poses."""
    info, parts, every = run.info, list[_Part](), list[list[int]]()
    count = 0
    for k, (prefix, model, *_) in enumerate(robots):
        links = link_solids(model, _tags(prefix, model, run))
        joints = sorted({link.joint for link in links.values()})
        rolling: set[int] = set()
        if "sphere_tags" in info and not k:
            frames = (frame_index(model.pin, sole.name) for sole in model.soles)
            rolling = {int(model.pin.frames[frame].parentJoint) for frame in frames}
        parts += [
            _Part(
                prefix + name,
                DrawnSolid(solid.vertices, solid.radius),
                count + joints.index(link.joint),
                link.joint in rolling,
                k,
                name,
            )
            for name, link in links.items()
            for solid in link.solids
        ]
        count += len(joints)
        every.append(joints)
    with sound_record("its bodies"):
        bodies = list(info.get("bodies", ()))
        parts += [_body(record, count + k) for k, record in enumerate(bodies)]
    return parts, every


def _tags(prefix: str, model: Model, run: Run) -> dict[int, np.ndarray]:
    """Contact points of a robot and the radii of their balls, by joint (t, 4) [m]."""
    names = [name for name in run.table.names if name.startswith(prefix)]
    named = {tag_of(name.removeprefix(prefix)) for name in names}
    tags = [tag for tag in model.tag_names if tag in named]
    points, radii = model.tag_points(tags), run.info.get("radii", {})
    sizes = np.array([float(radii.get(prefix + tag, 0.0)) for tag in tags])
    rows = np.column_stack([points.local, sizes])
    return {joint: rows[points.row == k] for k, joint in enumerate(points.joints)}


_Pairs = frozenset[frozenset[str]]


def _left_out(model: Model) -> _Pairs:
    """Links that go through each other by their model's own file.

    It says that its shapes are coarse there: they are not looked at.
    """
    given = frozenset(frozenset(p) for p in model.parts.self_collision.exclude)
    return given & usual_pairs(model)[0]


def _partners(
    parts: Sequence[_Part], robots: Sequence[RunRobot], left_out: Sequence[_Pairs]
) -> list[list[int]]:
    """Parts after each one that are looked at with it."""
    apart = [
        usual_pairs(robot.model)[0] - own
        for robot, own in zip(robots, left_out, strict=True)
    ]

    def may_touch(one: _Part, other: _Part) -> bool:
        if one.robot != other.robot or one.robot < 0:
            return True
        return frozenset((one.link, other.link)) in apart[one.robot]

    return [
        [j for j in range(k + 1, len(parts)) if may_touch(part, parts[j])]
        for k, part in enumerate(parts)
    ]


def _body(record: Any, pose: int) -> _Part:
    """The solid of a free body."""
    if record["shape"] == "ball":
        solid = DrawnSolid.ball(float(record["radius"]))
    else:
        solid = DrawnSolid.box([float(edge) for edge in record["size"]])
    return _Part(str(record["name"]), solid, pose)


def _blocks(
    run: Run, robots: Sequence[RunRobot], joints: Sequence[Sequence[int]], bodies: int
) -> Iterator[tuple[int, np.ndarray]]:
    """First row and poses of joints, then of bodies (n, m, 3, 4), by blocks."""
    data = [robot.model.data() for robot in robots]
    memories = [JointMemory(*own) for own in zip(data, joints, strict=True)]
    count = sum(map(len, joints))
    free_from = robots[0].model.nq if robots else 0
    for rows in row_blocks(run.q):
        for start in range(rows.start, rows.stop, _ROWS):
            stop = min(start + _ROWS, rows.stop)
            poses = np.empty((stop - start, count + bodies, 3, 4))
            first = 0
            for robot, own, memory, used in zip(
                robots, data, memories, joints, strict=True
            ):
                every = np.ascontiguousarray(run.q[start:stop, robot.q])
                for k, q in enumerate(every):
                    pin.forwardKinematics(robot.model.pin, own, q)
                    memory.read_poses(poses[k, first : first + len(used)])
                first += len(used)
            if bodies:
                places = run.q[start:stop, free_from : free_from + 7 * bodies]
                poses[:, count:] = _matrices(places.reshape(-1, bodies, 7))
            yield start, poses


def _matrices(poses: np.ndarray) -> np.ndarray:
    """Rotations and places (n, m, 3, 4), of places and quaternions (n, m, 7)."""
    x, y, z, w = np.moveaxis(poses[..., 3:], -1, 0)
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    out = np.empty((*poses.shape[:-1], 3, 4))
    out[..., 3] = poses[..., :3]
    for i, (a, b, c) in enumerate(((x, y, z), (y, z, x), (z, x, y))):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[..., i, i] = 1.0 - scale * (b * b + c * c)
        out[..., i, j] = scale * (a * b - c * w)
        out[..., i, k] = scale * (a * c + b * w)
    return out


class _Search:
    """The deepest overlap so far.

    Attributes:
        worst: it.
    """

    def __init__(
        self,
        parts: Sequence[_Part],
        partners: Sequence[Sequence[int]],
        ground: Ground,
        time: float,
    ) -> None:
        self.worst = Overlap(0.0, (), time)
        self._parts, self._partners = parts, [np.array(p, int) for p in partners]
        self._centres = np.array([part.solid.centre for part in parts])
        self._reaches = np.array([part.solid.reach for part in parts])
        self._poses_of = np.array([part.pose for part in parts])
        self._planes: list[HalfSpace] = []
        self._boxes: list[tuple[str, DrawnSolid, np.ndarray]] = []
        self._meshes: list[MeshSurface] = []
        for solid in ground.solids:
            if isinstance(solid, HalfSpace):
                self._planes.append(solid)
            elif isinstance(solid, Box):
                turn = np.eye(3) if solid.rotation is None else solid.rotation
                pose = np.column_stack([turn, solid.centre])
                self._boxes.append((solid.name, DrawnSolid.box(solid.size), pose))
            elif isinstance(solid, TriangleMesh):
                self._meshes.append(MeshSurface(solid))

    def look(self, poses: np.ndarray, times: np.ndarray) -> None:
        """Look at some samples: poses (n, m, 3, 4) at some times."""
        of_parts = poses[:, self._poses_of]
        centres = np.einsum("npij,pj->npi", of_parts[..., :3], self._centres)
        centres += of_parts[..., 3]
        for k, part in enumerate(self._parts):
            own = poses[:, part.pose]
            for plane in self._planes if not part.rolls else ():
                self._add(_above(part.solid, own, plane), part.name, plane.name, times)
            boxes = self._near_boxes(centres[:, k], part.solid.reach)
            for b in boxes if not part.rolls else ():
                name, box, pose = self._boxes[b]
                still = np.broadcast_to(pose, own.shape)
                least = least_distance(part.solid, own, box, still, -self.worst.depth)
                self._add(least, part.name, name, times)
            for mesh in self._meshes if not part.rolls else ():
                least = mesh.least_distance(part.solid, own, -self.worst.depth)
                self._add(least, part.name, mesh.name, times)
            partners = self._partners[k]
            apart = np.linalg.norm(centres[:, partners] - centres[:, k, None], axis=2)
            room = apart.min(axis=0) - self._reaches[partners] - part.solid.reach
            for j in partners[room < -self.worst.depth]:
                other = self._parts[j]
                least = least_distance(
                    part.solid,
                    own,
                    other.solid,
                    poses[:, other.pose],
                    -self.worst.depth,
                )
                self._add(least, part.name, other.name, times)

    def _near_boxes(self, centres: np.ndarray, reach: float) -> np.ndarray:
        """Numbers of boxes that a part may meet, by balls and the box of its path."""
        if not self._boxes:
            return np.zeros(0, dtype=int)
        places = np.array([pose[:, 3] for _, _, pose in self._boxes])
        reaches = np.array([box.reach for _, box, _ in self._boxes])
        low, high = centres.min(axis=0), centres.max(axis=0)
        beyond = np.maximum(np.maximum(low - places, places - high), 0.0)
        return np.flatnonzero(np.linalg.norm(beyond, axis=1) < reaches + reach)

    def _add(
        self, least: tuple[float, int] | None, one: str, other: str, times: np.ndarray
    ) -> None:
        if least is not None and -least[0] > self.worst.depth:
            self.worst = Overlap(-least[0], (one, other), float(times[least[1]]))


def _above(solid: DrawnSolid, poses: np.ndarray, plane: HalfSpace) -> tuple[float, int]:
    """Least height of a solid over a plane, and the pose it has it in."""
    normal = np.asarray(plane.normal, dtype=float)
    normal = normal / np.linalg.norm(normal)
    local = poses[:, :, :3].transpose(0, 2, 1) @ normal
    lowest = (local @ solid.vertices.T).min(axis=1) - solid.radius
    heights = lowest + (poses[:, :, 3] - plane.point) @ normal
    k = int(np.argmin(heights))
    return float(heights[k]), k
