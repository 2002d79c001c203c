# SPDX-License-Identifier: Apache-2.0
"""Tests of overlaps of solids in a run, against their depth by other means."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.contact.geometry.drawn_solids import DrawnSolid, signed_distance
from humans_sim.contact.geometry.solids import Box
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.results.overlaps import Overlap, deepest_overlap
from humans_sim.results.record import model_and_ground

NAME = "deepest overlap of solids"
ROD = """<robot name="rod">
  <link name="base_link">
    <inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry>{shape}</geometry></collision>
  </link>
</robot>
"""


@pytest.fixture(scope="module")
def khr1() -> hs.Model:
    """The robot."""
    return hs.load_model("khr1")


@pytest.fixture(scope="module")
def standing(khr1: hs.Model) -> hs.Run:
    """The KHR-1 in one piece stands for some samples."""
    sim = hs.Simulation(khr1, locked=["*"], stands=True)
    return sim.run(khr1.neutral(), t_end=0.04)


def among(run: hs.Run, ground: hs.Ground) -> hs.Run:
    """The same motion among other solids, of which the simulation knew nothing."""
    record = model_and_ground(None, ground)
    return replace(run, info={**run.info, "solids": record["solids"]})


def with_bodies(run: hs.Run, *bodies: tuple[SceneBody, np.ndarray]) -> hs.Run:
    """The same motion with free bodies that stay where they are (places (n, 3))."""
    poses = [
        np.column_stack(
            [np.broadcast_to(place, (len(run), 3)), np.zeros((len(run), 3))]
        )
        for _, place in bodies
    ]
    q = np.hstack([run.q, *(np.column_stack([p, np.ones(len(run))]) for p in poses)])
    return replace(
        run, q=q, info={**run.info, "bodies": [b.record() for b, _ in bodies]}
    )


def overlap(run: hs.Run) -> Overlap:
    """The deepest overlap of a run that has solids."""
    deepest = deepest_overlap(run)
    assert deepest is not None
    return deepest


def trunk(model: hs.Model, q: np.ndarray) -> list[CollisionShape]:
    """The solids of the base, which stands upright."""
    assert np.allclose(q[3:7], [0.0, 0.0, 0.0, 1.0])
    return [s for s in collision_shapes(model) if s.link == "base_link"]


def test_a_post_in_the_trunk_is_found(khr1: hs.Model, standing: hs.Run) -> None:
    """As deep as its top is over the lowest face of the trunk, to 1e-6 m."""
    q = standing.q[-1]
    (shape,) = (s for s in trunk(khr1, q) if s.kind == "box")
    box = shape.vertices + q[:3]
    x, y = 0.5 * (box.min(axis=0) + box.max(axis=0))[:2]
    depth = 0.004
    top = float(box[:, 2].min()) + depth
    post = Box((0.01, 0.01, top), (x, y, top / 2), name="post")
    run = among(standing, hs.Ground(solids=(post,)))
    deepest = overlap(run)
    hull = ConvexHull(box)
    corners = post.centre + np.array(post.size) / 2 * [
        [i, j, 1] for i in (-1, 1) for j in (-1, 1)
    ]
    below = -(hull.equations[:, :3] @ corners.T + hull.equations[:, 3:]).max(axis=0)
    assert below.max() > 0.5 * depth  # corners of the post are inside the trunk
    assert deepest.names == ("base_link", "post")
    assert deepest.depth == pytest.approx(depth, abs=1e-6)
    found = run.check()[NAME]
    assert found.ok is False and found.where.startswith("base_link and post at ")
    apart = Box((0.01, 0.01, top - depth), (x, y, (top - depth) / 2), name="post")
    assert overlap(among(standing, hs.Ground(solids=(apart,)))).depth < 1e-12


def test_its_edge_is_found_without_a_corner_inside(
    khr1: hs.Model, standing: hs.Run
) -> None:
    """A long beam through both shanks: no corner of either solid is in the other."""
    tops = [p[2] for p in khr1.tags(standing.q[-1])]
    beam = Box((0.01, 1.0, 0.01), (0.0, 0.0, 0.3 * max(tops)), name="beam")
    deepest = overlap(among(standing, hs.Ground(solids=(beam,))))
    assert deepest.depth > 0.01 and deepest.names[1] == "beam"


def test_the_limit_is_that_of_the_method(standing: hs.Run) -> None:
    """A 10 um overlap fails both; 1 um is too deep for an event-driven run alone."""
    for depth, stepped in ((1e-4, False), (1e-6, True), (1e-9, True)):
        q = standing.q.copy()
        q[-1, 2] -= depth
        run = replace(standing, q=q)
        event_driven = run.check()[NAME]
        assert event_driven.limit == 1e-8 and event_driven.ok is (depth < 1e-8)
        assert event_driven.value == pytest.approx(depth, abs=1e-10)
        info = {**run.info, "method": "time_stepping"}
        assert replace(run, info=info).check()[NAME].ok is stepped
    assert f"ground at {standing.t[-1]:.6g} s" in event_driven.where


def test_links_are_looked_at_whatever_touched(khr1: hs.Model, standing: hs.Run) -> None:
    """Legs that cross are found in a run without self-collision, and named."""
    assert overlap(standing).depth < 1e-9
    q = standing.q.copy()
    for side in "rl":
        q[-1, 7 + khr1.joint_names.index(f"{side}_hip_roll")] = -0.3
    q[-1, 2] += 0.1
    deepest = overlap(replace(standing, q=q))
    assert deepest.depth > 1e-3 and deepest.time == standing.t[-1]
    assert {name[:2] for name in deepest.names} == {"r_", "l_"}


def test_bodies_in_links_are_found(khr1: hs.Model, standing: hs.Run) -> None:
    """A box in the chest, a ball in a foot, bodies in each other and in the ground."""
    q = standing.q[0]
    plate = max(trunk(khr1, q), key=lambda s: float(s.vertices[:, 0].max()))
    front = q[0] + plate.vertices[:, 0].max()
    high = q[2] + 0.5 * (plate.vertices[:, 2].min() + plate.vertices[:, 2].max())
    box = SceneBody.box("thrown", 0.1, (0.015, 0.015, 0.015))
    in_chest = with_bodies(standing, (box, np.array([front + 0.0055, 0.0, high])))
    deepest = overlap(in_chest)
    assert deepest.names == ("base_link", "thrown")
    assert deepest.depth == pytest.approx(0.002, abs=1e-6)
    found = in_chest.check()[NAME]
    assert found.ok is False and "base_link and thrown" in found.where
    ball = SceneBody.ball("ball", 0.1, 0.02)
    aside = np.array([0.5, 0.0, 0.02])
    for body, place, names, depth in (
        (ball, aside - [0, 0, 0.003], ("ball", "ground"), 0.003),
        (box, aside + [0.0, 0.0, 0.0245], ("ball", "thrown"), 0.003),
    ):
        bodies = [(ball, aside), (box, np.array([0.5, 0.3, 0.0075]))]
        bodies = [(b, place if b is body else p) for b, p in bodies]
        deepest = overlap(with_bodies(standing, *bodies))
        assert deepest.names == names
        assert deepest.depth == pytest.approx(depth, abs=1e-12)
    clear = with_bodies(standing, (ball, aside))
    assert overlap(clear).depth < 1e-9


def test_a_box_thrown_through_the_chest_is_found(khr1: hs.Model) -> None:
    """It is deepest where it is deepest in one of the trunk's solids, and then."""
    flight = hs.Simulation(khr1, ground=hs.Ground.empty(), locked=["*"])
    run = flight.run(khr1.neutral(), t_end=0.1, sampling_period=0.001)
    q = np.repeat(run.q[:1], len(run), axis=0)
    box = SceneBody.box("thrown", 0.1, (0.015, 0.015, 0.015))
    path = q[:, :3] + [0.0, 0.004, 0.05]
    path[:, 0] += 0.15 - 3.0 * run.t
    thrown = with_bodies(replace(run, q=q), (box, path))
    deepest = overlap(thrown)
    size = DrawnSolid.box((0.015, 0.015, 0.015))
    distances = [
        signed_distance(
            DrawnSolid(shape.vertices, shape.radius),
            np.column_stack([np.eye(3), q[k, :3]]),
            size,
            np.column_stack([np.eye(3), path[k]]),
        )[0]
        for k in range(len(run))
        for shape in trunk(khr1, q[k])
    ]
    assert deepest.names == ("base_link", "thrown") and deepest.depth > 0.01
    assert deepest.depth == pytest.approx(-min(distances), abs=1e-12)
    found = thrown.check()[NAME]
    assert found.ok is False
    assert found.where == f"base_link and thrown at {deepest.time:.6g} s"
    passed = path + [0.0, 0.3, 0.0]
    assert overlap(with_bodies(replace(run, q=q), (box, passed))).depth < 1e-12


