# SPDX-License-Identifier: Apache-2.0
"""Tests of links that touch each other, and of bodies and obstacles they touch."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
from press import THICK, hand_above, press

import humans_sim as hs
from humans_sim.contact.geometry.link_pairs import (
    overlapping_links,
    pair_geometry,
    touching_links,
)
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes import SceneBody, SceneSystem
from humans_sim.models.description import SelfCollision

G = 9.81
WATCHED = 1e-3
"""Distance from which on points of large links are known [m]."""


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
    """The lower edge of a tilted hand has the analytic gap."""
    model = press(tmp_path)
    system = system_of(model)
    for tilt in (0.05, 0.2, 0.6):
        drop = 0.18 * np.sin(tilt) + THICK / 2 * np.cos(tilt)
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
    geometry, names = pair_geometry(khr1, touching_links(khr1, SelfCollision()))
    data = pin.GeometryData(geometry)
    own = khr1.pin.createData()
    rng = np.random.default_rng(5)
    joints = np.zeros(len(khr1.joint_names))
    aim = np.zeros_like(joints)
    q, still = khr1.neutral(), np.zeros(khr1.nv)
    near_ones = far_ones = 0
    for step in range(60):
        if step % 20 == 0:
            aim = rng.uniform(khr1.lower_limits, khr1.upper_limits)
        joints += np.clip(aim - joints, -0.05, 0.05)
        q[7:] = joints
        q[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3))).coeffs()
        which, _ = system.active_contact_terms(q, still, 1e-9, np.ones(10_000))
        chosen = {system.contacts.names[k].rpartition(".")[0] for k in which}
        pin.computeDistances(khr1.pin, own, geometry, data, q)
        least: dict[str, float] = {}
        for (one, other), result in zip(names, data.distanceResults, strict=True):
            pair, apart = f"{one}/{other}", result.min_distance
            least[pair] = min(apart, least.get(pair, np.inf))
        for pair, apart in least.items():
            if apart < 0.99 * WATCHED:
                near_ones += 1
                assert pair in chosen
            elif apart > 1.01 * WATCHED:
                far_ones += 1
                assert pair not in chosen
    assert near_ones > 10 and far_ones > 1000


_BOX = """<collision><origin xyz="{}"/><geometry><box size="{}"/></geometry>
</collision>"""
_BODY = """<link name="{}"><inertial><origin xyz="{}"/><mass value="{}"/>
<inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/></inertial>{}</link>"""
_HINGE = """<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/>
<origin xyz="{}"/><axis xyz="{}"/>
<limit lower="-2" upper="2" effort="10" velocity="10"/></joint>"""


def many_boxes(folder: Path, rng: np.random.Generator) -> hs.Model:
    """A hand of six boxes on a wrist of two axes, over a plate."""
    hand = ""
    for _ in range(6):
        place = rng.uniform(-1.0, 1.0, 3) * (0.06, 0.04, 0.002)
        size = rng.uniform(0.01, 0.04, 3)
        hand += _BOX.format(*(" ".join(f"{x:.6g}" for x in a) for a in (place, size)))
    plate = _BOX.format("0 0 0", "0.6 0.4 0.1")
    arm = _BOX.format("0.1 0 0", "0.08 0.02 0.02")
    text = (
        _BODY.format("base_link", "0 0 0", 5, 0.1, 0.1, 0.1, plate)
        + _BODY.format("arm", "0.1 0 0", 0.3, 2e-3, 2e-3, 2e-3, arm)
        + _BODY.format("cross", "0 0 0", 0.05, 1e-4, 1e-4, 1e-4, "")
        + _BODY.format("hand", "0 0 0", 0.3, 4e-4, 4e-4, 6e-4, hand)
        + _HINGE.format("shoulder", "base_link", "arm", "-0.2 0 0.1", "0 1 0")
        + _HINGE.format("pitch", "arm", "cross", "0.2 0 0", "0 1 0")
        + _HINGE.format("roll", "cross", "hand", "0 0 0", "1 0 0")
    )
    path = folder / "boxes.urdf"
    path.write_text(f'<robot name="boxes">{text}</robot>')
    return hs.load_model(path)


def falling_hand(folder: Path, seed: int) -> tuple[hs.Model, hs.Simulation, np.ndarray]:
    """The model of a seed, a simulation by time steps, and where it starts."""
    rng = np.random.default_rng(seed)
    model = many_boxes(folder, rng)
    sim = hs.Simulation(
        model,
        method="time_stepping",
        locked=["base"],
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(self_collision={"friction": 0.3}),
    )
    q = model.neutral()
    q[7:] = -0.1, *rng.uniform(-0.5, 0.5, 2)
    return model, sim, q


@pytest.mark.parametrize("seed", [1, 3])
def test_links_touch_in_more_places_than_a_pair_has_points(
    tmp_path: Path, seed: int
) -> None:
    """Boxes of one hand that land one after the other all stay out of the plate."""
    model, sim, q = falling_hand(tmp_path, seed)
    run = sim.run(q, t_end=0.22, sampling_period=1e-3)
    geometry, _ = pair_geometry(model, (("base_link", "hand"),))
    data, own = pin.GeometryData(geometry), model.pin.createData()
    least = np.inf
    for place in run.q:
        pin.computeDistances(model.pin, own, geometry, data, place)
        least = min(least, *(r.min_distance for r in data.distanceResults))
    assert -1e-10 < least < 1e-8
    assert (run.forces[:, :, 0] > 0.0).any()
    assert run.check()["largest gap x force"].value < 1e-8


@pytest.mark.parametrize("seed", [1, 3])
def test_general_steps_keep_in_touch_what_turns(tmp_path: Path, seed: int) -> None:
    """A box that rolls from one corner onto another has no force at a distance."""
    model, sim, q = falling_hand(tmp_path, seed)
    stepper = sim.start(q, np.zeros(model.nv))
    stepper.steps._compiled = None
    bore = False
    for step in range(1, 181):
        stepper.advance(1e-3 * step)
        gaps, forces = stepper.steps.gaps, stepper.steps.forces[:, 0]
        assert gaps.min() > -1e-8, step
        assert np.abs(gaps * forces).max() < 1e-6, step
        bore = bore or bool((forces > 0.0).any())
    assert bore


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
        return set(touching_links(model, own))

    usual = {("base_link", "arm"), ("base_link", "hand"), ("post", "hand")}
    assert pairs() == usual
    assert pairs(exclude=[["hand", "post"]]) == usual - {("post", "hand")}
    assert pairs(include=[["arm", "hand"]]) == usual | {("arm", "hand")}
    (tmp_path / "other").mkdir()
    other = press(tmp_path / "other", "self_collision: {exclude: [[arm, base_link]]}")
    own = other.parts.self_collision
    assert set(touching_links(other, own)) == usual - {("base_link", "arm")}
    saved = hs.load_model(other.save(tmp_path / "saved.urdf"))
    assert saved.parts.self_collision == own
    (tmp_path / "none").mkdir()
    none = press(tmp_path / "none", "self_collision: false")
    assert touching_links(none, none.parts.self_collision) == ()


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


def test_a_list_of_links_is_all_its_pairs() -> None:
    """Three links go through each other in three pairs."""
    chosen = SelfCollision().with_changes({"exclude": [["a", "b", "c"]]})
    assert chosen.exclude == (("a", "b"), ("a", "c"), ("b", "c"))


def test_refusals(tmp_path: Path) -> None:
    """What cannot be done is refused in one line."""
    model = press(tmp_path)
    with pytest.raises(hs.errors.ParameterError, match="no link 'tail' with a solid"):
        hs.Simulation(
            model,
            method="time_stepping",
            contacts=hs.Contacts(self_collision={"exclude": [["tail", "arm"]]}),
        )
    with pytest.raises(hs.errors.ParameterError, match="no pair of links"):
        SelfCollision().with_changes({"include": ["arm"]})
    with pytest.raises(hs.errors.ParameterError, match="no pair of links"):
        SelfCollision().with_changes({"exclude": [["arm", "hand", "arm"]]})
    (tmp_path / "bad").mkdir()
    with pytest.raises(hs.errors.ModelFileError, match="unknown key"):
        press(tmp_path / "bad", "self_collision: {leave: []}")
    assert hs.Simulation(model).method == "event_driven"


POST = hs.Box((0.01, 0.01, 0.102), (0.0, 0.0, 0.051), name="post")
BEAM = hs.Box((0.01, 0.34, 0.102), (0.0, 0.0, 0.051), name="beam")


def deepest(run: hs.Run, model: hs.Model, obstacle: hs.Box) -> float:
    """How far a box is in a link's solids at any sample, by coal [m]."""
    geometry = pin.GeometryModel(pair_geometry(model, ())[0])
    box = coal.Box(*obstacle.size)
    place = pin.SE3(np.eye(3), np.array(obstacle.centre))
    own = geometry.addGeometryObject(pin.GeometryObject("box", 0, place, box))
    for k in range(own):
        geometry.addCollisionPair(pin.CollisionPair(k, own))
    data, solids = model.pin.createData(), pin.GeometryData(geometry)
    least = np.inf
    for q in run.q:
        pin.computeDistances(model.pin, data, geometry, solids, q)
        least = min(least, *(r.min_distance for r in solids.distanceResults))
    return -least


