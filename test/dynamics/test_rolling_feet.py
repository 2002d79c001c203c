# SPDX-License-Identifier: Apache-2.0
"""Sphere feet that roll from heel to toe; a ball that rolls as its contact joint."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.analysis.footfalls import foot_phases
from humans_sim.applications.scenarios import read_scenario
from humans_sim.contact.geometry.foot_spheres import sphere_feet
from humans_sim.contact.joint.contact_joint import ContactJoint, contact_velocity
from humans_sim.contact.joint.joint_types import generalized_force, relative_velocity
from humans_sim.contact.joint.surface_shapes import Plane, Sphere
from humans_sim.core.resources import resource
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.results.record import recorded_model
from humans_sim.results.run import Run
from humans_sim.view.browser.replay import Replay

G = 9.81
RADIUS = 0.1
"""Of the ball of urdf/ball.urdf [m]."""


def sound(run: Run) -> Run:
    """The run, once its check has passed."""
    check = run.check()
    assert check, [finding for finding in check.findings if not finding.ok]
    return run


@pytest.fixture(scope="module")
def rocking() -> Run:
    """Human36, rigid, over its heels and toes and back."""
    return sound(read_scenario("rolling-foot").run(progress=False))


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_stands_on_sphere_feet(model: hs.Model, method: str) -> None:
    """Dropped from 2 mm: as high as on its soles, the balls carry the weight."""
    q = model.neutral()
    q[2] += 0.002
    sim = hs.Simulation(
        model, locked=["*"], method=method, contacts=hs.Contacts(geometry="spheres")
    )
    run = sound(sim.run(q, t_end=0.2))
    balls = run.forces[-1, :6, 0]
    assert balls.sum() == pytest.approx(model.mass * G, rel=1e-6)
    assert (balls > 0).all() and (run.contacts[-1, :6] == 1).all()
    assert run.q[-1, 2] == pytest.approx(model.neutral()[2], abs=1e-7)
    assert [phase.word for phase in foot_phases(run)][-1] == "all"


def test_a_urdf_stands_on_sphere_feet(khr1: hs.Model, tmp_path: Path) -> None:
    """A biped by its URDF alone; its run's file shows it with the balls again."""
    robot = hs.load_model(khr1.save(tmp_path / "robot.urdf"))
    sim = hs.Simulation(robot, locked=["*"], contacts=hs.Contacts(geometry="spheres"))
    run = sound(sim.run(robot.neutral(), t_end=0.05))
    assert run.forces[-1, :6, 0].sum() == pytest.approx(robot.mass * G, rel=1e-6)
    again = hs.load_run(run.save(tmp_path / "run.npz"))
    assert recorded_model(again.info).soles[0].spheres[0] == "l_sole_heel"
    arrows = Replay(again).arrows(-1, each=True)
    assert len(arrows) == 6
    np.testing.assert_allclose(arrows[:, 0, 2], 0.0, atol=1e-9)


def test_servos_hold_a_robot_on_sphere_feet(khr1: hs.Model) -> None:
    """The KHR-1 with its servos on, and the load on its soles."""
    sim = hs.Simulation(
        khr1,
        Servo(khr1, numbers=ServoNumbers()),
        contacts=hs.Contacts(geometry="spheres"),
    )
    run = sound(sim.run(khr1.neutral(), t_end=0.2))
    stepper = sim.start(run.q[-1], run.v[-1])
    sample = stepper.sample()
    assert isinstance(sim.system, ModelSystem)
    soles = Soles(sim.system)
    loads = soles.loads(sample, soles.points(sample))
    weight = sum(float(load.force[2]) for load in loads)
    assert weight == pytest.approx(khr1.mass * G, rel=0.05)
    assert [load.closed for load in loads] == [3, 3]


def test_rocks_from_heel_to_toe_and_back(rocking: Run) -> None:
    """Heel, all, toe, all, heel...: the feet never leave the floor and never slide."""
    phases = foot_phases(rocking)
    words = [phase.word for phase in phases]
    assert words[:5] == ["heel", "all", "toe", "all", "heel"]
    assert set(words) == {"heel", "all", "toe"}
    assert [p.end for p in phases[:-1]] == [p.start for p in phases[1:]]
    rolls = [p.end - p.start for p in phases if p.word != "all"]
    assert min(rolls[:3]) > 0.4
    assert (rocking.contacts[:, :6] != 2).all()
    assert (rocking.contacts[:, :6] == 1).any(axis=1).all()
    one = foot_phases(rocking, sole="r_sole")
    assert [phase.word for phase in one] == words


