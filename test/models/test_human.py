# SPDX-License-Identifier: Apache-2.0
"""Human: Bip's joints and lengths, Human36's table of masses."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs

STATURE = 1.667
"""Whose legs are as long as Bip's in the table [m]."""


@pytest.fixture(scope="module")
def person() -> hs.Model:
    """As it is by default."""
    return hs.load_model("human")


def test_joints_and_lengths_are_bips(person: hs.Model) -> None:
    """Tags that both have are at the same places, whatever the joints do."""
    bip = hs.load_model("bip", rotors=False)
    assert person.joint_names == bip.joint_names
    shared = [n for n in person.tag_names if n in bip.tag_names and "top" not in n]
    assert len(shared) == 19
    q = bip.neutral()
    q[7:] = np.random.default_rng(3).uniform(-0.4, 0.4, len(bip.joint_names))
    for name in shared:
        places = [m.tags(q)[m.tag_names.index(name)] for m in (person, bip)]
        assert places[0] == pytest.approx(places[1], abs=1e-12)


def test_masses_are_those_of_the_table(person: hs.Model) -> None:
    """The whole is the body mass; legs are the table's; the rest is the trunk's."""
    masses = {
        name: body.mass
        for name, body in zip(person.pin.names, person.pin.inertias, strict=True)
    }
    assert sum(masses.values()) == pytest.approx(person.mass)
    assert masses["r_hip_pitch"] == pytest.approx(0.1416 * person.mass)
    assert masses["l_knee"] == pytest.approx(0.0433 * person.mass)
    assert masses["l_ankle_roll"] == pytest.approx(0.0137 * person.mass)
    assert hs.load_model("human", mass=60.0).mass == pytest.approx(60.0)


def whole_body(model: hs.Model) -> pin.Inertia:
    """Mass properties of the body that stands."""
    data = model.data()
    pin.ccrba(model.pin, data, model.neutral(), np.zeros(model.nv))
    return data.Ig


def test_the_whole_is_like_human36(person: hs.Model) -> None:
    """Centre of mass above the hips and inertia are those of the same table's body."""
    other = hs.load_model("human36", height=STATURE, mass=person.mass)
    heights = []
    for model in (person, other):
        hips = model.pin.jointPlacements[2].translation[2]
        base = model.neutral()[2]
        heights.append(model.com(model.neutral())[2] - base - hips)
    assert heights[0] == pytest.approx(heights[1], abs=0.01)
    ours, table = whole_body(person).inertia, whole_body(other).inertia
    assert np.diag(ours) == pytest.approx(np.diag(table), rel=0.16)
    assert np.diag(ours)[:2] == pytest.approx(np.diag(table)[:2], rel=0.05)


def test_a_person_grows_with_the_stature(person: hs.Model) -> None:
    """Lengths are in proportion; the vertex is as high as Human36's above the hips."""
    tall = hs.load_model("human", height=2 * STATURE)
    for name, value in person.lengths.items():
        assert tall.lengths[name] == pytest.approx(2 * value)
    vertex = person.tags(person.neutral())[person.tag_names.index("vertex")]
    hips = person.lengths["yfoot"] + person.lengths["yfemur"] + person.lengths["ytibia"]
    table = (0.2075 + 0.1390 + 0.1395) * STATURE
    assert vertex[2] - hips == pytest.approx(table, abs=1e-9)


def test_every_posture_has_an_inertia(person: hs.Model) -> None:
    """The mass matrix is positive definite, with brackets that have no mass."""
    q = person.neutral()
    generator = np.random.default_rng(5)
    for _ in range(20):
        low, high = person.lower_limits, person.upper_limits
        q[7:] = generator.uniform(low, high)
        assert np.linalg.eigvalsh(person.inertia(q)).min() > 1e-5
