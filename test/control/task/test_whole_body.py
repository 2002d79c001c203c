# SPDX-License-Identifier: Apache-2.0
"""Whole-body control of a standing human: equations, cones, bounds, symmetry, pace."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import IdealTorque
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.task.task_functions import CentreOfMass, JointTask
from humans_sim.control.task.whole_body import (
    ControlError,
    WeightedTask,
    WholeBody,
    WholeBodySolution,
)
from humans_sim.control.trajectories.motion import (
    Curve,
    Follow,
    Motion,
    Path,
    body_tasks,
)
from humans_sim.dynamics.model_system import ModelSystem

CLAVICLES = [f"{side}_clavicle_{axis}" for side in "lr" for axis in ("yaw", "roll")]
KNEES = ("l_knee", "r_knee")
SOLES = ("l_sole", "r_sole")
FRICTION = 0.5


def upright(model: hs.Model) -> np.ndarray:
    """The model stands straight."""
    return model.standing(np.zeros(len(model.joint_names)))


def corners(model: hs.Model) -> list[str]:
    """The eight points of the feet."""
    return [name for sole in model.soles for name in sole.contacts]


def standing(model: hs.Model) -> Motion:
    """Knees slightly bent, arms a little aside: a motion that goes nowhere."""
    curves = {"base_x": Curve([(0.0, 0.02)]), "base_z": Curve([(0.0, 0.88)])}
    curves |= {f"{side}_shoulder_roll": Curve([(0.0, 0.3)]) for side in "lr"}
    return Motion(model, curves, SOLES, upright(model), 0.1)


def rising(model: hs.Model) -> Path:
    """Postures from a crouch to standing, by the angle of the knees."""
    curves = {
        "base_x": Curve([(0.0, 0.0), (1.0, 0.02)]),
        "base_z": Curve([(0.0, 0.75), (1.0, 0.88)]),
        "base_pitch": Curve([(0.0, 0.4), (1.0, 0.0)]),
    }
    motion = Motion(model, curves, SOLES, upright(model), 1.0)
    return Path(model, motion.postures, KNEES)


@pytest.fixture(scope="module")
def system(human: hs.Model) -> ModelSystem:
    """A human on the floor, its clavicles locked."""
    return ModelSystem(human, Ground(), locked=CLAVICLES, contacts=corners(human))


@pytest.fixture
def body(system: ModelSystem) -> WholeBody:
    """Whole-body control that has solved nothing yet."""
    return WholeBody(system, FRICTION)


@pytest.fixture(scope="module")
def still(human: hs.Model) -> Motion:
    """The posture of most tests."""
    return standing(human)


@pytest.fixture
def follow(human: hs.Model, body: WholeBody, still: Motion) -> Follow:
    """Stay there."""
    return Follow(body, still, [(np.inf, corners(human))])


def residuals(
    system: ModelSystem, q: np.ndarray, v: np.ndarray, solution: WholeBodySolution
) -> tuple[float, float]:
    """What the equations of motion miss [N m], and the contacts' acceleration."""
    terms = system.terms(q, v, np.arange(8))
    rows = terms.jacobian.reshape(24, -1)
    total = terms.mass @ solution.acceleration + terms.bias
    total -= rows.T @ solution.forces.ravel() + np.r_[np.zeros(6), solution.torques]
    moved = rows @ solution.acceleration + terms.drift.ravel()
    return float(np.abs(total).max()), float(np.abs(moved).max())


def joint(model: hs.Model, name: str) -> int:
    """Place of a joint."""
    return model.joint_names.index(name)


def rolling(system: ModelSystem, q: np.ndarray, wish: np.ndarray) -> np.ndarray:
    """The velocity nearest to a wish with which the feet stay."""
    rows = system.terms(q, np.zeros(system.nv), np.arange(8)).jacobian.reshape(24, -1)
    fixed = np.zeros((len(system.locked), system.nv))
    fixed[np.arange(len(system.locked)), system.locked] = 1.0
    rows = np.vstack([rows, fixed])
    return wish - np.linalg.pinv(rows, rcond=1e-9) @ (rows @ wish)


