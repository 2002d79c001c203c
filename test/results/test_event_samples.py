# SPDX-License-Identifier: Apache-2.0
"""Curves at impacts: jumps are vertical, bends are where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from humans_sim.results.event_states import ImpactSamples
from humans_sim.results.records import IMPACT, STICK, Event


def run_with(
    times: Sequence[float], t: np.ndarray, **detail: Any
) -> tuple[np.ndarray, list[Event]]:
    """Times, impacts, and an event of another kind."""
    events = [Event(time, IMPACT, "floor", detail) for time in times]
    return t, [Event(t[0], STICK), *events]


def test_no_impacts() -> None:
    """Curves stay as they are."""
    t = np.linspace(0.0, 1.0, 5)
    impacts, values = ImpactSamples(*run_with([], t)), np.random.rand(5, 2)
    assert np.array_equal(impacts.t, t)
    for drawn in (impacts.jump(values), impacts.bend(values)):
        assert np.array_equal(drawn, values)
    assert np.array_equal(impacts.kinetic(values[:, 0]), values[:, 0])


def test_jump() -> None:
    """Held before and after; several in one interval change at the last of them."""
    t, values = np.arange(4.0), np.array([[0.0], [1.0], [5.0], [5.0]])
    impacts = ImpactSamples(*run_with([0.5, 1.2, 1.7], t))
    assert impacts.t.tolist() == [0.0, 0.5, 0.5, 1.0, 1.2, 1.2, 1.7, 1.7, 2.0, 3.0]
    drawn = impacts.jump(values)[:, 0].tolist()
    assert drawn == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0]
    assert impacts.t[impacts.inserted].tolist() == [0.5, 0.5, 1.2, 1.2, 1.7, 1.7]


def test_kinetic_energy_is_that_of_the_event() -> None:
    """What the event says, not what neighbours have; without it, they."""
    t, energy = np.arange(3.0), np.array([1.0, 2.0, 3.0])
    known = {"energy_before [J]": 7.0, "energy_after [J]": 4.0}
    told = ImpactSamples(*run_with([1.5], t, **known)).kinetic(energy)
    assert told.tolist() == [1.0, 2.0, 7.0, 4.0, 3.0]
    untold = ImpactSamples(*run_with([1.5], t)).kinetic(energy)
    assert untold.tolist() == [1.0, 2.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize("time", [2.05, 2.5, 2.95])
def test_bend(time: float) -> None:
    """A curve of two straight pieces has its corner where it is."""
    t = np.arange(6.0)
    values = np.abs(t - time)[:, None]
    impacts = ImpactSamples(*run_with([time], t))
    drawn = impacts.bend(values)[impacts.inserted, 0]
    assert drawn == pytest.approx([0.0, 0.0], abs=1e-12)


def test_bend_near_other_impacts() -> None:
    """Nothing is prolonged over another impact: the value is between its samples."""
    t, values = np.arange(5.0), np.array([0.0, 5.0, 1.0, 2.0, 8.0])[:, None]
    impacts = ImpactSamples(*run_with([1.5, 2.5], t))
    drawn = impacts.bend(values)[impacts.inserted, 0]
    assert drawn.tolist() == [3.0, 3.0, 1.5, 1.5]


def test_impacts_at_the_edges() -> None:
    """At a sample, at the start, at the end, outside: no failure, nothing invented."""
    t, values = np.arange(3.0), np.array([[0.0], [1.0], [4.0]])
    impacts = ImpactSamples(*run_with([-1.0, 0.0, 1.0, 2.0, 9.0], t))
    assert impacts.t.tolist() == [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    assert impacts.jump(values)[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, 4.0, 4.0]
    assert impacts.bend(values)[:, 0].tolist() == [0.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0]


def test_values_that_are_not_known() -> None:
    """NaN of a failed run stays where it is."""
    t, values = np.arange(3.0), np.array([[0.0], [1.0], [np.nan]])
    drawn = ImpactSamples(*run_with([0.5], t)).jump(values)[:, 0]
    assert np.array_equal(drawn, [0.0, 0.0, 1.0, 1.0, np.nan], equal_nan=True)
