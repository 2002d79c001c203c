# SPDX-License-Identifier: Apache-2.0
"""Plots of sweeps: intervals, lines, maps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, t

import humans_sim as hs
from humans_sim.applications.batch.sweep_table import METRICS
from humans_sim.applications.batch.variations import Variation
from humans_sim.view.plots.sweep_plots import _UNITS, draw_sweep, wilson

FRICTION = Variation("friction", (0.2, 0.4, 0.6))
METHOD = Variation("method", ("event_driven", "time_stepping"))


def rows(count: int = 10) -> list[dict]:
    """A table in which more friction is better."""
    random = np.random.default_rng(1)
    return [
        {
            "friction": friction,
            "method": method,
            "outcome": "finished" if random.uniform() < friction else "fell",
            "speed": friction + 0.01 * random.normal(),
            "fall_time": None,
        }
        for friction in FRICTION.values
        for method in METHOD.values
        for _ in range(count)
    ]


def test_wilson_against_its_equation() -> None:
    """At its ends a share is 1.96 standard deviations away; it covers as it should."""
    for good, trials in ((0, 10), (3, 10), (10, 10), (70, 100)):
        for end in wilson(good, trials):
            if 0 < end < 1:
                away = abs(good / trials - end) / math.sqrt(end * (1 - end) / trials)
                assert away == pytest.approx(1.959964, abs=1e-5)
    p, trials = 0.3, 40
    inside = [a <= p <= b for a, b in (wilson(k, trials) for k in range(trials + 1))]
    covered = binom.pmf(np.flatnonzero(inside), trials, p).sum()
    assert 0.92 < covered < 0.98
    for good, trials in ((1, 0), (2, 1), (-1, 3)):
        with pytest.raises(hs.errors.ParameterError, match="cannot be"):
            wilson(good, trials)


def test_a_line() -> None:
    """The points are the shares and means of the runs, the band their intervals."""
    table = rows()
    (panel,) = draw_sweep(table, [FRICTION]).axes
    (line,) = panel.lines
    for x, y in zip(*line.get_data(), strict=True):
        own = [row for row in table if row["friction"] == x]
        assert y == sum(row["outcome"] == "finished" for row in own) / len(own)
    (panel,) = draw_sweep(table, [FRICTION], "speed").axes
    own = [row["speed"] for row in table if row["friction"] == 0.2]
    low, high = t.interval(
        0.95, len(own) - 1, np.mean(own), np.std(own, ddof=1) / len(own) ** 0.5
    )
    (band,) = panel.collections
    ends = [y for x, y in band.get_paths()[0].vertices if x == 0.2]
    assert min(ends) == pytest.approx(low) and max(ends) == pytest.approx(high)


def test_words_and_maps() -> None:
    """Words stand side by side; two keys are a map with a colour bar."""
    (panel,) = draw_sweep(rows(), [METHOD]).axes
    assert [x.get_text() for x in panel.get_xticklabels()] == list(METHOD.values)
    panel, bar = draw_sweep(rows(), [FRICTION, METHOD], "speed").axes
    assert np.asarray(panel.images[0].get_array()).shape == (2, 3)
    assert bar.get_ylabel() == "speed [m/s]"


def test_what_cannot_be_drawn() -> None:
    """No or three axes, a metric without numbers."""
    for axes, metric, words in (
        ([], "success", "one or two axes"),
        ([FRICTION] * 3, "success", "one or two axes"),
        ([FRICTION], "fall_time", "no run has a number"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=words):
            draw_sweep(rows(), axes, metric)
    assert set(_UNITS) == set(METRICS)