@pytest.mark.parametrize("obstacle", [POST, BEAM], ids=lambda box: box.name)
def test_a_robot_falls_on_an_obstacle(khr1: hs.Model, obstacle: hs.Box) -> None:
    """A stiff robot that falls on a post or a beam lies on it, not around it."""
    ground = hs.Ground(friction=0.7).with_solids(obstacle)
    sim = hs.Simulation(khr1, ground=ground, method="time_stepping", locked=["*"])
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, np.pi / 2, 0.0]))).coeffs()
    q[:3] = -0.034, 0.0044, 0.173
    run = sim.run(q, t_end=0.4)
    assert run.check()["least gap"].ok
    assert deepest(run, khr1, obstacle) < 1e-5
    touched = {n for k, n in enumerate(run.table.names) if run.contacts[:, k].any()}
    assert any(f"/{obstacle.name}." in name for name in touched)


@pytest.mark.parametrize(
    "thing",
    [SceneBody.box("thing", 0.05, (0.015,) * 3), SceneBody.ball("thing", 0.05, 0.02)],
    ids=["box", "ball"],
)
def test_what_is_thrown_at_a_robot_does_not_pass(
    khr1: hs.Model, thing: SceneBody
) -> None:
    """It stays in front of the chest, and pushes it backwards."""
    scene = SceneSystem([thing], robot=khr1)
    q = scene.configuration({"thing": (0.2, 0.01, 0.26)}, khr1.neutral())
    v = np.zeros(scene.nv)
    v[khr1.nv], v[khr1.nv + 2] = -3.0, 0.3
    sim = hs.Simulation(scene, method="time_stepping")
    run = sim.run(q, v, t_end=0.12, sampling_period=1e-3)
    assert run.q[-1, khr1.nq] > 0.0
    hit = np.flatnonzero(run.contacts.any(axis=0))
    assert any("/thing." in run.table.names[k] for k in hit)
    for name in ("least gap", "least normal force", "largest force outside its cone"):
        assert run.check()[name].ok


