# SPDX-License-Identifier: Apache-2.0
"""Stability of networks: the triangle, the longest period, implicit steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.soft.networks.stability import safe_period

MASS, PERIOD = 0.01, 1e-3


def cell(k: float, z: float) -> soft.NetworkSimulation:
    """One mass on a line with a spring and damper to the ground, off by 0.07 m."""
    network = soft.Network()
    ground = network.add_fixed((-1.0, 0, 0))
    mass = network.add_mass(MASS, (0.07, 0, 0))
    spring = soft.ViscoSpring(k * MASS / PERIOD**2, z * MASS / PERIOD, 1.0)
    network.add_link(ground, mass, spring)
    return soft.NetworkSimulation(network, PERIOD)


def test_cell_is_its_recurrence() -> None:
    """A cell follows (8.21) to 1e-14."""
    run = cell(0.3, 0.2)
    u = [0.07, 0.07]
    for _ in range(50):
        u.append((2 - 0.3 - 0.2) * u[-1] + (0.2 - 1) * u[-2])
        run.step()
        assert run.positions[1, 0] == pytest.approx(u[-1], abs=1e-14)


def test_cardinal_points() -> None:
    """O has the period 6, L moves on, S stops in one sample, C is back in one."""
    o = cell(1.0, 0.0).run(12)[:, 1, 0]
    np.testing.assert_allclose(o[6:], o[:7], atol=1e-14)
    assert np.abs(o[3] - o[0]) > 0.06
    for k, z, expected in ((0, 0, [2, 4, 6, 8]), (0, 1, [0, 0, 0, 0])):
        run = cell(k, z)
        run._motion.before[1, 0] -= 2.0 * PERIOD
        run._memory.springs[:] = 1.07
        run._motion.force[:] = 0
        run._memory.springs[:] = run._motion.before[1, 0] + 1.0
        run._add_forces()
        moved = run.run(4)[1:, 1, 0] - 0.07
        np.testing.assert_allclose(moved, np.array(expected) * PERIOD, atol=1e-13)
    np.testing.assert_allclose(cell(1.0, 1.0).run(3)[1:, 1, 0], 0.0, atol=1e-14)


@pytest.mark.parametrize("viscosity", [0.0, 0.5])
def test_longest_period_parts_bounded_from_unbounded(viscosity: float) -> None:
    """Runs 1 % below the predicted period stay bounded, 1 % above they do not."""
    cube = np.array(list(itertools.product((0.0, 0.1), repeat=3)))
    net = soft.agglomerate(cube, 0.1, soft.ViscoSpring(300.0, viscosity))
    report = soft.stability_report(soft.NetworkSimulation(net, 1e-3))
    assert report.stable and report.radius == pytest.approx(1.0, abs=1e-6)
    rng = np.random.default_rng(0)
    net.positions = [p + rng.normal(0, 1e-9, 3) for p in net.positions]
    sizes = []
    for factor in (0.99, 1.01):
        run = soft.NetworkSimulation(net, factor * report.longest_period)
        start = run.positions
        for _ in range(1000):
            run.step()
            if np.abs(run.positions - start).max() > 1e-3:
                break
        sizes.append(np.abs(run.positions - start).max())
    assert sizes[0] < 1e-6 < 1e-3 < sizes[1]
    slow = soft.NetworkSimulation(net, 1.2 * report.longest_period)
    with pytest.raises(soft.UnstableStepError, match=r"mode about 'mass .*K \+ 2 Z"):
        soft.stability_report(slow).raise_where_unstable()


def test_unbounded_motion_is_an_error() -> None:
    """A run beyond the triangle says which mass has left all bounds."""
    with pytest.raises(soft.SoftError, match="'mass 1' has left all bounds"):
        cell(4.4, 0.0).run(200)


def test_triangle_is_where_roots_are_inside() -> None:
    """The corners (0,0), (4,0), (0,2) bound the cells whose roots do not grow."""
    rng = np.random.default_rng(2)
    for k, z in rng.uniform(-0.5, 4.5, (400, 2)):
        inside = k > 0 and z > 0 and k + 2 * z < 4
        assert soft.is_in_triangle(k, z) == inside
        assert (soft.cell_radius(k, z) < 1) == inside


def test_implicit_steps_hold_stiff_coats() -> None:
    """A stiff coat hangs still at a period 20 times beyond the explicit bound."""
    coat = soft.sheet((4, 5), 0.1, 0.01, soft.ViscoSpring(5e4, 1.0))
    network = soft.Network()
    points = network.add_module(coat)
    for column in range(5):
        hook = network.add_fixed(np.array([-0.01, 0.1 * column, 0]))
        network.add_link(hook, points[column], soft.ViscoSpring(5e4, 1.0, 0.01))
    explicit = soft.NetworkSimulation(network, 8e-3, (9.81, 0, 0))
    bound = soft.stability_report(explicit).longest_period
    assert 8e-3 > 20 * bound
    run = soft.ImplicitSimulation(network, 8e-3, (9.81, 0, 0))
    run.run(400)
    pulled = run.positions[:5, 0].mean()
    assert np.abs(run.velocities).max() < 1e-6
    np.testing.assert_allclose(run.forces[:20], 0.0, atol=1e-6)
    assert 0 < pulled < 1e-2


@pytest.mark.study
def test_implicit_and_explicit_agree_for_short_periods() -> None:
    """Both steps follow one motion; the implicit one errs by its period's order."""
    tracks = {}
    for period in (4e-4, 2e-4, 1e-4):
        net = soft.line(3, 0.1, 0.1, soft.ViscoSpring(80.0, 0.1))
        net.velocities = [np.array([0.1, 0.05 * i, 0]) for i in range(3)]
        for kind in (soft.NetworkSimulation, soft.ImplicitSimulation):
            run = kind(net, period)
            tracks[kind, period] = run.run(round(0.04 / period))[-1]
    truth = tracks[soft.NetworkSimulation, 1e-4]
    errors = [
        np.abs(tracks[soft.ImplicitSimulation, p] - truth).max()
        for p in (4e-4, 2e-4, 1e-4)
    ]
    assert 0 < errors[0] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)


def test_implicit_steps_refuse_what_their_matrices_lack() -> None:
    """One-way links and crowds would be integrated wrongly, without a word."""
    spring = soft.ViscoSpring(80.0, 0.1)
    network = soft.Network()
    masses = [network.add_mass(0.1, (0.1 * k, 0, 0)) for k in range(2)]
    network.add_link(*masses, spring, one_way=True)
    with pytest.raises(soft.SoftError, match="one-way"):
        soft.ImplicitSimulation(network, 1e-3)
    crowded = soft.Network()
    masses = [crowded.add_mass(0.1, (0.1 * k, 0, 0)) for k in range(2)]
    crowded.add_crowd(masses, soft.Stop(0.05, 100.0, 0.1))
    with pytest.raises(soft.SoftError, match="crowd"):
        soft.ImplicitSimulation(crowded, 1e-3)


def test_safe_period_is_below_the_longest() -> None:
    """The bound without a decomposition holds, and is not far below."""
    network = soft.box((3, 3, 4), 0.1, 0.01, soft.ViscoSpring(50.0, 0.01))
    network.add_link(
        network.add_fixed((0, 0, 1)), network.point("mass 0"), soft.Stop(0.1, 300.0)
    )
    longest = soft.stability_report(soft.NetworkSimulation(network, 1e-4))
    bound = safe_period(network)
    assert 0.4 * longest.longest_period < bound <= longest.longest_period