def test_feet_roll_without_sliding(rocking: Run, human: hs.Model) -> None:
    """The centre of a standing ball goes radius x pitch; impacts alone take energy."""
    feet = sphere_feet(human)
    tag = feet.model.tag_names.index("l_sole_heel")
    radius = feet.radii["l_sole_heel"]
    first = foot_phases(rocking)[0]
    which = rocking.t < first.end
    centre = np.array([feet.model.tags(q)[tag] for q in rocking.q[which]])
    turned = [human.frame_pose(q, "l_sole").rotation for q in rocking.q[which]]
    pitch = np.array([pin.rpy.matrixToRpy(turn)[1] for turn in turned])
    assert np.ptp(pitch) > math.radians(1.5)
    distance = radius * (pitch - pitch[0])
    np.testing.assert_allclose(centre[:, 0] - centre[0, 0], distance, atol=1e-10)
    np.testing.assert_allclose(centre[:, 2], radius, atol=1e-10)
    total = rocking.energy.sum(axis=1)
    impacts = [e.time for e in rocking.events if e.kind == "impact"]
    piece = np.searchsorted(impacts, rocking.t)
    scale = rocking.energy[:, 0].max()
    for k in range(len(impacts) + 1):
        assert np.ptp(total[piece == k]) < 1e-8 * scale
    for k in range(len(impacts)):
        assert total[piece == k + 1][0] < total[piece == k][0] - 1e-3 * scale


def test_driven_ankles_roll_the_feet(human: hs.Model) -> None:
    """Ankle servos sway the body: the weight goes to the heels, to all, to the toes."""
    lean = math.radians(2.8)
    ankles = [human.joint_names.index(f"{side}_ankle_pitch") for side in "lr"]
    joints = np.zeros(human.nv - 6)
    joints[ankles] = lean
    q = human.standing(joints)
    q[3:7] = pin.Quaternion(pin.utils.rotate("y", lean)).coeffs()
    q[2] -= human.contact(q)[:, 2].min()

    def sway(t: float, state: hs.ControlState) -> np.ndarray:
        angles = joints.copy()
        size = math.radians(0.6) * min(t, 1.0)
        angles[ankles] += size * math.sin(2 * math.pi * t)
        return angles

    servo = Servo(
        human,
        gain=4000.0,
        damping=40.0,
        stall_torque=1500.0,
        no_load_speed=50.0,
        command_period=0.01,
        rotor_inertia=0.05,
    )
    still = [name for name in human.joint_names if "ankle_pitch" not in name]
    sim = hs.Simulation(
        human, servo, sway, locked=still, contacts=hs.Contacts(geometry="spheres")
    )
    run = sound(sim.run(q, t_end=2.1))
    phases = foot_phases(run)
    long = [phase.word for phase in phases if phase.end - phase.start > 0.01]
    assert long == ["all", "heel", "all", "toe", "all", "heel"]
    assert "air" not in {phase.word for phase in phases}
    assert (run.contacts[:, :6] != 2).all()


def by_virtual_power(
    run: Run, system: ModelSystem, k: int, place: pin.SE3
) -> np.ndarray:
    """J^T f of a sample by virtual power in the frames of its contact joints (nv,)."""
    model = system.model
    data = model.data()
    pin.computeJointJacobians(model.pin, data, run.q[k])
    points = model.tag_points(system.contact_points)
    total = np.zeros(model.nv)
    normal, along = place.rotation[:, 2], place.rotation[:, 0]
    across = np.cross(normal, along)
    for c, (row, local) in enumerate(zip(points.row, points.local, strict=True)):
        if not run.contacts[k, c]:
            continue
        link = points.joints[row]
        ball = Sphere(float(system.radii[c]), pin.SE3(np.eye(3), local))
        joint = ContactJoint(Plane(place), ball, sliding=False)
        state = joint.join(data.oMi[link], tolerance=1e-8)
        jacobian = pin.getJointJacobian(model.pin, data, link, pin.LOCAL)
        still = np.zeros_like(jacobian)
        velocity = relative_velocity(state, np.zeros(6), jacobian @ run.v[k])
        np.testing.assert_allclose(velocity[:3], 0.0, atol=1e-9)
        n, t1, t2 = run.forces[k, c]
        force = n * normal + t1 * along + t2 * across
        wrench = np.concatenate([state.first.rotation.T @ force, np.zeros(3)])
        assert wrench[2] == pytest.approx(n, abs=1e-9)
        total += generalized_force(state, wrench, still, jacobian)
    total[system.locked] = 0.0
    return total


