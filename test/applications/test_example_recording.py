# SPDX-License-Identifier: Apache-2.0
"""The recording that comes with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications import example_recordings as example
from humans_sim.cli.commands import app
from humans_sim.observation.posture.humans_tables import read_rec_pos, read_rec_pos_bin


def test_the_shipped_file_is_what_is_made(tmp_path: Path) -> None:
    """Numbers in the package are those of the code that made them, to 0.01 mm."""
    made = hs.read_markers(example.write_example(tmp_path / "made.csv"))
    shipped = hs.read_markers(example.example_file())
    assert shipped.names == made.names and len(shipped) == 80
    np.testing.assert_allclose(shipped.positions, made.positions, atol=2e-5)
    assert np.isnan(shipped.positions).any()


def test_the_example_is_reconstructed(tmp_path: Path) -> None:
    """`reconstruct --example` gives the motion the markers were made from."""
    line = "reconstruct --example --no-report --workers 0 --formats csv,bin,tab"
    done = CliRunner().invoke(app, [*line.split(), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    name = "106"
    frames, coordinates = read_rec_pos(tmp_path / f"RecPos{name}.csv")
    np.testing.assert_array_equal(
        read_rec_pos_bin(tmp_path / f"RecPosBin{name}"), coordinates
    )
    assert (tmp_path / f"RecPos{name}.txt").read_text().count("\n") == 81
    model = hs.load_model("human36", height=example.HEIGHT, mass=example.MASS)
    knee = model.humans.coordinate_names.index("r_knee")
    for frame, row in zip(frames, coordinates, strict=True):
        truth = example.pushed(model, (int(frame) - 1) / 100.0)
        angle = truth[7 + model.joint_names.index("r_knee")]
        assert row[knee] == pytest.approx(angle, abs=np.radians(1.5))


def test_an_example_is_enough() -> None:
    """A recording or a person besides it, or nothing at all, is refused."""
    for line in ("reconstruct --example x.trc", "reconstruct --example --height 1.8"):
        done = CliRunner().invoke(app, line.split())
        assert done.exit_code != 0
    assert CliRunner().invoke(app, ["reconstruct"]).exit_code != 0
