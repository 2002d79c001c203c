# SPDX-License-Identifier: Apache-2.0
"""humans-sim anatomy, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

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
