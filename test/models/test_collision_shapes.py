# SPDX-License-Identifier: Apache-2.0
"""Tests of the solids that a model's links touch with."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh

import humans_sim as hs
from humans_sim.core.resources import share_directory
from humans_sim.models.collision_shapes import (
    collision_shapes,
    hollow_links,
    visual_shapes,
)
from humans_sim.view.browser.scene_layers import solids

GEOMETRY = {
    "box": '<box size="0.2 0.3 0.4"/>',
    "sphere": '<sphere radius="0.1"/>',
    "cylinder": '<cylinder radius="0.1" length="0.4"/>',
    "capsule": '<capsule radius="0.1" length="0.4"/>',
    "hull": '<mesh filename="package://parts/bone.stl" scale="1 2 0.5"/>',
}


def one_link(folder, elements):
    """A model of one link with these elements."""
    path = folder / "robot.urdf"
    path.write_text(
        '<robot name="robot"><link name="base_link"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"{elements}</link></robot>"
    )
    return hs.load_model(path)


def element(kind, tag="collision", origin=""):
    """A collision or visual element with a geometry of a kind."""
    return f"<{tag}>{origin}<geometry>{GEOMETRY[kind]}</geometry></{tag}>"


@pytest.mark.parametrize("name", ["khr1", "bip", "human36"])
def test_poses_are_those_of_pinocchio(name):
    """Links, joints and poses of the shapes are those that pinocchio reads."""
    model = hs.load_model(name)
    geometry = pin.buildGeomFromUrdfString(
        model.pin,
        model.urdf().replace("package://humans_sim", str(share_directory())),
        pin.GeometryType.COLLISION,
    )
    theirs = {item.name: item for item in geometry.geometryObjects}
    bare = {f.name for f in model.pin.frames} - {n[: n.rindex("_")] for n in theirs}
    counts: dict[str, int] = {}
    for shape in collision_shapes(model):
        if shape.link in bare:  # it has visual elements only
            continue
        k = counts[shape.link] = counts.get(shape.link, -1) + 1
        item = theirs.pop(f"{shape.link}_{k}")
        assert item.parentJoint == shape.joint
        assert item.placement.isApprox(shape.pose, 1e-12)
    assert not theirs


@pytest.mark.parametrize("kind", [k for k in GEOMETRY if k != "capsule"])
def test_support_is_that_of_the_drawn_mesh(tmp_path, kind):
    """A shape goes as far in every direction as trimesh's solid of its kind."""
    (tmp_path / "parts").mkdir()
    trimesh.creation.icosphere(2, 0.1).export(tmp_path / "parts" / "bone.stl")
    origin = '<origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 -0.5"/>'
    model = one_link(tmp_path, element(kind, origin=origin))
    (shape,) = collision_shapes(model)
    solid = {
        "box": lambda: trimesh.creation.box((0.2, 0.3, 0.4)),
        "sphere": lambda: trimesh.creation.icosphere(5, 0.1),
        "cylinder": lambda: trimesh.creation.cylinder(0.1, 0.4, sections=256),
        "hull": lambda: trimesh.creation.icosphere(2, 0.1).apply_scale((1, 2, 0.5)),
    }[kind]()
    pose = pin.SE3(
        pin.rpy.rpyToMatrix(np.array([0.3, 0.2, -0.5])), np.array([0.1, -0.2, 0.3])
    )
    points = solid.vertices @ pose.rotation.T + pose.translation
    directions = trimesh.creation.icosphere(2).vertices
    expected = (directions @ points.T).max(axis=1)
    assert shape.kind == kind and shape.link == "base_link"
    np.testing.assert_allclose(shape.support(directions), expected, atol=6e-4)
    assert (np.linalg.norm(points - shape.centre, axis=1) < shape.reach + 1e-6).all()


