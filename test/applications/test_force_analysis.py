# SPDX-License-Identifier: Apache-2.0
"""Forces as users ask for them: options, tables, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from strolls import known

import humans_sim as hs
from humans_sim.analysis.force_comparison import write_external_loads
from humans_sim.applications.batch.trial import _RECORD
from humans_sim.applications.reconstruction_files import (
    analyse_forces,
    write_forces,
)
from humans_sim.core.bounded_text import fits
from humans_sim.core.errors import ParameterError
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.reconstruction_options import ReconstructionOptions
from humans_sim.view.plots.posture_plots import force_figures
from humans_sim.view.reports.posture_report import force_tables


@pytest.fixture(scope="module")
def standing(human: hs.Model) -> Reconstruction:
    """A person who leans from foot to foot."""
    q = np.tile(human.standing(np.zeros(human.nq - 7)), (80, 1))
    sway = 0.1 * np.sin(2 * np.pi * np.arange(80) / 80)
    for name in ("l_shoulder_roll", "r_shoulder_roll"):
        q[:, 7 + human.joint_names.index(name)] += sway
    return known(human, q)


@pytest.fixture(scope="module")
def file(standing: Reconstruction, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forces of the ground that fit the motion."""
    path = tmp_path_factory.mktemp("forces") / "loads.mot"
    return write_external_loads(hs.inverse_dynamics(standing), path)


def test_forces_of_a_file(standing: Reconstruction, file: Path) -> None:
    """Both feet are measured, markers alone agree, and the record has the numbers."""
    results = analyse_forces(standing, ReconstructionOptions(force_file=file))
    assert results.dynamics.measured.all()
    assert results.comparison is not None
    assert results.comparison.vertical.rms < 0.02
    summary = json.loads(json.dumps(results.summary()))
    assert fits([summary], _RECORD["summary"]["forces"])  # type: ignore[index]
    assert summary["mass"] == pytest.approx(standing.model.mass, rel=5e-3)
    assert max(summary["residual_force"]) < 0.01
    without = analyse_forces(standing, ReconstructionOptions(plates=False))
    assert without.dynamics.loads is None and without.comparison is None
    assert fits([without.summary()], _RECORD["summary"]["forces"])  # type: ignore[index]


def test_files(standing: Reconstruction, file: Path, tmp_path: Path) -> None:
    """Left and right apart, the residual, what is measured; two files for OpenSim."""
    forces = analyse_forces(standing, ReconstructionOptions(force_file=file)).dynamics
    paths = write_forces(forces, tmp_path, "walk")
    assert [p.name for p in paths] == [
        "Forceswalk.csv",
        "walk_forces.sto",
        "walk_loads.mot",
    ]
    lines = paths[0].read_text().splitlines()
    names = lines[0].split(",")
    values = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    table = dict(zip(names, values.T, strict=True))
    np.testing.assert_array_equal(table["l_sole_fz"], forces.feet["l_sole"][:, 2])
    np.testing.assert_array_equal(table["residual_my"], forces.residual[:, 4])
    np.testing.assert_array_equal(table["measured"], 1.0)
    both = table["l_sole_mx"] + table["r_sole_mx"]
    np.testing.assert_allclose(both, table["ground_mx"], atol=1e-9)
    assert [p.name for p in write_forces(forces, tmp_path, "w", opensim=False)] == [
        "Forcesw.csv"
    ]


def test_the_report_shows_them(standing: Reconstruction, file: Path) -> None:
    """Curves of both feet beside the plates, the residual, and peaks by mass."""
    results = analyse_forces(
        standing, ReconstructionOptions(force_file=file, reduce_residual=True)
    )
    figures = force_figures(results.dynamics, results.comparison)
    assert list(figures) == ["Vertical force of each foot", "Residual at the base"]
    feet = figures["Vertical force of each foot"].axes
    assert [len(panel.lines) for panel in feet] == [2, 2]
    tables = force_tables(results.dynamics, results.comparison, ("l_clavicle_roll",))
    assert list(tables) == ["Forces", "Largest joint moments"]
    rows = dict(tables["Forces"].rows)
    assert rows["frames that plates cover"] == "100 %"
    assert rows["vertical force, markers alone against plates"].startswith("r ")
    assert "largest shift for a smaller residual" in rows
    joints = [row[0] for row in tables["Largest joint moments"].rows]
    assert "r_clavicle_roll" in joints and "l_clavicle_roll" not in joints
    alone = analyse_forces(standing)
    panels = force_figures(alone.dynamics)["Vertical force of each foot"].axes
    assert [len(panel.lines) for panel in panels] == [1, 1]


def test_options_that_exclude_each_other(file: Path) -> None:
    """Forces of a file go neither without plates nor with another frame."""
    with pytest.raises(ParameterError, match="plates are excluded"):
        ReconstructionOptions(force_file=file, plates=False)
    with pytest.raises(ParameterError, match="inverse dynamics only"):
        ReconstructionOptions(reduce_residual=True)
    with pytest.raises(ParameterError, match="frame change"):
        ReconstructionOptions(force_file=file, frame_change="standing").steps()
    one, other = (
        ReconstructionOptions(force_file=file),
        ReconstructionOptions(force_file=file.with_name("x")),
    )
    file.with_name("x").write_text(file.read_text() + "\n")
    assert one.identity() != other.identity()
