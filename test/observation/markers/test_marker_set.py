# SPDX-License-Identifier: Apache-2.0
"""The marker sets of the package, and sets of one's own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import trimesh

import humans_sim as hs
from humans_sim.core.resources import resource
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    identify,
    load_marker_set,
    marker_set_names,
)
from humans_sim.observation.markers.synthetic import (
    marker_positions,
    swaying,
    synthetic_trial,
)
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibrate import calibrate
from humans_sim.observation.posture.calibration_prior import CalibrationSettings
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.view.browser.scene_layers import solids

SETS = [name for name in marker_set_names() if name != CANONICAL]
COUNTS = {
    "body-25": (25, 0),
    "cast-ior": (22, 4),
    "cmu": (41, 0),
    "gait2354": (41, 8),
    "halpe-26": (26, 0),
    "helen-hayes": (15, 4),
    "plug-in-gait": (39, 4),
    "rajagopal": (41, 18),
}
"""Markers of motions, and those of static trials alone."""
ASYMMETRIC = re.compile(r"[RL](UPA|FRM|THI|TIB|SHN)|[RL]\.(TH|SH)\d")
"""Markers that sit elsewhere on the left than on the right."""
UNPAIRED = {"RBAK", "RBAC", "L.TH4", "R.SH4"}
FAR = {"rajagopal": 0.04, "helen-hayes": 0.06, "halpe-26": 0.05, "body-25": 0.05}
"""How far from the skin a cluster, the end of a wand or a joint is, in statures."""
HEAD = {"head_pitch", "head_yaw", "head_roll"}
WRISTS = {f"{side}_wrist_{turn}" for side in "rl" for turn in ("pitch", "roll")}

FOREARMS = {f"{side}_elbow_yaw" for side in "rl"}

SET = """\
title: ours
model: human36
markers:
  - {name: KNEE, segment: r_thigh, at: [0, -yfemur, 0.03*h]}
