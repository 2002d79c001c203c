# SPDX-License-Identifier: Apache-2.0
"""Reconstructions that are stored and loaded again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers import MarkerFileError, MarkerTrial
from humans_sim.observation.posture.result import Reconstruction


@pytest.fixture(scope="module")
def result() -> Reconstruction:
    """Two frames of a person with sizes of his own, one marker lost."""
    model = hs.load_model("human36", height=1.8, mass=71.0, lengths={"yhead": 0.2})
    q = np.array([model.neutral(), model.neutral()])
    tags = np.array([model.tags(row)[:-1] for row in q])
    tags[1, 3] = np.nan
    trial = MarkerTrial(
        model.tag_names,
        np.array([0.0, 0.01]),
        tags,
        np.array([7, 8]),
        camera_residuals=np.full(tags.shape[:2], 1e-3),
        source=Path("walk.trc"),
    )
    return hs.reconstruct(model, trial)


def test_comes_back_as_it_was(result: Reconstruction, tmp_path: Path) -> None:
    """All arrays to the bit, the trial and the model."""
    loaded = hs.load_reconstruction(result.save(tmp_path / "r.npz"))
    for name in ("q", "differences", "status", "converged", "iterations"):
        assert np.array_equal(
            getattr(loaded, name), getattr(result, name), equal_nan=True
        )
    assert np.array_equal(loaded.trial.positions, result.trial.positions, True)
    assert np.array_equal(loaded.trial.camera_residuals, result.trial.camera_residuals)
    assert loaded.trial.source == Path("walk.trc") and loaded.names == result.names
    assert loaded.unobservable == result.unobservable and loaded.rms == result.rms
    assert np.array_equal(
        loaded.model.tags(loaded.q[0]), result.model.tags(result.q[0])
    )
    assert loaded.model.mass == result.model.mass


def test_no_stored_reconstruction(result: Reconstruction, tmp_path: Path) -> None:
    """Missing, cut off, of another kind, or with parts that do not fit."""
    path = result.save(tmp_path / "r.npz")
    whole = path.read_bytes()
    with pytest.raises(MarkerFileError, match="no such file"):
        hs.load_reconstruction(tmp_path / "none.npz")
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        with pytest.raises(MarkerFileError, match="not a stored reconstruction"):
            hs.load_reconstruction(path)
    np.savez(path, q=np.zeros(3))
    with pytest.raises(MarkerFileError):
        hs.load_reconstruction(path)
    for wrong in (
        replace(result, q=result.q[:1]),
        replace(result, q=result.q * np.nan),
        replace(result, status=result.status + 9),
        replace(result, differences=result.differences[:, :3]),
    ):
        wrong.save(path)
        with pytest.raises(MarkerFileError, match="not a stored reconstruction"):
            hs.load_reconstruction(path)
