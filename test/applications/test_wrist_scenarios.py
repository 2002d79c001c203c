# SPDX-License-Identifier: Apache-2.0
"""Scenarios of wrists: those of the package, one's own, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_wrists import write_own

import humans_sim as hs
from humans_sim.anatomy import WristRun, load_wrist_run
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.wrist_scenarios import WristSetup
from humans_sim.core.errors import ModelFileError, ParameterError

OWN = """title: Three balls bend
wrist: {bones: own.yaml, motion: MOTION, angle: 4, spacing: 2.0e-3, cut: [CUT]}
time: {end: 0.2, sampling_period: 0.02}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A scenario beside bones of one's own."""
    write_own(tmp_path)
    path = tmp_path / "bend.yaml"
    path.write_text(OWN.replace("MOTION", "flexion").replace("CUT", ""))
    return path


@pytest.mark.parametrize("kind", ["adduction", "extension"])
def test_scenarios_of_the_package(kind: str) -> None:
    """They name the thesis' two motions, by 30 degrees; friction may be another."""
    scenario = read_scenario(f"carpus-{kind}")
    setup = scenario.wrist()
    assert setup.motion.kind == kind and scenario.has_wrist
    assert setup.motion.angle == pytest.approx(np.radians(30))
    assert setup.motion.end == pytest.approx(scenario.end)
    assert setup.step == scenario.sampling_period
    other = scenario.with_changes(friction=0.1, end=0.5).wrist()
    assert other.numbers.friction == 0.1 and other.motion.end == pytest.approx(0.5)


def test_bones_of_ones_own(file: Path) -> None:
    """Paths begin at the file; samples end when it says; what is saved is the run."""
    stored = file.with_name("run.npz")
    run = hs.simulate(file, save=stored)
    assert isinstance(run, WristRun) and run.motion.kind == "flexion"
    assert run.t[-1] == pytest.approx(0.2) and run.check()["least gap of balls"].ok
    turned = run.bone("metacarpal-3")[1][-1]
    assert turned[2, 1] == pytest.approx(np.sin(np.radians(4)))  # palmar
    assert (load_wrist_run(stored).x == run.x).all()


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("flexion", "twist", "twist"),
        ("angle: 4", "angle: 400", "90 degrees"),
        ("2.0e-3", "2.0", "spacing"),
        ("own.yaml", "none.yaml", "none"),
        ("cut: []", "cut: [nothing]", "nothing"),
        ("end: 0.2", "end: 0.05", "duration"),
        ("time:", "gravity: [0, 0, 0]\ntime:", "no such thing"),
        ("time:", "model: khr1\ntime:", "no such thing"),
        ("angle: 4", "method: magic", "magic"),
    ],
)
def test_faults_are_found_by_line(file: Path, old: str, new: str, word: str) -> None:
    """Before or while bones are made, never by a traceback."""
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(hs.HumansError, match=word):
        read_scenario(str(file)).run()


def test_what_wrists_do_not_have(file: Path) -> None:
    """Other methods and options, a simulation to step, files of another kind."""
    scenario = read_scenario(str(file))
    for changes in ({"method": "event_driven"}, {"options": {"rtol": 1e-3}}):
        with pytest.raises(ParameterError, match="wrist"):
            scenario.with_changes(**changes)
    with pytest.raises(ParameterError, match="model"):
        scenario.with_changes(model="khr1")
    with pytest.raises(ParameterError, match="wrist"):
        scenario.prepare()
    with pytest.raises(ParameterError, match="npz"):
        hs.simulate(file, save=file.with_suffix(".mcap"))
    with pytest.raises(ParameterError, match="step"):
        WristSetup(step=2.0)
    with pytest.raises(ModelFileError, match="motion"):
        file.write_text("title: x\nwrist: {}\ntime: {end: 1, sampling_period: 0.1}\n")
        read_scenario(str(file)).wrist()
