# SPDX-License-Identifier: Apache-2.0
"""Which foot stepped on which plate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from humans_sim.analysis.foot_contacts import (
    BOTH,
    NOBODY,
    PARTLY,
    FootContacts,
    SolePoints,
    find_contacts,
    outline_distance,
    plate_loads,
)
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.force_plate import ForcePlate, GroundReaction

N = 200
T = np.arange(N) / 100
FOOT = np.array([[0.12, 0.04], [0.12, -0.04], [-0.12, 0.04], [-0.12, -0.04]])
WEIGHT = 700.0


def standing(left: float = 0.2, right: float = -0.2) -> SolePoints:
    """Two feet that stand at y [m]."""
    positions = np.zeros((N, 8, 3))
    positions[:, :4, :2] = FOOT + (0.0, left)
    positions[:, 4:, :2] = FOOT + (0.0, right)
    owners = np.repeat([0, 1], 4)
    return SolePoints(("l_sole", "r_sole"), owners, positions, 0.0 * positions)


def plate(
    y: float, load: np.ndarray, at: tuple[float, float], size: float = 0.36
) -> ForcePlate:
    """A plate of 60 cm by ``size`` about y, with a vertical load at a place."""
    half = np.array([[0.3, -1.0], [-0.3, -1.0], [-0.3, 1.0], [0.3, 1.0]])
    corners = np.zeros((4, 3))
    corners[:, :2] = half * (1.0, size / 2) + (0.0, y)
    force = np.zeros((N, 3))
    force[:, 2] = load
    lever = np.array([at[0], at[1] - y, 0.0])
    return ForcePlate("plate 1", corners, np.zeros(3), T, force, np.cross(lever, force))


def loaded(first: int = 0, last: int = N) -> np.ndarray:
    """A load of half the weight for some samples (n,) [N]."""
    load = np.zeros(N)
    load[first:last] = WEIGHT / 2
    return load


@pytest.fixture
def contacts() -> FootContacts:
    """Of feet that stand throughout."""
    return find_contacts(T, standing())


def test_a_foot_alone_on_a_plate(contacts: FootContacts) -> None:
    """It carries the load, moment included, and the other foot is not known."""
    loads = plate_loads(
        [plate(0.2, loaded(), (0.05, 0.21))], T, standing(), contacts, 0.0
    )
    assert [(s.sole, s.reason) for s in loads.steps] == [("l_sole", "")]
    np.testing.assert_allclose(loads.wrenches[:, 0, 2], WEIGHT / 2)
    np.testing.assert_allclose(loads.wrenches[:, 0, 3], 0.21 * WEIGHT / 2)
    np.testing.assert_allclose(loads.wrenches[:, 0, 4], -0.05 * WEIGHT / 2)
    assert not loads.wrenches[:, 1].any()
    assert loads.known[:, 0].all() and not loads.known[:, 1].any()
    assert not loads.covered.any() and not loads.notes


def test_two_plates_cover_all(contacts: FootContacts) -> None:
    """Each foot on its own: everything is measured."""
    plates = [
        plate(0.2, loaded(), (0.0, 0.2)),
        plate(-0.2, loaded(), (0.0, -0.2)),
    ]
    loads = plate_loads(plates, T, standing(), contacts, 6.0)
    assert [step.sole for step in loads.steps] == ["l_sole", "r_sole"]
    assert loads.covered.all()
    np.testing.assert_allclose(loads.wrenches[:, :, 2], WEIGHT / 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("on", "reason"),
    [
        (plate(0.0, loaded(), (0.0, 0.2), size=1.0), BOTH),
        (plate(0.0, loaded(), (0.0, 0.0), size=1.0), NOBODY),
        (plate(0.2, loaded(), (0.29, 0.05)), NOBODY),
        (plate(0.32, loaded(), (0.0, 0.2), size=0.2), PARTLY),
    ],
)
def test_loads_that_are_not_used(
    contacts: FootContacts, on: ForcePlate, reason: str
) -> None:
    """Two feet, none, or half a one on a plate: nothing is used, and a note says so."""
    loads = plate_loads([on], T, standing(), contacts, 0.0)
    assert [(s.sole, s.reason) for s in loads.steps] == [("", reason)]
    assert not loads.wrenches.any() and not loads.covered.any()
    assert len(loads.notes) == 1 and reason in loads.notes[0]


def test_a_file_column_under_two_feet_in_turn() -> None:
    """A load that moves from foot to foot without a pause belongs to neither."""
    points = standing()
    force = np.zeros((N, 3))
    force[:, 2] = WEIGHT
    place = np.zeros((N, 3))
    place[:, 1] = np.where(T < 1.0, 0.2, -0.2)
    reaction = GroundReaction("ground_force", T, force, place, 0.0 * force)
    loads = plate_loads([reaction], T, points, find_contacts(T, points), 0.0)
    assert [(s.sole, s.reason) for s in loads.steps] == [("", BOTH)]


def test_a_foot_beside_the_plates_is_not_covered(contacts: FootContacts) -> None:
    """Only while the foot that stands is loaded, and a tenth of a second around."""
    right_up = replace(contacts, down=np.tile([True, False], (N, 1)))
    on = plate(0.2, loaded(50, 150), (0.0, 0.2))
    loads = plate_loads([on], T, standing(), right_up, 0.0)
    assert loads.covered[40:160].all()
    assert not loads.covered[:39].any() and not loads.covered[161:].any()


def test_steps_in_short_succession(contacts: FootContacts) -> None:
    """A dip is no end of a step, and what a low pass spreads is counted once."""
    for pause in (3, 14):
        load = loaded()
        load[100 : 100 + pause] = 0.0
        on = plate(0.2, load, (0.0, 0.2))
        loads = plate_loads([on], T, standing(), contacts, 6.0)
        assert len(loads.steps) == (1 if pause < 6 else 2)
        impulse = loads.wrenches[:, 0, 2].sum()
        assert impulse == pytest.approx(load.sum(), rel=2e-3)
        assert loads.wrenches[:, 0, 2].max() < 1.2 * WEIGHT / 2


def test_bad_plates(contacts: FootContacts) -> None:
    """Missing moments are noted; a low pass above half the rate is refused."""
    lacking = plate(0.2, loaded(), (0.0, 0.2))
    lacking = replace(lacking, moment=np.full((N, 3), np.nan))
    loads = plate_loads([lacking], T, standing(), contacts, 0.0)
    assert "moments are missing" in loads.notes[0] and not loads.covered.any()
    with pytest.raises(ParameterError, match="100 Hz"):
        plate_loads([plate(0.2, loaded(), (0.0, 0.2))], T, standing(), contacts, 60.0)


def test_distances_from_outlines(rng: np.random.Generator) -> None:
    """Those of the hull's half-planes inside, and of its nearest edge outside."""
    corners = FOOT[None] + rng.normal(size=(50, 1, 2))
    places = rng.normal(scale=0.5, size=(50, 2)) + corners.mean(axis=1)
    distances = outline_distance(corners, places)
    along = np.linspace(0.0, 1.0, 2001)[:, None]
    for ring, place, distance in zip(corners, places, distances, strict=True):
        hull = ConvexHull(ring)
        if (hull.equations[:, :2] @ place + hull.equations[:, 2] <= 0).all():
            assert distance == 0.0
            continue
        path = [ring[a] + along * (ring[b] - ring[a]) for a, b in hull.simplices]
        nearest = np.linalg.norm(np.concatenate(path) - place, axis=1).min()
        assert distance == pytest.approx(nearest, abs=1e-4)
