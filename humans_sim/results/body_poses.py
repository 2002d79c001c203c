# SPDX-License-Identifier: Apache-2.0
"""Where the bodies of a run are: free ones by their own coordinates, others by joints.

Bodies of a mechanism name the joint that they are on (``joint``), and the run keeps the
joints under ``joints``: name, kind, parent and placement, in the order of the
coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError
from humans_sim.results.run import Run

_KINDS = {
    make().shortname(): make
    for make in (
        pin.JointModelRX,
        pin.JointModelRY,
        pin.JointModelRZ,
        pin.JointModelPX,
        pin.JointModelPY,
        pin.JointModelPZ,
        pin.JointModelSpherical,
        pin.JointModelFreeFlyer,
    )
}
"""Joints that a record may have."""


def joint_records(tree: pin.Model) -> list[dict[str, Any]] | None:
    """Joints of a tree as plain data; None where one is of a kind without a record."""
    records = []
    for k in range(1, tree.njoints):
        kind = tree.joints[k].shortname()
        if kind not in _KINDS:
            return None
        place = pin.SE3ToXYZQUAT(tree.jointPlacements[k]).tolist()
        parent = int(tree.parents[k])
        records.append(
            {"name": tree.names[k], "kind": kind, "parent": parent, "at": place}
        )
    return records


def body_poses(run: Run) -> np.ndarray:
    """Places and quaternions (x, y, z, w) of the bodies of a run (samples, n, 7).

    Raises:
        RunFileError: what is recorded of them is damaged.
    """
    try:
        bodies = list(run.info["bodies"])
        if "joints" in run.info:
            return _mechanism_poses(run, bodies)
        first = run.q.shape[1] - 7 * len(bodies)
        if first < 0:
            raise ValueError(f"there are no coordinates for {len(bodies)} bodies")
        return np.asarray(run.q[:, first:].reshape(len(run.q), len(bodies), 7))
    except MALFORMED_CONTENT as error:
        raise RunFileError(
            f"the run's record of its bodies is damaged: {error}"
        ) from error


def _mechanism_poses(run: Run, bodies: list[Mapping[str, Any]]) -> np.ndarray:
    tree = _tree(list(run.info["joints"]), run.q.shape[1])
    names = list(tree.names)
    joints = [names.index(str(body["joint"])) for body in bodies]
    data, poses = tree.createData(), np.empty((len(run.q), len(bodies), 7))
    for k, q in enumerate(run.q):
        pin.forwardKinematics(tree, data, np.ascontiguousarray(q))
        for row, joint in enumerate(joints):
            poses[k, row] = pin.SE3ToXYZQUAT(data.oMi[joint])
    return poses


def _tree(records: list[Mapping[str, Any]], nq: int) -> pin.Model:
    """The joints again, without masses."""
    if len(records) > nq:
        raise ValueError(f"{len(records)} joints for {nq} coordinates")
    tree = pin.Model()
    for record in records:
        parent, place = int(record["parent"]), np.array(record["at"], dtype=float)
        if not 0 <= parent < tree.njoints:
            raise ValueError(f"no joint {parent} to be the parent of another")
        if place.shape != (7,) or not np.isfinite(place).all() or not place[3:].any():
            raise ValueError("a joint has no placement")
        place[3:] /= np.linalg.norm(place[3:])
        make = _KINDS[str(record["kind"])]
        tree.addJoint(parent, make(), pin.XYZQUATToSE3(place), str(record["name"]))
    if tree.nq != nq:
        raise ValueError(f"its joints have {tree.nq} coordinates, the run has {nq}")
    return tree
