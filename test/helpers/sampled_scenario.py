# SPDX-License-Identifier: Apache-2.0
"""A scenario as its ROS graph runs it: mechanics, drives and law apart, by samples.

In a :class:`~humans_sim.dynamics.simulation.Simulation` the states of muscles are
integrated with the mechanics in one vector. Over topics the mechanics give the state of
the joints each sampling period, the drives follow it and answer with torques, which are
held for the period. What that changes is measured here, in one process and without ROS.
"""

from __future__ import annotations

import numpy as np

from humans_sim.actuation import IdealTorque
from humans_sim.actuation.joint_groups import JointGroup, JointGroups
from humans_sim.actuation.sampled_actuation import JointSample
from humans_sim.applications.law_station import LawStation
from humans_sim.applications.scenarios import Scenario
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.simulation import Simulation
from humans_sim.results.run import Run


class SampledLoop(Controller):
    """Law and drives of a scenario in lock-step with its mechanics.

    Args:
        station: the law, with drives of its own.
        period: between two states [s].

    Attributes:
        period: the same.
    """

    def __init__(self, station: LawStation, period: float) -> None:
        """Begin with the first state."""
        self.period, self._station = period, station
        bent = station.muscles
        self._drives = JointGroups(
            [
                JointGroup(
                    station.model,
                    part.KIND,
                    part,
                    None if part is bent else station.joints,
                )
                for part in station.drives
            ]
        )

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Torques of the joints, held until the next call (njoints,) [N m]."""
        drives = self._drives
        sample = JointSample(t, state.q[7:].copy(), state.v[6:].copy())
        (drives.advance if drives.continues(sample) else drives.begin)(sample)
        muscles = {
            one.name: (one.contractile_stiffness, one.contractile_force)
            for one in drives.states(muscles=True)
        }
        command = self._station.command(t, state.q, state.v, muscles)
        for group in drives.groups:
            if group.field:
                group.command(t, command.values)
            elif command.charges is not None:
                group.command(t, command.charges)
        return drives.torques()


def run_sampled(scenario: Scenario, period: float, t_end: float) -> Run:
    """Simulate a scenario as its graph does.

    Args:
        scenario: of one biped, with a controller that sees the true state.
        period: between two states of the graph [s].
        t_end: time at the end [s].

    Returns:
        The run, with a sample each period.
    """
    simulation, q, v = scenario.prepare()
    station = LawStation(scenario)
    sampled = Simulation(
        simulation.system,
        IdealTorque(station.model),
        SampledLoop(station, period),
        method=scenario.method,
        **scenario.options,
    )
    return sampled.run(q, v, t_end=t_end, sampling_period=period, progress=False)
