# SPDX-License-Identifier: Apache-2.0
"""A network in motion as a run: with files, plots and checks like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from humans_sim.core.budget import SAMPLES
from humans_sim.results.contact_table import ContactTable
from humans_sim.results.run import Run
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import safe_period, stability_report

ENERGY = 5e-3
"""How much the energy of an explicit network may grow, relative: it is known to the
order of its period."""


def run_network(
    simulation: NetworkSimulation,
    end: float,
    sampling_period: float,
    name: str,
    driven: Callable[[float], np.ndarray] | None = None,
    curves: Sequence[tuple[list[int], bool]] = (),
) -> Run:
    """Simulate a network.

    The energy of the run is that of the network less the work of what drives it, so it
    never grows.

    Args:
        simulation: at its beginning.
        end: time at the end [s].
        sampling_period: of the run, rounded to samples of the network [s].
        name: of what is simulated.
        driven: where driven masses are at a time (d, 3) [m]; still where None.
        curves: masses of splines to draw, and whether they are closed.

    Raises:
        UnstableStepError: the period is too long for the network.
        SoftError: the motion has left all bounds.
    """
    network = simulation.network
    longest = safe_period(network)
    if longest < simulation.period:
        report = stability_report(simulation)
        report.raise_where_unstable()
        longest = float(report.longest_period)
    steps = SAMPLES.check(name, round(end / simulation.period), error=SoftError)
    every = max(1, round(sampling_period / simulation.period))
    rows = np.array(network.driven, dtype=int)
    times, places, speeds, energies = [], [], [], []
    work = 0.0
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            energy = simulation.energy()
            times.append(step * simulation.period)
            places.append(simulation.positions.ravel())
            speeds.append(simulation.velocities.ravel())
            energies.append((energy.kinetic, energy.elastic + energy.weight - work))
        if step == steps:
            break
        before, old = simulation.forces[rows], simulation.positions[rows]
        target = None if driven is None else driven((step + 1) * simulation.period)
        simulation.step(target)
        moved = simulation.positions[rows] - old
        work -= 0.5 * float(np.sum((before + simulation.forces[rows]) * moved))
    simulation.check_finite()
    count = len(times)
    names = tuple(f"{mass}/{axis}" for mass in network.names for axis in "xyz")
    links = [list(link.ends) for link in network.links]
    return Run(
        t=np.array(times),
        q=np.array(places),
        v=np.array(speeds),
        z=np.zeros((count, 0)),
        torques=np.zeros((count, len(names))),
        contacts=np.zeros((count, 0), dtype=np.int8),
        forces=np.zeros((count, 0, 3)),
        gaps=np.zeros((count, 0)),
        energy=np.array(energies),
        events=(),
        table=ContactTable.of((), (), 0, 0.0, 0.0),
        position_names=names,
        velocity_names=names,
        info={
            "system": name,
            "method": "network",
            "passive": True,
            "energy_tolerance": ENERGY,
            "z_names": [],
            "network": {
                "masses": list(network.names),
                "links": links,
                "curves": [[list(rows), closed] for rows, closed in curves],
                "period": simulation.period,
                "longest_period": longest,
            },
        },
        signals=np.zeros((count, 0)),
    )
