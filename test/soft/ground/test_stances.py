# SPDX-License-Identifier: Apache-2.0
"""Bipeds that stand on each ground, on whole soles, and the prints that they leave."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
import humans_sim.soft as soft
from humans_sim.contact.geometry.foot_spheres import sole_point_feet

GRAVITY = 9.81


@pytest.fixture(scope="module")
def feet():
    """A robot of 1.3 kg with points all over its soles."""
    return sole_point_feet(hs.load_model("khr1"), 0.025)


def stand(feet, ground, seconds: float, height: float = 0.0):
    """The robot, all joints locked, let down on a ground."""
    simulation = hs.Simulation(
        feet.model,
        ground=ground.scene(0.5),
        method="time_stepping",
        locked=["*"],
        contacts=hs.Contacts(points=feet.contacts),
    )
    q = feet.model.standing(np.zeros(len(feet.model.joint_names)))
    q[2] += height
    return simulation.run(q, t_end=seconds, sampling_period=0.01)


def ground_of(law, firmness: float = 3.0, **numbers) -> soft.DeformableGround:
    """A small screen around the robot's feet."""
    usual = {"shape": (36, 36), "origin": (-0.18, -0.18, 0.0), "patch": 0.02}
    return soft.DeformableGround(law, firmness=firmness, **{**usual, **numbers})


def places_of(feet, q) -> np.ndarray:
    """Of all points of the soles (n, 3) [m]."""
    tags = feet.model.tags(q)
    return tags[[feet.model.tag_names.index(name) for name in feet.contacts]]


def weight_of(model) -> float:
    """[N]."""
    return GRAVITY * sum(body.mass for body in model.pin.inertias)


def statics(feet, ground, q) -> tuple[np.ndarray, np.ndarray]:
    """Forces on the points and depths of a rigid body on the static screen."""
    places = places_of(feet, q)
    pins, weights = ground.patches(places)
    columns = []
    for own, share in zip(pins, weights, strict=True):
        load = np.zeros(ground.screen.shape)
        np.subtract.at(load.ravel(), own, share)
        shape = soft.static_shape(ground.screen.law, load).ravel()
        columns.append(-(weights * shape[pins]).sum(axis=1))
    give = np.array(columns).T + np.eye(len(pins)) / ground.contact.stiffness
    com = feet.model.tags(q)[-1]
    plane = np.column_stack([np.ones(len(places)), places[:, :2]])
    stiff = np.linalg.inv(give)
    load = weight_of(feet.model) * np.array([1.0, com[0], com[1]])
    tilt = np.linalg.solve(plane.T @ stiff @ plane, load)
    return stiff @ plane @ tilt, plane @ tilt


@pytest.mark.study
@pytest.mark.parametrize(
    ("law", "seconds"), [("hard", 1.6), ("soil", 1.6), ("viscous", 1.6), ("water", 6.0)]
)
def test_whole_soles_carry_the_weight(feet, law: str, seconds: float) -> None:
    """Pressure under the soles sums up to the weight; sinkage is the closed form.

    Water has little viscosity: the robot bobs for long, so means are taken.
    """
    ground = ground_of(law)
    run = stand(feet, ground, seconds)
    late = slice(-round(50 * seconds), None)
    count = len(feet.contacts)
    forces = run.forces[late, :count, 0].mean(axis=0)
    assert forces.sum() == pytest.approx(weight_of(feet.model), rel=1e-3)
    expected, depths = statics(feet, ground, run.q[-1])
    if expected.min() > 0.0:  # no point is lifted off: the closed form is linear
        np.testing.assert_allclose(forces, expected, atol=0.03 * expected.max())
    sunk = -np.mean([places_of(feet, q)[:, 2] for q in run.q[late]], axis=0)
    np.testing.assert_allclose(sunk, depths, rtol=0.03)
    total = run.energy.sum(axis=1)
    assert np.diff(total).max() <= 1e-8 * (total[0] - total.min())
    assert run.check().ok, run.check().failed
    assert run.check()["residual of soft contacts"].value < 1e-6


@pytest.mark.parametrize("law", list(soft.PRESETS))
def test_pins_get_what_soles_get(feet, law: str) -> None:
    """Action equals reaction to 1e-12 in a sample under whole soles."""
    ground = ground_of(law)
    simulation = hs.Simulation(
        feet.model, ground=ground.scene(0.5), contacts=hs.Contacts(points=feet.contacts)
    )
    reaction = ground.reaction(simulation.system)
    q = feet.model.standing(np.zeros(len(feet.model.joint_names)))
    q[2] -= 0.001
    v = np.zeros(feet.model.nv)
    v[:3] = 0.1, 0.02, -0.2
    reaction.update(0.0, q, v, np.zeros(feet.model.nv))
    numbers, up = ground.screen.law, reaction.forces[:, 0]
    on_pins = ground.screen.deviations.sum() * numbers.mass / numbers.period**2
    assert up.sum() > 5.0 and np.count_nonzero(up) == len(feet.contacts)
    assert abs(on_pins + up.sum()) < 1e-12 * up.sum()
    assert abs(reaction.held[2] - up.sum()) < 1e-12 * up.sum()


