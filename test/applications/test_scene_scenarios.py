# SPDX-License-Identifier: Apache-2.0
"""Scenarios with free bodies: what happens in them, their pages, faults of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import ModelFileError, ParameterError


@pytest.mark.study
def test_the_khr1_pushes_a_box(tmp_path: Path) -> None:
    """By 10 cm and more, upright, both on the floor; the run can be shown again."""
    run = read_scenario("push-box").run(progress=False)
    assert run.check().ok
    box, base = run.q[:, -7:], run.q[:, :7]
    assert box[-1, 0] - box[0, 0] > 0.10
    assert abs(box[-1, 1]) < 0.03
    np.testing.assert_allclose(box[:, 2], 0.15, atol=1e-3)
    assert base[:, 2].min() > 0.19
    hands = [k for k, n in enumerate(run.table.names) if n.endswith("finger_tip/box")]
    pushed = run.forces[:, hands, 0].sum(axis=1)
    # hands only push, and on the average no more than friction takes
    friction = 0.2 * 0.15 * 9.81
    assert pushed.min() >= 0.0
    assert 0.1 * friction < pushed.mean() < 1.2 * friction
    loaded = hs.load_run(run.save(tmp_path / "run.npz"))
    page = hs.animate(loaded, tmp_path / "run.html").read_text()
    assert "<title>humans_sim: khr1</title>" in page
    with pytest.raises(ParameterError, match=r"written to \.html"):
        hs.animate(loaded, tmp_path / "run.gif")


@pytest.mark.study
def test_the_top_turns_over() -> None:
    """About its middle axis; energy and momentum stay."""
    scenario = read_scenario("tumbling-top").with_changes(end=6.0)
    run = scenario.run(progress=False)
    assert run.check().ok
    energy = run.energy[:, 0]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    spin = run.v[:, 3]  # about the middle axis, in the body's frame
    assert spin.min() < -5.5
    assert spin.max() > 5.5


def test_a_push_beside_the_centre_turns() -> None:
    """Both boxes get the same momentum; the torque of the arm turns the one, alone."""
    run = read_scenario("off-centre-push").with_changes(end=1.0).run(progress=False)
    centred, off = run.q[:, :7], run.q[:, 7:]
    shift = 4.0 * 0.2 / 2.0 * (1.0 - 0.2)  # impulse over mass, from its middle on
    assert centred[-1, 0] - centred[0, 0] == pytest.approx(shift, rel=1e-2)
    # The force on the other one stays along x: its centre goes as far.
    np.testing.assert_allclose(off[:, 0], centred[:, 0], atol=1e-9)
    np.testing.assert_allclose(off[:, 1:3], off[:1, 1:3].repeat(len(off), 0), atol=1e-9)
    np.testing.assert_allclose(centred[-1, 3:], [0, 0, 0, 1], atol=1e-12)
    yaw = 2 * np.arctan2(off[-1, 5], off[-1, 6])
    assert -2.5 < yaw < -1.0  # clockwise, seen from above
    inertia = 2.0 / 12.0 * (0.4**2 + 0.2**2)
    assert run.v[-1, 11] == pytest.approx(-0.4 * 0.2 / inertia, rel=0.3)


@pytest.mark.study
def test_the_stack_is_hit_and_stands() -> None:
    """The ball bounces off, the boxes are moved and stay on each other."""
    run = read_scenario("box-stack").run(progress=False)
    assert run.check().ok
    places = run.q[-1].reshape(6, 7)
    assert places[0, 0] > 0.01
    heights = [0.075, 0.21, 0.32, 0.42, 0.53]
    np.testing.assert_allclose(places[:5, 2], heights, atol=1e-6)
    assert np.abs(run.v[-1, :30]).max() < 1e-3


def solid_run(name: str) -> hs.Run:
    """A scenario of solids that hit each other: nothing overlaps, nothing pulls."""
    run = read_scenario(name).run(progress=False)
    check = run.check()
    for law in (
        *("least gap", "least normal force", "largest force outside its cone"),
        "deepest overlap of solids",
    ):
        assert check[law].ok, check[law]
    return run


@pytest.mark.study
def test_dominoes_topple_one_after_the_other() -> None:
    """Each falls forward, after the one before it; energy does not grow."""
    run = solid_run("dominoes")
    assert run.check()["largest growth of energy"].ok
    stones = run.q.reshape(len(run.t), 10, 7)
    up = 1.0 - 2.0 * (stones[:, :, 3] ** 2 + stones[:, :, 4] ** 2)
    assert (up[-1] < 0.5).all()
    assert (np.diff(np.argmax(up < 0.7, axis=0)) > 0).all()
    np.testing.assert_allclose(stones[:, :, 1], 0.0, atol=5e-3)


@pytest.mark.study
def test_a_thrown_box_throws_the_robot_over() -> None:
    """The box flies freely until it hits; then it has less of its momentum."""
    run = solid_run("thrown-box")
    box = run.v[:, -6:-3]
    flying = run.t < 0.1
    np.testing.assert_allclose(box[flying, 0], -3.4, rtol=1e-9)
    np.testing.assert_allclose(box[flying, 2], 0.6 - 9.81 * run.t[flying], atol=1e-9)
    assert (box[run.t > 0.3, 0] > -1.0).all()
    assert run.q[-1, 2] < 0.1 < run.q[0, 2]
    assert run.q[-1, 0] < -0.1


@pytest.mark.study
def test_the_khr1_falls_down_stairs() -> None:
    """Down three steps and forward; it comes to rest on more than its feet."""
    run = solid_run("fall-stairs")
    assert run.q[-1, 2] < run.q[0, 2] - 0.2
    assert run.q[-1, 0] > 0.25
    names = zip(run.table.names, run.contacts[-1], strict=True)
    touching = {name.split("/")[0] for name, mode in names if mode}
    assert not all("foot" in name for name in touching)
    assert np.abs(run.v[-1, :6]).max() < 0.1


TIME = "method: time_stepping\ntime: {end: 0.1, sampling_period: 0.01}\n"
BODY = "bodies: {a: {ball: 0.1, mass: 1, at: [0, 0, 0.1]}}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bodies: {a: {mass: 1, at: [0, 0, 1]}}\n" + TIME, "exactly one of box, ball"),
        ("model: khr1\nflight: lie\n" + TIME, "the scene has none"),
        ("bodies: {a: {ball: 0.1, at: [0, 0, 1]}}\n" + TIME, "'mass' is missing"),
        ("bodies: {a: {ball: -1, mass: 1, at: [0, 0, 1]}}\n" + TIME, "above zero"),
        (BODY + "time: {end: 1, sampling_period: 0.1}", "need method: time_stepping"),
        (BODY + "locked: ['*']\n" + TIME, "locked: a scene with free bodies"),
        (BODY + "problem: bounce\n" + TIME, "problem"),
        (BODY + "loads: {springs: [{body: b}]}\n" + TIME, "springs"),
        (
            BODY + "loads: {wind: {velocity: [1, 0, 0], areas: {a: -1}}}\n" + TIME,
            "must not be negative",
        ),
        (
            BODY + "model: khr1\nactuation: {servo: {}}\n"
            "controller: {walk: {velocity: [0.05, 0, 0]}}\n" + TIME,
            "controller: a walk by servos needs the forces on its feet",
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, words: str) -> None:
    """With their place in the file."""
    path = tmp_path / "mine.yaml"
    path.write_text("title: mine\n" + text)
    with pytest.raises(ModelFileError, match=words) as caught:
        read_scenario(str(path)).prepare()
    assert caught.value.line is not None


def test_loads_from_a_file(tmp_path: Path) -> None:
    """A ball on a spring in the wind hangs aside."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "title: mine\nground: {empty: true}\n"
        "bodies: {a: {ball: 0.1, mass: 1, at: [0, 0, 0.5]}}\n"
        "loads:\n  wind: {velocity: [5, 0, 0], areas: {a: 0.2}}\n"
        "  springs: [{body: a, point: [0, 0, 0], anchor: [0, 0, 1], stiffness: 100,"
        " damping: 5, length: 0.4}]\n"
        "method: time_stepping\noptions: {time_step: 0.005}\n"
        "time: {end: 8.0, sampling_period: 0.05}\n"
    )
    run = read_scenario(str(path)).run(progress=False)
    drag = 0.5 * 1.2 * 0.2 * 25
    x, _, z = run.q[-1, :3]
    assert x / (1.0 - z) == pytest.approx(drag / 9.81, rel=0.02)