def test_forces_of_a_rolling_foot_by_virtual_power(
    rocking: Run, human: hs.Model
) -> None:
    """Contact frames of heel and toe give the contact problem's J^T f to round-off."""
    feet = sphere_feet(human)
    system = ModelSystem(
        feet.model, hs.Ground(), locked=["*"], contacts=feet.contacts, radii=feet.radii
    )
    flat = pin.SE3.Identity()
    for k in range(0, len(rocking.t), 20):
        rows = system.terms(rocking.q[k], rocking.v[k], np.arange(6)).jacobian
        expected = np.einsum("cij,ci->j", rows, rocking.forces[k, :6])
        wrench = by_virtual_power(rocking, system, k, flat)
        scale = np.abs(expected).max()
        assert scale > 0.5 * human.mass * G
        np.testing.assert_allclose(wrench, expected, atol=1e-12 * scale)


def slope_run(angle: float, period: float) -> tuple[Run, ModelSystem]:
    """The ball rolls down a slope, thrown sideways and spinning about the normal."""
    ball = hs.load_model(resource("urdf", "ball.urdf"))
    ground = hs.Ground.slope(angle, friction=0.8)
    sim = hs.Simulation(
        ball, ground=ground, contacts=hs.Contacts(radii={"centre": RADIUS})
    )
    q = ball.neutral()
    normal = np.array([-math.sin(angle), 0.0, math.cos(angle)])
    q[:3] = RADIUS * normal
    spin = np.cross(normal, [0.0, 0.5, 0.0]) / RADIUS + 3.0 * normal
    run = sim.run(
        q, np.array([0.0, 0.5, 0.0, *spin]), t_end=0.6, sampling_period=period
    )
    assert isinstance(sim.system, ModelSystem)
    return sound(run), sim.system


def test_forces_of_a_rolling_ball() -> None:
    """On a slope: m g cos, and 2/7 m g sin of friction; by virtual power the same."""
    angle = 0.3
    run, system = slope_run(angle, 0.05)
    weight = system.model.mass * G
    assert (run.contacts[:, 0] == 1).all()
    pull = 2 / 7 * weight * math.sin(angle)
    forces = [weight * math.cos(angle), pull, 0.0]
    expected = np.tile(forces, (len(run.t), 1))
    np.testing.assert_allclose(run.forces[:, 0], expected, atol=1e-12)
    place = pin.SE3(pin.utils.rotate("y", -angle), np.zeros(3))
    for k in range(len(run.t)):
        rows = system.terms(run.q[k], run.v[k], np.arange(1)).jacobian
        wrench = by_virtual_power(run, system, k, place)
        np.testing.assert_allclose(wrench, rows[0].T @ run.forces[k, 0], atol=1e-12)


def off_the_joint(angle: float, h: float) -> tuple[float, float]:
    """Path [m] and rotation [rad] of the ball on a slope, off the contact joint's.

    The joint is stepped over two samples at a time by the rates of the one between.
    """
    run, _ = slope_run(angle, h)
    place = pin.SE3(pin.utils.rotate("y", -angle), np.zeros(3))
    joint = ContactJoint(Plane(place), Sphere(RADIUS), sliding=False)
    state = joint.join(pin.XYZQUATToSE3(run.q[0]))
    path, rotation = 0.0, 0.0
    for k in range(1, len(run.t) - 1, 2):
        turn = pin.Quaternion(run.q[k, 3:7]).matrix() @ run.v[k, 3:]
        wx, wy, wz = state.first.rotation.T @ turn
        velocity = contact_velocity(rolling=(wx, wy), pivoting=wz)
        state = joint.step(state, velocity, 2 * h)
        there = pin.XYZQUATToSE3(run.q[k + 1])
        off = state.relative.translation - there.translation
        path = max(path, float(np.abs(off).max()))
        turned = pin.log3(state.relative.rotation.T @ there.rotation)
        rotation = max(rotation, float(np.linalg.norm(turned)))
    assert np.abs(run.q[-1, :2]).min() > 0.2
    return path, rotation


def test_a_ball_on_a_slope_moves_as_the_joint() -> None:
    """The same parabola; with constant rates a step, the rotation of order 2."""
    (path, coarse), (_, fine) = off_the_joint(0.3, 0.004), off_the_joint(0.3, 0.002)
    assert path < 1e-10  # rates are linear in time: those half way give it exactly
    assert coarse < 1e-3
    assert coarse / fine == pytest.approx(4.0, rel=0.02)


