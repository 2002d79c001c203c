# SPDX-License-Identifier: Apache-2.0
"""Models of tables that users write."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.results.record import model_and_ground, recorded_model

TABLE = Path(__file__).parents[3] / "examples" / "mybip.yaml"

LEG = """
name: leg
parameters: {h: 1.7, m: 10}
lengths: {thigh: 0.25*h, shank: 0.24*h}
bodies:
  - {name: base_link, mass: 0.6*m, com: [0, 0.1, 0], box: [0.2, 0.2, 0.3]}
  - {name: thigh, sides: true, parent: base_link, at: [0, 0, 0.1],
     rotations: {hip: z}, mass: 0.1*m, com: [0, -thigh/2, 0],
     gyration: [0.1, 0.05, 0.1]}
  - {name: shank, sides: true, parent: thigh, at: [0, -thigh, 0],
     rotations: {knee: -z}, mass: 0.1*m, com: [0, -shank/2, 0],
     gyration: [0.1, 0.05, 0.1]}
tags:
  - {name: r_end, body: r_shank, at: [0, -shank, 0]}
  - {name: l_end, body: l_shank, at: [0, -shank, 0]}
contacts: [r_end, l_end]
"""


@pytest.fixture(scope="module")
def typed() -> hs.Model:
    """Bip, from the table as the manual prints it."""
    return hs.load_model(TABLE)


def written(folder: Path, text: str) -> Path:
    """A table file of this text."""
    path = folder / "mymodel.yaml"
    path.write_text(text)
    return path


def test_a_table_of_the_manual_is_bip(
    typed: hs.Model, bip: hs.Model, rng: np.random.Generator
) -> None:
    """Mass matrix, bias, contacts and tags are those of Bip, to rounding."""
    bodies = hs.load_model("bip", rotors=False)
    mine, packaged = typed.humans, bodies.humans
    assert mine.coordinate_names == packaged.coordinate_names
    for _ in range(5):
        q = rng.uniform(-0.6, 0.6, 21)
        qdot = rng.normal(size=21)
        for of_typed, of_bip in (
            (mine.inertia(q), packaged.inertia(q)),
            (mine.nl_effects(q, qdot), packaged.nl_effects(q, qdot)),
            (mine.tags(q), packaged.tags(q)),
            (mine.com(q), packaged.com(q)),
            (mine.contact_jacobian(q), packaged.contact_jacobian(q)),
            (mine.contact_hessian(q, qdot), packaged.contact_hessian(q, qdot)),
        ):
            scale = max(1.0, np.abs(of_bip).max())
            np.testing.assert_allclose(of_typed, of_bip, rtol=0, atol=1e-12 * scale)
    assert typed.contact_names[-1] == "tag25" and typed.rotors is None


def test_a_table_that_differs_is_another_model(
    tmp_path: Path, bip: hs.Model, rng: np.random.Generator
) -> None:
    """A sign of one joint that is typed wrong shows in the mass matrix."""
    text = TABLE.read_text().replace("theta: -q3", "theta: q3")
    wrong = hs.load_model(written(tmp_path, text))
    right = hs.load_model("bip", rotors=False)
    q = rng.uniform(-0.6, 0.6, 21)
    assert np.abs(wrong.humans.inertia(q) - right.humans.inertia(q)).max() > 0.01


def test_a_tree_with_parameters(tmp_path: Path) -> None:
    """Stature, mass, lengths and tags of a table are set as those of Human36."""
    path = written(tmp_path, LEG)
    model = hs.load_model(path, height=2.0, mass=20.0)
    assert model.mass == pytest.approx(20.0)
    assert model.lengths == pytest.approx({"thigh": 0.5, "shank": 0.48})
    assert model.joint_names == ("l_hip", "l_knee", "r_hip", "r_knee")
    np.testing.assert_allclose(model.contact(model.neutral())[:, 2], 0, atol=1e-15)
    assert model.with_height(1.0).height == 1.0
    shorter = model.with_lengths(shank=0.4).with_mass(5.0)
    assert shorter.lengths["shank"] == 0.4 and shorter.height == 2.0
    moved = model.with_tag_positions({"r_end": np.array([0.1, -0.4, 0])})
    np.testing.assert_allclose(moved.tag_positions[0], [0.1, -0.4, 0])


def test_the_record_of_a_run_loads_the_table_again(tmp_path: Path) -> None:
    """A run records the table's path and the sizes the model was made with."""
    model = hs.load_model(written(tmp_path, LEG), height=1.5).with_lengths(shank=0.4)
    record = json.loads(json.dumps(model_and_ground(model, hs.Ground())))
    again = recorded_model(record)
    assert again.height == 1.5 and again.lengths == model.lengths
    q = model.neutral()
    np.testing.assert_array_equal(again.inertia(q), model.inertia(q))


