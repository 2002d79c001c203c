# SPDX-License-Identifier: Apache-2.0
"""Bodies and robots on triangle meshes, in time steps."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.convex_cores import ConvexSolid
from humans_sim.contact.geometry.link_pairs import coal_solid, link_solids
from humans_sim.contact.geometry.mesh_contact_kernels import least_distances
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.mover_pairs import body_solid
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem

GROUND = hs.Ground(friction=0.6)
INSIDE = 1e-5
"""Depth of solids in meshes that is none [m]."""
BOX = SceneBody.box("box", 1.0, (0.1, 0.08, 0.06))
BALL = SceneBody.ball("ball", 0.5, 0.05)


def meshes_of(ground: hs.Ground) -> list[hs.TriangleMesh]:
    """The meshes of a scene."""
    return [s for s in ground.solids if isinstance(s, hs.TriangleMesh)]


class Surface:
    """A mesh for coal."""

    def __init__(self, mesh: hs.TriangleMesh) -> None:
        self.mesh, self.model = mesh, coal.BVHModelOBBRSS()
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in mesh.vertices:
            points.append(vertex)
        for face in mesh.faces.tolist():
            triangles.append(coal.Triangle(*face))
        self.model.beginModel(len(mesh.faces), len(mesh.vertices))
        self.model.addSubModel(points, triangles)
        self.model.endModel()

    def depth(self, solid: ConvexSolid, pose: pin.SE3) -> float:
        """How deep a solid is in a triangle, or a corner of it behind the surface."""
        shape, place = coal_solid(solid)
        put = pose * place
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        request.num_max_contacts = 1000
        there = coal.Transform3s(put.rotation, put.translation)
        coal.collide(self.model, coal.Transform3s(), shape, there, request, result)
        deepest = max(
            (abs(c.penetration_depth) for c in result.getContacts()), default=0.0
        )
        corners = np.array([pose.act(v) for v in solid.vertices])
        scene = hs.Ground(solids=(self.mesh,))
        away = least_distances(scene.table()[:1], scene.mesh_data(), corners)
        return max(deepest, float(solid.radius - away.min()))


def assert_sound(run: hs.Run) -> None:
    """Every check but that of bodies that are turned out of each other in a step."""
    wrong = {f.name for f in run.check().findings if f.ok is False}
    assert wrong <= {"largest gap x force"}


def run_body(ground: hs.Ground, body: SceneBody, place: tuple[float, ...]) -> hs.Run:
    """A body that falls from a place, for half a second."""
    scene = SceneSystem([body], ground)
    q = scene.configuration({body.name: place})
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.3, 0.5, 0.2)).coeffs()
    simulation = hs.Simulation(scene, method="time_stepping", time_step=2e-3)
    return simulation.run(q, t_end=0.7, sampling_period=0.01)


SCENES = {
    "stairs": (GROUND.with_stairs(3, 0.05, 0.12, 0.0), BOX, (0.15, 0.02, 0.25)),
    "ramp": (GROUND.with_ramp(0.3, 1.0, 0.0), BOX, (0.5, 0.02, 0.3)),
    "rubble": (GROUND.with_rubble(3, 0.03, (0.6, 0.6)), BOX, (0.3, 0.02, 0.15)),
    "ridge": (GROUND.with_ramp(0.5, 0.2, 0.0), BALL, (0.19, 0.02, 0.2)),
    "ball on rubble": (
        GROUND.with_rubble(3, 0.03, (0.6, 0.6)),
        BALL,
        (0.3, 0.02, 0.12),
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_nothing_falls_into_a_mesh(name: str) -> None:
    """Dropped bodies touch the mesh, stay out of it, and gain no energy."""
    ground, body, place = SCENES[name]
    run = run_body(ground, body, place)
    assert_sound(run)
    assert any(
        "/ground" not in run.table.names[k] for k in np.flatnonzero(run.contacts.any(0))
    )
    surfaces = [Surface(mesh) for mesh in meshes_of(ground)]
    solid = body_solid(body)
    for q in run.q:
        pose = pin.XYZQUATToSE3(q[:7])
        assert max(s.depth(solid, pose) for s in surfaces) < INSIDE
    energy = run.energy.sum(axis=1)
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert energy[-1] < 0.9 * energy[0]


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_a_floor_of_triangles_is_a_half_space(turn: float) -> None:
    """A box slides over inner edges of a floor as if there were none."""
    x = np.linspace(-1.0, 1.0, 21)
    points = np.array([(a, b, 0.0) for a in x for b in x])
    number = np.arange(len(points)).reshape(21, 21)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    faces = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    floor = hs.TriangleMesh(points, faces, "floor")
    ends = []
    for solids in ((hs.HalfSpace(),), (floor,)):
        scene = SceneSystem([BOX], hs.Ground(friction=0.3, solids=solids))
        q = scene.configuration({"box": (-0.4, 0.013, 0.03)})
        q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.0, turn)).coeffs()
        v = np.array([1.2, 0.3, 0.0, 0.0, 0.0, 0.0])
        simulation = hs.Simulation(scene, method="time_stepping", time_step=1e-3)
        ends.append(simulation.run(q, v, t_end=0.3, sampling_period=0.01))
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-9)
    np.testing.assert_allclose(ends[0].v, ends[1].v, atol=1e-9)


def test_a_robot_falls_on_rubble() -> None:
    """No link of the KHR-1 is in the rubble, and the check is clean."""
    khr1 = hs.load_model("khr1")
    ground = GROUND.with_rubble(3, 0.02, (0.8, 0.8), start=-0.4)
    simulation = hs.Simulation(khr1, ground=ground, method="time_stepping")
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.1, 0.9, 0.2)).coeffs()
    q[2] = 0.4
    run = simulation.run(q, t_end=0.8, sampling_period=0.02)
    assert_sound(run)
    system = simulation.system
    assert isinstance(system, ModelSystem)
    closed = {run.table.names[k] for k in np.flatnonzero(run.contacts.any(axis=0))}
    assert any("/rubble." in name for name in closed)
    surface = Surface(meshes_of(ground)[0])
    links = link_solids(khr1, {})
    data = khr1.pin.createData()
    for q in run.q:
        pin.forwardKinematics(khr1.pin, data, q)
        for joint, solids in links.values():
            for solid in solids:
                assert surface.depth(solid, data.oMi[joint]) < INSIDE
