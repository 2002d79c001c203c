# SPDX-License-Identifier: Apache-2.0
"""What a sweep varies: read, refused with the reason, put into a scenario."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.batch.variations import (
    Variation,
    check_variations,
    grid,
    parse_settings,
    parse_variation,
    varied_scenario,
)
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.budget import RUNS


def test_ranges_and_lists() -> None:
    """Ends belong to a range; a list may hold words; values read as they were typed."""
    friction = parse_variation("friction=0.2:1.0:9")
    assert friction.values == (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    down = parse_variation("controller.walk.velocity.0=0.06:-0.06:3")
    assert down.values == (0.06, 0.0, -0.06) and down.numeric
    words = parse_variation("method=event_driven,time_stepping")
    assert words.values == ("event_driven", "time_stepping") and not words.numeric
    assert parse_variation("end=5").values == (5.0,)
    even = np.array(parse_variation("ground.slope=-3:3:13").values, float)
    assert np.allclose(np.diff(even), 0.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("friction", "no key=from:to:count"),
        ("=1,2", "no key=from:to:count"),
        ("frction=1,2", "did you mean 'friction'"),
        ("contoller.walk.pace=1,2", "did you mean 'controller'"),
        ("ground..slope=1,2", "no setting"),
        ("friction=", "empty value"),
        ("friction=0.2,,0.4", "empty value"),
        ("friction=0.2:1.0:0", "2 values or more, not 0"),
        ("friction=0.2:1.0:1", "2 values or more, not 1"),
        ("friction=0.2:1.0:-3", "'-3' is no number of values"),
        ("friction=0.2:1.0:2.5", "'2.5' is no number of values"),
        ("friction=0.2:1.0:99999999", "no number of values"),
        ("friction=a:b:3", "'a' is not a number"),
        ("friction=nan:1:3", "is not a number"),
        ("friction=0.2,high", "'high' is not a number"),
        ("friction=-0.1,0.2", "0 or more"),
        ("push=inf,1", "no number to simulate"),
        ("friction=0.2,0.2", "stands twice"),
        ("friction=0.3:0.3:3", "stands twice"),
    ],
)
def test_what_cannot_be_varied(text: str, words: str) -> None:
    """Each fault is named."""
    with pytest.raises(hs.errors.ParameterError, match=words):
        parse_variation(text)


def test_whole_sweeps() -> None:
    """Every combination once; a key varied twice, or too many runs, are refused."""
    a, b = Variation("friction", (0.2, 0.4)), Variation("end", (1.0, 2.0, 3.0))
    assert check_variations([a, b], 10) == 60
    every = list(grid([a, b]))
    assert len(set(every)) == 6 and every[1] == (("friction", 0.2), ("end", 2.0))
    for variations, seeds, words in (
        ([a, a], 1, "varied twice"),
        ([a], -1, "seeds must be 0 or more"),
        ([b], RUNS.most, "more than 1000000: vary fewer"),
        ([Variation("push", (0.1,))], 0, "number of seeds"),
        (
            [Variation("ground", ("x",)), Variation("ground.slope", (1.0,))],
            1,
            "one holds both",
        ),
    ):
        with pytest.raises(hs.errors.ParameterError, match=words):
            check_variations(variations, seeds)


def test_values_reach_the_scenario() -> None:
    """Short keys are options of run; others change or add keys of the file."""
    values = (("end", 3.0), ("friction", 0.4), ("ground.slope", 2.0))
    changed = varied_scenario("khr1-walk", values)
    assert changed.end == 3.0 and changed.friction == 0.4
    simulation, q, _ = varied_scenario(
        "khr1-walk", (("controller.walk.velocity.1", 0.02), ("ground.friction", 0.45))
    ).prepare()
    assert simulation.system.ground.friction == 0.45
    before = read_scenario("khr1-walk")
    assert before.friction is None and before.end == 12.0  # files are as they were
    assert np.isfinite(q).all()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("controller.walk.pase", 0.5, "did you mean 'pace'"),
        ("controller.walk.velocity.3", 0.5, "no item '3'"),
        ("controller.walk.velocity.x", 0.5, "no item 'x'"),
        ("model.name", 0.5, "a mapping"),
        ("ground.friction", "slippery", "slippery"),
        ("time.end", -1.0, "above zero"),
    ],
)
def test_values_that_do_not_fit(key: str, value: float | str, words: str) -> None:
    """The error names the file, the key and what is known there."""
    with pytest.raises(hs.HumansError, match=words) as caught:
        varied_scenario("khr1-walk", ((key, value),)).prepare()
    assert "khr1-walk.yaml" in str(caught.value)


def test_settings() -> None:
    """Values of one run: as they were typed; what no file has is refused."""
    assert parse_settings(["ground.slope = 3", "model=bip"]) == {
        "ground.slope": "3",
        "model": "bip",
    }
    for texts, words in (
        (["ground.slope"], "no key=value"),
        (["ground.slope="], "no key=value"),
        (["grund.slope=3"], "did you mean 'ground'"),
        (["ground..slope=3"], "no key"),
        (["ground.slope=3", "ground.slope=4"], "set twice"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=words):
            parse_settings(texts)


def test_a_walk_starts_on_a_slope() -> None:
    """A robot that walks is put on the slope of its scene."""
    scenario = varied_scenario("khr1-walk", (("ground.slope", 3.0),))
    simulation, q, _ = scenario.prepare()
    gaps = simulation.system.gaps(q)
    assert np.nanmin(gaps) == pytest.approx(0.0, abs=1e-9)
