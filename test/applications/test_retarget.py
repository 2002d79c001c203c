# SPDX-License-Identifier: Apache-2.0
"""From markers to a robot's file, and to emulated boards by the tutorial's commands."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mcap_ros2.reader import read_ros2_messages
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications.example_recordings import (
    HEIGHT,
    MARKER_SET,
    example_markers,
)
from humans_sim.applications.retarget import (
    board_excess,
    board_motion,
    captured,
    captured_motion,
    retarget_person,
    write_robot_motion,
)
from humans_sim.applications.retarget_simulation import (
    MOST_SLIP,
    simulate_boards,
    simulate_motion,
)
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.cli.commands import app
from humans_sim.control.retargeting.retarget import Retargeting
from humans_sim.control.walking.footsteps import Side
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.observation.markers import write_trc
from humans_sim.observation.markers.trial import part_of

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial_retarget.md"


@pytest.fixture(scope="module")
def postures() -> hs.Reconstruction:
    """A person who squats, from markers."""
    return captured(example_markers("squat"), marker_set=MARKER_SET, height=HEIGHT)


@pytest.fixture(scope="module")
def motion(postures: hs.Reconstruction) -> hs.RobotMotion:
    """The same on the KHR-1."""
    return hs.retarget(postures, "khr1")


@pytest.mark.study
def test_simulated_by_servos_and_boards(motion: hs.RobotMotion) -> None:
    """Neither falls nor slips; the boards' degrees and lag cost a little."""
    for trial in (
        simulate_motion(motion),
        simulate_boards(motion, board_motion(motion, "squat")),
    ):
        assert not trial.fallen and trial.fault == ""
        assert trial.slip < MOST_SLIP
        assert trial.tracking < np.radians(1.0)
        assert trial.tilt < np.radians(5.0)
    assert board_excess(motion) <= 1.0


@pytest.mark.study
def test_a_fall_is_seen(motion: hs.RobotMotion) -> None:
    """Commands that are not the plan's tip the robot over: the trial says so."""
    away = hs.RobotMotion(**{**vars(motion), "commands": motion.commands + 0.0})
    hips = [n for n, name in enumerate(motion.model.joint_names) if "hip_pitch" in name]
    away.commands[:, hips] -= 0.8
    trial = simulate_motion(away)
    assert trial.fault


@pytest.mark.study
def test_files(motion: hs.RobotMotion, tmp_path: Path) -> None:
    """Each format holds the motion."""
    poses = read_motion(write_robot_motion(motion, tmp_path / "squat.csv"))
    assert 2 <= len(poses.poses) <= 100
    written = write_robot_motion(motion, tmp_path / "squat.yaml").read_text()
    message = yaml.safe_load(written)
    assert message["joint_names"] == list(motion.model.joint_names)
    assert len(message["points"]) == len(motion.t)
    last = message["points"][-1]
    assert np.allclose(last["positions"], motion.joints[-1], atol=1e-5)
    stamp = last["time_from_start"]
    assert stamp["sec"] + 1e-9 * stamp["nanosec"] == pytest.approx(motion.duration)
    write_robot_motion(motion, tmp_path / "squat.mcap")
    messages = list(read_ros2_messages(tmp_path / "squat.mcap"))
    topics = [m.channel.topic for m in messages]
    assert topics.count("/joint_states") == len(motion.t)
    whole = messages[topics.index("/joint_trajectory")].ros_msg
    assert len(whole.points) == len(motion.t)
    assert np.allclose(whole.points[3].positions, motion.joints[3], atol=1e-5)
    with pytest.raises(hs.errors.ParameterError, match="is written to one of"):
        write_robot_motion(motion, tmp_path / "squat.txt")


def test_parts_and_options(postures: hs.Reconstruction, tmp_path: Path) -> None:
    """A stored reconstruction gives the same; options of markers do not fit it."""
    stored = postures.save(tmp_path / "squat.npz")
    person = captured_motion(captured(stored), 1.0, 2.0)
    assert person.t[0] >= 1.0 and person.t[-1] <= 2.0
    assert person.down.all()
    with pytest.raises(
        hs.errors.ParameterError, match="marker_set goes with a recording"
    ):
        captured(stored, marker_set="canonical")
    with pytest.raises(hs.errors.RetargetError, match="frames"):
        captured_motion(postures, 100.0)


