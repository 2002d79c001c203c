# SPDX-License-Identifier: Apache-2.0
"""Models for OpenSim: its rules, and kinematics worked out from the XML alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.models.angles import joint_angles
from humans_sim.models.points import to_humans
from humans_sim.observation.markers import MarkerTrial
from humans_sim.observation.posture.opensim_files import write_osim
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.tree_kernels import marker_bodies

TREES = ["humans", "opensim", "rajagopal"]
COUNT = 8


@pytest.fixture(scope="module")
def subject() -> hs.Subject:
    """A person whose sides differ, with markers that are not where the set has them."""
    human = hs.load_model("human36", height=1.8)
    lengths = {**human.lengths, "l_yfemur": 1.05 * human.lengths["l_yfemur"]}
    marker_set = hs.load_marker_set("plug-in-gait", human)
    places = {m.name: m.at + 0.01 for m in marker_set.markers}
    markers = marker_set.moved(places).markers
    return hs.Subject("human36", 1.8, 80.0, lengths, markers, "one two/three\x07")


@pytest.fixture(scope="module")
def motion(subject: hs.Subject) -> Reconstruction:
    """Postures at random, everywhere in the laboratory."""
    model = subject.model()
    rng = np.random.default_rng(3)
    q = np.array([model.random_configuration(rng) for _ in range(COUNT)])
    names = subject.marker_set().names
    bodies, local = marker_bodies(model, subject.markers)
    data, places = model.data(), []
    for row in q:
        pin.forwardKinematics(model.pin, data, row)
        pairs = zip(bodies.tolist(), local, strict=True)
        places.append([data.oMi[body + 1].act(at) for body, at in pairs])
    trial = MarkerTrial(
        names, np.arange(COUNT) / 100, np.array(places), np.arange(COUNT)
    )
    return Reconstruction(
        model,
        trial,
        q,
        np.zeros_like(trial.positions),
        np.zeros(trial.positions.shape[:2], int),
        np.ones(COUNT, bool),
        np.ones(COUNT, int),
        np.zeros(COUNT),
        (),
        "static",
    )


def numbers(element: ET.Element, tag: str) -> np.ndarray:
    """Numbers of a property."""
    return np.array((element.findtext(tag) or "").split(), dtype=float)


def columns_of(path: Path) -> dict[str, np.ndarray]:
    """A motion as OpenSim reads it: metres and degrees."""
    lines = path.read_text().split("endheader\n")[1].splitlines()
    values = np.array([line.split("\t") for line in lines[1:]], dtype=float)
    return dict(zip(lines[0].split("\t"), values.T, strict=True))


def offset(frame: ET.Element) -> tuple[np.ndarray, np.ndarray]:
    """Translation and orientation of an offset frame: body-fixed x, y, z."""
    turned = Rotation.from_euler("XYZ", numbers(frame, "orientation"))
    return numbers(frame, "translation"), turned.as_matrix()


class Document:
    """An ``.osim`` file, understood by what OpenSim's documentation says of it."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        assert (root.tag, root.get("Version")) == ("OpenSimDocument", "40000")
        model = root.find("Model")
        assert model is not None
        self.model = model
        self.bodies = {f"/bodyset/{b.get('name')}": b for b in self.objects("BodySet")}
        self.joints = self.objects("JointSet")
        self.markers = {str(m.get("name")): m for m in self.objects("MarkerSet")}

    def objects(self, kind: str) -> list[ET.Element]:
        """Elements of a set."""
        found = self.model.find(f"{kind}/objects")
        assert found is not None
        return list(found)

    def coordinates(self) -> list[str]:
        """Names of all coordinates."""
        return [str(c.get("name")) for j in self.joints for c in j.iter("Coordinate")]

    def places(self, values: dict[str, float]) -> dict[str, np.ndarray]:
        """Markers in the ground, with coordinates in radians and metres."""
        poses = {"/ground": (np.zeros(3), np.eye(3))}
        for joint in self.joints:
            frames = {f.get("name"): f for f in joint.iter("PhysicalOffsetFrame")}
            parent = frames[joint.findtext("socket_parent_frame")]
            child = frames[joint.findtext("socket_child_frame")]
            at, turned = poses[parent.findtext("socket_parent") or ""]
            move, turn = offset(parent)
            at, turned = at + turned @ move, turned @ turn
            fixed = turned  # translations are on the axes of the parent's frame
            for axis in joint.iter("TransformAxis"):
                name = axis.findtext("coordinates") or ""
                still = float(axis.findtext("Constant/value") or "nan")
                along = (values[name] if name else still) * numbers(axis, "axis")
                if str(axis.get("name")).startswith("rotation"):
                    turned = turned @ Rotation.from_rotvec(along).as_matrix()
                else:
                    at = at + fixed @ along
            move, turn = offset(child)
            turned = turned @ turn.T
            poses[child.findtext("socket_parent") or ""] = at - turned @ move, turned
        return {
            name: poses[str(m.findtext("socket_parent_frame"))][0]
            + poses[str(m.findtext("socket_parent_frame"))][1] @ numbers(m, "location")
            for name, m in self.markers.items()
        }


