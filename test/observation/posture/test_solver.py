# SPDX-License-Identifier: Apache-2.0
"""Postures from markers: exact ones, noisy ones, missing and swapped markers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.observation.markers.filters import fill_gaps
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.kernels import factorise, substitute
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.tree_kernels import (
    Tree,
    chain_of,
    empty_poses,
    place,
    point_jacobian,
)
from humans_sim.observation.posture.wide_search import normal_matrix
from humans_sim.observation.search_settings import SolverSettings

NOISE = 0.005
HEAD = ("head_pitch", "head_yaw", "head_roll")
"""One tag sees two of the head's three turns."""


@pytest.fixture(scope="module")
def tags(human: hs.Model) -> MarkerSet:
    """The 28 tags."""
    return load_marker_set("canonical", human)


@pytest.fixture(scope="module")
def stroll(human: hs.Model) -> np.ndarray:
    """Two seconds of walking with every joint in motion, arms bent."""
    q = walking(human, 200)
    phase = np.linspace(0, 4 * np.pi, len(q))
    # Where elbow and wrist turn about one axis, tags cannot tell one from the other.
    arms = {"elbow_pitch": 0.2, "elbow_yaw": 1.3, "wrist_pitch": 0.7}
    for k, name in enumerate(human.joint_names):
        q[:, 7 + k] += arms.get(name[2:], 0.0) + 0.06 * np.sin(phase + k)
    q[:, 7:] = np.clip(q[:, 7:], human.lower_limits, human.upper_limits)
    return q


def trial_of(model: hs.Model, q: np.ndarray, rate: float = 100.0) -> MarkerTrial:
    """The tags of a motion."""
    positions = np.array([model.tags(row)[:-1] for row in q])
    times = np.arange(len(q)) / rate
    return MarkerTrial(model.tag_names, times, positions, np.arange(1, len(q) + 1))


def spreads(solver: PostureSolver, q: np.ndarray) -> np.ndarray:
    """Cramer-Rao bound of the joints for markers of unit noise [rad/m]."""
    matrix = normal_matrix(solver.marked, q)
    return np.sqrt(np.diag(np.linalg.inv(matrix + 1e-12 * np.eye(len(matrix)))))[6:]


def _but_the_head(model: hs.Model) -> np.ndarray:
    return np.array([name not in HEAD for name in model.joint_names])


@pytest.mark.parametrize("name", ["human36", "bip", "khr1"])
def test_positions_and_jacobians_are_pinocchios(
    name: str, rng: np.random.Generator
) -> None:
    """The kernels walk the same tree."""
    model = hs.load_model(name)
    tags = load_marker_set("canonical", model)
    solver = PostureSolver(model, tags)
    tree, poses = solver.tree, empty_poses(len(solver.tree.parent))
    for _ in range(5):
        q = model.random_configuration(rng)
        expected = model.tags(q)[:-1]
        posture = solver.explained(q, expected)
        np.testing.assert_allclose(posture.markers, expected, atol=1e-13)
        # Ours has the base on world axes, pinocchio on the base's own.
        place(tree, q, poses)
        world = np.eye(model.nv)
        world[:3, :3] = world[3:6, 3:6] = pin.Quaternion(*np.roll(q[3:7], 1)).matrix()
        jacobians = model.tags_jacobian(q)
        for row, body in enumerate(solver.bodies[0]):
            chain = np.empty(model.nv, np.int64)
            size = chain_of(body, tree.parent, chain)
            part, whole = np.empty((3, model.nv)), np.zeros((3, model.nv))
            point_jacobian(expected[row], chain, size, poses, part)
            whole[:, chain[:size]] = part[:, :size]
            np.testing.assert_allclose(whole @ world, jacobians[row], atol=1e-12)


