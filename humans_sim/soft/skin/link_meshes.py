# SPDX-License-Identifier: Apache-2.0
"""A skin cut into rigid pieces, one for each link and material, for a URDF."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.core.files import atomic_stream
from humans_sim.core.xml_file import parse_xml
from humans_sim.models import Model
from humans_sim.soft.skin.making import skin_of
from humans_sim.soft.skin.skin import Skin

OVERLAP = 0.3
"""A link has the triangles that follow it by this share: both sides of a joint do."""


def link_meshes(model: Model, skin: Skin) -> dict[tuple[str, str], trimesh.Trimesh]:
    """Pieces of a skin in their links' frames, by link and material.

    Pieces of neighbours overlap at their joint, so that it stays covered when bent.

    Args:
        model: whose skin it is.
        skin: all of it.
    """
    pieces: dict[tuple[str, str], trimesh.Trimesh] = {}
    for link, bones in _bones_of_links(model, skin).items():
        follows = skin.weights[:, bones].sum(axis=1)
        own = follows[skin.faces].max(axis=1) >= OVERLAP
        pose = skin.poses[bones[-1]]
        local = (skin.vertices - pose[:, 3]) @ pose[:, :3]
        for k, material in enumerate(skin.materials):
            faces = skin.faces[own & (skin.labels == k)]
            if len(faces):
                used, inverse = np.unique(faces, return_inverse=True)
                pieces[link, material] = trimesh.Trimesh(
                    local[used], inverse.reshape(-1, 3), process=False
                )
    return pieces


def save_skinned(model: Model, path: Path | str) -> Path:
    """Write a URDF whose links are drawn by pieces of the skin.

    Meshes go into a folder beside it, ``<name>_meshes``. Masses and collision elements
    stay what they are.

    Args:
        model: one that has a skin.
        path: of the URDF.

    Raises:
        SoftError: the model has no skin.
        FileWriteError: a file cannot be written.
    """
    skin = skin_of(model)
    path = model.save(path)
    robot = parse_xml(model.urdf(), path)
    for material in robot.findall("material"):
        robot.remove(material)
    for k, word in enumerate(skin.materials):
        element = ET.Element("material", name=word)
        rgba = " ".join(f"{value / 255:.3f}" for value in skin.colours[k])
        ET.SubElement(element, "color", rgba=f"{rgba} 1")
        robot.insert(k, element)
    links = {link.get("name", ""): link for link in robot.findall("link")}
    for link in links.values():
        bare = link.find("collision") is None
        for visual in link.findall("visual"):
            link.remove(visual)
            if bare:  # such a link touches with what was drawn of it
                link.append(_collision(visual))
    folder = f"{path.stem}_meshes"
    for (name, word), mesh in link_meshes(model, skin).items():
        file = path.parent / folder / f"{name}_{word}.stl"
        with atomic_stream(file) as stream:
            stream.write(_stl(mesh))
        visual = ET.SubElement(links[name], "visual")
        geometry = ET.SubElement(visual, "geometry")
        ET.SubElement(geometry, "mesh", filename=f"{folder}/{file.name}")
        ET.SubElement(visual, "material", name=word)
    ET.indent(robot)
    text = '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"
    with atomic_stream(path) as stream:
        stream.write(text.encode())
    return path


def _collision(visual: ET.Element) -> ET.Element:
    element = ET.Element("collision")
    element.extend(part for part in visual if part.tag != "material")
    return element


def _stl(mesh: trimesh.Trimesh) -> bytes:
    stream = io.BytesIO()
    mesh.export(stream, file_type="stl")
    return stream.getvalue()


def _bones_of_links(model: Model, skin: Skin) -> dict[str, list[int]]:
    """Links with the numbers of the bones above them, their own joint last."""
    tree = model.pin
    found: dict[str, list[int]] = {}
    for frame in tree.frames:
        if frame.type != pin.FrameType.BODY or frame.name not in model.segment_names:
            continue
        joint = int(frame.parentJoint)
        bones: list[int] = []
        if tree.names[joint] not in skin.bones:
            continue
        while joint and tree.names[joint] in skin.bones:
            bones.insert(0, skin.bones.index(tree.names[joint]))
            moved = np.any(tree.jointPlacements[joint].translation)
            joint = 0 if moved else int(tree.parents[joint])
        found[frame.name] = bones
    return found
