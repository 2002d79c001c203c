# SPDX-License-Identifier: Apache-2.0
"""One call from a scenario's name to its run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario


def test_simulate_is_the_scenario(tmp_path: Path) -> None:
    """The call gives the scenario's run up to the time asked for, and stores it."""
    run = hs.simulate("bounce", t_end=0.5, save=tmp_path / "run.npz")
    whole = read_scenario("bounce").with_changes(end=0.5).run()
    assert run.t[-1] == 0.5
    assert np.allclose(run.q, whole.q, atol=1e-12)
    assert np.array_equal(hs.load_run(tmp_path / "run.npz").q, run.q)
    hs.simulate("bounce", t_end=0.1, save=tmp_path / "run.csv")
    assert (tmp_path / "run.csv").exists()


def test_changes_reach_the_simulation() -> None:
    """Method and options are those of the call."""
    run = hs.simulate("bounce", t_end=0.1, method="time_stepping", time_step=5e-4)
    assert run.info["method"] == "time_stepping"
    assert run.info["options"]["time_step"] == 5e-4


def test_refused_before_anything_is_simulated(tmp_path: Path) -> None:
    """Unknown scenarios, times and endings are refused, each by one line."""
    with pytest.raises(hs.errors.ParameterError, match="khr1-walk"):
        hs.simulate("no-such-scenario")
    with pytest.raises(hs.errors.ParameterError, match="t_end"):
        hs.simulate("bounce", t_end=-1.0)
    with pytest.raises(hs.errors.ParameterError, match=r"\.mcap"):
        hs.simulate("bounce", save=tmp_path / "run.txt")
    with pytest.raises(hs.errors.ParameterError, match="nonsense"):
        hs.simulate("bounce", t_end=0.1, nonsense=1.0)
