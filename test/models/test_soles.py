# SPDX-License-Identifier: Apache-2.0
"""What supports a model: corners or balls of its soles."""

from __future__ import annotations

import numpy as np
import pytest
from whole_body_contacts import whole_body_contacts

import humans_sim as hs
from humans_sim.analysis.run_comparison import sole_forces
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.contact.geometry.foot_spheres import sphere_feet
from humans_sim.core.errors import ParameterError
from humans_sim.models.legs import (
    contacts_of,
    corner_places,
    load_tags,
    sole_named,
    support_tags,
)


def test_a_sole_stands_on_its_balls_where_it_has_any(khr1: hs.Model) -> None:
    """Corners support a flat foot, balls one that rolls; either may carry load."""
    flat = sole_named(khr1, "l_sole")
    assert support_tags(flat) == load_tags(flat) == flat.contacts
    round_foot = sole_named(sphere_feet(khr1).model, "l_sole")
    assert support_tags(round_foot) == round_foot.spheres
    assert set(load_tags(round_foot)) == {*flat.contacts, *round_foot.spheres}


def test_contacts_of_a_table_are_grouped_by_their_tags(khr1: hs.Model) -> None:
    """One row for each solid that a tag may touch; other contacts are left out."""
    sole = sole_named(khr1, "r_sole")
    heel, toe = sole.contacts[0], sole.contacts[-1]
    rows = contacts_of(sole, [f"{heel}/floor", f"{heel}/chair", "head", toe])
    assert {tag: row.tolist() for tag, row in rows.items()} == {heel: [0, 1], toe: [3]}


def test_a_sole_that_is_not_there_is_refused_by_its_name(khr1: hs.Model) -> None:
    """The error names the model and the sole."""
    with pytest.raises(ParameterError, match="khr1 has no sole called 'tail'"):
        sole_named(khr1, "tail")


def test_the_outline_does_not_depend_on_what_touches(khr1: hs.Model) -> None:
    """Balls leave the corners where they are, at height 0 of the sole's frame."""
    sole = sole_named(khr1, "l_sole")
    round_foot = sphere_feet(khr1).model
    corners = corner_places(khr1, sole)
    again = corner_places(round_foot, sole_named(round_foot, "l_sole"))
    np.testing.assert_allclose(corners, again, atol=1e-12)
    assert np.ptp(corners[:, 2]) < 1e-9


def test_balls_of_the_feet_are_no_parts_of_the_body(khr1: hs.Model) -> None:
    """Balls of the soles are not among those of the body, however small these are."""
    feet = sphere_feet(khr1)
    balls = whole_body_contacts(feet.model, 1e-4)["radii"]
    assert not {tag for s in feet.model.soles for tag in load_tags(s)} & set(balls)


@pytest.mark.parametrize("geometry", ["points", "spheres"])
def test_the_soles_of_a_run_carry_the_weight(khr1: hs.Model, geometry: str) -> None:
    """A robot at rest loads its soles by its weight, on corners and on balls alike."""
    simulation = hs.Simulation(
        khr1,
        contacts=hs.Contacts(geometry=geometry),
        locked=["*"],
        method="time_stepping",
        time_step=2e-3,
    )
    run = simulation.run(
        khr1.standing(np.zeros(len(khr1.joint_names))), t_end=0.1, sampling_period=0.01
    )
    motion = RunMotion.of_run(run)
    assert [sole.name for sole in motion.soles] == ["l_sole", "r_sole"]
    loads = sum(sole.load[-1] for sole in motion.soles)
    assert loads == pytest.approx(motion.weight, rel=0.01)
    forces = sole_forces(motion.model, run)
    assert sum(force[-1] for force in forces.values()) == pytest.approx(loads)