"""


def motion_part(marker_set: MarkerSet) -> MarkerSet:
    """The set without what only static trials have."""
    return marker_set.of(m.name for m in marker_set.markers if not m.calibration)


def standing(model: hs.Model, marker_set: MarkerSet) -> dict[str, np.ndarray]:
    """Where the markers of a standing person are: x forward, y left, z up [m]."""
    at = marker_positions(model, marker_set, model.neutral()[None])[0]
    return dict(zip(marker_set.names, at, strict=True))


def natural(model: hs.Model, rng: np.random.Generator) -> np.ndarray:
    """A random posture in the middle half of the limits, somewhere in the room."""
    q = model.neutral()
    q[:3] += rng.uniform(-1.0, 1.0, 3)
    turn = pin.Quaternion(pin.exp3(np.array([0.2, -0.1, rng.uniform(-3.0, 3.0)])))
    q[3:7] = turn.coeffs()
    q[7:] = 0.5 * rng.uniform(model.lower_limits, model.upper_limits)
    return q


@pytest.fixture(scope="module")
def skin(human: hs.Model) -> trimesh.Trimesh:
    """The drawn surface of a standing person."""
    data = human.data()
    pin.framesForwardKinematics(human.pin, data, human.neutral())
    meshes = []
    for solid in solids(human):
        mesh = solid.mesh.copy()
        mesh.apply_transform((data.oMi[solid.joint] * solid.placement).homogeneous)
        meshes.append(mesh)
    return trimesh.util.concatenate(meshes)


def test_the_sets_of_the_package() -> None:
    """No set is without a test here."""
    assert set(SETS) == set(COUNTS)


@pytest.mark.parametrize("height", [1.15, 1.741, 2.1])
@pytest.mark.parametrize("name", SETS)
def test_sets_fit_every_stature(name: str, height: float) -> None:
    """The counts are those published, and positions grow with the person."""
    model = hs.load_model("human36", height=height)
    marker_set = load_marker_set(name, model)
    static = sum(marker.calibration for marker in marker_set.markers)
    assert (len(marker_set.markers) - static, static) == COUNTS[name]
    low, high = model.tags(model.neutral())[:-1, 2][[0, -1]]
    for label, (_, _, z) in standing(model, marker_set).items():
        assert low - 1e-9 < z < high, label
    for marker in marker_set.markers:
        assert 0.001 < marker.spread.min() <= marker.spread.max() < 0.1


@pytest.mark.study
@pytest.mark.parametrize("name", SETS)
def test_markers_sit_on_the_body(
    name: str, human: hs.Model, skin: trimesh.Trimesh
) -> None:
    """A marker is on the skin, or as far from it as a wand is long."""
    marker_set = load_marker_set(name, human)
    # Joint centres of static trials lie inside.
    on_skin = motion_part(marker_set) if name == "rajagopal" else marker_set
    at = np.array(list(standing(human, on_skin).values()))
    _, distance, _ = trimesh.proximity.closest_point_naive(skin, at)
    worst = int(np.argmax(distance))
    limit = FAR.get(name, 0.02) * human.height
    assert distance[worst] < limit, on_skin.names[worst]


@pytest.mark.parametrize("name", SETS)
def test_left_mirrors_right(name: str, human: hs.Model) -> None:
    """What is called right is on the right, and left is its mirror image."""
    marker_set = load_marker_set(name, human)
    at = standing(human, marker_set)
    for label, place in at.items():
        if label in UNPAIRED or not re.match(r"[RL][^a-z]", label):
            continue
        other = ("L" if label[0] == "R" else "R") + label[1:]
        assert place[1] * (1 if label[0] == "L" else -1) > 0, label
        side, opposite = marker_set[label].segment, marker_set[other].segment
        assert side[:2].translate(str.maketrans("rl", "lr")) + side[2:] == opposite or (
            side == opposite and side in ("base_link", "torso", "head")
        )
        if not ASYMMETRIC.fullmatch(label):
            np.testing.assert_allclose(at[other], place * [1, -1, 1], atol=1e-12)


@pytest.mark.parametrize("name", ["plug-in-gait", "cmu"])
def test_places_of_full_body_sets(name: str, human: hs.Model) -> None:
    """Markers of the body lie to each other as anatomy has them."""
    at = standing(human, load_marker_set(name, human))
    front, back = ("ASI", "PSI") if name == "plug-in-gait" else ("FWT", "BWT")
    shin = "TIB" if name == "plug-in-gait" else "SHN"
    for s in "RL":
        downward = ["FHD", "SHO", "UPA", "ELB", "FRM", "WRA", "FIN"]
        heights = [at[s + label][2] for label in downward]
        assert heights == sorted(heights, reverse=True)
        downward = [front, "THI", "KNE", shin, "ANK", "TOE"]
        heights = [at[s + label][2] for label in downward]
        assert heights == sorted(heights, reverse=True)
        for ahead, behind in (("FHD", "BHD"), (front, back), ("TOE", "HEE")):
            assert at[s + ahead][0] - at[s + behind][0] > 0.1
        # Palms are forward: the thumb is on the outside, the hand's back behind.
        assert abs(at[f"{s}WRA"][1]) > abs(at[f"{s}WRB"][1]) + 0.05
        assert at[f"{s}FIN"][0] < at[f"{s}SHO"][0]
    assert at["C7"][2] > at["CLAV"][2] > at["STRN"][2]
    assert at["STRN"][0] - at["T10"][0] > 0.15
    assert at["CLAV"][0] - at["C7"][0] > 0.1


def test_places_of_landmarks(human: hs.Model) -> None:
    """Landmarks of the leg lie as anatomy has them."""
    at = standing(human, load_marker_set("cast-ior", human))
    for s, outward in (("R", -1.0), ("L", 1.0)):
        downward = ["ASI", "GT", "LE", "HF", "TT", "LM", "CA"]
        heights = [at[s + label][2] for label in downward]
        assert heights == sorted(heights, reverse=True)
        across = [outward * at[s + label][1] for label in ("FM", "SM", "VM")]
        assert across == sorted(across)
        for lateral, medial in (("LE", "ME"), ("LM", "MM")):
            assert outward * (at[s + lateral][1] - at[s + medial][1]) > 0.06
        assert at[f"{s}SM"][0] == max(at[s + m][0] for m in ("FM", "SM", "VM"))


@pytest.mark.parametrize("name", SETS)
def test_postures_come_back(
    name: str, human: hs.Model, rng: np.random.Generator
) -> None:
    """Markers of a posture give the posture, searched from nowhere."""
    marker_set = motion_part(load_marker_set(name, human))
    solver = PostureSolver(human, marker_set)
    unseen = np.isin(human.joint_names, solver.unobservable)
    for _ in range(8):
        q = natural(human, rng)
        measured = marker_positions(human, marker_set, q[None])[0]
        solver.reset()
        found = solver.solve(measured)
        assert np.abs(found.differences).max() < 1e-6
        np.testing.assert_allclose(found.q[7:][~unseen], q[7:][~unseen], atol=1e-5)
        np.testing.assert_allclose(found.q[7:][unseen], solver.rest[unseen], atol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_what_a_set_cannot_see(name: str, human: hs.Model) -> None:
    """Full-body sets see all joints; others none that lie beyond their markers."""
    marker_set = motion_part(load_marker_set(name, human))
    legs = re.compile(r"[rl]_(hip|knee|ankle)")
    upper = {joint for joint in human.joint_names if not legs.match(joint)}
    expected = {
        "plug-in-gait": set(),
        "cmu": set(),
        "rajagopal": HEAD | WRISTS,
        "gait2354": WRISTS,
        "cast-ior": upper,
        "helen-hayes": upper,
        "body-25": WRISTS | FOREARMS,
        "halpe-26": WRISTS | FOREARMS,
    }[name]
    assert set(PostureSolver(human, marker_set).unobservable) == expected


@pytest.mark.parametrize("name", SETS)
def test_labels_and_aliases_are_told_apart(name: str, human: hs.Model) -> None:
    """However a laboratory writes a label, it means one marker of the set."""
    marker_set = load_marker_set(name, human)
    plain: dict[str, str] = {}
    for marker in marker_set.markers:
        assert "{" not in "".join((marker.name, *marker.aliases))
        for label in (marker.name, *marker.aliases):
            key = re.sub(r"[._\- ]", "", label).lower()
            assert plain.setdefault(key, marker.name) == marker.name, label


def test_a_file_with_other_spellings_is_understood(human: hs.Model) -> None:
    """Labels of another system's Helen Hayes find their markers."""
    labels = ("V.Sacral", "R.ASIS", "L.ASIS", "R.Thigh", "l_thigh", "Ann:R.Knee")
    trial = MarkerTrial(labels, np.zeros(1), np.zeros((1, 6, 3)), np.arange(1))
    markers = load_marker_set("helen-hayes", human).markers
    found = identify(
        trial,
        None,
        [marker.name for marker in markers],
        {marker.name: marker.aliases for marker in markers},
    )
    assert found.trial.names == ("SACR", "RASI", "LASI", "RTHI", "LTHI", "RKNE")
    assert found.ignored == ()