def test_a_ball_around_a_square_comes_back_turned() -> None:
    """Path and rotation of the contact joint, and the holonomy of the closed path."""
    run = sound(read_scenario("rolling-sphere").run(progress=False))
    assert (run.contacts[:, 0] == 1).all()
    joint = ContactJoint(Plane(), Sphere(RADIUS), sliding=False, pivoting=False)
    state = joint.start((0.0, 0.0, 0.0), (0.0, 0.0, -RADIUS))
    first = state.relative.rotation
    start = pin.Quaternion(run.q[0, 3:7]).matrix()
    side = 0
    for k in range(1, len(run.t)):
        x, y = ((1, 0), (0, 1), (-1, 0), (0, -1))[side]
        rolling = (-y / RADIUS, x / RADIUS)  # at 1 m/s
        state = joint.step(state, contact_velocity(rolling=rolling), 0.01)
        side = k // 40
        np.testing.assert_allclose(state.relative.translation, run.q[k, :3], atol=1e-9)
        turn = state.relative.rotation @ first.T @ start
        there = pin.Quaternion(run.q[k, 3:7]).matrix()
        assert np.linalg.norm(pin.log3(turn.T @ there)) < 1e-9
    f = 0.4 / RADIUS
    x, y = (lambda a: pin.utils.rotate("x", a)), (lambda a: pin.utils.rotate("y", a))
    holonomy = x(f) @ y(-f) @ x(-f) @ y(f)
    assert np.linalg.norm(pin.log3(there.T @ holonomy)) < 1e-9
    assert np.abs(run.q[-1, :3] - run.q[0, :3]).max() < 1e-10
    assert np.linalg.norm(pin.log3(there)) > 1.0


def test_runs_without_sphere_feet_have_no_phases(khr1: hs.Model) -> None:
    """Corners are no heels and toes; neither is another sole."""
    run = hs.Simulation(khr1, locked=["*"]).run(khr1.neutral(), t_end=0.02)
    with pytest.raises(hs.errors.ParameterError, match="no sphere feet"):
        foot_phases(run)
    sim = hs.Simulation(khr1, locked=["*"], contacts=hs.Contacts(geometry="spheres"))
    run = sim.run(khr1.neutral(), t_end=0.02)
    with pytest.raises(hs.errors.ParameterError, match="'tail'"):
        foot_phases(run, sole="tail")


def test_bad_geometry(khr1: hs.Model, tmp_path: Path) -> None:
    """An unknown word, in Python and in a file, where the file's line is reported."""
    with pytest.raises(hs.errors.ParameterError, match="contact_geometry"):
        hs.Simulation(khr1, contacts=hs.Contacts(geometry="wheels"))
    from humans_sim.dynamics.problems import bouncing_ball

    with pytest.raises(hs.errors.ParameterError, match="contacts, .* biped models"):
        hs.Simulation(bouncing_ball(), contacts=hs.Contacts(geometry="spheres"))
    path = tmp_path / "mine.yaml"
    head = "title: x\nmodel: khr1\ntime: {end: 1, sampling_period: 0.1}\n"
    for text, message in (
        ("wheels", r":4: contact_geometry"),
        ("{spheres: {heel_radius: 1}}", r":4: .*half the sole's width"),
        ("{spheres: {toe_radius: 1}}", "toe_radius"),
        ("{cubes: {}}", "cubes"),
    ):
        path.write_text(f"{head}contact_geometry: {text}\n")
        with pytest.raises(hs.errors.ModelFileError, match=message):
            read_scenario(str(path)).prepare()
    path.write_text(f"{head}contact_geometry: {{spheres: {{heel_radius: 0.01}}}}\n")
    simulation, q, _ = read_scenario(str(path)).prepare()
    assert simulation.system.radii[0] == 0.01
    assert simulation.system.gaps(q)[:6].min() == pytest.approx(0.0, abs=1e-12)


def test_a_walk_on_sphere_feet(tmp_path: Path) -> None:
    """The KHR-1's walk, balanced by its sole forces, on balls by one more line."""
    text = resource("config", "scenarios", "khr1-walk.yaml").read_text()
    path = tmp_path / "walk.yaml"
    path.write_text(f"{text}\ncontact_geometry: spheres\n")
    run = sound(read_scenario(str(path)).with_changes(end=2.5).run(progress=False))
    assert run.q[-1, 0] > 0.05
    assert run.q[-1, 2] == pytest.approx(run.q[0, 2], abs=0.01)
    assert {phase.word for phase in foot_phases(run, sole="l_sole")} >= {"air", "all"}
