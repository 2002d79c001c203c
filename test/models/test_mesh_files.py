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
from humans_sim.models import collision_shapes as mesh_files
from humans_sim.models.collision_shapes import (
    MeshFile,
    collision_shapes,
    find_mesh,
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