def test_a_person_is_measured_with_few_markers(human: hs.Model) -> None:
    """A taller person's legs are found from standing and moving."""
    tall = hs.load_model("human36", height=1.9)
    marker_set = load_marker_set("helen-hayes", tall)
    still = synthetic_trial(
        tall, marker_set, lambda t: tall.neutral(), duration=0.05, noise=0.001
    )
    moving = synthetic_trial(tall, motion_part(marker_set), duration=2.0, noise=0.001)
    few = CalibrationSettings(motion_frames=10)
    found = calibrate(human, [still, moving], "helen-hayes", settings=few)
    assert found.missing == () and found.ignored == ()
    assert found.rms < 0.003
    for size in found.sizes:
        if size.name in ("r_yfemur", "l_yfemur", "r_ytibia", "l_ytibia"):
            assert size.value == pytest.approx(tall.lengths[size.name], rel=0.04)
            assert size.seen


@pytest.mark.parametrize("name", ["halpe-26", "body-25"])
def test_keypoints_of_a_camera(name: str, human: hs.Model) -> None:
    """Keypoints that scatter by a centimetre give the legs to some degrees."""
    marker_set = load_marker_set(name, human)
    # As Pose2Sim writes it: without eyes and ears, the middle of the hips by its name.
    kept = [n for n in marker_set.names if not re.fullmatch("[RL](Eye|Ear)", n)]
    moving = synthetic_trial(human, marker_set.of(kept), duration=1.0, noise=0.01)
    labels = tuple("CHip" if n in ("Hip", "MidHip") else n for n in moving.names)
    found = hs.reconstruct(human, replace(moving, names=labels), name)
    assert found.ignored == () and len(found.missing) == 4
    motion = swaying(human)
    q = np.array([motion(float(t)) for t in moving.times])
    off = np.degrees(np.sqrt(((found.q - q) ** 2).mean(axis=0)))[7:]
    error = dict(zip(human.joint_names, off, strict=True))
    for side in "rl":
        for joint in ("hip_pitch", "hip_roll", "knee", "ankle_pitch"):
            assert error[f"{side}_{joint}"] < 3.0, joint
        assert error[f"{side}_elbow_pitch"] < 5.0
    assert found.rms < 0.01