def test_factorisation_of_a_tree_equals_a_dense_one(
    human: hs.Model, tags: MarkerSet, rng: np.random.Generator
) -> None:
    """No fill-in is no loss."""
    solver = PostureSolver(human, tags)
    tree: Tree = solver.tree
    matrix = normal_matrix(solver.marked, human.random_configuration(rng))
    matrix += 1e-3 * np.eye(len(matrix))
    right = rng.normal(size=len(matrix))
    factor, found = np.tril(matrix), right.copy()
    assert factorise(factor, tree.above)
    substitute(factor, tree.above, found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
    assert not factorise(-np.tril(matrix), tree.above)


@pytest.mark.study
def test_a_thousand_postures_are_recovered(
    human: hs.Model, tags: MarkerSet, rng: np.random.Generator
) -> None:
    """Every joint starts 0.3 rad away; the base 0.3 m and 0.3 rad an axis."""
    solver = PostureSolver(human, tags)
    unseen = np.array([name in HEAD for name in human.joint_names])
    compared = 0
    for _ in range(1000):
        q = human.random_configuration(rng)
        start = human.integrate(q, rng.choice([-0.3, 0.3], human.nv))
        start[7:] = np.clip(start[7:], human.lower_limits, human.upper_limits)
        found = solver.solve(human.tags(q)[:-1], start)
        assert np.linalg.norm(found.differences, axis=1).max() < 1e-6
        # A lever of 2 cm and more: what markers see well enough to speak of 1e-5 rad.
        seen = (spreads(solver, q) < 50.0) & ~unseen
        assert np.abs(found.q - q)[7:][seen].max() < 1e-5
        compared += int(seen.sum())
    assert compared > 27_000  # of 33 joints each that are not the head's


def test_markers_count_by_their_weights(
    human: hs.Model, tags: MarkerSet, stroll: np.ndarray, rng: np.random.Generator
) -> None:
    """The gradient of the weighted sum of squares vanishes, by pinocchio's Jacobian."""
    weights = rng.uniform(0.2, 5.0, len(tags.markers))
    pairs = zip(tags.markers, weights.tolist(), strict=True)
    weighted = tuple(replace(marker, weight=weight) for marker, weight in pairs)
    q = stroll[60]
    exact = human.tags(q)[:-1]
    y = exact + rng.normal(0, NOISE, exact.shape)
    found = PostureSolver(human, replace(tags, markers=weighted)).solve(y, q)
    jacobians = human.tags_jacobian(found.q)
    misses = human.tags(found.q)[:-1] - y
    inside = np.full(human.nv, True)
    joints = found.q[7:]
    inside[6:] = (joints > human.lower_limits) & (joints < human.upper_limits)

    def gradient(weight: np.ndarray) -> float:
        rows = np.einsum("kij,ki,k->j", jacobians, misses, weight)
        return float(np.linalg.norm(rows[inside]))

    assert gradient(weights) < 0.2 * gradient(np.ones(len(weights)))


def test_noise_is_borne_as_well_as_can_be(
    human: hs.Model, tags: MarkerSet, stroll: np.ndarray, rng: np.random.Generator
) -> None:
    """The spread of the joints is the Cramer-Rao bound, within 20 %."""
    solver = PostureSolver(human, tags)
    q = stroll[60]
    bound = NOISE * spreads(solver, q)
    exact = human.tags(q)[:-1]
    errors = np.array(
        [
            solver.solve(exact + rng.normal(0, NOISE, exact.shape), q).q[7:] - q[7:]
            for _ in range(400)
        ]
    )
    seen = bound < 0.2
    assert seen.sum() >= 30
    ratio = np.sqrt((errors**2).mean(axis=0))[seen] / bound[seen]
    assert ratio.min() > 0.8 and ratio.max() < 1.2, ratio
    assert 0.95 < ratio.mean() < 1.05


@pytest.mark.parametrize("mode", ["static", "smooth"])
def test_missing_markers_make_no_jumps(
    human: hs.Model,
    tags: MarkerSet,
    stroll: np.ndarray,
    rng: np.random.Generator,
    mode: str,
) -> None:
    """30 % missing at random: no step above twice the largest of the motion."""
    trial = trial_of(human, stroll)
    positions = trial.positions.copy()
    positions[rng.random(positions.shape[:2]) < 0.3] = np.nan
    result = solve_postures(human, trial.moved(positions), tags, mode=mode)
    seen = _but_the_head(human)
    steps = np.abs(np.diff(result.q[:, 7:], axis=0))[:, seen].max()
    assert steps < 2 * np.abs(np.diff(stroll[:, 7:], axis=0))[:, seen].max()
    assert (result.status == MarkerStatus.OCCLUDED).mean() == pytest.approx(
        0.3, abs=0.02
    )
    assert np.isnan(result.residuals[result.occluded]).all()


def test_interpolated_markers_are_told(human: hs.Model, stroll: np.ndarray) -> None:
    """A filled gap holds the posture and is said to be filled."""
    trial = trial_of(human, stroll[:60])
    positions = trial.positions.copy()
    positions[20:25, 3] = np.nan
    result = solve_postures(human, fill_gaps(trial.moved(positions), 0.1))
    assert (result.status[20:25, 3] == MarkerStatus.INTERPOLATED).all()
    assert result.occluded.sum() == 5
    assert result.rms < 1e-4


@pytest.mark.parametrize(
    "pair",
    [
        ("r_lateral_malleolus", "l_lateral_malleolus"),
        ("r_humeral_lateral_epicn", "r_radial_styloid"),
        ("r_digit2", "r_metatarsal_pha1"),
    ],
)
@pytest.mark.parametrize("mode", ["static", "smooth"])
def test_swapped_markers_are_survived(
    human: hs.Model,
    tags: MarkerSet,
    stroll: np.ndarray,
    pair: tuple[str, str],
    mode: str,
) -> None:
    """Two labels change places for 50 frames."""
    trial = trial_of(human, stroll)
    columns = [trial.names.index(name) for name in pair]
    positions = trial.positions.copy()
    positions[80:130, columns] = positions[80:130, columns[::-1]]
    result = solve_postures(human, trial.moved(positions), tags, mode=mode)
    told = result.status == MarkerStatus.REJECTED
    assert told[80:130][:, columns].all()
    assert told.sum() == 100
    # The limb that lost its markers is led by those beyond; then all is as before.
    error = np.abs(result.q - stroll)[:, 7:][:, _but_the_head(human)]
    assert error[80:130].max() < 0.3
    assert error[135:].max() < 0.05


def test_a_ghost_far_away_changes_nothing(
    human: hs.Model, tags: MarkerSet, stroll: np.ndarray
) -> None:
    """A reflection across the hall, in the very first frame."""
    solver = PostureSolver(human, tags)
    y = human.tags(stroll[0])[:-1]
    y[5] = [30.0, -40.0, 5.0]
    posture = solver.solve(y)
    assert posture.status[5] == MarkerStatus.REJECTED
    assert posture.rms < 1e-3


def test_first_frame_from_anywhere(
    human: hs.Model, tags: MarkerSet, stroll: np.ndarray, rng: np.random.Generator
) -> None:
    """Turned and moved in the room: no start is needed."""
    for k in range(8):
        q = stroll[20 * k].copy()
        q[:3] += rng.uniform(-5, 5, 3)
        q[3:7] = pin.Quaternion(pin.utils.rotate("z", 0.8 * k)).coeffs()
        solver = PostureSolver(human, tags)
        assert solver.solve(human.tags(q)[:-1]).rms < 1e-5


def test_joints_stay_within_their_limits(
    human: hs.Model, tags: MarkerSet, rng: np.random.Generator
) -> None:
    """Markers of a knee bent backwards: the knee ends on its limit, a true minimum."""
    knee = human.joint_names.index("r_knee")
    q = human.neutral()
    q[7 + knee] = human.upper_limits[knee] + 0.3
    y = human.tags(q)[:-1]
    settings = SolverSettings(outlier=np.inf)
    solver = PostureSolver(human, tags, settings=settings)
    found = solver.solve(y, human.neutral())
    assert found.q[7 + knee] == human.upper_limits[knee]
    assert (found.q[7:] >= human.lower_limits).all()
    assert (found.q[7:] <= human.upper_limits).all()
    cost = (found.differences**2).sum()
    for _ in range(200):  # no feasible posture nearby is better
        other = human.integrate(found.q, rng.normal(0, 1e-3, human.nv))
        other[7:] = np.clip(other[7:], human.lower_limits, human.upper_limits)
        assert (solver.explained(other, y).differences ** 2).sum() > cost


def test_joints_without_markers_rest_and_are_told(human: hs.Model) -> None:
    """Neither head nor hands have markers."""
    tags = load_marker_set("canonical", human)
    legs = [
        m.name for m in tags.markers if "hand" not in m.segment and m.segment != "head"
    ]
    solver = PostureSolver(human, tags.of(legs))
    assert set(HEAD) < set(solver.unobservable)
    assert {"r_wrist_pitch", "r_wrist_roll", "l_wrist_pitch", "l_wrist_roll"} < set(
        solver.unobservable
    )
    assert "r_knee" not in solver.unobservable
    q = human.neutral()
    q[7:] = 0.2
    q[7:] = np.clip(q[7:], human.lower_limits, human.upper_limits)
    rows = [human.tag_names.index(name) for name in legs]
    found = solver.solve(human.tags(q)[rows], human.neutral())
    for name in solver.unobservable:
        assert abs(found.q[7 + human.joint_names.index(name)]) < 1e-6


def test_a_frame_without_markers_goes_on(
    human: hs.Model, tags: MarkerSet, stroll: np.ndarray
) -> None:
    """The cameras blink."""
    trial = trial_of(human, stroll[:40])
    positions = trial.positions.copy()
    positions[20:22] = np.nan
    result = solve_postures(human, trial.moved(positions), tags)
    assert not result.converged[20:22].any() and result.converged[22:].all()
    assert np.isfinite(result.q).all()
    error = np.abs(result.q - stroll[:40])[:, 7:]
    assert error[:, _but_the_head(human)].max() < 0.05
    assert np.isnan(result.frame_rms[20])


def test_lost_and_found(human: hs.Model, tags: MarkerSet, stroll: np.ndarray) -> None:
    """The person is elsewhere, turned round, from one frame to the next."""
    there = stroll[100].copy()
    there[:3] += [3.0, 1.0, 0.0]
    there[3:7] = [0.0, 0.0, 1.0, 0.0]
    solver = PostureSolver(human, tags)
    solver.solve(human.tags(stroll[99])[:-1])
    assert solver.solve(human.tags(there)[:-1]).rms < 1e-4


def test_bad_arguments(human: hs.Model, tags: MarkerSet) -> None:
    """Typed errors that say what."""
    solver = PostureSolver(human, tags)
    with pytest.raises(ConfigurationError, match="28 markers"):
        solver.solve(np.zeros((5, 3)))
    with pytest.raises(ConfigurationError, match="entries"):
        solver.solve(np.zeros((28, 3)), np.zeros(3))
    with pytest.raises(ParameterError, match="only 1 of the markers"):
        PostureSolver(human, tags, ["vertex", "foo"])
    with pytest.raises(ConfigurationError, match="rest"):
        PostureSolver(human, tags, rest=np.zeros(3))
    with pytest.raises(ParameterError, match="tolerance"):
        SolverSettings(tolerance=-1.0)
    with pytest.raises(ParameterError, match="mode"):
        solve_postures(human, trial_of(human, human.neutral()[None]), mode="quick")
