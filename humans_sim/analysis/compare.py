# SPDX-License-Identifier: Apache-2.0
"""The observer along a stored run, beside the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.soles import load_tags, tag_of
from humans_sim.observation.base.observer import BaseEstimate, BaseObserver
from humans_sim.results.run import Run


@dataclass(frozen=True)
class ObservedRun:
    """What the observer said along a run; n samples.

    Attributes:
        t: times (n,) [s].
        estimates: one a sample.
        position_error: distance from the true position (n,) [m].
        angle_error: angle of the turn to the true attitude (n,) [rad].
        velocity_error: estimate minus truth, linear and angular (n, 6) [m/s, rad/s].
    """

    t: np.ndarray
    estimates: tuple[BaseEstimate, ...]
    position_error: np.ndarray
    angle_error: np.ndarray
    velocity_error: np.ndarray

    @property
    def references(self) -> tuple[str, ...]:
        """Name of the reference at each sample."""
        return tuple(estimate.reference for estimate in self.estimates)

    @property
    def poses(self) -> np.ndarray:
        """Positions and quaternions (n, 7)."""
        return np.array([estimate.pose for estimate in self.estimates])


def observe_run(
    model: Model,
    run: Run,
    *,
    quantisation: float = 0.0,
    speeds: bool = True,
    **options: Any,
) -> ObservedRun:
    """Let an observer follow a run by its joint angles and sole forces.

    Args:
        model: the model of the run.
        run: a run of that model.
        quantisation: step of the encoders; angles are rounded to it [rad].
        speeds: whether the observer is given the joint speeds, which are exact.
        options: of :class:`BaseObserver`; unless they say where it starts, it starts at
            the true pose.

    Raises:
        ParameterError: the run is of another model, or the step is negative.
    """
    if run.q.shape[1] != model.nq or run.v.shape[1] != model.nv:
        raise ParameterError(
            f"the run has {run.q.shape[1]} coordinates, {model.name} has {model.nq}"
        )
    if not 0 <= quantisation < np.inf:
        raise ParameterError(f"quantisation is at least 0 rad, not {quantisation}")
    if options.get("start") is None and options.get("standing") is None:
        options["start"] = run.q[0, :7]
    observer = BaseObserver(model, **options)
    joints = run.q[:, 7:]
    if quantisation:
        joints = quantisation * np.round(joints / quantisation)
    forces = sole_forces(model, run)
    estimates = tuple(
        observer.update(
            t,
            joints[k],
            run.v[k, 6:] if speeds else None,
            sole_forces={name: force[k] for name, force in forces.items()},
        )
        for k, t in enumerate(run.t)
    )
    turns = [
        np.linalg.norm(pin.log3(_turn(q[3:7]).T @ _turn(estimate.quaternion)))
        for q, estimate in zip(run.q, estimates, strict=True)
    ]
    places = np.array([estimate.position for estimate in estimates])
    return ObservedRun(
        t=run.t,
        estimates=estimates,
        position_error=np.linalg.norm(places - run.q[:, :3], axis=1),
        angle_error=np.array(turns),
        velocity_error=np.array([estimate.velocity for estimate in estimates])
        - run.v[:, :6],
    )


def sole_forces(model: Model, run: Run) -> dict[str, np.ndarray]:
    """Normal force on each sole, summed over its contacts, by its name (n,) [N]."""
    tags = [tag_of(name) for name in run.table.names]
    return {
        sole.name: run.forces[:, np.isin(tags, load_tags(sole)), 0].sum(axis=1)
        for sole in model.soles
    }


def _turn(quaternion: np.ndarray) -> np.ndarray:
    turn: np.ndarray = pin.Quaternion(quaternion).matrix()
    return turn
