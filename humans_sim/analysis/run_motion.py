# SPDX-License-Identifier: Apache-2.0
"""Base, soles and centre of mass along a stored run, and the loads on the soles.

Everything comes from the run alone: its samples, and its own record of its model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from humans_sim.contact.problem.law import OPEN
from humans_sim.control.walking.footsteps import Side
from humans_sim.core.convex_polygon import convex_hull, inside
from humans_sim.core.errors import ParameterError, RunFileError
from humans_sim.models import Model
from humans_sim.models.legs import contacts_of, tag_places
from humans_sim.models.points import frame_index
from humans_sim.results.export import has_free_base
from humans_sim.results.record import recorded_model
from humans_sim.results.records import POINT
from humans_sim.results.run import ARRAYS, Run

FREE, LOADED = 0.02, 0.05
"""Shares of the weight: below the first a sole is free, above the second loaded."""


@dataclass(frozen=True)
class SoleMotion:
    """One sole along a run; n samples, k contact points.

    Attributes:
        name: frame of the sole.
        side: left or right, by its place in the zero position.
        pose: x, y and heading of its frame (n, 3) [m, rad].
        points: its contact points in the world (n, k, 3) [m].
        corners: hull of the points in the frame of the sole (m, 2) [m].
        closed: which of them touch (n, k).
        forces: on each of them, normal and tangents (n, k, 3) [N].
        height: gap under the lowest of them (n,) [m].
        load: sum of the normal forces (n,) [N].
    """

    name: str
    side: Side
    pose: np.ndarray
    points: np.ndarray
    corners: np.ndarray
    closed: np.ndarray
    forces: np.ndarray
    height: np.ndarray
    load: np.ndarray


@dataclass(frozen=True)
class RunMotion:
    """A biped along a run; n samples.

    Attributes:
        run: the run, up to its last sample with finite numbers in q and v.
        weight: [N].
        footprint: x, y and heading of ``base_footprint`` (n, 3) [m, rad]; the heading
            does not jump.
        base_height: of the base above the lower sole (n,) [m].
        attitude: roll and pitch of the base (n, 2) [rad].
        tilt: angle between the base and the vertical (n,) [rad].
        velocity: of the base along its heading and to the left (n, 2) [m/s].
        com: centre of mass (n, 3) [m].
        soles: those of the model that can touch the scene, the left one first.
        zmp: centre of the pressure of all soles (n, 2) [m]; NaN without load.
        zmp_margin: distance of it to the edge of the loaded soles, negative outside
            (n,) [m]; NaN without load. In the horizontal plane, as the zmp itself.
    """

    run: Run
    model: Model
    weight: float
    footprint: np.ndarray
    base_height: np.ndarray
    attitude: np.ndarray
    tilt: np.ndarray
    velocity: np.ndarray
    com: np.ndarray
    soles: tuple[SoleMotion, ...]
    zmp: np.ndarray
    zmp_margin: np.ndarray

    @classmethod
    def of_run(cls, run: Run) -> RunMotion:
        """Follow a run.

        Raises:
            ParameterError: the run is not one of a biped.
            RunFileError: it does not fit its model, or has no sample to look at.
            UnknownModelError: its model is no longer there.
        """
        if not has_free_base(run):
            name = run.info.get("system", "run")
            raise ParameterError(f"only bipeds walk: '{name}' has no free base")
        run = finite_part(run)
        model = recorded_model(run.info)
        if run.position_names[7:] != model.joint_names or not (
            run.q.shape[1] == model.nq and run.v.shape[1] == model.nv
        ):
            raise RunFileError(f"the run has other joints than its model {model.name}")
        weight = float(model.mass * np.linalg.norm(model.pin.gravity.linear))
        com, points, poses = _places(model, run.q)
        soles = _soles(model, run, points, poses)
        turns = _rotations(run.q[:, 3:7])
        heading = np.unwrap(np.arctan2(turns[:, 1, 0], turns[:, 0, 0]))
        middle, low = run.q[:, :2], np.zeros(len(run.t))
        if model.soles:
            middle = poses[:, :, :2].mean(axis=1)
            low = poses[:, :, 2].min(axis=1)
        zmp = _zmp(soles, weight)
        return cls(
            run=run,
            model=model,
            weight=weight,
            footprint=np.column_stack([middle, heading]),
            base_height=run.q[:, 2] - low,
            attitude=np.column_stack(
                [
                    np.arctan2(turns[:, 2, 1], turns[:, 2, 2]),
                    np.arcsin(np.clip(-turns[:, 2, 0], -1.0, 1.0)),
                ]
            ),
            tilt=np.arccos(np.clip(turns[:, 2, 2], -1.0, 1.0)),
            velocity=_along(heading, np.einsum("nij,nj->ni", turns, run.v[:, :3])),
            com=com,
            soles=soles,
            zmp=zmp,
            zmp_margin=_margins(soles, weight, zmp),
        )


def finite_part(run: Run) -> Run:
    """A run up to its last sample before one whose q or v is not finite.

    Raises:
        RunFileError: not even the first sample is finite, or there is none.
    """
    fine = np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1)
    fine &= np.isfinite(run.t)
    count = len(fine) if fine.all() else int(np.argmin(fine))
    if count == 0:
        raise RunFileError("the run has no sample with finite numbers")
    if count == len(fine):
        return run
    states = run.event_states.between(-np.inf, float(run.t[count - 1]))
    known = {name: getattr(run, name)[:count] for name in ARRAYS}
    return replace(run, **known, event_states=states)


def _rotations(quaternions: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions x, y, z, w (n, 3, 3)."""
    return np.array([pin.Quaternion(q).matrix() for q in quaternions])


