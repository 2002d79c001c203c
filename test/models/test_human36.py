# SPDX-License-Identifier: Apache-2.0
"""Human36: oracle values of the original software, setters, symmetry."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models.files.named_models import model_file
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.points import frame_index

ZERO = np.zeros(42)


def test_oracle_at_zero(human: hs.Model) -> None:
    """Centre of mass, toe and vertex of the original software at q = 0."""
    tags = human.humans.tags(ZERO)
    np.testing.assert_allclose(tags[-1], [0.0019382, 0.9712007, 0.0], atol=5e-8)
    np.testing.assert_allclose(tags[0], [0.2150135, 0.0, 0.0872241], atol=5e-8)
    np.testing.assert_allclose(tags[27], [0.0, 1.741, 0.0], atol=5e-8)
    assert human.mass == pytest.approx(73.0, abs=1e-12)


def test_centre_of_mass_from_the_tables(human: hs.Model) -> None:
    """The whole centre of mass is the mean of the segments', weighted by table 3.7."""
    fractions = [27.5, 14.16, 4.33, 1.37, 14.16, 4.33, 1.37, 15.96, 0, 2.71, 1.62]
    fractions += [0.61, 0, 2.71, 1.62, 0.61, 6.94]
    coms = human.humans.com(0.1 * np.sin(np.arange(42)))
    assert coms.shape == (18, 3)
    expected = np.array(fractions) @ coms[:-1] / 100
    np.testing.assert_allclose(coms[-1], expected, atol=1e-12)


def test_mirror_symmetry(human: hs.Model, rng: np.random.Generator) -> None:
    """Equal left and right values make a posture symmetric in the sagittal plane."""
    names = human.humans.coordinate_names
    values = {name.removeprefix("r_"): rng.uniform(-0.5, 0.5) for name in names[:36]}
    q = np.zeros(42)
    for i, name in enumerate(names[:36]):
        if name[:2] in ("r_", "l_"):
            q[i] = values.get(name[2:], 0.0)
    tags = dict(zip(human.tag_names, human.humans.tags(q), strict=False))
    for name, position in tags.items():
        if name.startswith("r_"):
            mirrored = tags["l_" + name[2:]] * [1, 1, -1]
            np.testing.assert_allclose(position, mirrored, atol=1e-12)


def test_signs_of_the_manual(human: hs.Model) -> None:
    """Knee flexion is negative; hip and shoulder flexion lift the limb forward."""
    names = human.humans.coordinate_names

    def moved(joint: str, angle: float, tag: str) -> np.ndarray:
        q = np.zeros(42)
        q[names.index(joint)] = angle
        index = human.tag_names.index(tag)
        tags = human.humans.tags
        return tags(q)[index] - tags(ZERO)[index]

    assert moved("r_knee", -0.5, "r_calcaneous_post")[0] < 0
    assert moved("r_hip_pitch", 0.5, "r_femoral_lateral_epicn")[0] > 0
    assert moved("l_shoulder_pitch", 0.5, "l_dactylion")[0] > 0
    # figure 2.4: the right thigh turns by x = -q4, y = -q5
    assert moved("r_hip_roll", 0.3, "r_femoral_lateral_epicn")[2] > 0
    assert moved("l_hip_roll", 0.3, "l_femoral_lateral_epicn")[2] < 0


def test_height_scales_lengths_and_tags(human: hs.Model) -> None:
    """SetModelSize: all lengths and tags follow the stature, but the inch of L(8)."""
    tall = human.with_height(1.80)
    assert tall.height == 1.80
    ratio = 1.80 / 1.741
    for name, length in human.lengths.items():
        if name.endswith("zsternoclav"):
            assert tall.lengths[name] == length
        elif not name.endswith("zshoulder"):
            assert tall.lengths[name] == pytest.approx(length * ratio, rel=1e-12)
    assert tall.humans.tags(ZERO)[27, 1] == pytest.approx(1.80, abs=1e-12)
    assert hs.load_model("human36", height=1.80).lengths == tall.lengths


def test_mass_scales_inertia(human: hs.Model, rng: np.random.Generator) -> None:
    """SetMass: the inertia matrix is proportional to the body mass."""
    heavy = human.with_mass(100.0)
    q = human.random_configuration(rng)
    assert heavy.mass == pytest.approx(100.0)
    expected = human.inertia(q) * 100 / 73
    np.testing.assert_allclose(heavy.inertia(q), expected, atol=1e-12)


def test_lengths_one_by_one(human: hs.Model) -> None:
    """Each of the 31 lengths can be set alone and keeps the others."""
    assert len(human.lengths) == 31
    for name, length in human.lengths.items():
        changed = TreeFile(model_file("human36"), {}, {name: 1.1 * length})
        assert changed.lengths == {**human.lengths, name: 1.1 * length}
    one = {"r_yfemur": 0.5}
    assert human.with_lengths(one).lengths == {**human.lengths, **one}
    vector = np.array(list(human.lengths.values())) * 1.05
    assert list(human.with_lengths(vector).lengths.values()) == vector.tolist()


def test_lengths_move_joints(human: hs.Model) -> None:
    """A longer right femur lowers the right knee by as much."""
    longer = human.with_lengths(r_yfemur=human.lengths["r_yfemur"] + 0.05)
    index = human.tag_names.index("r_femoral_lateral_epicn")
    step = longer.humans.tags(ZERO)[index] - human.humans.tags(ZERO)[index]
    np.testing.assert_allclose(step, [0, -0.05, 0], atol=1e-12)


def test_tag_positions(human: hs.Model) -> None:
    """SetTag2JointLengths: tags move on their segments; reading gives them back."""
    positions = human.tag_positions
    assert positions.shape == (28, 3)
    moved = human.with_tag_positions(positions.ravel() + 0.01)
    np.testing.assert_allclose(moved.tag_positions, positions + 0.01, atol=1e-15)
    step = moved.humans.tags(ZERO) - human.humans.tags(ZERO)
    np.testing.assert_allclose(step[:-1], 0.01, atol=1e-12)
    np.testing.assert_allclose(step[-1], 0.0, atol=1e-12)
    one = human.with_tag_positions({"vertex": [0.0, 0.3, 0.0]})
    assert one.tag_positions[27].tolist() == [0.0, 0.3, 0.0]
    assert one.with_mass(80.0).tag_positions[27].tolist() == [0.0, 0.3, 0.0]


def test_segment_inertia_by_huygens(human: hs.Model) -> None:
    """A thigh's inertia about its hip: m (radius of gyration^2 + lever^2)."""
    frame = human.pin.frames[frame_index(human.pin, "r_thigh")]
    inertia = human.pin.inertias[frame.parentJoint]
    femur = human.lengths["r_yfemur"]
    mass = 0.1416 * 73
    assert inertia.mass == pytest.approx(mass)
    about_hip = inertia.matrix()[3:, 3:]
    expected = mass * femur**2 * (0.329**2 + 0.4095**2)
    assert about_hip[0, 0] == pytest.approx(expected, rel=1e-12)
    assert about_hip[2, 2] == pytest.approx(mass * (0.149 * femur) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("manual", "ours"), [("Human36", "human36"), ("Bip", "bip"), ("Kondo", "khr1")]
)
def test_names_of_the_manual(manual: str, ours: str) -> None:
    """They are the same models."""
    assert hs.load_model(manual).name == hs.load_model(ours).name
