# SPDX-License-Identifier: Apache-2.0
"""Trains of stimulation pulses: when pulses are given, and which act."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.fes_muscles import STIMULATION
from humans_sim.actuation.pulse_trains import PulseTrainMuscles, PulseTrains
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.core.errors import ParameterError

NAN = math.nan
KEEP = [NAN, NAN]
CHARGE = 2e-5


def given(trains: PulseTrains, t: float) -> list[tuple[float, list[float]]]:
    """What trains give up to t."""
    return [(time, list(pulses)) for time, pulses in trains.take(t)]


def test_trains_do_not_drift() -> None:
    """The k-th pulse comes k periods after the first, to the last bit."""
    trains = PulseTrains(1)
    trains.set(0, 0.1, 1.0, 0.003)
    times = [t for t, _ in trains.take(3.099)]
    assert times == [0.1 + k * 0.003 for k in range(1000)]
    assert trains.next_time() == 0.1 + 1000 * 0.003


def test_single_pulses_and_stops() -> None:
    """Period zero gives one pulse, charge zero none; muscles do not disturb others."""
    trains = PulseTrains(2)
    trains.set(0, 0.0, 1.0, 0.0)
    trains.set(1, 0.0, 2.0, 0.5)
    assert given(trains, 0.6) == [(0.0, [1.0, 2.0]), (0.5, [0.0, 2.0])]
    trains.set(1, 0.7, 0.0, 0.5)
    assert trains.next_time() == math.inf


def test_a_running_train_keeps_its_clock() -> None:
    """Sent again with the same period, only the charge changes; else it begins anew."""
    trains = PulseTrains(1)
    trains.set(0, 0.0, 1.0, 0.2)
    assert given(trains, 0.0) == [(0.0, [1.0])]
    trains.set(0, 0.05, 3.0, 0.2)
    assert given(trains, 0.3) == [(0.2, [3.0])]
    trains.set(0, 0.35, 3.0, 0.1)
    assert given(trains, 0.36) == [(0.35, [3.0])]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([[CHARGE, 0.02]], "2 trains"),
        ([[CHARGE, 1e-6], KEEP], "r_quadriceps: the period"),
        ([KEEP, [CHARGE, -0.02]], "r_hamstrings: the period"),
        ([KEEP, [CHARGE, math.inf]], "period"),
        ([KEEP, [CHARGE, NAN]], "period"),
        ([KEEP, [NAN, 0.02]], "finite"),
        ([KEEP, [-CHARGE, 0.02]], "r_hamstrings"),
        ([KEEP, [1.0, 0.02]], "r_hamstrings"),
    ],
)
def test_bad_trains(human: hs.Model, command: Any, said: str) -> None:
    """Trains that cannot be given are refused, and nothing is on its way."""
    muscles = PulseTrainMuscles(human, sides=("r",))
    q, v = human.neutral(), np.zeros(human.nv)
    muscles.initialise(0.0, q, v)
    with pytest.raises(ParameterError, match=said):
        muscles.command(0.0, command)
    assert muscles.next_time(0.0) == math.inf


def pulses(followed: SampledActuation) -> list[tuple[float, str]]:
    """Time and muscle of the pulses that acted."""
    return [(e.time, e.subject) for e in followed.events if e.kind == STIMULATION]


def test_pulses_act_after_the_delay(human: hs.Model) -> None:
    """Each pulse acts its delay after it was given, also when its train has ended."""
    muscles = PulseTrainMuscles(human, sides=("r",), delay=0.05)
    followed, angles = SampledActuation(muscles), human.neutral()[7:]

    def go(t: float) -> None:
        sample = JointSample(t, angles, np.zeros_like(angles))
        (followed.advance if followed.continues(sample) else followed.begin)(sample)

    go(0.0)
    followed.command(0.0, [[CHARGE, 0.02], KEEP])
    go(0.03)
    # commanded late: it comes between the pulses that are on the way
    assert not followed.command(0.01, [KEEP, [CHARGE, 0.0]])
    assert not followed.command(0.035, [[0.0, 0.0], KEEP])
    go(0.2)
    assert pulses(followed) == [
        (0.0 + 0.05, "r_quadriceps"),
        (0.01 + 0.05, "r_hamstrings"),
        (0.02 + 0.05, "r_quadriceps"),
    ]
