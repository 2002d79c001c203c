# SPDX-License-Identifier: Apache-2.0
"""Scenarios: each of the package runs and is right; bad files are refused by line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario, scenario_names

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run humans-sim in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "humans_sim", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1"},
    )


APPLICATIONS = {
    "bip-let-down",
    "bip-one-step",
    "bip-stand",
    "bip-walk",
    "chair-sit-to-stand",
    "fes-sit-to-stand",
    "fes-swing-up",
    "human-walk",
    "khr1-fall",
}
"""Looked at one by one in test_applications.py; bip-let-down in control/bip."""
TERRAIN = {"bip-stairs", "rubble-walk", "stairs-walk"}
"""Looked at in test_terrain_sections.py."""
SOFT = {"footprint-fade", "mud-stand", "sand-walk", "soil-walk"}
"""Looked at in test_deformable_section.py."""
LAYERS = {"backpack", "hair-and-cloth", "puppet"}
"""Looked at in test_coat_section.py and soft/layers."""
SCENES = {
    *("box-stack", "dominoes", "fall-stairs", "off-centre-push", "push-box"),
    *("thrown-box", "tumbling-top"),
}
"""Looked at one by one in bodies/test_scene_scenarios.py."""


WRISTS = {"carpus-adduction", "carpus-extension"}
"""Looked at in test_wrist_scenarios.py, with fewer balls in anatomy/wrist."""
ROLLING = {"rattleback", "rolling-knee"}
"""Looked at in dynamics/surfaces/test_rolling.py."""
GAITS = {"human-gait"}
"""Looked at in test_gait_control.py and control/gait."""


@pytest.mark.study
@pytest.mark.parametrize(
    "name",
    sorted(
        set(scenario_names())
        - APPLICATIONS
        - SCENES
        - TERRAIN
        - ROLLING
        - SOFT
        - WRISTS
        - LAYERS
        - GAITS
        - {"walk"},
    ),
)
def test_scenario_runs_and_is_right(name: str) -> None:
    """Every scenario file of the package: simulated, complementarity, energy."""
    scenario = read_scenario(name)
    run = scenario.run(progress=False)
    check = run.check()
    assert check, [finding for finding in check.findings if not finding.ok]
    assert run.t[-1] == pytest.approx(scenario.end)


def test_promised_scenarios_are_there() -> None:
    """The scenarios that the documentation promises."""
    promised = {
        "drop",
        "bounce",
        "free-flight",
        "space-walk",
        "rocking-block",
        "woodpecker",
        "slide",
    }
    promised |= {"rolling-foot", "rolling-sphere"}
    promised |= APPLICATIONS | SCENES | TERRAIN | SOFT | WRISTS | LAYERS | GAITS
    promised |= {"walk"}
    assert promised <= set(scenario_names())


@pytest.mark.parametrize("model", ["human36", "bip"])
def test_drop_with_another_model(model: str) -> None:
    """The same file for each model."""
    run = read_scenario("drop").with_changes(model=model, end=0.4).run()
    assert run.check()
    weight = hs.load_model(model).mass * 9.81
    assert run.forces[-1, :, 0].sum() == pytest.approx(weight, rel=1e-6)


def test_a_scene_with_everything(tmp_path: Path) -> None:
    """Steps, boxes, a chair, radii, tilt, joints: one's own file."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        """
title: My own
model: khr1
locked: ["*"]
limits: false
radii: {l_foot_toe_left: 0.002}
ground:
  friction: 0.5
  restitution: 0.1
  law: coulomb
  steps: {count: 2, rise: 0.02, depth: 0.2, start: 0.5}
  boxes: [{size: [0.1, 0.1, 0.1], centre: [1, 1, 0.05], name: crate}]
  chair: {x: -0.5}
start: {height: 0.01, tilt: [0, 1, 0], joints: {l_elbow: 10}}
method: time_stepping
options: {time_step: 0.001}
time: {end: 0.2, sampling_period: 0.01}
"""
    )
    run = read_scenario(str(path)).run()
    assert "l_foot_toe_left/crate" in run.table.names
    assert "l_foot_toe_left/chair_seat" in run.table.names
    assert run.check()["least gap"].ok


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "title: x\ntime: {end: 1, sampling_period: 0.1}",
            "either a model or a problem",
        ),
        ("title: x\nmodel: khr1", "'time' is missing"),
        (
            "title: x\nproblem: spring\ntime: {end: 1, sampling_period: 0.1}",
            "3?: problem",
        ),
        (
            "title: x\nmodel: khr1\nwings: 2\ntime: {end: 1, sampling_period: 0.1}",
            ":3: wings: unknown key",
        ),
        (
            "title: x\nmodel: khr1\ntime: {end: -1, sampling_period: 0.1}",
            "above zero",
        ),
        (
            "title: x\nmodel: khr1\nstart: {joints: {tail: 3}}\n"
            "time: {end: 1, sampling_period: 0.1}",
            "no joint 'tail'",
        ),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong and where."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(hs.errors.ModelFileError, match=message):
        read_scenario(str(path)).run()


@pytest.mark.study
def test_run_saves_draws_and_checks(tmp_path: Path) -> None:
    """The commands as a person types them: run, save, plot, check."""
    stored, picture = tmp_path / "run.npz", tmp_path / "run.png"
    done = command("run", "slide", "--save", str(stored), "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    assert "least gap" in done.stdout and "ok" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    checked = command("check", str(stored))
    assert checked.returncode == 0
    assert "largest growth of energy" in checked.stdout
    run = hs.load_run(stored)
    spoiled = run.gaps.copy()
    spoiled[3, 0] = -1e-3
    from dataclasses import replace

    replace(run, gaps=spoiled).save(stored)
    refused = command("check", str(stored))
    assert refused.returncode == 1
    assert "not physically right" in refused.stderr


def test_run_without_a_name_lists_them() -> None:
    """All scenarios with their titles."""
    done = command("run")
    assert done.returncode == 0
    for name in scenario_names():
        assert name in done.stdout


def test_methods_agree() -> None:
    """The block of the file lands where it should, by both methods."""
    exact = read_scenario("rocking-block").with_changes(end=0.9).run()
    other = (
        read_scenario("rocking-block")
        .with_changes(end=0.9, method="time_stepping", options={"time_step": 5e-4})
        .run()
    )
    np.testing.assert_allclose(other.q[-1], exact.q[-1], atol=5e-3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("contacts: [l_elbow]", "l_elbow"),
        ("radii: {l_elbow: 0.01}", "l_elbow"),
        ("limits: {l_tail: [0, 10]}", "l_tail"),
        ("limits: {l_knee: [10, 10]}", "l_knee"),
        ("free: [l_tail]", "l_tail"),
    ],
)
def test_errors_in_names_of_a_scene_have_their_line(
    tmp_path: Path, line: str, message: str
) -> None:
    """A wrong name stands in line 3 of the file, and the error says so."""
    path = tmp_path / "mine.yaml"
    text = f"title: My own\nmodel: khr1\n{line}\n"
    path.write_text(text + "time: {end: 0.1, sampling_period: 0.01}\n")
    with pytest.raises(hs.errors.ModelFileError, match=rf"mine.yaml:3: .*{message}"):
        read_scenario(str(path)).run()


def test_progress_is_reported() -> None:
    """A function is called with every sample, to the last one."""
    calls: list[tuple[int, int]] = []
    run = (
        read_scenario("bounce")
        .with_changes(end=0.1)
        .run(progress=lambda done, total: calls.append((done, total)))
    )
    count = len(run.t)
    assert calls == [(k + 1, count) for k in range(count)]