def test_a_robot_without_boards_has_no_csv(tmp_path: Path) -> None:
    """It is said before anything is computed."""
    done = run("retarget", "--example", "wave", "--robot", "bip", "-o", "w.csv")
    assert "no Kondo boards" in str(done.exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--robot", "khr1"), "give a recording"),
        (("--example", "dance"), "no example is called 'dance'"),
        (("--example", "wave", "--animate", "a.html", "--no-simulate"), "--animate"),
        (("--example", "wave", "--height", "1.8"), "a person of its own"),
    ],
)
def test_wrong_words(words: tuple[str, ...], said: str, monkeypatch: Any) -> None:
    """Each is one line."""
    done = run("retarget", *words)
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


def run(*words: str) -> Any:
    """Type a command."""
    runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
    return runner.invoke(app, list(words))


@pytest.mark.study
def test_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the tutorial run one after the other, on emulated boards."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```bash\n(.*?)```", TUTORIAL.read_text(), re.S)
    commands = [line for block in blocks for line in block.splitlines()]
    assert sum("retarget" in line for line in commands) >= 3
    markers = example_markers("squat")
    write_trc(markers, tmp_path / "motion.trc")
    write_trc(part_of(markers, 0.0, 0.4), tmp_path / "standing.trc")
    with Emulator(link=tmp_path / "port"):
        for line in commands:
            words = shlex.split(line)
            assert words[0] == "humans-sim"
            if words[-1] == "&":  # the boards that are there already
                assert words[1:3] == ["kondo", "emulate"]
                continue
            done = run(*words[1:])
            code = done.exit_code
            assert code == 0, f"{line}: {done.output} {done.exception}"
    for name in ("squat.csv", "squat.png", "motion.csv", "part.yaml"):
        assert (tmp_path / name).stat().st_size > 0


def test_limits_of_the_boards_slow_it_down(postures: hs.Reconstruction) -> None:
    """What the joints could do, but not the boards, takes longer."""
    person = captured_motion(postures)
    quick = replace(person, t=0.3 * person.t)
    plain = Retargeting(hs.load_model("khr1")).retarget(quick)
    assert board_excess(plain) > 1.0
    slower = retarget_person(quick, "khr1")
    assert board_excess(slower) <= 1.0
    assert plain.plan.slowdown < slower.plan.slowdown


@pytest.mark.study
@pytest.mark.parametrize("robot", ["khr1", "g1"])
def test_a_recorded_walk(robot: str, shared_data: Path, tmp_path: Path) -> None:
    """A real walk: five steps without a fall, slip or limit, limbs as the person's."""
    mocap = shared_data / "mocap"
    model = hs.load_model("khr1") if robot == "khr1" else g1(shared_data, tmp_path)
    motion = hs.retarget(
        mocap / "walk.trc",
        model,
        marker_set="rajagopal",
        static=mocap / "static_walk.trc",
    )
    assert motion.plan.steps == 5
    assert (np.abs(motion.v[:, 6:]) <= model.velocity_limits).all()
    assert (np.abs(motion.torques) <= model.effort_limits).all()
    assert np.degrees(motion.median_error) < 15.0
    trial = simulate_motion(motion)
    assert not trial.fallen and trial.slip < MOST_SLIP
    sole = model.soles[0].name
    first, last = (model.frame_pose(trial.run.q[k], sole) for k in (0, -1))
    target = motion.plan.phases[-1].feet[Side.LEFT].x
    assert target > 0.1
    assert (last.translation - first.translation)[0] == pytest.approx(target, rel=0.05)


def g1(shared_data: Path, folder: Path) -> hs.Model:
    """A Unitree G1 of its bare URDF."""
    urdf = Path(shutil.copy(shared_data / "robots/g1/g1_29dof.urdf", folder))
    draft_robot(urdf).save()
    return hs.load_model(urdf)