def test_a_set_of_ones_own(human: hs.Model, tmp_path: Path) -> None:
    """A copy of a set with one line changed is a new laboratory's set."""
    text = resource("config", "marker_sets", "plug-in-gait.yaml").read_text()
    ours = text.replace("0.033*h]}", '0.04*h], weight: 2, aliases: ["our {side}"]}', 1)
    ours = ours.replace("title: Full body", "title: Ours, full body")
    path = tmp_path / "ours.yaml"
    path.write_text(ours)
    marker_set = load_marker_set(path, human)
    theirs = load_marker_set("plug-in-gait", human)
    assert marker_set.name == "ours"
    assert marker_set.title.startswith("Ours")
    assert marker_set.names == theirs.names
    for label, side in (("RKNE", 1), ("LKNE", -1)):
        marker = marker_set[label]
        assert marker.at[2] == pytest.approx(side * 0.04 * human.height)
        assert (marker.weight, marker.aliases) == (2.0, (f"our {label[0]}",))
    for label in set(theirs.names) - {"RKNE", "LKNE"}:
        np.testing.assert_array_equal(marker_set[label].at, theirs[label].at)
    assert load_marker_set(str(path), human).names == marker_set.names


def test_lengths_of_each_side(tmp_path: Path) -> None:
    """A marker of both sides follows the lengths of its own leg."""
    model = hs.load_model("human36", lengths={"l_yfemur": 0.3})
    path = tmp_path / "knees.yaml"
    path.write_text(
        "title: knees\nmarkers:\n"
        '  - {name: "{side}K", sides: [R, L], segment: thigh, at: [0, -yfemur, 0.05]}\n'
    )
    knees = load_marker_set(path, model)
    assert knees["LK"].at == pytest.approx([0.0, -0.3, -0.05])
    assert knees["RK"].at == pytest.approx([0.0, -model.lengths["r_yfemur"], 0.05])


