# SPDX-License-Identifier: Apache-2.0
"""What a run remembers of its model and scene is enough to have them again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact import Box, HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.core.errors import RunFileError, UnknownModelError
from humans_sim.dynamics import Simulation
from humans_sim.dynamics.model_system import ModelSystem, scene_record
from humans_sim.dynamics.problems import bouncing_ball
from humans_sim.results.record import (
    model_and_ground,
    recorded_ground,
    recorded_model,
)


def again(model: hs.Model, ground: Ground | None = None) -> dict[str, object]:
    """The record of a model in a scene, through a file."""
    record = scene_record(ModelSystem(model, ground or Ground()))
    return dict(json.loads(json.dumps(record)))


def test_models(model: hs.Model) -> None:
    """Each model of the package comes back with its inertia."""
    loaded = recorded_model(again(model))
    q = model.neutral()
    assert np.array_equal(loaded.inertia(q), model.inertia(q))


def test_changed_models() -> None:
    """Stature, mass, lengths, tags and missing rotors are kept."""
    human = hs.load_model("human36", height=1.6, mass=60.0)
    tag = human.tag_names[3]
    human = hs.load_model(
        "human36", height=1.6, mass=60.0, tags={tag: np.array([0.1, 0.2, 0.3])}
    )
    loaded = recorded_model(again(human))
    q = human.neutral()
    assert np.array_equal(loaded.tags(q), human.tags(q))
    assert loaded.mass == human.mass
    assert recorded_model(again(hs.load_model("bip", rotors=False))).rotors is None


def test_own_urdf(khr1: hs.Model, tmp_path: Path) -> None:
    """A URDF is kept by its path; when it is gone the error names it."""
    path = khr1.save(tmp_path / "khr1.urdf")
    info = again(hs.load_model(path))
    assert recorded_model(info).joint_names == khr1.joint_names
    path.unlink()
    with pytest.raises((UnknownModelError, hs.HumansError), match=r"khr1\.urdf"):
        recorded_model(info)


def test_scene(khr1: hs.Model) -> None:
    """The solids give the same distances."""
    turned = Box(
        (0.1, 0.2, 0.3),
        (0.5, 0.0, 0.1),
        rotation=pin.utils.rotate("z", 0.3),
        name="crate",
        friction=0.2,
    )
    slope = HalfSpace((-math.sin(0.1), 0.0, math.cos(0.1)), (0.0, 0.0, 0.2), "slope")
    ground = Ground(solids=(HalfSpace(), slope)).with_chair().with_solids(turned)
    loaded = recorded_ground(again(khr1, ground))
    assert np.array_equal(loaded.table(), ground.table())
    assert loaded.solids == ground.solids
    assert recorded_ground(again(khr1, Ground.empty())).solids == ()


def test_terrain() -> None:
    """A height field and a mesh come back as what they are."""
    heights = np.array([[0.0, 0.1], [0.2, 0.0]])
    field = HeightField(heights, (0.5, 0.25), (1.0, 2.0, 0.1), friction=0.4)
    mesh = TriangleMesh(field.vertices + [5.0, 0.0, 0.0], field.faces, name="rock")
    record = model_and_ground(None, Ground(solids=(field, mesh)))
    loaded = recorded_ground(json.loads(json.dumps(record))).solids
    again_field, again_mesh = (s for s in loaded if isinstance(s, TriangleMesh))
    assert isinstance(again_field, HeightField) and type(again_mesh) is TriangleMesh
    assert np.array_equal(again_field.heights, heights)
    for word in ("spacing", "origin", "bottom", "name", "friction"):
        assert getattr(again_field, word) == getattr(field, word)
    assert np.array_equal(again_mesh.vertices, mesh.vertices)
    assert np.array_equal(again_mesh.faces, mesh.faces) and again_mesh.name == "rock"


def test_runs_hold_it(khr1: hs.Model) -> None:
    """Runs of bipeds have a record with their balls; general systems have none."""
    name = khr1.contact_names[0]
    q = khr1.neutral()
    q[2] += 0.1
    sim = Simulation(khr1, locked=["*"], contacts=hs.Contacts(radii={name: 0.01}))
    run = sim.run(q, t_end=0.01)
    assert run.info["radii"] == {name: 0.01}
    assert run.info["z_names"] == []
    ball = Simulation(bouncing_ball(0.5)).run(np.array([0.1]), t_end=0.01)
    assert not {"model", "solids", "radii"} & set(ball.info)


def test_older_and_damaged_files() -> None:
    """Without a record: the model of that name on a floor; damage is an error."""
    assert recorded_model({"system": "bip"}).name == "bip"
    assert recorded_ground({}).solids == Ground().solids
    with pytest.raises(RunFileError, match="model is damaged"):
        recorded_model({"model": {"names": "bip"}})
    with pytest.raises(RunFileError, match="scene is damaged"):
        recorded_ground({"solids": [{"kind": "ball"}]})
