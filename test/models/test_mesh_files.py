# SPDX-License-Identifier: Apache-2.0
"""Meshes of a URDF and the files that they name: where they lie, and how large."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh

import humans_sim as hs
from humans_sim.core.errors import ModelFileWarning
from humans_sim.models import collision_shapes as mesh_files
from humans_sim.models.collision_shapes import (
    MeshFile,
    MissingMeshError,
    collision_shapes,
    find_mesh,
    missing_meshes,
    read_mesh,
)
from humans_sim.view.browser.scene_layers import solids

EDGES = (0.1, 0.2, 0.3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a robot, with something secret beside it."""
    (tmp_path / "secret.bin").write_bytes(b"\0" * 10_000)
    (tmp_path / "robot").mkdir()
    return tmp_path / "robot"


def robot(folder: Path, mesh: str) -> hs.Model:
    """A model of one link that is a mesh."""
    path = folder / "robot.urdf"
    path.write_text(
        '<robot name="robot"><link name="base_link"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'
        "</link></robot>"
    )
    return hs.load_model(path)


def write_gltf(folder: Path) -> Path:
    """A box as glTF with its buffer in ``box.bin``."""
    files = trimesh.exchange.gltf.export_gltf(
        trimesh.Scene(trimesh.creation.box(EDGES)), merge_buffers=True
    )
    tree = json.loads(files.pop("model.gltf"))
    (name,) = files
    tree["buffers"][0]["uri"] = "box.bin"
    (folder / "box.bin").write_bytes(files[name])
    path = folder / "box.gltf"
    path.write_text(json.dumps(tree))
    return path


def name_buffer(path: Path, uri: str) -> None:
    """Let a glTF file name another buffer."""
    tree = json.loads(path.read_text())
    tree["buffers"][0]["uri"] = uri
    path.write_text(json.dumps(tree))


def write_obj(folder: Path, library: str) -> Path:
    """A box as OBJ that names a library of materials."""
    text = trimesh.creation.box(EDGES).export(file_type="obj")
    path = folder / "box.obj"
    path.write_text(f"mtllib {library}\nusemtl paint\n{text}")
    return path


def is_the_box(mesh: trimesh.Trimesh) -> bool:
    """Whether a mesh is the box that was written."""
    return bool(np.allclose(mesh.extents, EDGES) and np.isclose(mesh.volume, 0.006))


def test_a_mesh_with_its_buffer(folder: Path) -> None:
    """Links touch with it, and pages show it."""
    write_gltf(folder)
    model = robot(folder, "box.gltf")
    (shape,) = collision_shapes(model)
    np.testing.assert_allclose(sorted(shape.size), EDGES, atol=1e-6)
    (solid,) = solids(model)
    assert is_the_box(solid.mesh)


def test_names_of_buffers_are_addresses(folder: Path) -> None:
    """A blank is %20, and folders below are fine."""
    path = write_gltf(folder)
    (folder / "parts").mkdir()
    (folder / "box.bin").rename(folder / "parts" / "a box.bin")
    name_buffer(path, "parts/a%20box.bin")
    assert is_the_box(read_mesh(MeshFile(path, folder), np.ones(3)))


@pytest.mark.parametrize("read", [collision_shapes, solids])
def test_a_buffer_that_is_a_pipe(folder: Path, read) -> None:
    """It is refused, and nothing waits for a writer."""
    path = write_gltf(folder)
    (folder / "box.bin").unlink()
    os.mkfifo(folder / "box.bin")
    with pytest.raises(hs.errors.ModelFileError, match=r"box\.bin: .* a pipe"):
        read(robot(folder, path.name))


def test_a_buffer_of_six_gigabytes(folder: Path) -> None:
    """It is refused by its size, before it is read."""
    path = write_gltf(folder)
    with (folder / "box.bin").open("r+b") as stream:
        stream.truncate(6 << 30)
    with pytest.raises(hs.errors.ModelFileError, match="6442450944 bytes"):
        collision_shapes(robot(folder, path.name))


