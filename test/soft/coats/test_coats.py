# SPDX-License-Identifier: Apache-2.0
"""Coats on a body: light ones after it, heavy ones refused, forces and energy right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.soft_sections import read_coat
from humans_sim.core.yaml_file import parse_yaml
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.soft import CouplingError, SoftError, UnstableStepError
from humans_sim.soft.packed_numbers import CoatTracks
from humans_sim.soft.skin.coat import (
    BodyBall,
    Coat,
    Piece,
    coat_influences,
    piece_admittance,
    point_jacobian,
    refuse_two_way,
    with_coat,
)

LOCKED = ("*",)
"""All joints: the body is one rigid one."""


def cape(mass: float = 0.2, **changes: object) -> Piece:
    """A small cloth on the torso."""
    given: dict[str, object] = {
        "name": "cape",
        "kind": "sheet",
        "link": "torso",
        "at": (-0.05, 0.0, 0.18),
        "size": (0.2, 0.3),
        "counts": (3, 4),
        "mass": mass,
        "stiffness": 120.0,
        "viscosity": 0.2,
    }
    return Piece(**{**given, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def human() -> hs.Model:
    """Human36."""
    return hs.load_model("human36")


@pytest.fixture(scope="module")
def fall(human: hs.Model) -> hs.Run:
    """A rigid body that turns as it flies, without weight or floor."""
    return flight(human, None)


def flight(human: hs.Model, coat: Coat | None) -> hs.Run:
    """A short flight of the rigid body with a coat that it feels, or without."""
    ground = hs.Ground(solids=(), surface=coat)
    simulation = hs.Simulation(
        human, ground=ground, locked=LOCKED, gravity=(0.0, 0.0, -9.81)
    )
    v = np.zeros(human.nv)
    v[:6] = [0.5, 0.3, 2.0, 0.4, 0.8, 1.5]
    q = human.neutral()
    q[2] += 1.0
    return simulation.run(q, v, t_end=0.15, sampling_period=0.01, progress=False)


def free_system(human: hs.Model) -> ModelSystem:
    """The body alone, all joints locked."""
    return ModelSystem(human, hs.Ground(solids=()), locked=LOCKED)


def test_influence_is_the_ratio_of_masses(human: hs.Model) -> None:
    """A pack on stiff springs loads a rigid body by its mass over that at the point."""
    system, q = free_system(human), human.neutral()
    pack = cape(0.5, kind="pack", size=(0.2, 0.2, 0.1), counts=(2, 2, 2), stiffness=1e6)
    (found,) = coat_influences(system, q, Coat((pack,)))
    free = np.arange(6)
    jacobian = point_jacobian(human, q, "torso", np.array(pack.at))[:, free]
    inertia = human.inertia(q)[:6, :6]
    least = 1 / np.linalg.eigvalsh(jacobian @ np.linalg.solve(inertia, jacobian.T))[-1]
    assert found.carried_by == pytest.approx(least)
    assert least < human.mass
    assert found.influence.on_first == pytest.approx(0.5 / least, rel=1e-2)


def test_a_piece_is_its_mass_at_low_frequencies() -> None:
    """Its admittance is j m w well below the resonance, that of its springs above."""
    piece = cape()
    low = piece_admittance(piece, np.array([0.1]))
    assert low[0] == pytest.approx(0.2j * 0.1, rel=1e-3)
    links = 3 + 4  # straight and across, from the edge that is fixed
    high = piece_admittance(piece, np.array([1e5]))
    assert abs(high[0]) == pytest.approx(links * 0.2, rel=0.02)


def test_point_jacobian_is_a_difference(human: hs.Model) -> None:
    """J v is the velocity of the point."""
    import pinocchio as pin

    rng = np.random.default_rng(2)
    q, v = human.random_configuration(rng), rng.normal(size=human.nv)
    place = np.array([0.1, -0.2, 0.3])
    jacobian = point_jacobian(human, q, "l_hand", place)
    ends = [
        human.frame_pose(pin.integrate(human.pin, q, s * 1e-6 * v), "l_hand").act(place)
        for s in (-1, 1)
    ]
    np.testing.assert_allclose(jacobian @ v, (ends[1] - ends[0]) / 2e-6, atol=1e-6)


def test_heavy_packs_are_refused_with_the_report(human: hs.Model) -> None:
    """One way a heavy pack is a CouplingError that says why; a light cape is none."""
    system, q = free_system(human), human.neutral()
    refuse_two_way(coat_influences(system, q, Coat((cape(),))))
    with pytest.raises(CouplingError, match=r"pack.*15 kg.*must be simulated together"):
        refuse_two_way(coat_influences(system, q, Coat((cape(15.0, name="pack"),))))
    scenario = read_scenario("backpack")
    with pytest.raises(CouplingError, match=r"backpack .15 kg. on torso.*errs by"):
        scenario.run(progress=False)


def test_one_way_leaves_the_body_alone(human: hs.Model, fall: hs.Run) -> None:
    """The body's run is the same to the bit; the coat hangs where the links are."""
    coat = Coat((cape(),), (BodyBall("torso", (0.08, 0, 0.1), 0.1),))
    worn = with_coat(fall, free_system(human), coat)
    np.testing.assert_array_equal(worn.q, fall.q)
    tracks = CoatTracks(worn.info)
    np.testing.assert_allclose(tracks.times, fall.t)
    for k in (0, 7, 15):
        pose = human.frame_pose(fall.q[k], "torso")
        fixed = [pose.act(place) for place in cape().points()[0]]
        np.testing.assert_allclose(tracks.places[k, :3], fixed, atol=2e-4)
    assert worn.check()["coat: energy beyond the work of the body"].ok
    assert len(tracks.at(0.1)) == len(coat.lines)