def test_a_table_is_saved_as_a_urdf(typed: hs.Model, tmp_path: Path) -> None:
    """The URDF of a table gives the same mass matrix."""
    saved = hs.load_model(typed.save(tmp_path / "mybip.urdf"))
    q = typed.neutral()
    np.testing.assert_allclose(saved.inertia(q), typed.inertia(q), atol=1e-12)


BAD_ROWS = [
    ("theta: -q3", "theta: 2*q3", r"must be a constant plus or minus q3"),
    ("theta: -q3", "theta: q3*q3", "a constant plus or minus q3"),
    ("theta: -q3", "theta: -q3-q2", "one coordinate at most"),
    ("theta: -q3", "theta: -q0", "one coordinate at most"),
    ("theta: -q3", "theta: 0", "needs the key 'sense'"),
    ("theta: -q3", "theta: -q2", "q1 to q15, each once, not q2"),
    ("theta: -q3", "theta: -q16", "q1 to q15, each once, not q16"),
    ("theta: -q3", "theta: .nan", "'.nan'"),
    ("theta: -q3", "theta: 1e400-q3", "not a finite number"),
    ("r: 0.410", "r: q3", "unknown name 'q3'"),
    ("r: 0.410", "r: .inf", "'.inf'"),
    ("lambda: 0.903+q17", "lambda: 0.903+q16", "along y .* is q17, not q16"),
    ("lambda: 0.903+q17", "lambda: 0.903-q17", "not along the reference axes"),
    ("lambda: 0.903+q17", "lambda: 0.903", "three translations, then three"),
    ("theta: pi/2+q20", "theta: pi/2+q21", "about y .* is q20, not q21"),
    ("frame: 10, ref: 9", "frame: 10, ref: 11", "frame 11 is not defined above"),
    ("frame: 10, ref: 9", "frame: 10, ref: 10", "has no loop"),
    ("frame: 10, ref: 9", "frame: 9.5, ref: 9", "a whole number"),
    ("frame: 10, ref: 9", "frame: 9, ref: 9", "frame 9 stands twice"),
    ("mass: 5.93,", "mass: -5.93,", "negative"),
    ("mass: 5.93,", "", "needs the key 'mass'"),
    ("com: [152*mm,", "com: [", "must be 3 numbers"),
    ("inertia: [2*c,", "inertia: [", "must be 6 numbers"),
    ("inertia: [126*c,", "inertia: [-9126*c,", "negative kinetic energy"),
    ("body: base_link", "body: pelvis", "no body is called 'base_link'|parent frame"),
    ("body: l_shank", "body: r_shank", "body 'r_shank' stands twice"),
    ("joint: l_knee", "joint: r_knee", "joint 'r_knee' stands twice"),
    ("at: [83*mm,", "at: [", "must be 3 numbers"),
    ("body: r_foot, at", "body: foot, at", "no body is called 'foot'"),
    ("contacts: [tag1,", "contacts: [toe,", "no tag is called 'toe'"),
    ("name: mybip", "title: mybip", "the key 'name' is missing"),
    ("denavit_hartenberg:", "bodies:", "unknown key"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_ROWS)
def test_a_bad_table_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """What is wrong in a table is reported with its file."""
    text = TABLE.read_text()
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        hs.load_model(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("parent: thigh", "parent: shank", "no body above is called"),
        ("name: base_link", "name: pelvis", "'parent' is missing"),
        ("mass: 0.6*m", "mass: 0", None),
        ("mass: 0.6*m", "mass: 0.6*mass", "unknown name 'mass'"),
        ("box: [0.2, 0.2, 0.3]", "box: [0.2, 0.2]", "3 numbers"),
        ("rotations: {knee: -z}", "rotations: {hip: -z}", "joint 'r_hip' stands twice"),
    ],
)
def test_a_bad_tree_is_refused(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    """A tree that hangs on itself, has no base or lacks numbers is refused."""
    path = written(tmp_path, LEG.replace(old, new))
    if message is None:
        assert hs.load_model(path).mass == pytest.approx(4.0)
        return
    with pytest.raises(hs.errors.ModelFileError, match=message):
        hs.load_model(path)


def test_tables_without_mass_or_file(tmp_path: Path) -> None:
    """A table without mass, and a file that is not there, get typed errors."""
    weightless = LEG.replace("*m,", "*0,")
    with pytest.raises(hs.errors.ModelFileError, match="no body has a mass"):
        hs.load_model(written(tmp_path, weightless))
    with pytest.raises(hs.errors.ModelFileError, match="gone.yaml"):
        hs.load_model(tmp_path / "gone.yaml")
    with pytest.raises(hs.errors.ParameterError, match="height of mybip"):
        hs.load_model(TABLE, height=1.8)