@pytest.mark.parametrize("convention", TREES)
def test_motions_play_on_the_model(
    subject: hs.Subject, motion: Reconstruction, tmp_path: Path, convention: str
) -> None:
    """Markers of the .osim under the .mot are where ours are."""
    document = Document(subject.to_osim(tmp_path / "a.osim", convention))
    columns = columns_of(motion.to_mot(tmp_path / "a.mot", convention))
    assert sorted(document.coordinates()) == sorted(set(columns) - {"time"})
    lengths = ("_tx", "_ty", "_tz")
    for row in range(COUNT):
        values = {
            name: column[row] if name.endswith(lengths) else np.radians(column[row])
            for name, column in columns.items()
        }
        places = document.places(values)
        assert tuple(places) == motion.names
        expected = to_humans(motion.trial.positions[row])
        np.testing.assert_allclose(list(places.values()), expected, atol=1e-6)


@pytest.mark.parametrize("convention", TREES)
def test_rules_of_opensim(subject: hs.Subject, tmp_path: Path, convention: str) -> None:
    """Names are unique and allowed, sockets lead somewhere, axes are independent."""
    document = Document(subject.to_osim(tmp_path / "a.osim", convention))
    assert document.model.get("name") == "one_two_three_"
    names = [
        *document.coordinates(),
        *(str(j.get("name")) for j in document.joints),
        *document.markers,
    ]
    assert len(names) == len(set(names))
    assert not any(c in name for name in names for c in ' /\\*+"')
    children = set()
    for joint in document.joints:
        ends = [f.findtext("socket_parent") for f in joint.iter("PhysicalOffsetFrame")]
        assert ends[0] in ("/ground", *children) and ends[1] in document.bodies
        assert ends[1] not in children
        children.add(ends[1])
        axes = [numbers(axis, "axis") for axis in joint.iter("TransformAxis")]
        assert len(axes) == 6
        for one, other in combinations(axes[:3], 2):
            assert np.linalg.norm(np.cross(one, other)) > 1e-5
        used = [a.findtext("coordinates") for a in joint.iter("TransformAxis")]
        own = [c.get("name") for c in joint.iter("Coordinate")]
        assert [name for name in used if name] == own
        for coordinate in joint.iter("Coordinate"):
            low, high = numbers(coordinate, "range")
            assert low <= 0.0 <= high
    assert children == set(document.bodies)
    for marker in document.markers.values():
        assert marker.findtext("socket_parent_frame") in document.bodies
    assert list(numbers(document.model, "gravity")) == [0.0, -9.80665, 0.0]


def test_masses(subject: hs.Subject, tmp_path: Path) -> None:
    """Bodies have the person's mass, and inertia that a body can have."""
    document = Document(subject.to_osim(tmp_path / "a.osim"))
    masses = [float(body.findtext("mass") or "") for body in document.bodies.values()]
    assert sum(masses) == pytest.approx(80.0)
    thigh = document.bodies["/bodyset/l_thigh"]
    inertia = subject.model().pin.inertias[subject.model().pin.getJointId("l_hip_roll")]
    # ROS axes x, y, z are x, -z, y here
    expected = np.diag(inertia.inertia)[[0, 2, 1]]
    np.testing.assert_allclose(numbers(thigh, "inertia")[:3], expected)
    np.testing.assert_allclose(
        numbers(thigh, "mass_center"), to_humans(inertia.lever), atol=1e-12
    )


def test_limits(subject: hs.Subject, tmp_path: Path) -> None:
    """Ranges are the model's; those of a hip that is turned otherwise do not clamp."""
    for convention, knee, hip in (
        ("humans", ("r_knee", [-150, 5]), ("r_hip_roll", "true")),
        ("rajagopal", ("knee_angle_r", [-5, 150]), ("hip_adduction_r", "false")),
    ):
        document = Document(subject.to_osim(tmp_path / "a.osim", convention))
        found = {
            c.get("name"): c for j in document.joints for c in j.iter("Coordinate")
        }
        np.testing.assert_allclose(
            np.degrees(numbers(found[knee[0]], "range")), knee[1]
        )
        assert found[knee[0]].findtext("clamped") == "true"
        assert found[hip[0]].findtext("clamped") == hip[1]


def test_any_model(model: hs.Model, rng: np.random.Generator, tmp_path: Path) -> None:
    """A robot is written too; its tags are the markers."""
    document = Document(write_osim(model, tmp_path / "robot.osim"))
    q = model.random_configuration(rng)
    values = joint_angles(model, q[None])
    pairs = {name: float(values[name][0]) for name in values.names}
    places = document.places(pairs)
    np.testing.assert_allclose(
        list(places.values()), to_humans(model.tags(q)[:-1]), atol=1e-9
    )


@pytest.mark.parametrize("convention", ["isb", "plug-in-gait"])
def test_angles_that_are_no_coordinates(
    subject: hs.Subject, tmp_path: Path, convention: str
) -> None:
    """Angles seen from another segment than the parent make no model."""
    with pytest.raises(hs.errors.ParameterError, match="has no .osim: its angles of"):
        subject.to_osim(tmp_path / "a.osim", convention)
    assert not (tmp_path / "a.osim").exists()


def test_markers_in_the_middle_of_a_joint(subject: hs.Subject, tmp_path: Path) -> None:
    """A marker on a link without mass, inside a joint, is refused."""
    marker = replace(subject.markers[0], segment="r_hip_yaw_link")
    with pytest.raises(hs.errors.ParameterError, match="put it on the link after it"):
        replace(subject, markers=(marker,)).to_osim(tmp_path / "a.osim")
