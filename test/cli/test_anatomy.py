# SPDX-License-Identifier: Apache-2.0
"""humans-sim anatomy, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from small_wrists import write_own
from typer.testing import CliRunner, Result

from humans_sim.anatomy import load_ball_model
from humans_sim.cli.commands import app


def typed(*words: object) -> Result:
    """What a command prints."""
    runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def bone(tmp_path: Path) -> Path:
    """A mesh in millimetres, inside out."""
    mesh = trimesh.creation.icosphere(3)
    mesh.apply_scale([7, 5, 9])
    mesh.invert()
    mesh.export(tmp_path / "bone.stl")
    return tmp_path / "bone.stl"


def test_a_model_is_made_and_checked(bone: Path) -> None:
    """Repairs and fit are printed, the file is written, check reads it."""
    done = typed("anatomy", "ball-model", bone, "--reduced", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert len(answer["repairs"]) == 2 and answer["short"] < 5e-4
    model = load_ball_model(bone.with_suffix(".npz"))
    assert len(model) == answer["balls"]
    checked = typed("anatomy", "check", bone.with_suffix(".npz"), "--json")
    assert json.loads(checked.stdout)["voxels"] == answer["voxels"]


def test_faults_are_one_line(bone: Path) -> None:
    """Unknown metrics, wrong units, files that are there or no models are refused."""
    for words in (
        ("ball-model", bone, "--metric", "1-2-3"),
        ("ball-model", bone, "--unit", "m"),
        ("ball-model", bone.with_name("missing.stl")),
        ("check", bone),
    ):
        done = typed("anatomy", *words)
        assert done.exit_code not in (0, None) and "Traceback" not in done.output
    assert typed("anatomy", "ball-model", bone, "--spacing", "1").exit_code == 0
    assert typed("anatomy", "ball-model", bone, "--spacing", "1").exit_code != 0


@pytest.mark.study
def test_a_wrist_of_ones_own_is_moved(tmp_path: Path) -> None:
    """Two balls and a ligament: moved, checked, saved; no carpus to judge."""
    for name, x in (("one", 0.0), ("two", 11.0)):
        ball = trimesh.creation.icosphere(2, 5.0)
        ball.apply_translation([x, 0, 0])
        ball.export(tmp_path / f"{name}.stl")
    file = tmp_path / "own.yaml"
    file.write_text(
        "title: Two balls\nunit: mm\nbones:\n"
        "  one: {role: free, mesh: one.stl, unit: mm}\n"
        "  two: {role: driven, mesh: two.stl, unit: mm}\n"
        "ligaments:\n"
        "  tie: {bones: [one, two], points: [[0, 5, 0], [11, 5, 0]], strain: 0.1}\n"
    )
    saved = tmp_path / "motion.npz"
    words = ("--angle", "2", "--step", "50", "--spacing", "2", "--save", saved)
    done = typed("anatomy", "move", file, *words, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["overlap"] < 1e-6 and document["plausibility"] is None
    with np.load(saved) as motion:  # drawn to the other by more than half the gap
        assert np.linalg.norm(motion["x"][-1, 0] - motion["x"][-1, 1]) < 10.5e-3
    for method in ("penalty", "quasistatic"):
        again = tmp_path / f"{method}.npz"
        words = ("--angle", "2", "--step", "50", "--spacing", "2", "--save", again)
        done = typed("anatomy", "move", file, *words, "--method", method, "--json")
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        assert document["method"] == method and document["shortest_step"] > 0
        with np.load(again) as motion:  # in motion, or in the same place at rest
            apart = np.linalg.norm(motion["x"][-1, 0] - motion["x"][-1, 1])
            assert apart < (13e-3 if method == "penalty" else 10.5e-3)
            assert (motion["energy"][:, 0].max() > 0) == (method == "penalty")
    assert typed("anatomy", "move", file, "--method", "magic").exit_code == 2
    assert typed("anatomy", "move", file, "--motion", "twist").exit_code != 0
    assert typed("anatomy", "move", file, "--cut", "none").exit_code != 0


def test_a_model_is_drawn(bone: Path) -> None:
    """Its silhouette is that of the ellipsoid; views that are none are refused."""
    assert typed("anatomy", "ball-model", bone).exit_code == 0
    model = bone.with_suffix(".npz")
    done = typed("anatomy", "picture", model, "-o", bone.with_name("p.png"), "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["area"] == pytest.approx(np.pi * 7e-3 * 5e-3, rel=0.1)
    with Image.open(bone.with_name("p.png")) as picture:
        assert max(picture.size) == 800
    sides = typed("anatomy", "picture", model, "--view", "radial", "--depth", "--json")
    assert json.loads(sides.stdout)["area"] == pytest.approx(np.pi * 45e-6, rel=0.1)
    assert typed("anatomy", "picture", model, "--view", "above").exit_code != 0


def test_a_link_of_a_urdf_is_a_bone(bone: Path) -> None:
    """Its collision mesh, scaled as the description says."""
    urdf = bone.with_name("arm.urdf")
    urdf.write_text(
        '<robot name="arm"><link name="bone"><collision><geometry>'
        f'<mesh filename="package://arm/{bone.name}" scale="0.001 0.001 0.001"/>'
        "</geometry></collision></link></robot>"
    )
    done = typed("anatomy", "ball-model", urdf, "--link", "bone", "--json")
    assert done.exit_code == 0, done.output
    assert load_ball_model(urdf.with_suffix(".npz")).radii.max() < 5.2e-3
    for link in ("tail", "bone"):
        urdf.write_text(urdf.read_text().replace("0.001 0.001 0.001", "0 1 1"))
        words = (urdf, "--link", link, "--overwrite")
        assert typed("anatomy", "ball-model", *words).exit_code != 0


@pytest.mark.study
def test_a_wrist_is_run_checked_reported_and_drawn(tmp_path: Path) -> None:
    """The usual commands: run with pictures, check, report of what was saved."""
    write_own(tmp_path)
    scenario = tmp_path / "bend.yaml"
    scenario.write_text(
        "title: Three balls bend\nwrist: {bones: own.yaml, motion: extension, "
        "angle: 3, spacing: 2.0e-3}\ntime: {end: 0.2, sampling_period: 0.02}\n"
    )
    stored, plot = tmp_path / "run.npz", tmp_path / "plot.png"
    words = ("--save", stored, "--plot", plot, "--animate", tmp_path / "page.html")
    done = typed("run", scenario, *words, "--json")
    document = json.loads(done.stdout)
    assert document["written"] == [str(stored), str(plot), str(tmp_path / "page.html")]
    assert all(Path(path).stat().st_size > 10_000 for path in document["written"])
    found = {finding["name"]: finding["ok"] for finding in document["checks"]}
    assert found["least gap of balls"] and len(found) == 7
    checked = json.loads(typed("check", stored, "--json").stdout)
    assert checked["checks"] == document["checks"]
    page = tmp_path / "report.html"
    typed("report", stored, "-o", page, "--no-animation", "--json")
    assert "least gap of balls" in page.read_text() and "n/a" in page.read_text()
    refused = typed("run", scenario, "--save", tmp_path / "run.mcap")
    assert refused.exit_code != 0 and "npz" in str(refused.exception)