def test_both_ways_momentum_is_kept(human: hs.Model, fall: hs.Run) -> None:
    """Body and coat fall as one: their centre of mass follows a parabola."""
    coat = Coat((cape(2.0),), two_way=True)
    together = flight(human, coat)
    tracks = CoatTracks(together.info)
    moving = tracks.places[:, 3:].mean(axis=1)
    body = np.array([human.com(q) for q in together.q])
    centre = (human.mass * body + 2.0 * moving) / (human.mass + 2.0)
    t = together.t
    # the coat is put on at rest: what it starts with is that of the first samples
    straight = np.polyfit(t, centre[:, 2] + 0.5 * 9.81 * t**2, 1)
    off = centre[:, 2] + 0.5 * 9.81 * t**2 - np.polyval(straight, t)
    assert np.abs(off).max() < 2e-4
    apart = np.linalg.norm(together.q[-1, :3] - fall.q[-1, :3])
    assert apart > 2e-3, "the body feels nothing"


def test_light_coats_change_little_as_predicted(human: hs.Model, fall: hs.Run) -> None:
    """What the body's velocity errs by, one way, is below what admittances predict."""
    coat = Coat((cape(0.2),), two_way=True)
    together = flight(human, coat)
    (influence,) = coat.influences
    change = np.linalg.norm(together.v[-1, :6] - fall.v[-1, :6])
    assert 0 < change / np.linalg.norm(fall.v[-1, :6])
    assert change / np.linalg.norm(fall.v[-1, :6]) < influence.influence.on_first


def test_a_run_keeps_its_coat(human: hs.Model, fall: hs.Run, tmp_path: Path) -> None:
    """Written and read again, the coat is where it was; damage is told."""
    coat = Coat((cape(0.05, kind="strands", counts=(2, 4)),))
    worn = with_coat(fall, free_system(human), coat)
    again = hs.load_run(worn.save(tmp_path / "worn.npz"))
    np.testing.assert_allclose(
        CoatTracks(again.info).places, CoatTracks(worn.info).places, atol=1e-6
    )
    damaged = {**worn.info, "coat": {**worn.info["coat"], "tracks": "?"}}
    with pytest.raises(hs.HumansError, match="damaged"):
        CoatTracks(damaged)
    assert CoatTracks({}).at(0.0).shape == (0, 2, 3)


def test_bad_coats(human: hs.Model) -> None:
    """Sizes, masses, links and periods that cannot be are told."""
    with pytest.raises(SoftError, match="above 0"):
        cape(-1.0)
    with pytest.raises(SoftError, match="2 sizes"):
        cape(size=(0.1, 0.2, 0.3))
    text = (
        "pieces: [{name: a, kind: sheet, link: wing, at: [0, 0, 0], size: [1, 1], "
        "counts: [2, 2], mass: 1, stiffness: 1}]"
    )
    with pytest.raises(hs.HumansError, match="no link 'wing'"):
        read_coat(human, parse_yaml(text))
    system = free_system(human)
    stiff = Coat((cape(stiffness=1e5),), two_way=True)
    with pytest.raises(UnstableStepError):
        stiff.reaction(system).put_on(human.neutral())