def test_print_is_of_the_whole_sole(feet) -> None:
    """Every pin under a sole is pressed down, those a patch away from it are not."""
    ground = ground_of("sand", 10.0)
    run = stand(feet, ground, 0.4)
    heights = ground.screen.deviations
    axes = [ground.origin[k] + 0.01 * np.arange(36) for k in (0, 1)]
    x, y = np.meshgrid(*axes, indexing="ij")
    inside = np.zeros(heights.shape, dtype=bool)
    beside = np.ones(heights.shape, dtype=bool)
    for sole in feet.model.soles:
        own = [feet.contacts.index(name) for name in sole.contacts]
        corners = places_of(feet, run.q[-1])[own]
        low, high = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
        inside |= (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])
        wide = (x > low[0] - 0.021) & (x < high[0] + 0.021)
        beside &= ~(wide & (y > low[1] - 0.021) & (y < high[1] + 0.021))
    assert inside.sum() >= 120
    assert heights[inside].max() < 0.25 * heights.min() < 0.0
    assert np.abs(heights[beside]).max() == 0.0


def test_plastic_prints_stay_to_the_bit(feet) -> None:
    """What a robot leaves in plastic ground (S) is there for good."""
    ground = ground_of(soft.ScreenLaw(ground_viscosity=10.0), 2.0)
    stand(feet, ground, 0.2)
    ground.screen.run(5)
    marks = ground.screen.deviations
    ground.screen.run(2000)
    assert marks.min() < -1e-3
    assert np.array_equal(ground.screen.deviations, marks)


def test_prints_in_sand_fade_with_their_remanence(feet) -> None:
    """What a robot leaves in sand (S with a weak return) fades with tau."""
    ground = ground_of("sand", 10.0)
    stand(feet, ground, 0.2)
    ground.screen.run(5)
    marks, tau = ground.screen.deviations, ground.screen.law.remanence(0.0)
    assert tau == pytest.approx(0.9995, rel=1e-4)
    ground.screen.run(1500)
    left = ground.screen.deviations
    np.testing.assert_allclose(left, marks * np.exp(-1.5 / tau), rtol=1e-9, atol=1e-15)


def test_prints_in_soil_spread(feet) -> None:
    """Prints in prototype IV spread by a variance of 2 D t, their volume kept."""
    law = soft.design("IV", dimensions=2)
    ground = ground_of(law, 10.0, shape=(140, 140), origin=(-0.7, -0.7, 0.0))
    stand(feet, ground, 0.1)
    ground.screen.run(5)
    rows = np.arange(140.0)

    def moments() -> tuple[float, float]:
        """Volume [pins m] and variance along x [pins²]."""
        along = ground.screen.deviations.sum(axis=1)
        mean = (along @ rows) / along.sum()
        return along.sum(), (along @ (rows - mean) ** 2) / along.sum()

    volume, width = moments()
    ground.screen.run(100)
    spread = law.stiffness / law.ground_viscosity  # D [pins²/s]
    after = moments()
    assert volume < -0.01
    assert after[0] == pytest.approx(volume, rel=1e-9)
    assert after[1] - width == pytest.approx(2.0 * spread * 0.1, rel=1e-6)


def test_course_of_the_ground_is_kept(feet) -> None:
    """Pictures of the ground every 40 ms, as the run goes."""
    ground = ground_of("sand", 10.0)
    run = stand(feet, ground, 0.2)
    history = soft.ground_history(run)
    np.testing.assert_allclose(history.times, np.arange(6) * 0.04, atol=1e-9)
    deepest = history.heights.min(axis=(1, 2))
    assert deepest[0] == 0.0 and (np.diff(deepest[1:]) < 0.0).all()
    end = soft.footprints_of(run).heights
    np.testing.assert_allclose(history.at(0.2).heights, end, atol=2e-4)
    run.info["surface"]["history"]["heights"] = "none"
    with pytest.raises(soft.SoftError, match="damaged"):
        soft.ground_history(run)


@pytest.mark.parametrize("name", ["human36", "bip"])
def test_larger_bipeds_stand_on_soil(name: str) -> None:
    """Human36 and Bip stand by both methods, which agree; the weight is carried."""
    model = hs.load_model(name)
    bipeds, runs = sole_point_feet(model, 0.06), []
    for method, seconds in (("time_stepping", 0.5), ("event_driven", 0.05)):
        ground = soft.DeformableGround(
            "soil", (60, 50), 0.02, (-0.6, -0.5, 0.0), firmness=80, patch=0.03
        )
        simulation = hs.Simulation(
            bipeds.model,
            ground=ground.scene(0.7),
            method=method,
            locked=["*"],
            contacts=hs.Contacts(points=bipeds.contacts),
        )
        q = bipeds.model.standing(np.zeros(len(model.joint_names)))
        runs.append(simulation.run(q, t_end=seconds, sampling_period=0.01))
        assert runs[-1].check().ok, runs[-1].check().failed
    carried = runs[0].forces[-20:, :, 0].sum(axis=1).mean()
    assert carried == pytest.approx(weight_of(bipeds.model), rel=2e-3)
    assert runs[0].q[-1, 2] < runs[0].q[0, 2] - 1e-4
    np.testing.assert_allclose(runs[0].q[:6], runs[1].q, atol=2e-6)


def test_screens_too_small_say_where(feet) -> None:
    """A foot beside the screen ends a run with its place."""
    small = ground_of("soil", shape=(12, 36), origin=(-0.02, -0.18, 0.0))
    with pytest.raises(hs.HumansError, match=r"x = .* m, y = .* m is beside"):
        stand(feet, small, 0.1)


def test_dry_joints_with_events_are_refused(feet) -> None:
    """Events of joints with dry friction are not computed over a soft ground."""
    with pytest.raises(hs.errors.ParameterError, match="dry friction needs"):
        hs.Simulation(
            feet.model,
            ground=ground_of("soil").scene(0.5),
            method="event_driven",
            contacts=hs.Contacts(points=feet.contacts, joint_friction={"l_knee": 0.1}),
        )