def test_one_limit_for_mesh_and_buffers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the files is below the limit, together they are one byte beyond."""
    path = write_gltf(folder)
    size = path.stat().st_size + (folder / "box.bin").stat().st_size
    monkeypatch.setattr(mesh_files, "LARGEST_MESH", size)
    assert is_the_box(read_mesh(MeshFile(path, folder), np.ones(3)))
    monkeypatch.setattr(mesh_files, "LARGEST_MESH", size - 1)
    with pytest.raises(hs.errors.ModelFileError, match="more than"):
        read_mesh(MeshFile(path, folder), np.ones(3))


@pytest.mark.parametrize(
    "uri", ["../secret.bin", "..%2Fsecret.bin", "link.bin", "{absolute}"]
)
def test_a_buffer_elsewhere(folder: Path, uri: str) -> None:
    """By a name, by a link or by an absolute path: outside its folder is refused."""
    path = write_gltf(folder)
    secret = folder.parent / "secret.bin"
    (folder / "link.bin").symlink_to(secret)
    name_buffer(path, uri.format(absolute=secret))
    with pytest.raises(hs.errors.ModelFileError, match="outside"):
        collision_shapes(robot(folder, path.name))


def test_a_buffer_that_is_missing(folder: Path) -> None:
    """The error names the buffer."""
    path = write_gltf(folder)
    (folder / "box.bin").unlink()
    with pytest.raises(hs.errors.ModelFileError, match=r"box\.bin: .*no such file"):
        collision_shapes(robot(folder, path.name))


@pytest.mark.parametrize("library", ["pipe.mtl", "../secret.bin", "none.mtl"])
def test_materials_are_not_read(folder: Path, library: str) -> None:
    """A library of materials that is a pipe, elsewhere or missing hurts nobody."""
    os.mkfifo(folder / "pipe.mtl")
    model = robot(folder, write_obj(folder, library).name)
    (solid,) = solids(model)
    assert is_the_box(solid.mesh)
    assert len(collision_shapes(model)) == 1


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="i"><init_from>pipe.png</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="c"><phong><diffuse><texture texture="t" texcoord="UV"/></diffuse>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material>
</library_materials>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#a" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


def test_a_picture_that_is_a_pipe(folder: Path) -> None:
    """Collada goes without it."""
    (folder / "corner.dae").write_text(COLLADA)
    os.mkfifo(folder / "pipe.png")
    (solid,) = solids(robot(folder, "corner.dae"))
    assert solid.mesh.volume == pytest.approx(1 / 6)


def test_an_archive_is_no_mesh(folder: Path) -> None:
    """Collada in an archive could grow without a limit."""
    with zipfile.ZipFile(folder / "corner.dae", "w") as archive:
        archive.writestr("corner.dae", COLLADA)
    with pytest.raises(hs.errors.ModelFileError, match="archive"):
        collision_shapes(robot(folder, "corner.dae"))


def test_a_mesh_that_is_a_pipe(folder: Path) -> None:
    """So is the mesh itself refused."""
    os.mkfifo(folder / "box.stl")
    for read in (collision_shapes, solids):
        with pytest.raises(hs.errors.ModelFileError, match="a pipe"):
            read(robot(folder, "box.stl"))


@pytest.mark.parametrize(
    "name",
    [
        "package://../box.stl",
        "package://./box.stl",
        "package://parts/../../box.stl",
        "package://parts/meshes/../../../box.stl",
        "package:///../box.stl",
        "package://humans_sim/../box.stl",
    ],
)
def test_no_name_leaves_its_package(folder: Path, name: str) -> None:
    """Whether there is such a file or not."""
    (folder / "parts" / "meshes").mkdir(parents=True)
    for place in (folder, folder.parent):
        trimesh.creation.box(EDGES).export(place / "box.stl")
    with pytest.raises(hs.errors.ModelFileError, match="leads out of its package"):
        find_mesh(name, robot(folder, name))


def test_names_within_a_package(folder: Path) -> None:
    """Beside the URDF; without a name of a package it is the URDF's folder."""
    trimesh.creation.box(EDGES).export(folder / "bare.stl")
    bare = find_mesh("package://bare.stl", robot(folder, "package://bare.stl"))
    assert bare == MeshFile(folder.resolve() / "bare.stl", folder.resolve())
    (folder / "parts" / "meshes").mkdir(parents=True)
    mesh = folder / "parts" / "box.stl"
    trimesh.creation.box(EDGES).export(mesh)
    for name in (
        "package://parts/box.stl",
        "package://parts/meshes/../box.stl",
        "package:///parts/box.stl",
        "parts/box.stl",
        "file://parts/box.stl",
        f"file://{mesh}",
        str(mesh),
    ):
        assert find_mesh(name, robot(folder, name)).path == mesh.resolve()