def test_at_rest_the_feet_carry_the_weight(
    human: hs.Model, system: ModelSystem, follow: Follow, still: Motion
) -> None:
    """No acceleration; the sum of the forces is the weight, below the CoM."""
    q, v = still.postures[0], np.zeros(human.nv)
    solution = follow.solve(0.05, q, v)
    weight = human.mass * 9.81
    assert np.abs(solution.acceleration).max() < 1e-3
    assert solution.forces[:, 0].sum() == pytest.approx(weight, rel=1e-6)
    names = list(human.tag_names)
    places = human.tags(q)[[names.index(name) for name in corners(human)]]
    centre = solution.forces[:, 0] @ places[:, :2] / weight
    np.testing.assert_allclose(centre, human.com(q)[:2], atol=1e-4)
    assert solution.pace_rate == 0.0
    missed, moved = residuals(system, q, v, solution)
    assert missed < 1e-6 and moved < 1e-9


def test_equations_hold_in_motion(
    human: hs.Model,
    system: ModelSystem,
    follow: Follow,
    still: Motion,
    rng: np.random.Generator,
) -> None:
    """Whatever the state: equations, feet that stay, forces in their cones."""
    q, edge = still.postures[0], 0
    for _ in range(8):
        v = rolling(system, q, 0.2 * rng.normal(size=human.nv))
        solution = follow.solve(0.05, q, v)
        missed, moved = residuals(system, q, v, solution)
        assert missed < 1e-4 and moved < 1e-9
        normal = solution.forces[:, 0]
        tangent = np.linalg.norm(solution.forces[:, 1:], axis=1)
        assert (normal > -1e-3).all()
        assert (tangent <= FRICTION * normal + 1e-3).all()
        edge += int((tangent > 0.99 * FRICTION * normal)[normal > 1.0].sum())
        locked = system.locked
        np.testing.assert_array_equal(solution.acceleration[locked], 0.0)
    # The cones did matter.
    assert edge > 0


def test_tasks_are_reached_where_they_agree(
    human: hs.Model, system: ModelSystem, body: WholeBody, still: Motion
) -> None:
    """Away from its target the CoM accelerates as the gains say."""
    q, v = still.postures[0], np.zeros(human.nv)
    task = CentreOfMass(human)
    goal, gain = task.value(q) + [0.0, 0.0, -0.01], 60.0
    rest = np.zeros(3)
    weighted = WeightedTask(task, lambda t: (goal, rest, rest), 1e3, gain)
    solution = body.solve(0.0, q, v, [weighted], np.arange(8))
    got = task.jacobian(q) @ solution.acceleration
    np.testing.assert_allclose(got, [0.0, 0.0, -0.6], atol=1e-3)
    # Falling at 0.6 m/s^2 takes that much weight off the feet.
    assert solution.forces[:, 0].sum() == pytest.approx(human.mass * 9.21, rel=1e-4)


def test_tasks_hold_in_motion(
    human: hs.Model,
    system: ModelSystem,
    body: WholeBody,
    still: Motion,
    rng: np.random.Generator,
) -> None:
    """What the velocity alone adds to the second derivative is compensated."""
    q, task = still.postures[0], CentreOfMass(human)
    v = rolling(system, q, rng.normal(size=human.nv))
    value, jacobian, drift = task.terms(q, v)
    rest = np.zeros(3)
    weighted = WeightedTask(task, lambda t: (value, jacobian @ v, rest), 1e3)
    solution = body.solve(0.0, q, v, [weighted], np.arange(8))
    assert np.abs(drift).max() > 0.05
    np.testing.assert_allclose(jacobian @ solution.acceleration, -drift, atol=5e-3)