def _places(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre of mass (n, 3), tags (n, ntags, 3), soles: x, y, z, heading (n, ns, 4)."""
    frames = [frame_index(model.pin, sole.name) for sole in model.soles]
    tags = np.empty((len(q), len(model.tag_names) + 1, 3))
    poses = np.empty((len(q), len(frames), 4))
    data = model.buffers
    for k, configuration in enumerate(q):
        tags[k] = model.tags(configuration)
        for s, frame in enumerate(frames):
            pose = pin.updateFramePlacement(model.pin, data, frame)
            forward = pose.rotation[:, 0]
            poses[k, s, :3] = pose.translation
            poses[k, s, 3] = np.arctan2(forward[1], forward[0])
    poses[:, :, 3] = np.unwrap(poses[:, :, 3], axis=0)
    return tags[:, -1], tags[:, :-1], poses


def _soles(
    model: Model, run: Run, tags: np.ndarray, poses: np.ndarray
) -> tuple[SoleMotion, ...]:
    """The soles whose corners or balls are contacts of the run."""
    table = zip(run.table.names, run.table.kinds, strict=True)
    points = [name if kind == POINT else "" for name, kind in table]
    soles = []
    for s, sole in enumerate(model.soles):
        loaded = contacts_of(sole, points)
        if not loaded:
            continue
        names, rows = list(loaded), list(loaded.values())
        pose = model.frame_pose(model.neutral(), sole.name)
        forces = np.nan_to_num(
            np.stack([run.forces[:, r].sum(axis=1) for r in rows], 1)
        )
        gaps = np.stack([run.gaps[:, r].min(axis=1) for r in rows], 1)
        soles.append(
            SoleMotion(
                name=sole.name,
                side=Side.LEFT if pose.translation[1] > 0 else Side.RIGHT,
                pose=poses[:, s, [0, 1, 3]],
                points=tags[:, [model.tag_names.index(name) for name in names]],
                corners=_hull(tag_places(model, sole, names)[:, :2]),
                closed=np.stack(
                    [(run.contacts[:, r] != OPEN).any(axis=1) for r in rows], 1
                ),
                forces=forces,
                height=gaps.min(axis=1),
                load=forces[:, :, 0].sum(axis=1),
            )
        )
    return tuple(sorted(soles, key=lambda sole: -sole.side))


def _hull(points: np.ndarray) -> np.ndarray:
    """Convex hull; one or two points are their own."""
    return convex_hull(points) if len(points) > 2 else points


def _along(heading: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Velocities in the world, seen along a heading (n, 2)."""
    c, s = np.cos(heading), np.sin(heading)
    x, y = velocity[:, 0], velocity[:, 1]
    return np.column_stack([c * x + s * y, c * y - s * x])


def _zmp(soles: tuple[SoleMotion, ...], weight: float) -> np.ndarray:
    if not soles:
        return np.zeros((0, 2))
    total = np.sum([sole.load for sole in soles], axis=0)
    moment = np.sum(
        [np.einsum("nk,nki->ni", s.forces[:, :, 0], s.points[:, :, :2]) for s in soles],
        axis=0,
    )
    loaded = total > LOADED * weight
    zmp = np.full((len(total), 2), np.nan)
    zmp[loaded] = moment[loaded] / total[loaded, None]
    return zmp


def _margins(
    soles: tuple[SoleMotion, ...], weight: float, zmp: np.ndarray
) -> np.ndarray:
    margins = np.full(len(zmp), np.nan)
    for k in np.flatnonzero(np.isfinite(zmp[:, 0])):
        stand = [s.points[k, :, :2] for s in soles if s.load[k] > FREE * weight]
        corners = _hull(np.vstack(stand))
        if len(corners) > 2:
            margins[k] = inside(corners).depth(zmp[k])
    return margins
