# SPDX-License-Identifier: Apache-2.0
"""Motions of wrists in files: what was saved is loaded, what is none is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_wrists import small_run

from humans_sim.anatomy import WristRun, WristRunFileError, load_wrist_run
from humans_sim.anatomy.wrist.wrist_run import is_wrist_run

ARRAYS = ("t", "angles", "x", "frames", "tensions", "forces", "depths", "touching")
ARRAYS += ("deep", "friction", "energy", "steps", "loads")


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls."""
    return small_run()


def test_what_was_saved_is_loaded(run: WristRun, tmp_path: Path) -> None:
    """Every number, the bones with their meshes and balls, the ligaments."""
    path = run.save(tmp_path / "motion.npz")
    assert is_wrist_run(path)
    loaded = load_wrist_run(path)
    for name in ARRAYS:
        assert (getattr(loaded, name) == getattr(run, name)).all(), name
    assert loaded.motion == run.motion and loaded.numbers == run.numbers
    assert (loaded.method, loaded.unsettled) == (run.method, run.unsettled)
    assert loaded.wrist.names == run.wrist.names
    assert loaded.wrist.roles == run.wrist.roles
    assert loaded.wrist.numbers == run.wrist.numbers
    for one, other in zip(loaded.wrist.bones, run.wrist.bones, strict=True):
        assert (one.mesh.vertices == other.mesh.vertices).all()
        assert (one.mesh.faces == other.mesh.faces).all()
        assert (one.model.radii == other.model.radii).all()
        assert (one.mass.inertia == other.mass.inertia).all()
    lengths = run.wrist.ligaments.lengths(run.moving(3))
    ours, theirs = loaded.wrist.ligaments, run.wrist.ligaments
    assert (ours.lengths(loaded.moving(3)) == lengths).all()
    assert (ours.tension(lengths) == theirs.tension(lengths)).all()
    assert loaded.check() == run.check()


def test_contacts_are_found_again_from_the_file(run: WristRun, tmp_path: Path) -> None:
    """The file's balls touch where they touched."""
    loaded = load_wrist_run(run.save(tmp_path / "motion.npz"))
    detector = loaded.wrist.detector()
    k = int(run.forces.argmax())
    contacts = detector.detect(
        loaded.wrist.poses(loaded.x[k], loaded.frames[k]), margin=1e-5
    )
    assert contacts.count > 0 and run.loads is not None
    assert run.loads[k][contacts.body_i, contacts.body_j].max() > 1


def test_a_cut_wrist_without_ligaments_is_kept(run: WristRun, tmp_path: Path) -> None:
    """No ligaments, no loads, no numbers of a law."""
    bare = replace(
        run,
        wrist=run.wrist.cut(*run.wrist.ligaments.names),
        tensions=run.tensions[:, :0],
        numbers=None,
        loads=None,
        method="penalty",
    )
    loaded = load_wrist_run(bare.save(tmp_path / "bare.npz"))
    assert len(loaded.wrist.ligaments) == 0 and loaded.loads is None
    assert loaded.check()["largest friction over normal force"].ok is None
    assert loaded.check()["least gap of balls"].ok is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", np.zeros((2, 3, 3))),
        ("t", np.full(15, np.nan)),
        ("faces", np.array([[0, 1, 10**6]])),
        ("tie_bones", np.array([[0, 7], [1, 2], [0, 1], [1, 2]])),
        ("sizes", np.zeros((3, 3), int)),
        ("inertias", np.zeros((3, 3, 3))),
    ],
)
def test_damaged_files_are_refused(
    run: WristRun, tmp_path: Path, name: str, value: np.ndarray
) -> None:
    """Each by one line with the name of the file."""
    path = run.save(tmp_path / "motion.npz")
    with np.load(path) as file:
        content = dict(file)
    np.savez(tmp_path / "bad.npz", **{**content, name: value})
    with pytest.raises(WristRunFileError, match=r"bad\.npz"):
        load_wrist_run(tmp_path / "bad.npz")


def test_headers_of_another_kind_are_refused(run: WristRun, tmp_path: Path) -> None:
    """A ball model, no file, a list for a header."""
    model = run.wrist.bones[0].model.save(tmp_path / "ball.npz")
    assert not is_wrist_run(model) and not is_wrist_run(tmp_path / "none.npz")
    for path in (model, tmp_path / "none.npz"):
        with pytest.raises(WristRunFileError):
            load_wrist_run(path)
    with np.load(run.save(tmp_path / "motion.npz")) as file:
        content = dict(file)
    for header in ([], {**json.loads(str(content["header"])), "motion": "twist"}):
        content["header"] = np.array(json.dumps(header))
        np.savez(tmp_path / "bad.npz", **content)
        with pytest.raises(WristRunFileError):
            load_wrist_run(tmp_path / "bad.npz")