def test_a_folder_beside_that_of_the_urdf(tmp_path: Path) -> None:
    """``../meshes``, as most robots have it: the mesh's own folder bounds its files."""
    for name in ("urdf", "meshes"):
        (tmp_path / name).mkdir()
    path = write_gltf(tmp_path / "meshes")
    model = robot(tmp_path / "urdf", "../meshes/box.gltf")
    assert find_mesh("../meshes/box.gltf", model).root == (tmp_path / "meshes")
    assert len(collision_shapes(model)) == 1
    (tmp_path / "meshes" / "box.bin").rename(tmp_path / "box.bin")
    name_buffer(path, "../box.bin")
    with pytest.raises(hs.errors.ModelFileError, match="outside"):
        read_mesh(find_mesh("../meshes/box.gltf", model), np.ones(3))


def test_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of a package beside the URDF none is followed; installed ones may have them.

    ``colcon build --symlink-install`` fills installed packages with links.
    """
    source = folder.parent / "source"
    source.mkdir()
    trimesh.creation.box(EDGES).export(source / "box.stl")
    for place in (folder / "parts", folder.parent / "share" / "parts"):
        place.mkdir(parents=True)
        (place / "box.stl").symlink_to(source / "box.stl")
    name = "package://parts/box.stl"
    with pytest.raises(hs.errors.ModelFileError, match="link out of"):
        find_mesh(name, robot(folder, name))
    (folder / "parts" / "box.stl").unlink()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder.parent))
    assert find_mesh(name, robot(folder, name)).root == source


def write_box(path: Path, edges: tuple[float, float, float] = EDGES) -> None:
    """A box as STL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box(edges).export(path, file_type="stl")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("package:///box.stl", "ws/arm/urdf/box.stl"),
        ("package://box.stl", "ws/arm/urdf/box.stl"),
        ("package://arm/meshes/box.stl", "ws/arm/meshes/box.stl"),
        ("package://arm_meshes/box.stl", "ws/arm_meshes/box.stl"),
        ("package://arm_meshes/box.stl", "arm_meshes/box.stl"),
        ("package://meshes/box.stl", "ws/arm/meshes/box.stl"),
        ("package://renamed/meshes/box.stl", "ws/arm/meshes/box.stl"),
        ("package://forgotten/meshes/box.stl", "ws/arm/meshes/box.stl"),
        ("package://arm/meshes/Box.STL", "ws/arm/meshes/box.stl"),
        ("box.STL", "ws/arm/urdf/box.stl"),
        ("../meshes/box.stl", "ws/arm/meshes/BOX.stl"),
    ],
)
def test_where_packages_lie(tmp_path: Path, name: str, place: str) -> None:
    """Beside the URDF, above it, beside what is above; in capitals or not."""
    home = tmp_path / "ws" / "arm" / "urdf"
    home.mkdir(parents=True)
    write_box(tmp_path / place)
    if place.partition("box")[0].endswith("arm_meshes/"):
        (tmp_path / place).with_name("package.xml").write_text("<package/>")
    if "renamed" in name:
        (home.parent / "package.xml").write_text("<name> renamed </name>")
    model = robot(home, name)
    assert find_mesh(name, model).path == tmp_path / place
    (shape,) = collision_shapes(model)
    np.testing.assert_allclose(sorted(shape.size), EDGES, atol=1e-6)


