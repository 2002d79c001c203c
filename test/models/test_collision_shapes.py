# SPDX-License-Identifier: Apache-2.0
"""Tests of the solids that a model's links touch with."""

import numpy as np
import pinocchio as pin
import pytest
import trimesh

import humans_sim as hs
from humans_sim.core.resources import share_directory
from humans_sim.models.collision_shapes import collision_shapes, visual_shapes
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
