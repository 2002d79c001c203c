# SPDX-License-Identifier: Apache-2.0
"""Robots of a folder, tried one by one."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.applications import scenarios
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.robot_trials import (
    find_robots,
    robot_table,
    try_robot,
    try_robots,
)
from humans_sim.cli.robots import _draw_into

_POST = """<robot name="post"><link name="post"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.fixture
def folder(khr1: hs.Model, tmp_path: Path) -> Path:
    """A biped in a folder of its own, and what is none."""
    folder = tmp_path / "robots"
    (folder / "maker").mkdir(parents=True)
    path = khr1.save(folder / "maker" / "mine.urdf")
    path.with_suffix(".yaml").unlink()
    path.write_text(path.read_text().replace('name="khr1"', 'name="mine"', 1))
    (folder / "post.urdf").write_text(_POST)
    (folder / "cut.urdf").write_text("<robot>")
    (folder / "scene.xml").write_text('<mujoco><include file="robot.xml"/></mujoco>')
    (folder / "package.xml").write_text("<package/>")
    return folder


def test_each_robot_has_a_row(folder: Path, tmp_path: Path) -> None:
    """One walks, two are refused with the reason; the folder stays as it was."""
    before = sorted(folder.rglob("*"))
    assert [path.name for path in find_robots(folder)] == [
        *("cut.urdf", "mine.urdf", "post.urdf")
    ]
    tried = {
        robot.name: robot
        for robot in try_robots(
            folder, steps=2, actuations=("servo",), draw=partial(_draw_into, tmp_path)
        )
    }
    assert sorted(folder.rglob("*")) == before
    mine = tried["maker/mine.urdf"]
    assert mine.walks and mine.joints == 5, mine
    assert mine.trials[0].outcome.startswith("Walked 3 steps")
    assert (tmp_path / "maker_mine.urdf.png").is_file()
    assert "cut.urdf" in tried["cut.urdf"].refusal
    assert "post" in tried["post.urdf"].refusal
    rows = robot_table(list(tried.values()), 2).splitlines()
    assert len(rows) == 2 + 2 + 3
    assert {row.count("|") for row in rows[2:]} == {7}


def test_a_trial_has_its_time(folder: Path) -> None:
    """What takes too long is stopped, and says how far it got."""
    (folder / "post.urdf").unlink()
    (folder / "cut.urdf").unlink()
    (robot,) = try_robots(folder, steps=2, limit=0.01, actuations=("servo",))
    assert not robot.walks and "processor time" in robot.trials[0].outcome


def test_a_folder_without_robots(folder: Path) -> None:
    """It is said with its name."""
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(hs.errors.ParameterError, match="no robots"):
        find_robots(folder)


def test_a_robot_that_stands_has_not_walked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upright and clean is not enough: steps are counted where soles touch."""
    monkeypatch.setattr(scenarios, "read_scenario", _standing)
    path = folder / "maker" / "mine.urdf"
    draft_robot(path).save()
    trial = try_robot(path, "servo", steps=1)
    assert not trial.ok and trial.outcome.startswith("Stood for"), trial


_walking = scenarios.read_scenario


def _standing(name: str) -> scenarios.Scenario:
    """The scenario, with nothing commanded."""
    return _walking(name).with_changes(pace=(0.0, 0.0, 0.0))