def test_damping_is_critical_unless_given(human: hs.Model) -> None:
    """Kv = 2 sqrt(Kp); the target's rate and curvature come with the pace."""
    task = CentreOfMass(human)
    value, slope, bend = np.array([[0.1, 0, 0], [0.5, 0, 0], [2.0, 0, 0]])
    rate, pace = np.array([0.3, 0, 0]), 2.0
    for given, damping in ((None, 20.0), (3.0, 3.0)):
        weighted = WeightedTask(task, lambda s: (value, slope, bend), 1.0, 100.0, given)
        steady, per_pace = weighted.desired_acceleration(0.0, pace, np.zeros(3), rate)
        expected = 2.0 * pace**2 + 100.0 * 0.1 + damping * (0.5 * pace - 0.3)
        np.testing.assert_allclose(steady, [expected, 0, 0])
        np.testing.assert_array_equal(per_pace, slope)


def test_symmetric_posture_has_symmetric_torques(
    human: hs.Model, follow: Follow, still: Motion
) -> None:
    """Left and right carry the same: equal values of both sides are mirror images."""
    solution = follow.solve(0.05, still.postures[0], np.zeros(human.nv))
    for name in human.joint_names:
        if name[0] == "l":
            left = solution.torques[joint(human, name)]
            right = solution.torques[joint(human, "r" + name[1:])]
            assert left == pytest.approx(right, abs=1e-4), name
    np.testing.assert_allclose(
        solution.forces[:4, 0], solution.forces[4:, 0], atol=1e-3
    )
    assert solution.torques[joint(human, "l_knee")] > 5.0
    assert solution.torques[joint(human, "l_shoulder_roll")] > 1.0


def test_given_bounds_are_kept(
    human: hs.Model, system: ModelSystem, follow: Follow, still: Motion
) -> None:
    """A knee that something else drives has the torque it has."""
    q, v = still.postures[0], np.zeros(human.nv)
    free = follow.solve(0.05, q, v)
    given = {"l_knee": (5.0, 5.0), "r_knee": (-3.0, -2.0), "l_elbow_pitch": (-1.0, 1.0)}
    solution = follow.solve(0.05, q, v, given)
    assert solution.torques[joint(human, "l_knee")] == pytest.approx(5.0, abs=1e-4)
    assert -3.001 < solution.torques[joint(human, "r_knee")] < -1.999
    assert residuals(system, q, v, solution)[0] < 1e-5
    # Weaker knees than standing needs: the body sinks.
    assert solution.acceleration[2] < free.acceleration[2] - 0.02


def test_pace_goes_with_the_knees(human: hs.Model, system: ModelSystem) -> None:
    """On a path by the knees' angle, its second derivative is their acceleration."""
    path = rising(human)
    k = len(path.angles) // 2
    q, tasks = path.postures[k], body_tasks(human, path.target)
    _, slope, _ = path.target(JointTask(human))(float(path.angles[k]))
    pace = 0.4
    wish = np.r_[np.zeros(6), pace * slope]
    # The base goes where the feet let it.
    rows = system.terms(q, wish, np.arange(8)).jacobian.reshape(24, -1)
    wish[:6] = -np.linalg.lstsq(rows[:, :6], rows[:, 6:] @ wish[6:], rcond=None)[0]
    assert np.abs(rows @ wish).max() < 1e-3
    v = rolling(system, q, wish)
    at, rate = path.parameter(q, v)
    assert at == pytest.approx(path.angles[k]) and rate == pytest.approx(pace, abs=1e-3)
    knees = [6 + joint(human, name) for name in KNEES]
    body = WholeBody(system, FRICTION)
    for rate_target in (-2.0, 0.0, 2.0):
        solution = body.solve(
            at, q, v, tasks, np.arange(8), pace=rate, pace_target=(rate_target, 1e3)
        )
        assert solution.pace_rate == pytest.approx(rate_target, abs=0.05)
        got = solution.acceleration[knees]
        np.testing.assert_allclose(got, solution.pace_rate, atol=0.1)
        assert residuals(system, q, v, solution)[0] < 1e-4