def test_scenes_without_a_robot_are_looked_at() -> None:
    """A box that falls on a box: clean; put into it, it is not."""
    from humans_sim.dynamics.scenes.scene_system import SceneSystem

    bodies = [SceneBody.box(n, 1.0, (0.1, 0.1, 0.1)) for n in ("low", "high")]
    scene = SceneSystem(bodies)
    q = scene.configuration({"low": (0, 0, 0.05), "high": (0.02, 0, 0.16)})
    sim = hs.Simulation(scene, method="time_stepping")
    run = sim.run(q, np.zeros(12), t_end=0.2, sampling_period=0.01)
    assert run.check()[NAME].ok
    q = run.q.copy()
    q[7, 7 + 2] = q[7, 2] + 0.08
    deepest = overlap(replace(run, q=q))
    assert deepest[:3] == (pytest.approx(0.02, abs=1e-6), ("low", "high"), run.t[7])


@pytest.mark.parametrize(
    ("shape", "low"),
    [
        ('<sphere radius="0.05"/>', 0.05),
        ('<capsule radius="0.03" length="0.1"/>', 0.08),
        ('<box size="0.1 0.1 0.2"/>', 0.1),
        ('<cylinder radius="0.03" length="0.1"/>', 0.05),
    ],
)
@pytest.mark.parametrize("ground", ["plane", "box", "mesh", "field", "sheet"])
def test_every_shape_on_every_ground(
    tmp_path: Path, shape: str, low: float, ground: str
) -> None:
    """One link, on end, 2 mm deep in level ground: 2 mm; 1 nm over it: nothing."""
    (tmp_path / "rod.urdf").write_text(ROD.format(shape=shape))
    model = hs.load_model(str(tmp_path / "rod.urdf"))
    solid: object
    if ground == "plane":
        solid = hs.Ground().solids[0]
    elif ground == "box":
        solid = Box((1.0, 1.0, 0.5), (0.0, 0.0, -0.25), name="ground")
    elif ground == "mesh":
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        hull = ConvexHull(signs)
        faces = hull.simplices.copy()
        a, b, c = signs[faces].transpose(1, 0, 2)
        turned = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
        faces[turned] = faces[turned][:, ::-1]
        solid = TriangleMesh(signs + [0.03, 0.02, -0.5], faces, "ground")
    elif ground == "field":
        solid = HeightField(
            np.zeros((21, 21)), 0.05, (-0.5, -0.5, 0.0), "ground", bottom=-1.0
        )
    else:
        field = HeightField(np.zeros((3, 3)), 0.5, (-0.5, -0.5, 0.0))
        level = (field.vertices[field.faces][:, :, 2] == 0.0).all(axis=1)
        solid = TriangleMesh(field.vertices, field.faces[level], "ground")
    scene = hs.Ground(solids=(solid,))  # type: ignore[arg-type]
    still = hs.Simulation(model, ground=hs.Ground.empty(), gravity=(0, 0, 0))
    q = model.neutral()
    q[:3] = 0.011, -0.007, 0.5
    run = still.run(q, t_end=0.02)
    q = run.q.copy()
    q[:, 2] = low + 1e-9
    q[-1, 2] = low - 0.002
    run = among(replace(run, q=q), scene)
    deepest = overlap(run)
    assert deepest.names == ("base_link", "ground")
    assert deepest.depth == pytest.approx(0.002, abs=1e-11)
    assert overlap(run[:-1]).depth == 0.0
    q[-1, 2] = -low - 0.01  # all of it is inside
    under = overlap(among(replace(run, q=q), scene))
    assert under.depth == pytest.approx(2 * low + 0.01, abs=1e-9)


def test_nothing_is_said_where_nothing_is_solid(standing: hs.Run) -> None:
    """Soft ground, mechanisms of rolling surfaces: n/a."""
    surface = {"name": "sand", "compliance": 1e-6}
    for more in ({"surface": surface}, {"joints": [], "bodies": []}):
        found = replace(standing, info={**standing.info, **more}).check()[NAME]
        assert found.ok is None


def test_a_posture_that_is_no_number_fails(standing: hs.Run) -> None:
    """It is said when."""
    q = standing.q.copy()
    q[2, 9] = np.nan
    found = replace(standing, q=q).check()[NAME]
    assert found.ok is False and f"{standing.t[2]:.6g} s" in found.where
