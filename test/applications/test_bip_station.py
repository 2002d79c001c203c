# SPDX-License-Identifier: Apache-2.0
"""Bip's law beside its mechanics, as the graphs have it: state in, torques out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml

import humans_sim as hs
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.applications.bip_station import BipStation
from humans_sim.applications.graphs import read_graph
from humans_sim.nodes.common.start_posture import start_posture


class Loop(hs.Controller):
    """The nodes actuation and task_law in lock-step, in one process."""

    def __init__(self, model: hs.Model, parameters: dict[str, Any]) -> None:
        given = {
            name.removeprefix("/**/"): part["ros__parameters"]
            for name, part in parameters.items()
        }
        law, drive = given["task_law"], given["actuation"]
        assert law["delay"] == drive["delay"] and drive["kind"] == "motors"
        self.period = given["dynamics"]["sampling_period"]
        assert law["period"] == self.period
        self._sampled = SampledActuation(hs.ScrewDriveMotors(model, drive["delay"]))
        self.station = BipStation(
            model, law["motion"], delay=law["delay"], period=law["period"]
        )

    def __call__(self, t: float, state: hs.ControlState) -> np.ndarray:
        """Torques of the joints [N m]."""
        sample = JointSample(t, state.q[7:].copy(), state.v[6:].copy())
        if t == 0.0:
            self._sampled.begin(sample)
        else:
            self._sampled.advance(sample)
        forces = {name: reading.force[2] for name, reading in state.sensors.items()}
        voltages = self.station.voltages(t, sample.angles, sample.speeds, forces)
        self._sampled.command(t, voltages)
        return self._sampled.torques()


def simulated(graph: str, bip: hs.Model, t_end: float) -> tuple[Loop, hs.Run]:
    """A graph of the package without ROS."""
    parameters = yaml.safe_load(read_graph(graph).parameters.read_text())
    dynamics = parameters["/**/dynamics"]["ros__parameters"]
    loop, noise = Loop(bip, parameters), dynamics["feet"]["force"]["noise"]
    errors = hs.SignalErrors(noise=noise)
    simulation = hs.Simulation(
        bip,
        hs.IdealTorque(bip),
        loop,
        hs.Ground(friction=dynamics["friction"]),
        dynamics["method"],
        contacts=hs.Contacts(
            points=[tag for sole in bip.soles for tag in sole.contacts]
        ),
        time_step=dynamics["time_step"],
        sensors=[
            hs.FootSensor(sole.name, loop.period, force=errors, seed=k)
            for k, sole in enumerate(bip.soles)
        ],
        stands=True,
    )
    q = start_posture(bip, dynamics["posture"])
    return loop, simulation.run(q, t_end=t_end, sampling_period=0.02, progress=False)


def test_graph_stands(bip: hs.Model) -> None:
    """Torques that are held for a sampling period keep it where it stands."""
    loop, run = simulated("bip-stand", bip, 0.5)
    assert run.check()
    moved = bip.com(run.q[-1]) - bip.com(run.q[0])
    assert np.abs(moved).max() < 1e-3
    assert np.abs(run.v[-1]).max() < 0.05
    assert loop.station.estimate is not None
    assert loop.station.estimate.feet == ("r_sole", "l_sole")
    error = loop.station.estimate.position - run.q[-1, :3]
    assert np.abs(error).max() < 1e-4


def test_graph_of_the_step_has_the_law_of_its_scenario(bip: hs.Model) -> None:
    """The same trajectory: it starts in the posture that dynamics starts in."""
    parameters = yaml.safe_load(read_graph("bip-one-step").parameters.read_text())
    loop = Loop(bip, parameters)
    posture = parameters["/**/dynamics"]["ros__parameters"]["posture"]
    assert posture == parameters["/**/observer"]["ros__parameters"]["posture"]
    np.testing.assert_allclose(loop.station.start, start_posture(bip, posture))
    assert parameters["/**/task_law"]["ros__parameters"]["motion"] == "step"


def test_same_time_same_answer_and_time_that_goes_back(bip: hs.Model) -> None:
    """A state that comes again changes nothing; an earlier one begins anew."""
    station = BipStation(bip, "stand")
    joints, still = station.start[7:], np.zeros(15)
    loaded = {"l_sole": 500.0, "r_sole": 500.0}
    first = station.voltages(0.0, joints, still, loaded)
    np.testing.assert_array_equal(station.voltages(0.0, joints + 1, still, {}), first)
    bent = joints.copy()
    bent[bip.joint_names.index("r_knee")] += 0.01
    assert np.abs(station.voltages(0.005, bent, still, loaded) - first).max() > 0.1
    again = station.voltages(0.0, joints, still, loaded)
    np.testing.assert_allclose(again, first, atol=1e-12)
    assert len(station.motors) == len(first) == 15
    with pytest.raises(hs.errors.ObservationError):
        station.voltages(0.005, joints[:3], still, loaded)
