# SPDX-License-Identifier: Apache-2.0
r"""Gaps at which contacts that bounce may have had a force, with time steps.

A time step has a contact's impulse and its bounce at once, and ends with the contact
off its surface: its mean force in the step is above zero, and so is its gap at the end.
With the gap g at the middle of a step of length h, such a contact has an impact where
it would close in the step (:mod:`~humans_sim.dynamics.time_stepping`), which is
:math:`g + \tfrac12 h u_f \le 0` with the rate :math:`u_f` that its gap would have
at the end without the impact. It leaves with :math:`u = e |u_0|`, so that its gap is

.. math:: g + \tfrac12 h u \le \tfrac12 h \left(u + \tfrac{u}{e} + |u_f - u_0|\right)

at the end. A force at a larger gap is one at a distance. For u is taken the speed at
the end of the step of what touches: of a point its own, of a link and of a free body
that of its fastest point; the last term is at most :data:`GAINED` h / 2.

That is linear in the motion of the step. What turns by an angle :math:`\omega h`
leaves the rest, of second order: half of that angle of the way U h of its fastest
point. Taken is the whole angle, as before the impact both may be larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.link_pairs import link_solids
from humans_sim.core.errors import HumansError, RunFileError
from humans_sim.models.legs import tag_of
from humans_sim.results.export import has_free_base
from humans_sim.results.record import (
    recorded_features,
    recorded_model,
    sound_record,
)
from humans_sim.results.records import DURATION, HAND_OVER, LIMIT

if TYPE_CHECKING:
    from humans_sim.results.run import Run

GAINED = 0.1
"""Speed that other forces may give to a contact within a step [m/s]."""
_STILL = np.zeros(2)
_Speeds = Mapping[str, np.ndarray]
"""Speed [m/s, rad/s], and spin times the speed of the fastest point [m/s^2] (2,)."""


def explained_gaps(run: Run, rows: np.ndarray) -> np.ndarray:
    """The largest gaps that these explain, in some samples (n, contacts) [m].

    Zero of contacts without restitution, and in samples that end no time step.
    Without the run's model, all its speeds together count.
    """
    gaps = np.zeros((len(rows), len(run.table)))
    chosen, step = np.flatnonzero(run.table.restitution > 0.0), _step(run)
    if not len(chosen) or step == 0.0:
        return gaps
    names = [run.table.names[k] for k in chosen]
    both = 1.0 + 1.0 / run.table.restitution[chosen]
    try:
        speeds = _speeds(run)
    except HumansError:
        speeds = _all_speeds(run)
    for k, row in enumerate(rows):
        if not _is_stepped(run, float(run.t[row])):
            continue
        known, other = speeds(int(row))
        speed, turning = np.array([_speed(name, known, other) for name in names]).T
        linear = 0.5 * step * (GAINED + speed * both)
        gaps[k, chosen] = linear + step**2 * turning
    return gaps


def _step(run: Run) -> float:
    """Length of the run's time steps [s]; zero where it has none."""
    with sound_record("its options"):
        return float(run.info.get("options", {}).get("time_step", 0.0))


def _is_stepped(run: Run, time: float) -> bool:
    """Whether a sample is the end of a time step."""
    if run.info.get("method") == "time_stepping":
        return True
    return any(
        event.kind == HAND_OVER
        and event.time - float(event.detail.get(DURATION, 0.0)) <= time <= event.time
        for event in run.events
    )


def _speed(name: str, known: _Speeds, other: np.ndarray) -> np.ndarray:
    """Largest speed at which a contact may open, and how it turns (2,)."""
    if name in known:
        return known[name]
    sides = [s if s in known else s.rpartition(".")[0] for s in name.split("/")]
    speeds = [known[side] for side in sides if side in known]
    return np.sum(speeds, axis=0) if speeds else other


_SpeedsIn = Callable[[int], tuple[_Speeds, np.ndarray]]
"""Speeds of a row by names of points, bodies and limits; the sum of all there are."""


def _all_speeds(run: Run) -> _SpeedsIn:
    """Speeds of a run whose model is not there: none by name."""
    return lambda row: ({}, np.array([np.abs(run.v[row]).sum(), 0.0]))


def _speeds(run: Run) -> _SpeedsIn:
    """Speeds of a run by the velocities of its model and its bodies."""
    model = recorded_model(run.info) if has_free_base(run) else None
    limits = [
        (name, run.velocity_names.index(tag_of(name)))
        for name, kind in zip(run.table.names, run.table.kinds, strict=True)
        if kind == LIMIT and tag_of(name) in run.velocity_names
    ]
    points: list[tuple[str, int, np.ndarray]] = []
    links: list[tuple[str, int, np.ndarray, float]] = []
    data = pin.Data() if model is None else model.data()
    if model is not None:
        if min(run.q.shape[1] - model.nq, run.v.shape[1] - model.nv) < 0:
            raise RunFileError(f"the run has other joints than its model {model.name}")
        fixed = model.tag_points(model.tag_names)
        joints = [fixed.joints[k] for k in fixed.row]
        points += zip(model.tag_names, joints, fixed.local, strict=True)
        features = recorded_features(run.info)
        if features is not None:
            points += zip(features.names, *features.in_joints(model), strict=True)
        links = [
            (name, link.joint, solid.vertices, solid.radius)
            for name, link in link_solids(model, {}).items()
            for solid in link.solids
        ]
    with sound_record("its bodies"):
        bodies = [_body(body) for body in run.info.get("bodies", ())]
    nq, nv = (0, 0) if model is None else (model.nq, model.nv)
    if run.v.shape[1] < nv + 6 * len(bodies):
        raise RunFileError("the run has other velocities than its model and bodies")

    def at(row: int) -> tuple[_Speeds, np.ndarray]:
        q, v = (np.ascontiguousarray(x[row], dtype=float) for x in (run.q, run.v))
        speeds = {name: np.array([abs(float(v[k])), 0.0]) for name, k in limits}
        if model is not None:
            pin.forwardKinematics(model.pin, data, q[:nq], v[:nv])
            turning: dict[int, float] = {}
            for name, joint, corners, radius in links:
                motion = data.v[joint]
                spin = float(np.linalg.norm(motion.angular))
                turned = motion.linear + np.cross(motion.angular, corners)
                fastest = np.linalg.norm(turned, axis=1).max() + radius * spin
                turning[joint] = max(turning.get(joint, 0.0), spin * fastest)
                speed = max(speeds.get(name, _STILL)[0], fastest)
                speeds[name] = np.array([speed, turning[joint]])
            for name, joint, place in points:
                motion = data.v[joint]
                speed = np.linalg.norm(motion.linear + np.cross(motion.angular, place))
                speeds[name] = np.array([speed, turning.get(joint, 0.0)])
        for k, (name, reach) in enumerate(bodies):
            own = v[nv + 6 * k : nv + 6 * k + 6]
            spin = float(np.linalg.norm(own[3:]))
            speed = float(np.linalg.norm(own[:3])) + reach * spin
            speeds[name] = np.array([speed, spin * speed])
        return speeds, np.array([np.abs(v).sum(), 0.0])

    return at


def _body(record: Mapping[str, object]) -> tuple[str, float]:
    """Name of a free body, and how far it goes from its centre [m]."""
    size = record.get("size", record.get("radius"))
    reach = np.linalg.norm(np.asarray(size, dtype=float))
    return str(record["name"]), float(reach if record["shape"] == "ball" else reach / 2)
