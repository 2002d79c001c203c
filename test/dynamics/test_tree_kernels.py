# SPDX-License-Identifier: Apache-2.0
"""Algorithms on a table of links against pinocchio's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes import SceneBody, SceneSystem
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    model_energies,
)
from humans_sim.dynamics.tree_kernels import (
    tree_configuration,
    tree_equations,
    tree_rates,
    tree_table,
)


def random_tree(rng: np.random.Generator) -> pin.Model:
    """A free base with chains of joints that turn or slide about slanted axes."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    parents = [joint]
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    for k in range(7):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        kinds = (pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned)
        # Branches start on the way back to the root: links are numbered depth first.
        parent = parents[rng.integers(len(parents))]
        parents = parents[: parents.index(parent) + 1]
        place = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
        joint = model.addJoint(parent, kinds[k % 3 == 2](axis), place, f"joint{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
        parents.append(joint)
    return model


def state(model: pin.Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random configuration and velocity."""
    q = np.concatenate([rng.normal(size=3), rng.normal(size=4), np.zeros(model.nq - 7)])
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] = rng.uniform(-1, 1, size=model.nq - 7)
    return q, rng.normal(size=model.nv)


def relative(value: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(value - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_any_tree_agrees_with_pinocchio(seed: int) -> None:
    """Mass matrix, bias, Jacobian and energies of joints that turn and slide."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    model = random_tree(rng)
    q, v = state(model, rng)
    armature = rng.uniform(0, 0.1, size=model.nv)
    table = tree_table(model, armature, None, np.zeros(0, dtype=np.int64))
    assert table is not None
    mass, bias, where, reach = tree_equations(tuple(table), q, v)
    data = model.createData()
    expected = pin.crba(model, data, q, pin.Convention.WORLD) + np.diag(armature)
    assert reach
    assert relative(mass, expected) < 1e-12
    assert relative(bias, pin.nonLinearEffects(model, data, q, v)) < 1e-12
    assert relative(where[2], pin.computeJointJacobians(model, data, q)) < 1e-12
    kinetic, potential = model_energies(tuple(table), q, v)[0]
    own = pin.computeKineticEnergy(model, data, q, v) + 0.5 * armature @ v**2
    assert kinetic == pytest.approx(own, rel=1e-12)
    assert potential == pytest.approx(
        pin.computePotentialEnergy(model, data, q), rel=1e-12
    )


@pytest.mark.parametrize("name", ["khr1", "bip", "human36"])
def test_models_agree_with_their_system(name: str) -> None:
    """The built-in models, Bip with its geared rotors."""
    model = hs.load_model(name)
    system = ModelSystem(model, hs.Ground())
    assert system.tree is not None
    rng = np.random.default_rng(1)
    q, v = state(model.pin, rng)
    middle = 0.5 * (model.lower_limits + model.upper_limits)
    q[7:] = middle + 0.2 * rng.uniform(-1, 1, size=middle.size)
    terms = system.terms(q, v, np.zeros(0, dtype=np.int64))
    mass, bias, _, _ = tree_equations(tuple(system.tree), q, v)
    assert relative(mass, terms.mass) < 1e-12
    assert relative(bias, terms.bias) < 1e-12
    energies = model_energies(tuple(system.tree), q, v)[0]
    np.testing.assert_allclose(energies, system.energies(q, v), rtol=1e-12)


def test_free_bodies_beside_a_robot() -> None:
    """Mass, bias and Jacobian of roots whose velocity is in the world's frame."""
    robot = hs.load_model("khr1")
    bodies = [SceneBody.box(f"box{k}", 1.0 + k, (0.1, 0.2, 0.3)) for k in range(2)]
    scene = SceneSystem(bodies, robot=robot)
    assert scene.tree is not None
    rng = np.random.default_rng(2)
    places = {body.name: rng.normal(size=3) for body in bodies}
    turns = {body.name: pin.exp3(rng.normal(size=3)) for body in bodies}
    q = scene.configuration(places, state(robot.pin, rng)[0], turns)
    v = rng.normal(size=scene.nv)
    terms = scene.terms(q, v, np.zeros(0, dtype=np.int64))
    mass, bias, where, _ = tree_equations(tuple(scene.tree), q, v)
    assert relative(mass, terms.mass) < 1e-12
    assert relative(bias, terms.bias) < 1e-12
    assert relative(where[2], scene._data.J) < 1e-12
    energies = model_energies(tuple(scene.tree), q, v)
    assert energies.shape == (3, 2)
    np.testing.assert_allclose(energies.sum(axis=0), scene.energies(q, v), rtol=1e-12)
    x, h = rng.normal(scale=0.1, size=scene.nv), 1e-6
    table = tuple(scene.tree)
    rates = tree_rates(table, q, x, v)
    moved = tree_configuration(table, q, x + h * rates)
    start = tree_configuration(table, q, x)
    base = slice(0, robot.nq), slice(0, robot.nv)
    twist = pin.difference(robot.pin, start[base[0]], moved[base[0]]) / h
    np.testing.assert_allclose(twist, v[base[1]], atol=1e-4)
    places = (moved - start)[robot.nq :].reshape(2, 7)[:, :3] / h
    speeds = v[robot.nv :].reshape(2, 6)
    np.testing.assert_allclose(places, speeds[:, :3], atol=1e-4)
    for k in range(2):
        part = slice(robot.nq + 7 * k + 3, robot.nq + 7 * k + 7)
        old, new = (pin.Quaternion(p[part]).matrix() for p in (start, moved))
        np.testing.assert_allclose(pin.log3(old.T @ new) / h, speeds[k, 3:], atol=1e-4)


def test_joints_of_several_axes_have_no_table() -> None:
    """A ball joint is left to the functions of the system."""
    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.addJoint(base, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    none = np.zeros(0, dtype=np.int64)
    assert tree_table(model, np.zeros(model.nv), None, none) is None
