# SPDX-License-Identifier: Apache-2.0
"""Depth of a robot's drawn shapes below what it stands on.

Contacts are points and balls; this looks at the shapes they stand for: everything that
the model's URDF draws or lets collide, by the convex hulls of what each joint carries.
A link may go below by what its shapes stand out of its contacts (``left_out`` of
:mod:`~humans_sim.contact.geometry.body_features`), by :data:`TOLERANCE` where that is
less or where it has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.body_features import (
    NOTHING,
    Balls,
    hull_of,
    joined,
    left_out,
)
from humans_sim.contact.geometry.mesh import MESH, RANK
from humans_sim.contact.geometry.mesh_contact_kernels import least_distances
from humans_sim.core.arrays import row_blocks
from humans_sim.models.collision_shapes import (
    CollisionShape,
    collision_shapes,
    visual_shapes,
)
from humans_sim.models.legs import tag_of
from humans_sim.models.model import JointMemory, Model
from humans_sim.results.record import recorded_features, recorded_ground, recorded_model
from humans_sim.results.records import POINT

if TYPE_CHECKING:
    from humans_sim.results.run import Run

TOLERANCE = 1e-3
"""What may be below the ground of a link, at least [m]."""


class Deepest(NamedTuple):
    """The shape that is below the ground by most, beyond its tolerance.

    Its depth is negative above the ground [m]; the tolerance is its link's [m].
    """

    depth: float
    tolerance: float
    link: str
    time: float


class _Link(NamedTuple):
    """The shapes of one joint: hull, bounding ball, how far it may go below."""

    name: str
    hull: Balls
    centre: np.ndarray
    reach: float
    tolerance: float


def deepest_shape(run: Run) -> Deepest | None:
    """The worst of all samples of a biped; None where nothing is drawn or stands.

    Raises:
        HumansError: the run's model is not there any more, or a mesh of it.
    """
    model, ground = recorded_model(run.info), recorded_ground(run.info)
    links = _links(model, run)
    table = ground.table()
    further = (table[:, 0] == MESH) & (table[:, RANK] > 0.0)
    solids = (np.ascontiguousarray(table[~further]), ground.mesh_data())
    if not links or not ground.solids:
        return None
    worst: Deepest | None = None
    joints = list(links)
    data = model.data()
    memory = JointMemory(data, joints)
    poses = np.empty((len(joints), 3, 4))
    for rows in row_blocks(run.q):
        block = np.empty((rows.stop - rows.start, len(joints), 3, 4))
        for k, q in enumerate(run.q[rows]):
            pin.forwardKinematics(model.pin, data, q)
            memory.read_poses(poses)
            block[k] = poses
        for j, joint in enumerate(joints):
            link = links[joint]
            depth, k = _deepest(link, block[:, j], solids)
            over = depth - link.tolerance
            if worst is None or not over <= worst.depth - worst.tolerance:
                time = float(run.t[rows.start + k])
                worst = Deepest(depth, link.tolerance, link.name, time)
    return worst


def _links(model: Model, run: Run) -> dict[int, _Link]:
    """Everything drawn or solid by joint, with what touches of it in the run."""
    shapes: dict[int, list[CollisionShape]] = {}
    for shape in (*collision_shapes(model), *visual_shapes(model)):
        shapes.setdefault(shape.joint, []).append(shape)
    touching = _touching(model, run)
    links = {}
    for joint, own in shapes.items():
        hull = hull_of(own)
        low = (hull.centres - hull.radii[:, None]).min(axis=0)
        high = (hull.centres + hull.radii[:, None]).max(axis=0)
        centre = (low + high) / 2.0
        far = np.linalg.norm(hull.centres - centre, axis=1) + hull.radii
        tolerance = TOLERANCE
        if joint in touching:
            tolerance = max(TOLERANCE, left_out(hull, touching[joint]))
        links[joint] = _Link(own[0].link, hull, centre, float(far.max()), tolerance)
    return links


def _touching(model: Model, run: Run) -> dict[int, Balls]:
    """Points and balls of the run's contacts by joint."""
    table, radii = run.table, run.info.get("radii", {})
    points = {
        tag_of(name)
        for name, kind in zip(table.names, table.kinds, strict=True)
        if kind == POINT
    }
    tags = [tag for tag in model.tag_names if tag in points]
    fixed = model.tag_points(tags)
    sizes = np.array([float(radii.get(tag, 0.0)) for tag in tags])
    by_joint = {
        joint: Balls(fixed.local[fixed.row == k], sizes[fixed.row == k])
        for k, joint in enumerate(fixed.joints)
    }
    body = recorded_features(run.info)
    if body is not None:
        joints, places = body.in_joints(model)
        for joint in set(joints):
            own = np.array(joints) == joint
            more = Balls(places[own], body.radii[own])
            by_joint[joint] = joined(by_joint.get(joint, NOTHING), more)
    return by_joint


def _deepest(
    link: _Link, poses: np.ndarray, solids: tuple[np.ndarray, np.ndarray | None]
) -> tuple[float, int]:
    """Largest depth of a link in some poses, and in which."""
    centres = poses[:, :, :3] @ link.centre + poses[:, :, 3]
    gaps = least_distances(*solids, centres) - link.reach
    row = int(np.argmin(gaps))  # of the first NaN, where there is one
    if not gaps[row] <= 0.0:
        return -float(gaps[row]), row
    near = np.flatnonzero(gaps <= 0.0)
    depth, row = -np.inf, int(near[0])
    for k in near:
        places = link.hull.centres @ poses[k, :, :3].T + poses[k, :, 3]
        lowest = float((least_distances(*solids, places) - link.hull.radii).min())
        if -lowest > depth:
            depth, row = -lowest, int(k)
    return depth, row
