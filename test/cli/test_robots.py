# SPDX-License-Identifier: Apache-2.0
"""``humans-sim init-robot``, and a walk of the robot it set up."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.actuation.servo_set import ServoSet
from humans_sim.cli.commands import app

runner = CliRunner()


@pytest.fixture
def urdf(khr1: hs.Model, tmp_path: Path) -> Path:
    """A URDF with nothing beside it."""
    path = khr1.save(tmp_path / "mine.urdf")
    path.with_suffix(".yaml").unlink(missing_ok=True)
    path.write_text(path.read_text().replace('name="khr1"', 'name="mine"', 1))
    return path


def test_files_and_picture(urdf: Path) -> None:
    """Two files and a picture; a second time only over them."""
    picture = urdf.with_suffix(".png")
    arguments = ["init-robot", str(urdf), "--no-trial", "--json"]
    arguments += ["--picture", str(picture)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["legs"]["left"][0] == "l_hip_roll" and answer["turns"] == "slip"
    assert len(answer["written"]) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = runner.invoke(app, ["init-robot", str(urdf)])
    assert again.exit_code != 0 and "--overwrite" in str(again.exception)


def test_what_is_no_biped(urdf: Path) -> None:
    """Nothing is written for a robot that cannot walk."""
    text = urdf.read_text()
    start = text.index('<joint name="l_hip_roll"')
    end = text.index("</joint>", start) + len("</joint>")
    hung = text[start:end].replace('type="revolute"', 'type="fixed"')
    urdf.write_text(text[:start] + hung + text[end:])
    for name in ("l_hip_pitch", "l_knee", "l_ankle_pitch", "l_ankle_roll"):
        text = urdf.read_text()
        start = text.index(f'<joint name="{name}"')
        end = text.index("</joint>", start)
        fixed = text[start:end].replace('type="revolute"', 'type="fixed"')
        urdf.write_text(text[:start] + fixed + text[end:])
    done = runner.invoke(app, ["init-robot", str(urdf)])
    assert done.exit_code != 0 and isinstance(done.exception, hs.HumansError)
    assert not urdf.with_suffix(".yaml").exists()


@pytest.mark.study
@pytest.mark.parametrize("actuation", ["torque", "servo"])
def test_a_walk_by_commands_alone(
    shared_data: Path, tmp_path: Path, actuation: str
) -> None:
    """The G1 from its bare URDF: set up, then some steps, on its feet."""
    urdf = tmp_path / "g1.urdf"
    shutil.copy(shared_data / "robots" / "g1" / "g1_29dof.urdf", urdf)
    assert runner.invoke(app, ["init-robot", str(urdf)]).exit_code == 0
    saved = tmp_path / "run.npz"
    done = runner.invoke(
        app,
        ["run", "walk", "--model", str(urdf), "--actuation", actuation]
        + ["--end", "4", "--save", str(saved)],
    )
    assert done.exit_code == 0, done.output
    run = hs.load_run(saved)
    assert run.q[-1, 0] - run.q[0, 0] > 0.25
    assert np.abs(run.q[:, 2] - run.q[0, 2]).max() < 0.02


@pytest.mark.study
def test_tuned_servos_become_the_robots_own(urdf: Path) -> None:
    """Responses and a picture; the file beside the URDF has the servos' gains."""
    assert runner.invoke(app, ["init-robot", str(urdf)]).exit_code == 0
    picture, file = urdf.with_suffix(".png"), urdf.with_name("mine.robot.yaml")
    done = runner.invoke(
        app,
        ["tune-servos", str(urdf), "--bandwidth", "30", "--plot", str(picture)]
        + ["--save", str(file), "--json"],
    )
    assert done.exit_code == 0, done.output
    knee = json.loads(done.stdout)["joints"]["l_knee"]
    assert knee["gain"] > 900.0 * knee["inertia"] and knee["overshoot"] < 0.1
    assert picture.read_bytes().startswith(b"\x89PNG")
    servos = ServoSet.of_model(hs.load_model(urdf))
    assert servos.of_joint("l_knee").gain == pytest.approx(knee["gain"], rel=1e-5)


def tutorial() -> list[list[str]]:
    """Commands of the guide's first block, but for the page."""
    guide = Path(__file__).parents[2] / "docs" / "your_robot.md"
    block = guide.read_text().split("```bash\n", 1)[1].split("```", 1)[0]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [words[1:] for words in lines if words[1] != "view"]


@pytest.mark.study
def test_the_tutorial(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of it works for a robot of which there is a URDF alone."""
    monkeypatch.chdir(urdf.parent)
    urdf.rename("my.urdf")
    lines = tutorial()
    assert [words[0] for words in lines] == ["init-robot", *3 * ["run"], "tune-servos"]
    for words in lines:
        shorter = ["--end", "1.5"] if words[0] == "run" else []
        done = runner.invoke(app, [*words, *shorter])
        assert done.exit_code == 0, (words, done.output, done.exception)
    made = {path.name for path in urdf.parent.iterdir()}
    wanted = {"my.yaml", "my.walk.yaml", "my.png", "walk.png", "walk.html"}
    assert wanted | {"servos.png"} <= made