def test_capsule_is_two_balls(tmp_path):
    """A capsule (pinocchio's own extension of URDF) reaches beyond its length."""
    (shape,) = collision_shapes(one_link(tmp_path, element("capsule")))
    heights = shape.support(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(heights, [0.3, 0.1])


def test_visual_counts_without_collision(tmp_path):
    """A link without collision elements touches with what is drawn of it."""
    drawn = element("box", "visual")
    (shape,) = collision_shapes(one_link(tmp_path, drawn))
    assert shape.kind == "box"
    both = one_link(tmp_path, drawn + element("sphere"))
    assert [shape.kind for shape in collision_shapes(both)] == ["sphere"]
    assert [shape.kind for shape in visual_shapes(both)] == ["box"]


@pytest.mark.parametrize(
    "geometry",
    [
        '<sphere radius="0"/>',
        '<sphere radius="1e-31"/>',
        '<box size="1 0 1"/>',
        '<cylinder radius="1" length="1e-10"/>',
    ],
)
@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
def test_shapes_without_extent_are_left_out(tmp_path, geometry):
    """Neither drawn nor touched with; what is drawn does not touch in their place."""
    nothing = f"<geometry>{geometry}</geometry>"
    elements = f"<collision>{nothing}</collision><visual>{nothing}</visual>"
    model = one_link(tmp_path, elements + element("box", "visual"))
    assert collision_shapes(model) == ()
    assert [shape.kind for shape in visual_shapes(model)] == ["box"]
    assert [len(solid.mesh.faces) for solid in solids(model)] == [12]


@pytest.mark.parametrize(
    "geometry, words",
    [
        ('<box size="1 -1 1"/>', "negative"),
        ('<mesh filename="bone.stl" scale="1 0 1"/>', "scale"),
        ("<torus/>", "torus"),
    ],
)
def test_bad_geometry_is_named(tmp_path, geometry, words):
    """What cannot be a solid is an error that names it."""
    elements = f"<collision><geometry>{geometry}</geometry></collision>"
    with pytest.raises(hs.errors.ModelFileError, match=words):
        collision_shapes(one_link(tmp_path, elements))


def channel():
    """A channel of three boxes that touch nowhere, open upwards."""
    boxes = [((1.0, 1.0, 0.1), (0.0, 0.0, 0.0))]
    boxes += [((0.1, 1.0, 0.8), (side, 0.0, 0.5)) for side in (-0.45, 0.45)]
    made = [trimesh.creation.box(size) for size, _ in boxes]
    for box, (_, place) in zip(made, boxes, strict=True):
        box.apply_translation(place)
    return trimesh.util.concatenate(made)


def test_a_mesh_of_a_few_pieces_is_a_solid_each(tmp_path):
    """A ball finds the hollow of a channel: nothing is there, and the sides are."""
    channel().export(tmp_path / "channel.stl")
    mesh = '<mesh filename="channel.stl" scale="0.5 0.5 0.5"/>'
    model = one_link(tmp_path, f"<collision><geometry>{mesh}</geometry></collision>")
    shapes = collision_shapes(model)
    sizes = sorted(tuple(np.round(shape.size, 6)) for shape in shapes)
    assert sizes == [(0.05, 0.5, 0.4), (0.05, 0.5, 0.4), (0.5, 0.5, 0.05)]
    assert not hollow_links(model)
    ground = hs.Ground(friction=0.3)
    ball = hs.SceneBody.ball("ball", 0.1, 0.05)
    scene = hs.SceneSystem([ball], ground, robot=model)
    run = hs.Simulation(scene, method="time_stepping").run(
        scene.configuration({"ball": (0.0, 0.0, 0.5)}, model.neutral()), t_end=0.6
    )
    assert run.q[-1, 9] == pytest.approx(0.05 + 0.05, abs=1e-6)
    assert run.check().ok


@pytest.mark.parametrize(("thick", "hollow"), [(0.1, True), (0.4, False)])
def test_hollow_meshes_are_named(tmp_path, thick, hollow):
    """A thin ring fills little of its hull, a thick one more; of an open one none."""
    ring = trimesh.creation.torus(0.5, thick)
    ring.export(tmp_path / "ring.stl")
    mesh = '<mesh filename="ring.stl"/>'
    model = one_link(tmp_path, f"<collision><geometry>{mesh}</geometry></collision>")
    (shape,) = collision_shapes(model)
    assert shape.filled == pytest.approx(ring.volume / ring.convex_hull.volume)
    assert hollow_links(model) == ({"base_link": shape.filled} if hollow else {})
    ring.update_faces(np.arange(len(ring.faces)) > 0)
    ring.export(tmp_path / "ring.stl")
    model = one_link(tmp_path, f"<collision><geometry>{mesh}</geometry></collision>")
    assert np.isnan(collision_shapes(model)[0].filled) and not hollow_links(model)
