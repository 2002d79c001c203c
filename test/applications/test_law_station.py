# SPDX-License-Identifier: Apache-2.0
"""Laws of scenarios beside their mechanics, and what sampling makes of the motion."""

from __future__ import annotations

import numpy as np
import pytest
from sampled_scenario import run_sampled

import humans_sim as hs
from humans_sim.applications.law_station import LawStation
from humans_sim.applications.scenarios import read_scenario, scenario_start

STILL = {"r_quadriceps": (0.0, 0.0), "r_hamstrings": (0.0, 0.0)}


@pytest.fixture(scope="module")
def swing() -> LawStation:
    """The law that swings a shank."""
    return LawStation(read_scenario("fes-swing-up"))


def test_pulses_come_each_period(swing: LawStation) -> None:
    """A pulse at each call of the controller, none between; time may go back."""
    q, v = swing.start, np.zeros(swing.model.nv)
    assert swing.period == 0.02 and swing.names == ()
    for _ in range(2):
        given = []
        for k in range(9):
            command = swing.command(k * 5_000_000 / 1e9, q, v, STILL)
            given.append(command.charges is not None)
        assert given == [k % 4 == 0 for k in range(9)]
        assert command.charges is not None and command.charges[0] > 0.0
        np.testing.assert_array_equal(
            swing.command(0.04, q + 1.0, v, STILL).charges, command.charges
        )


def test_missing_muscle(swing: LawStation) -> None:
    """A law that needs muscles says which one is missing."""
    q, v = swing.start, np.zeros(swing.model.nv)
    with pytest.raises(hs.errors.ParameterError, match="r_hamstrings"):
        swing.command(9.0, q, v, {"r_quadriceps": (0.0, 0.0)})


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("drop", "has no controller"),
        ("bip-stand", "sees sensors"),
        ("rocking-block", "one biped alone"),
    ],
)
def test_scenarios_without_such_a_law(scenario: str, said: str) -> None:
    """Each reason is named."""
    with pytest.raises(hs.errors.ParameterError, match=said):
        LawStation(read_scenario(scenario))


@pytest.mark.study
def test_torques_of_the_library(human: hs.Model) -> None:
    """A law by torques, called each period as the library does, gives its motion."""
    scenario = read_scenario("chair-sit-to-stand")
    simulation, q, v = scenario.prepare()
    library = simulation.run(q, v, t_end=0.03, sampling_period=0.005)
    run = run_sampled(scenario, 0.005, 0.03)
    np.testing.assert_allclose(run.q, library.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.torques, library.torques, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(scenario_start(scenario.name, human), q)


@pytest.mark.study
def test_stimulation_differs_by_the_sampling() -> None:
    """Torques that are held for half the time are half as far from the library's."""
    scenario, apart = read_scenario("fes-swing-up"), []
    for period in (0.01, 0.005):
        simulation, q, v = scenario.prepare()
        library = simulation.run(q, v, t_end=0.2, sampling_period=period)
        run = run_sampled(scenario, period, 0.2)
        apart.append(np.abs(run.q - library.q).max())
        assert np.abs(library.q - q).max() > 0.03
    assert apart[0] < 6e-3
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.05)


def test_knees_by_muscles_the_rest_by_torques() -> None:
    """Standing up on stimulated knees commands all joints but these."""
    law = LawStation(read_scenario("fes-sit-to-stand"))
    assert law.muscles is not None and len(law.muscles.muscle_names) == 4
    assert set(law.model.joint_names) - set(law.names) == {"l_knee", "r_knee"}
    assert law.field == "effort"
    still = dict.fromkeys(law.muscles.muscle_names, (0.0, 0.0))
    first = law.command(0.0, law.start, np.zeros(law.model.nv), still)
    assert len(first.values) == len(law.names) and np.isfinite(first.values).all()


def test_start_of_another_model(khr1: hs.Model) -> None:
    """A scenario of another body is refused."""
    with pytest.raises(hs.errors.ParameterError, match="another model"):
        scenario_start("fes-swing-up", khr1)
    with pytest.raises(hs.errors.ParameterError, match="one biped alone"):
        scenario_start("woodpecker", khr1)
