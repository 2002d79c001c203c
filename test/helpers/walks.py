# SPDX-License-Identifier: Apache-2.0
"""Runs for tests: kinematic walks whose steps are known, and a simulated one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.walking import Footstep, Walker, WalkPattern
from humans_sim.dynamics.model_system import ModelSystem, scene_record
from humans_sim.results.run import Run

TOUCHES = 1e-6
"""Gap below which a point of a kinematic walk is on the ground [m]."""
Shares = Callable[[int, np.ndarray], np.ndarray]
"""Share of the weight on each contact point, of a sample and which points touch."""


def evenly(sample: int, touching: np.ndarray) -> np.ndarray:
    """The weight, shared by all points that touch."""
    del sample
    shares: np.ndarray = touching / max(touching.sum(), 1)
    return shares


def kinematic_run(
    model: hs.Model, t: np.ndarray, q: np.ndarray, shares: Shares = evenly
) -> Run:
    """A run on a floor through given configurations; no dynamics made it."""
    system = ModelSystem(model, hs.Ground(friction=0.7), limits=False)
    n, nc = len(t), len(system.contacts)
    gaps = np.array([system.gaps(row) for row in q])
    contacts = (gaps < TOUCHES).astype(np.int64)
    forces = np.zeros((n, nc, 3))
    for k in range(n):
        forces[k, :, 0] = 9.81 * model.mass * shares(k, contacts[k] > 0)
    return Run(
        t=t,
        q=q,
        v=np.zeros((n, model.nv)),
        z=np.zeros((n, 0)),
        torques=np.zeros((n, model.nv)),
        contacts=contacts,
        forces=forces,
        gaps=gaps,
        energy=np.zeros((n, 2)),
        events=(),
        table=system.contacts,
        position_names=system.position_names,
        velocity_names=system.velocity_names,
        info={"system": model.name, **scene_record(system)},
    )


def planned_walk(
    model: hs.Model, steps: int, velocity: tuple[float, float, float], end: float
) -> tuple[Run, list[Footstep]]:
    """A walking pattern as a run, and the steps it was made of."""
    pattern = WalkPattern(model)
    pattern.walk(steps, *velocity)
    planned: dict[float, Footstep] = {}
    t = np.arange(0.0, end, 0.01)
    q = []
    for time in t:
        point = pattern.tick(float(time))
        q.append(point.q)
        planned |= {step.lands: step for step in point.footsteps}
    expected = [planned[lands] for lands in sorted(planned) if lands < end]
    return kinematic_run(model, t, np.array(q)), expected


def simulated_walk(model: hs.Model, steps: int, speed: float, end: float) -> Run:
    """The KHR-1 walks on its servos and its floor, without feedback."""
    setup = RobotSetup.of_model(model)
    walker = Walker(model, period=setup.sampling_period)
    walker.pattern.walk(steps, speed, 0.0, 0.0)
    start = model.standing(walker.start()[7:])
    sim = setup.simulation(
        model,
        setup.servos(model),
        lambda t, state: walker.tick(t).joints,
        control_period=walker.period,
    )
    return sim.run(start, t_end=end, sampling_period=0.01, progress=False)