def test_a_body_that_nothing_holds_keeps_its_momentum() -> None:
    """Two boxes that hit each other corner on edge: momenta about the origin."""
    bodies = [SceneBody.box(f"box{k}", 1.0 + k, (0.1, 0.15, 0.2)) for k in range(2)]
    scene = SceneSystem(bodies, hs.Ground.empty(), gravity=(0.0, 0.0, 0.0))
    turns = {"box0": pin.exp3(np.array([0.3, 0.5, 0.1]))}
    q = scene.configuration({"box0": (-0.2, 0, 0), "box1": (0.1, 0.02, 0)}, None, turns)
    v = np.zeros(scene.nv)
    v[0], v[3:6] = 1.0, (2.0, -1.0, 3.0)
    run = hs.Simulation(scene, method="time_stepping").run(q, v, t_end=0.3)
    assert run.contacts.any()
    inertia = [body.properties.inertia for body in bodies]
    momenta = []
    for place, speed in zip(run.q, run.v, strict=True):
        linear, angular = np.zeros(3), np.zeros(3)
        for k in range(2):
            mass, twist = 1.0 + k, speed[6 * k : 6 * k + 6]
            turn = pin.Quaternion(place[7 * k + 3 : 7 * k + 7]).matrix()
            linear += mass * twist[:3]
            angular += np.cross(place[7 * k : 7 * k + 3], mass * twist[:3])
            angular += turn @ inertia[k] @ twist[3:]
        momenta.append(np.append(linear, angular))
    np.testing.assert_allclose(momenta - momenta[0], 0.0, atol=2e-4)
