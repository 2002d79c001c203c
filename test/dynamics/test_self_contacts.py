# SPDX-License-Identifier: Apache-2.0
"""Tests of links that touch each other."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
from press import THICK, hand_above, press

import humans_sim as hs
from humans_sim.contact.geometry.link_pairs import overlapping_links
from humans_sim.dynamics.link_pairs import link_pairs
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.models.description import SelfCollision

G = 9.81


def system_of(model: hs.Model, **options) -> ModelSystem:
    """A model without ground whose links touch."""
    own = SelfCollision().with_changes(options or True)
    return ModelSystem(model, hs.Ground.empty(), self_collision=own)


def between(system: ModelSystem, q: np.ndarray, pair: str) -> np.ndarray:
    """Gaps of the points of a pair that are near."""
    names = system.contacts.names
    which = [k for k, name in enumerate(names) if name.startswith(f"{pair}.")]
    gaps = system.gaps(q)[which]
    return gaps[gaps < 1.0]


def test_gap_of_a_flat_hand(tmp_path: Path) -> None:
    """A hand parallel to the plate has four points at the analytic gap."""
    model = press(tmp_path)
    system = system_of(model)
    for gap in (-2e-4, 1e-7, 3e-4, 9e-4):
        q = hand_above(model, gap + THICK / 2)
        system.check_state(q, np.zeros(model.nv))
        np.testing.assert_allclose(between(system, q, "base_link/hand"), gap, atol=1e-9)
        assert len(between(system, q, "base_link/hand")) == 4


def test_gap_of_a_tilted_hand(tmp_path: Path) -> None:
    """The lower edge of a tilted hand has the analytic gap, less its rounding."""
    model = press(tmp_path)
    system = system_of(model)
    radius = 1e-3  # of the skin: edges are rounded by it
    for tilt in (0.05, 0.2, 0.6):
        along, across = 0.18 - radius, THICK / 2 - radius
        drop = along * np.sin(tilt) + across * np.cos(tilt) + radius
        q = hand_above(model, drop + 5e-4, tilt)
        system.check_state(q, np.zeros(model.nv))
        assert between(system, q, "base_link/hand").min() == pytest.approx(
            5e-4, abs=1e-8
        )


def test_rows_are_the_rates_of_gaps(tmp_path: Path) -> None:
    """Normal rows are derivatives of gaps; internal forces do not move the base."""
    model = press(tmp_path)
    system = system_of(model)
    rng = np.random.default_rng(3)
    q = hand_above(model, 0.18 * np.sin(0.1) + THICK / 2 + 2e-4, 0.1)
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3.Random())
    v = rng.normal(size=model.nv)
    system.check_state(q, v)
    none = np.zeros(len(system.contacts))
    which, terms = system.active_contact_terms(q, v, 0.1, none)
    names = [system.contacts.names[k] for k in which]
    assert {name.split(".")[0] for name in names} >= {"base_link/hand"}
    step = 1e-6
    after = system.gaps(pin.integrate(model.pin, q, step * v))[which]
    before = system.gaps(pin.integrate(model.pin, q, -step * v))[which]
    rates = (after - before) / (2 * step)
    links = np.array([system.contacts.kinds[k] == "link" for k in which])
    np.testing.assert_allclose(
        terms.jacobian[links, 0] @ v, rates[links], rtol=1e-6, atol=1e-7
    )
    assert np.abs(terms.jacobian[links, :, :6]).max() == 0.0


def test_impulses_keep_momentum(tmp_path: Path) -> None:
    """A blow between links changes joint speeds, but no momentum of the whole."""
    model = press(tmp_path)
    system = system_of(model)
    rng = np.random.default_rng(4)
    q = hand_above(model, THICK / 2 + 1e-6)
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3.Random())
    none = np.zeros(len(system.contacts))
    system.check_state(q, np.zeros(model.nv))
    _, terms = system.active_contact_terms(q, np.zeros(model.nv), 1e-3, none)
    assert len(terms.gap) == 4
    impulses = rng.normal(size=12)
    jump = np.linalg.solve(terms.mass, terms.jacobian.reshape(12, -1).T @ impulses)
    assert np.abs(jump[6:]).max() > 0.1
    data = model.data()
    pin.ccrba(model.pin, data, q, jump)
    np.testing.assert_allclose(data.hg.vector, 0.0, atol=1e-10)


def test_hand_comes_to_rest(tmp_path: Path) -> None:
    """A hand that falls lies flat on the plate: four points, no jitter, no energy."""
    model = press(tmp_path)
    sim = hs.Simulation(
        model,
        method="time_stepping",
        locked=["base"],
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(self_collision={"friction": 0.1}),
    )
    run = sim.run(hand_above(model, 0.03, 0.1), t_end=1.0)
    check = run.check()
    for name in ("least gap", "least normal force", "largest gap x force"):
        assert check[name].ok, check[name]
    assert check["largest force outside its cone"].ok
    rest = run.t > 0.6
    assert np.abs(run.v[rest]).max() < 1e-9
    assert np.ptp(run.energy[rest].sum(axis=1)) < 1e-9
    lying = [k for k, n in enumerate(run.table.names) if n.startswith("base_link/hand")]
    assert np.abs(run.gaps[-1, lying]).max() < 1e-9
    assert (run.forces[-1, lying, 0] > 0).sum() >= 3
    # Between the hand's weight alone, and with all of the arm's.
    support = run.forces[-1, lying, 0].sum()
    assert 0.5 * G < support < 1.5 * G
    events = [event for event in run.events if event.time > 0.6]
    assert events == []


@pytest.mark.study
def test_hand_of_human36_on_its_thigh() -> None:
    """A free arm falls onto the thigh and stays there."""
    human36 = hs.load_model("human36")
    names = list(human36.joint_names)
    q = human36.neutral()
    for name, angle in {
        "r_hip_pitch": 80,
        "r_hip_roll": 15,
        "r_knee": -80,
        "r_shoulder_pitch": 25,
        "r_shoulder_yaw": -15,
        "r_elbow_pitch": 30,
    }.items():
        q[7 + names.index(name)] = np.radians(angle)
    free = ("r_shoulder_pitch", "r_elbow_pitch", "r_wrist_pitch")
    sim = hs.Simulation(
        human36,
        method="time_stepping",
        locked=["base", *(n for n in names if n not in free)],
        ground=hs.Ground.empty(),
    )
    run = sim.run(q, t_end=1.5)
    closed = {
        run.table.names[k].split(".")[0] for k in np.flatnonzero(run.contacts[-1])
    }
    assert closed == {"r_thigh/r_hand"}
    assert np.abs(run.v[-20:]).max() < 1e-8
    assert run.check()["largest gap x force"].ok


@pytest.mark.parametrize("seed", [0, 2])
def test_limp_robot_falls_onto_itself(khr1: hs.Model, seed: int) -> None:
    """Limbs that whirl hook into each other, and no step breaks."""
    v = np.zeros(khr1.nv)
    v[6:] = np.random.default_rng(seed).normal(size=khr1.nv - 6) * 5
    run = hs.Simulation(khr1, method="time_stepping").run(v0=v, t_end=0.3)
    check = run.check()
    for name in ("least gap", "least normal force", "largest gap x force"):
        assert check[name].ok, check[name]
    links = [k for k, kind in enumerate(run.table.kinds) if kind == "link"]
    assert (run.forces[:, links, 0] > 0).any()
    assert np.abs(run.v).max() < 200.0


def test_impacts_elsewhere_do_not_part_links(khr1: hs.Model) -> None:
    """What an impact closes is in the same step: links that touch stay together."""
    v = np.zeros(khr1.nv)
    v[6:] = np.random.default_rng(1).normal(size=khr1.nv - 6) * 5
    stepper = hs.Simulation(khr1, method="time_stepping").start(khr1.neutral(), v)
    for step in range(1, 256):
        stepper.advance(1e-3 * step)
        gaps, forces = stepper.steps.gaps, stepper.steps.forces[:, 0]
        assert gaps.min() > -1e-8, step
        assert np.abs(gaps * forces).max() < 1e-8 * max(100.0, forces.max()), step


def test_near_pairs_are_not_missed(khr1: hs.Model) -> None:
    """Along a path of joints, every pair that coal finds near has a point."""
    system = system_of(khr1)
    pairs = link_pairs(khr1, SelfCollision())
    data = pin.GeometryData(pairs.geometry)
    own = khr1.pin.createData()
    rng = np.random.default_rng(5)
    joints = np.zeros(len(khr1.joint_names))
    aim = np.zeros_like(joints)
    q, still = khr1.neutral(), np.zeros(khr1.nv)
    near_ones = 0
    for step in range(60):
        if step % 20 == 0:
            aim = rng.uniform(khr1.lower_limits, khr1.upper_limits)
        joints += np.clip(aim - joints, -0.05, 0.05)
        q[7:] = joints
        which, _ = system.active_contact_terms(q, still, 1e-9, np.ones(10_000))
        chosen = {system.contacts.names[k].rpartition(".")[0] for k in which}
        pin.updateGeometryPlacements(khr1.pin, own, pairs.geometry, data, q)
        for k, (first, last) in enumerate(
            zip(pairs.start, pairs.start[1:], strict=False)
        ):
            one, other = pairs.names[k]
            for s in range(first, last):
                a, b = pairs.shape_pairs[s]
                apart = np.linalg.norm(
                    own.oMi[int(pairs.shape_joint[a])].act(pairs.centre[a])
                    - own.oMi[int(pairs.shape_joint[b])].act(pairs.centre[b])
                )
                if apart > pairs.radius[a] + pairs.radius[b] + 1e-3:
                    continue
                pin.computeDistance(pairs.geometry, data, int(s))
                if data.distanceResults[int(s)].min_distance < 0.99e-3:
                    near_ones += 1
                    assert f"{one}/{other}" in chosen
    assert near_ones > 20


def test_nothing_changes_where_nothing_touches(khr1: hs.Model) -> None:
    """A robot that only falls on its feet moves alike with and without."""
    runs = []
    for touch in (True, False):
        sim = hs.Simulation(
            khr1, method="time_stepping", contacts=hs.Contacts(self_collision=touch)
        )
        q = khr1.standing(np.zeros(len(khr1.joint_names)))
        q[2] += 0.01
        runs.append(sim.run(q, t_end=0.1))
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert len(runs[0].table) > len(runs[1].table)


def test_which_links_touch(tmp_path: Path) -> None:
    """Neighbours do not; files and users add pairs and take them away."""
    model = press(tmp_path)

    def pairs(**given) -> set[tuple[str, str]]:
        own = model.parts.self_collision.with_changes(given or True)
        return set(link_pairs(model, own).names)

    usual = {("base_link", "arm"), ("base_link", "hand"), ("post", "hand")}
    assert pairs() == usual
    assert pairs(exclude=[["hand", "post"]]) == usual - {("post", "hand")}
    assert pairs(include=[["arm", "hand"]]) == usual | {("arm", "hand")}
    (tmp_path / "other").mkdir()
    other = press(tmp_path / "other", "self_collision: {exclude: [[arm, base_link]]}")
    own = other.parts.self_collision
    assert set(link_pairs(other, own).names) == usual - {("base_link", "arm")}
    saved = hs.load_model(other.save(tmp_path / "saved.urdf"))
    assert saved.parts.self_collision == own
    (tmp_path / "none").mkdir()
    none = press(tmp_path / "none", "self_collision: false")
    assert link_pairs(none, none.parts.self_collision).names == ()


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("khr1", [("base_link", "hand"), ("hand", "hip"), ("hand", "thigh")]),
        ("bip", []),
        ("human36", [("arm", "torso")]),
    ],
)
def test_links_that_overlap_in_the_zero_position(
    name: str, beside: list[tuple[str, str]]
) -> None:
    """Those of both sides that the guide lists, and no others."""
    middle = ("base_link", "torso")
    listed = {
        tuple(sorted(link if link in middle else f"{side}_{link}" for link in pair))
        for side in "lr"
        for pair in beside
    }
    assert set(overlapping_links(hs.load_model(name))) == listed


def test_refusals(tmp_path: Path) -> None:
    """What cannot be done is refused in one line."""
    model = press(tmp_path)
    with pytest.raises(
        hs.errors.ParameterError, match="event_driven takes points and balls"
    ):
        hs.Simulation(model, contacts=hs.Contacts(self_collision=True))
    with pytest.raises(hs.errors.ParameterError, match="no link 'tail' with a solid"):
        hs.Simulation(
            model,
            method="time_stepping",
            contacts=hs.Contacts(self_collision={"exclude": [["tail", "arm"]]}),
        )
    with pytest.raises(hs.errors.ParameterError, match="no pair of links"):
        SelfCollision().with_changes({"include": ["arm"]})
    (tmp_path / "bad").mkdir()
    with pytest.raises(hs.errors.ModelFileError, match="unknown key"):
        press(tmp_path / "bad", "self_collision: {leave: []}")
    assert hs.Simulation(model).method == "event_driven"


def test_coal_reports_signed_distances() -> None:
    """The skin counts: solids that overlap by less than it have exact distances."""
    points = coal.StdVec_Vec3s()
    for corner in np.array(np.meshgrid(*[(-0.1, 0.1)] * 3)).reshape(3, -1).T:
        points.append(corner)
    box = coal.Convex.convexHull(points, True, "Qt")
    box.setSweptSphereRadius(1e-3)
    result = coal.DistanceResult()
    for gap in (-1e-3, -1e-9, 0.0, 1e-9, 1e-3):
        place = coal.Transform3s(np.eye(3), np.array([0.202 + gap, 0.01, 0.02]))
        result.clear()
        coal.distance(
            box, coal.Transform3s(), box, place, coal.DistanceRequest(), result
        )
        assert result.min_distance == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(result.normal, [1, 0, 0], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_links_that_count_as_far_are_far(khr1: hs.Model, seed: int) -> None:
    """Where no links are chosen, coal finds none within the distance that is watched.

    Joints wander, now by little, now by much, so that distances are known from before.
    """
    rng, system = np.random.default_rng(seed), system_of(khr1)
    pairs = link_pairs(khr1, SelfCollision())
    solids = pin.GeometryData(pairs.geometry)
    q, still, apart = khr1.neutral(), np.zeros(khr1.nv), 0
    for k in range(150):
        step = 0.3 if k % 30 == 29 else 0.01
        joints = q[7:] + step * rng.normal(size=len(q) - 7)
        q[7:] = np.clip(joints, khr1.lower_limits, khr1.upper_limits)
        q[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3))).coeffs()
        pin.computeDistances(khr1.pin, khr1.data(), pairs.geometry, solids, q)
        least = min(result.min_distance for result in solids.distanceResults)
        if system.are_links_apart(q, still, 5e-4):
            apart += 1
            assert least > 1e-3
        else:
            assert least <= 1e-3
    assert 0 < apart < 150