def test_free_pace_follows_the_knees(
    human: hs.Model, system: ModelSystem, body: WholeBody
) -> None:
    """With the torques that standing needs it rests; else it goes as the knees do."""
    path = rising(human)
    k = len(path.angles) // 2
    tasks, rest = body_tasks(human, path.target), np.zeros(human.nv)
    at, q = float(path.angles[k]), path.postures[k]
    static = body.solve(at, q, rest, tasks, np.arange(8), pace=0.0)
    need = float(static.torques[joint(human, "l_knee")])
    knees = [6 + joint(human, name) for name in KNEES]
    for surplus in (0.0, -2.0, 2.0):
        given = {name: (need + surplus, need + surplus) for name in KNEES}
        solution = body.solve(
            at, q, rest, tasks, np.arange(8), given, pace=0.0, pace_target=(0.0, 1e-4)
        )
        if surplus == 0.0:
            assert abs(solution.pace_rate) < 0.05
        else:
            assert abs(solution.pace_rate) > 0.2
        got = solution.acceleration[knees]
        np.testing.assert_allclose(got, solution.pace_rate, rtol=0.05, atol=0.05)


def test_no_solution_is_reported(human: hs.Model) -> None:
    """A stiff body whose weight lies behind the points that shall carry it."""
    toes = [name for name in corners(human) if "calcaneous" not in name]
    stiff = ModelSystem(human, Ground(), locked=["*"], contacts=toes)
    q = upright(human)
    with pytest.raises(ControlError, match="no torques serve these tasks"):
        WholeBody(stiff).solve(0.0, q, np.zeros(human.nv), [], np.arange(6))


def test_contradictions_are_refused(human: hs.Model, follow: Follow) -> None:
    """Bounds the wrong way round, joints that do not exist."""
    q, v = upright(human), np.zeros(human.nv)
    with pytest.raises(hs.errors.ParameterError, match="l_knee: 5.0 is above 4.0"):
        follow.solve(0.0, q, v, {"l_knee": (5.0, 4.0)})
    with pytest.raises(hs.errors.ParameterError, match="no joint 'tail'"):
        follow.solve(0.0, q, v, {"tail": (0.0, 0.0)})


def test_refusals(body: WholeBody, system: ModelSystem, still: Motion) -> None:
    """Friction, contacts, and until when they carry load."""
    with pytest.raises(hs.errors.ParameterError, match="friction must be above zero"):
        WholeBody(system, 0.0)
    with pytest.raises(hs.errors.ParameterError, match="no contact 'nose'"):
        body.contacts(["nose"])
    for support in ([], [(2.0, ["l_digit2"]), (1.0, ["l_digit2"])]):
        with pytest.raises(hs.errors.ParameterError, match="until times that grow"):
            Follow(body, still, support)


def test_support_changes_with_time(
    human: hs.Model, body: WholeBody, still: Motion
) -> None:
    """Forces at the contacts that are loaded then, and at these alone."""
    names = corners(human)
    law = Follow(body, still, [(1.0, names[:4]), (2.0, names), (3.0, names[4:])])
    args = still.postures[0], np.zeros(human.nv)
    sizes = [len(law.solve(t, *args).forces) for t in (0.5, 1.0, 1.5, 2.5, 9.0)]
    assert sizes == [4, 8, 8, 4, 4]


def test_human_stands(human: hs.Model, follow: Follow, still: Motion) -> None:
    """Closed loop for 0.3 s: the centre of mass stays, the feet keep the ground."""
    names = corners(human)
    simulation = hs.Simulation(
        human,
        IdealTorque(human),
        follow,
        ground=Ground(),
        locked=CLAVICLES,
        contacts=hs.Contacts(points=names),
        control_period=0.01,
    )
    run = simulation.run(still.postures[0], t_end=0.3, sampling_period=0.1)
    start, end = (human.com(q) for q in run.q[[0, -1]])
    assert np.abs(end - start).max() < 1e-4
    assert np.abs(run.v[-1]).max() < 1e-2
    weight = human.mass * 9.81
    assert run.forces[-1, :8, 0].sum() == pytest.approx(weight, rel=1e-3)
