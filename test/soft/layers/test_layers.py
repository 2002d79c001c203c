# SPDX-License-Identifier: Apache-2.0
"""Layers: geometric and physical coats, the thesis' figures, contours of probes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.ndimage import distance_transform_edt

import humans_sim as hs
import humans_sim.soft as soft
from humans_sim.applications.scenarios import read_scenario
from humans_sim.soft.networks.puppet import (
    CURVES,
    FEET,
    bricks,
    curves_of,
    drawn_curves,
    puppet,
    skin_ball,
)


@pytest.fixture(scope="module")
def coat() -> soft.GeometricCoat:
    """Twelve points on six control points."""
    rng = np.random.default_rng(3)
    controls, points = rng.normal(size=(6, 3)), rng.normal(size=(12, 3))
    return soft.GeometricCoat.of_points(points, controls)


def test_barycentres_follow_affine_maps(coat: soft.GeometricCoat) -> None:
    """What turns and stretches the controls turns and stretches the points."""
    rng = np.random.default_rng(4)
    controls = rng.normal(size=(6, 3))
    linear, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    moved = coat.points(controls @ linear.T + shift)
    np.testing.assert_allclose(
        moved, coat.points(controls) @ linear.T + shift, atol=1e-12
    )


def test_transmitted_forces_keep_power_force_and_moment(
    coat: soft.GeometricCoat,
) -> None:
    """Virtual power, total force and total moment, to 1e-12."""
    rng = np.random.default_rng(5)
    controls, speeds = rng.normal(size=(2, 6, 3))
    forces = rng.normal(size=(12, 3))
    on_controls = coat.transmitted(forces)
    power = np.sum(forces * coat.points(speeds))
    assert power == pytest.approx(np.sum(on_controls * speeds), abs=1e-12)
    np.testing.assert_allclose(on_controls.sum(0), forces.sum(0), atol=1e-12)
    moments = [
        np.cross(coat.points(controls), forces).sum(0),
        np.cross(controls, on_controls).sum(0),
    ]
    np.testing.assert_allclose(*moments, atol=1e-12)


def test_splines_pass_their_controls_and_are_coats() -> None:
    """Open ones begin and end at controls, closed ones return; weights sum to one."""
    controls = np.random.default_rng(6).normal(size=(5, 3))
    curve = soft.GeometricCoat.spline(controls, 31)
    np.testing.assert_allclose(curve.points(controls)[[0, -1]], controls[[0, -1]])
    ring = soft.GeometricCoat.spline(controls, 31, closed=True)
    np.testing.assert_allclose(*ring.points(controls)[[0, -1]], atol=1e-12)
    with pytest.raises(soft.SoftError, match="sum to"):
        soft.GeometricCoat(np.full((2, 3), 0.5))
    with pytest.raises(soft.SoftError, match="do not span"):
        flat = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        soft.GeometricCoat.of_points(np.ones((1, 3)), flat)


def test_coat_on_a_body(human: hs.Model) -> None:
    """Points given by tags of a model follow it as a rigid body does."""
    q = human.neutral()
    tags = human.tags(q)[:-1]
    rows = [human.tag_names.index(n) for n in ("substernale", "cervicale")]
    rows += [human.tag_names.index(n) for n in ("l_iliocristale", "r_iliocristale")]
    points = tags[rows].mean(axis=0) + np.array([[0.05, 0.0, 0.1], [-0.1, 0.05, 0]])
    worn = soft.GeometricCoat.of_points(points, tags[rows])
    moved = q.copy()
    moved[:3] += [0.3, -0.2, 0.1]
    after = worn.points(human.tags(moved)[:-1][rows])
    np.testing.assert_allclose(after, points + [0.3, -0.2, 0.1], atol=1e-9)


def test_figures_have_the_masses_of_the_thesis() -> None:
    """14, 6 more, 4 bricks of 45, 6 and 20; coats have their degrees of freedom."""
    bare, clothed = puppet(), puppet(coat=True)
    assert len(bare.names) == 14 and len(clothed.names) == 20
    assert len(bare.driven) == len(FEET) == 2
    assert len(bricks(4).names) == 4 * 45
    assert len(skin_ball(6, 20).names) == 26
    free = [3 * int((np.array(n.masses) > 0).sum()) for n in (bare, clothed)]
    assert free[1] == free[0] + 3 * 6
    assert len(curves_of(bare)) == len(CURVES) < len(curves_of(clothed))


@pytest.mark.parametrize("ratio", [100.0, 400.0])
def test_physical_coat_is_rigid_when_stiff(ratio: float) -> None:
    """With k = 100 m w² a driven coat deviates from a rigid one by 1.01 %."""
    omega, mass = 2 * np.pi * 2.0, 0.01
    network = soft.Network()
    anchor = network.add_driven((0.0, 0.0, 0.0), "skeleton")
    worn = network.add_mass(mass, (1.0, 0.0, 0.0), name="coat")
    stiffness = ratio * mass * omega**2
    critical = 2 * np.sqrt(stiffness * mass)
    network.add_link(anchor, worn, soft.ViscoSpring(stiffness, 0.03 * critical, 1.0))
    run = soft.NetworkSimulation(network, 2e-4)
    times = 2e-4 * np.arange(1, 20001)
    driven = np.zeros((len(times), 1, 3))
    driven[:, 0, 0] = 0.01 * np.sin(omega * times)
    track = run.run(len(times), driven)[:, 1, 0] - 1.0
    last = times > 2.0
    wave = np.exp(1j * omega * times[last])
    size = abs(2 * np.mean(track[1:][last] * np.conj(wave))) / 0.01
    assert size - 1 == pytest.approx(1 / (ratio - 1), rel=0.05)


@pytest.mark.parametrize(
    ("ratio", "error"), [(1e2, 1.39e-2), (1e3, 1.27e-3), (1e4, 1.17e-4)]
)
def test_stiff_links_come_near_a_rigid_pendulum(ratio: float, error: float) -> None:
    """A mass on a stiff link beside the pendulum of 1 m: its error falls with 1 / k."""
    g, m, start = 9.81, 1.0, np.radians(30.0)
    k = ratio * m * g
    length = 1.0 + m * g * np.cos(start) / k
    network = soft.Network()
    hook = network.add_fixed((0, 0, 0))
    place = length * np.array([np.sin(start), 0.0, -np.cos(start)])
    bob = network.add_mass(m, place, name="bob")
    network.add_link(hook, bob, soft.ViscoSpring(k, 0.0, 1.0))
    period = 1e-4
    run = soft.NetworkSimulation(network, period, (0, 0, -g))
    track = run.run(20000, watch=["bob"])[:, 0]
    times = period * np.arange(20001)
    rigid = solve_ivp(
        lambda t, y: [y[1], -g * np.sin(y[0])],
        (0, 2.0),
        [start, 0.0],
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
    ).y[0]
    exact = np.stack([np.sin(rigid), 0 * rigid, -np.cos(rigid)], axis=1)
    rms = np.sqrt(np.mean(np.sum((track - exact) ** 2, axis=1)))
    assert rms == pytest.approx(error, rel=0.15)


def test_bricks_fall_and_rest() -> None:
    """Energy never grows beyond the order of the period, and bricks stay apart."""
    run = soft.NetworkSimulation(
        bricks(2), 5e-4, (0, 0, -9.81), soft.Floor(0.0, 1500.0, 2.0)
    )
    energies = []
    for _ in range(10):
        run.run(100)
        energies.append(run.energy().total)
    assert max(np.diff(energies)) < 1e-2 * energies[0]
    upper = run.positions[45:, 2].min() - run.positions[:45, 2].max()
    assert upper > -0.05


def test_skin_ball_keeps_its_contour_outside() -> None:
    """Pushed at one contour mass, the ball moves; no contour mass gets inside."""
    network = skin_ball()
    run = soft.NetworkSimulation(network, 5e-4)
    for _ in range(200):
        run.push("contour0", (0.0, -0.5, 0.0))
        run.step()
    places = run.positions
    assert places[:6, 1].mean() < -1e-4
    middle = places[:6].mean(axis=0)
    far = np.linalg.norm(places[6:] - middle, axis=1)
    assert far.min() > np.linalg.norm(places[:6] - middle, axis=1).max() * 0.8


def test_contour_of_a_stop_is_a_sphere() -> None:
    """A point with a stop: radius S - eps / k; a lower sensitivity sees more."""
    law, spacing = soft.Stop(0.1, 500.0), 0.005
    for eps in (5.0, 20.0):
        seen = soft.contour(np.zeros((1, 3)), law, eps, spacing)
        radius = 0.1 - eps / 500.0
        volume = 4 / 3 * np.pi * radius**3
        assert seen.volume == pytest.approx(volume, rel=0.03)
        mesh = seen.mesh()
        assert mesh.is_watertight
        outer = np.linalg.norm(mesh.vertices, axis=1).max()
        assert outer == pytest.approx(radius, abs=1e-3)


def test_ball_probe_dilates_the_contour() -> None:
    """The contour felt by a ball is that of a point, dilated by its radius."""
    rng = np.random.default_rng(7)
    points = rng.uniform(-0.03, 0.03, (1, 3))
    law, spacing, radius = soft.Stop(0.06, 500.0), 0.004, 0.02
    point = soft.contour(points, law, 3.0, spacing)
    ball = soft.contour(points, law, 3.0, spacing, radius)
    grid = np.argwhere(ball.inside) * spacing + ball.origin
    index = np.round((grid - point.origin) / spacing).astype(int)
    room = int(np.ceil(radius / spacing)) + 2
    padded = np.pad(point.inside, room)
    away = distance_transform_edt(~padded, sampling=spacing)
    found = away[tuple((index + room).T)]
    assert found.max() <= radius + 1.01 * spacing
    # and nothing within the radius is missed, but for a voxel
    near = np.argwhere(away < radius - 1.01 * spacing) - room
    places = near * spacing + point.origin
    back = np.round((places - ball.origin) / spacing).astype(int)
    assert ball.inside[tuple(back.T)].all()


def test_spectrum_is_the_volume_first() -> None:
    """The first entry is the volume; a probe that feels nothing is refused."""
    seen = soft.contour(np.zeros((1, 3)), soft.Stop(0.05, 100.0), 1.0, 0.005)
    assert seen.spectrum()[0, 0, 0] == pytest.approx(seen.volume)
    with pytest.raises(soft.SoftError, match="above 0"):
        soft.contour(np.zeros((1, 3)), soft.Stop(0.05, 100.0), 0.0, 0.005)


@pytest.fixture(scope="module")
def dance() -> hs.Run:
    """The puppet for a second."""
    return read_scenario("puppet").with_changes(end=1.0).run()


def test_the_puppet_dances_and_stands(dance: hs.Run, tmp_path: Path) -> None:
    """Energy less the operator's work never grows; its head stays up; it is stored."""
    assert dance.check()["largest growth of energy"].ok
    head = dance.joint("head_top/z")
    assert head.min() > 0.75 and np.ptp(dance.joint("l_foot/z")) > 0.04
    assert dance.info["network"]["period"] < dance.info["network"]["longest_period"]
    again = hs.load_run(dance.save(tmp_path / "puppet.npz"))
    np.testing.assert_array_equal(again.q, dance.q)


@pytest.mark.study
def test_the_puppet_in_pictures(dance: hs.Run, tmp_path: Path) -> None:
    """A strip, a film and a page; curves pass the masses they are drawn through."""
    for ending in (".png", ".gif", ".html"):
        path = hs.animate(dance, tmp_path / f"puppet{ending}")
        assert path.stat().st_size > 1000
    network = puppet(coat=True)
    places = dance.q[-1].reshape(-1, 3)
    (rows, closed), *_ = curves_of(network)
    (head, *_) = drawn_curves(places, curves_of(network), 401)
    away = np.linalg.norm(head[:, None] - places[rows][None], axis=2).min(axis=0)
    assert closed and away.max() < 2e-3
    damaged = hs.Run(**{**vars(dance), "info": {**dance.info, "network": {}}})
    with pytest.raises(hs.HumansError, match="damaged"):
        hs.animate(damaged, tmp_path / "no.png")