def test_models_without_lengths_take_numbers(human: hs.Model, tmp_path: Path) -> None:
    """A model from a URDF has no named lengths: positions are numbers."""
    model = hs.load_model(human.save(tmp_path / "person.urdf"))
    path = tmp_path / "numbers.yaml"
    path.write_text(SET.replace("-yfemur, 0.03*h", "-0.42, 2*0.025"))
    assert load_marker_set(path, model)["KNEE"].at == pytest.approx([0, -0.42, 0.05])
    path.write_text(SET)
    with pytest.raises(hs.errors.ModelFileError, match=r"numbers\.yaml:4: .*yfemur"):
        load_marker_set(path, model)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("r_thigh", "thigh", 4, "no link called 'thigh'"),
        ("r_thigh", "universe", 4, "no link called 'universe'"),
        ("human36", "khr1", 2, "for khr1, not for human36"),
        ("[0, -yfemur, 0.03*h]", "[0, -yfemur]", 4, "must be 3 numbers, not 2"),
        ("[0, -yfemur, 0.03*h]", "here", 4, "must be a list"),
        ("-yfemur", "-yfemuur", 4, "yfemuur"),
        ("-yfemur", ".nan", 4, "at"),
        ("-yfemur", "1e999", 4, "at"),
        ("-yfemur", "1/0", 4, "at"),
        ("-yfemur", "__import__('os')", 4, "at"),
        ("h]}", "h], sides: [R, L]}", 4, "without r_ or l_"),
        ("r_thigh", "thigh, sides: [R, L]", 4, r"needs \{side\} in its name"),
        ("r_thigh", "thigh, sides: [R]", 4, "must be two words"),
        ("KNEE", '"{side}KNEE"', 4, "needs 'sides'"),
        ("h]}", "h], weight: -1}", 4, "must be a number above zero, not -1"),
        ("h]}", "h], weight: 0}", 4, "must be a number above zero, not 0"),
        ("h]}", "h], spread: -0.02}", 4, "must be a number above zero, not -0.02"),
        ("h]}", "h], spread: [0.02, 0.02]}", 4, "must be 3 numbers, not 2"),
        ("h]}", "h], spread: [0.02, 0, 0.02]}", 4, "numbers above zero"),
        ("h]}", "h], calibration: maybe}", 4, "not one of true, false"),
        ("h]}", "h], aliases: RKNE}", 4, "must be a list"),
        ("h]}", "h], colour: red}", 4, "unknown key"),
        ("name: KNEE, ", "", 4, "the key 'name' is missing"),
        ("model", "spread: -1\nmodel", 2, "a number above zero"),
        ("title: ours\n", "", 1, "the key 'title' is missing"),
        ("markers:\n", "markers: 3\n#", 3, "must be a list"),
    ],
)
def test_malformed_sets(
    old: str, new: str, line: int, message: str, human: hs.Model, tmp_path: Path
) -> None:
    """Errors name the file and the line."""
    path = tmp_path / "ours.yaml"
    path.write_text(SET)
    assert load_marker_set(path, human).names == ("KNEE",)
    text = SET.replace(old, new, 1)
    text = text if "3\n#" not in new else text.rsplit("#", 1)[0]
    path.write_text(text)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        load_marker_set(path, human)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_names_stand_once(human: hs.Model, tmp_path: Path) -> None:
    """The second marker of a name is refused, on one side or both."""
    path = tmp_path / "ours.yaml"
    for again in (
        "  - {name: KNEE, segment: l_thigh, at: [0, 0, 0]}\n",
        '  - {name: "{side}EE", sides: [KN, L], segment: thigh, at: [0, 0, 0]}\n',
    ):
        path.write_text(SET + again)
        with pytest.raises(
            hs.errors.ModelFileError, match=r"yaml:5: .*'KNEE' stands twice"
        ):
            load_marker_set(path, human)


def test_sets_that_are_no_sets(human: hs.Model, tmp_path: Path) -> None:
    """Nothing, rubbish, an empty list and unknown names are typed errors."""
    path = tmp_path / "ours.yaml"
    with pytest.raises(hs.errors.ModelFileError, match="cannot read"):
        load_marker_set(path, human)
    for text, message in (
        ("", "empty"),
        ("\t- {", "not YAML"),
        ("- 1", "a mapping"),
        ("title: none\nmarkers: []\n", "needs markers"),
    ):
        path.write_text(text)
        with pytest.raises(hs.errors.ModelFileError, match=message):
            load_marker_set(path, human)
    path.write_bytes(b"\xff\xfe\x00title")
    with pytest.raises(hs.errors.ModelFileError, match="cannot read"):
        load_marker_set(path, human)
    with pytest.raises(hs.errors.ParameterError, match=r"plug-in-gait.*\.yaml"):
        load_marker_set("plug-in-gate", human)
    with pytest.raises(hs.errors.ModelFileError, match="for human36, not for bip"):
        load_marker_set("plug-in-gait", hs.load_model("bip"))
    with pytest.raises(hs.errors.ParameterError, match="no marker 'NOSE'"):
        load_marker_set("plug-in-gait", human)["NOSE"]
