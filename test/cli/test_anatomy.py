# SPDX-License-Identifier: Apache-2.0
"""humans-sim anatomy, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
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