def test_two_names_in_other_letters(folder: Path) -> None:
    """Of two that differ in capitals alone, neither is meant."""
    for name in ("box.stl", "BOX.stl"):
        write_box(folder / name)
    with pytest.raises(MissingMeshError, match="not there"):
        find_mesh("Box.stl", robot(folder, "Box.stl"))


def test_a_package_is_no_way_out(folder: Path) -> None:
    """Links out of it are refused, and folders far above count by a manifest alone."""
    far = folder / "a" / "b" / "c"
    far.mkdir(parents=True)
    write_box(folder / "secret" / "x.stl")
    name = "package://secret/x.stl"
    with pytest.raises(MissingMeshError):
        find_mesh(name, robot(far, name))
    (folder / "secret" / "package.xml").write_text("")
    assert find_mesh(name, robot(far, name)).root == folder / "secret"
    (folder / "secret" / "y.stl").symlink_to(folder.parent / "secret.bin")
    with pytest.raises(hs.errors.ModelFileError, match="a link out of"):
        find_mesh("package://secret/y.stl", robot(far, name))


LINKS = """<robot name="robot"><link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="gone.dae"/></geometry></visual>
<visual><geometry><box size="1 1 1"/></geometry></visual>
<collision><geometry><mesh filename="trunk.stl"/></geometry></collision></link>
<link name="foot">
<visual><geometry><mesh filename="old.mesh"/></geometry></visual>
<collision><geometry><mesh filename="foot.stl"/></geometry></collision>
<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ankle" type="continuous"><parent link="base_link"/><child link="foot"/>
<origin xyz="0 0 -1"/><limit effort="1" velocity="1"/></joint></robot>"""


def test_missing_meshes(folder: Path) -> None:
    """Left out of pictures, and of links with a warning; of feet they are an error."""
    (folder / "robot.urdf").write_text(LINKS)
    write_box(folder / "foot.stl")
    with pytest.warns(ModelFileWarning, match="missing.*: base_link; .*'trunk.stl'"):
        model = hs.load_model(folder / "robot.urdf")
    assert [shape.link for shape in collision_shapes(model)] == ["foot"]
    assert missing_meshes(model) == {"base_link": "trunk.stl"}
    assert [len(solid.mesh.faces) for solid in solids(model)] == [12]
    assert model.neutral()[2] == pytest.approx(1.15)
    (folder / "robot.yaml").write_text(
        "tags: [{name: heel, link: foot, xyz: [0, 0, -0.15]}]\ncontacts: [heel]"
    )
    model = hs.load_model(folder / "robot.urdf")
    with pytest.warns(ModelFileWarning, match="base_link"):
        assert len(collision_shapes(model)) == 1
    (folder / "foot.stl").unlink()
    model = hs.load_model(folder / "robot.urdf")
    with pytest.raises(
        hs.errors.ModelFileError, match="link foot: .*'foot.stl'"
    ) as caught:
        collision_shapes(model)
    assert caught.value.line == 8


def test_a_robot_without_a_file_beside_it_stands(folder: Path) -> None:
    """Its lowest shape is on the floor, and runs begin; its YAML may know better."""
    write_box(folder / "box.stl")
    model = robot(folder, "box.stl")
    assert model.neutral()[2] == pytest.approx(EDGES[2] / 2, abs=1e-7)
    run = hs.Simulation(model).run(model.neutral(), np.zeros(6), t_end=0.02)
    assert run.q[-1, 2] == pytest.approx(EDGES[2] / 2, abs=1e-6)
    (folder / "robot.yaml").write_text(
        "humans: {joints: [], base_rotation: zyx, base_height: 0.7, segments: []}"
    )
    assert robot(folder, "box.stl").neutral()[2] == 0.7
