# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a typed error that says what and where."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.core.expressions import ExpressionError, evaluate
from humans_sim.core.yaml_file import parse_yaml
from humans_sim.models.files.named_models import model_file
from humans_sim.models.files.tree_file import TreeFile

URDF = """<robot name="two_link">
  <link name="base_link">
    <inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="base_link"/><child link="leg"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
KNEES = """<mimic joint="knee"/></joint>
<link name="a"/><link name="b"/>
<joint name="knee" type="prismatic"><parent link="leg"/><child link="a"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="shin"/></joint>
<joint name="shin" type="prismatic"><parent link="a"/><child link="b"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/>"""
"""Three joints, of which the last two follow each other when it is completed."""


def test_unknown_model() -> None:
    """An unknown name lists the known ones."""
    with pytest.raises(hs.errors.UnknownModelError, match="human36, bip, khr1"):
        hs.load_model("human37")


@pytest.mark.parametrize("value", [-1.0, 0.0, float("nan"), float("inf")])
@pytest.mark.parametrize("word", ["height", "mass"])
def test_bad_height_and_mass(word: str, value: float) -> None:
    """Stature and mass must be finite and above zero."""
    with pytest.raises(hs.errors.ParameterError, match=word):
        hs.load_model("human36", **{word: value})


def test_parameters_a_model_does_not_have(human: hs.Model, bip: hs.Model) -> None:
    """Each unknown parameter, length or tag is named."""
    with pytest.raises(hs.errors.ParameterError, match="height of bip"):
        hs.load_model("bip", height=1.8)
    with pytest.raises(hs.errors.ParameterError, match="no length 'femur'"):
        human.with_lengths(lengths={"femur": 0.4})
    with pytest.raises(hs.errors.ParameterError, match="31 lengths, not 30"):
        human.with_lengths(np.ones(30))
    with pytest.raises(hs.errors.ParameterError, match="'r_yfemur' must be"):
        human.with_lengths({"r_yfemur": -0.1})
    with pytest.raises(hs.errors.ParameterError, match="no tag 'nose'"):
        human.with_tag_positions({"nose": np.zeros(3)})
    with pytest.raises(hs.errors.ParameterError, match="84 numbers"):
        human.with_tag_positions(np.zeros(83))
    with pytest.raises(hs.errors.ParameterError, match="three finite numbers"):
        human.with_tag_positions({"vertex": [0, np.nan, 0]})
    with pytest.raises(hs.errors.ParameterError, match="no frame called 'tail'"):
        bip.frame_pose(bip.neutral(), "tail")


def test_bad_configurations(model: hs.Model) -> None:
    """Wrong length, NaN, and a quaternion that is not one: each method refuses."""
    q, v = model.neutral(), np.zeros(model.nv)
    short, nan, long = q[:-1], q.copy(), q.copy()
    nan[-1] = np.nan
    long[3:7] *= 1.1
    bad_v = v.copy()
    bad_v[0] = np.inf
    cases = [(short, "entries"), (nan, rf"q\[{model.nq - 1}\] = nan"), (long, "unit")]
    for bad, message in cases:
        for call in (
            model.tags,
            model.tags_jacobian,
            model.com,
            model.segment_coms,
            model.inertia,
            model.contact,
            model.contact_jacobian,
            lambda x: model.nl_effects(x, v),
            lambda x: model.contact_hessian(x, v),
        ):
            with pytest.raises(hs.errors.ConfigurationError, match=message):
                call(bad)
    for call in (model.nl_effects, model.contact_hessian):
        with pytest.raises(hs.errors.ConfigurationError, match=r"v\[0\] = inf"):
            call(q, bad_v)
        with pytest.raises(hs.errors.ConfigurationError, match="v of"):
            call(q, v[1:])
    assert model.inertia(list(q)).shape == (model.nv, model.nv)


def test_bad_humans_coordinates(model: hs.Model) -> None:
    """The HuMAnS view checks length, finiteness, and the singular base attitude."""
    view = model.humans
    with pytest.raises(hs.errors.ConfigurationError, match="HuMAnS coordinates"):
        view.inertia(np.zeros(view.size + 1))
    bad = np.zeros(view.size)
    bad[2] = np.nan
    with pytest.raises(hs.errors.ConfigurationError, match=r"q\[2\]"):
        view.tags(bad)
    singular = np.zeros(view.size)
    second = {"zyx": -2, "yzx": -1}[model.parts.humans.base_rotation]
    singular[second] = np.pi / 2
    q, _ = view.to_pin(singular)
    with pytest.raises(hs.errors.ConfigurationError, match="singular"):
        view.from_pin(q)


def test_drive_out_of_reach(bip: hs.Model) -> None:
    """A posture the screw drives cannot reach is refused, not returned as NaN."""
    q = bip.neutral()
    q[7 + bip.joint_names.index("trunk_pitch")] = 2.9
    for call in (bip.inertia, lambda x: bip.nl_effects(x, np.zeros(bip.nv))):
        with pytest.raises(
            hs.errors.ConfigurationError, match="reach of its screw drive"
        ):
            call(q)
    assert hs.load_model("bip", rotors=False).inertia(q).shape == (21, 21)


def broken(tmp_path: Path, old: str, new: str, name: str = "khr1") -> Path:
    """A model file with one fault."""
    text = model_file(name).read_text()
    assert text.count(old) >= 1
    path = tmp_path / "robot.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("toe: 0.065", "toe: [1", "not YAML"),
        ("toe: 0.065", "toe: tow", "unknown name 'tow'"),
        ("toe: 0.065", "toe: 1/0", "divides by zero"),
        ("toe: 0.065", "toe: __import__('os')", "not arithmetic"),
        ("toe: 0.065", "toe: 0.065\n  toe: 0.07", "stands twice"),
        ("mass: 0.4038*m", "mass: -1", "negative"),
        ("mass: 0.4038*m", "weight: 1", "unknown key"),
        ("parent: thigh", "parent: tigh", "no body above is called 'tigh'"),
        ("rotations: {knee: -z}", "rotations: {knee: up}", "'up' is not one of"),
        ("knee: {limits: [-5, 115]}", "knee: {limits: [115, -5]}", "above the upper"),
        ("knee: {limits: [-5, 115]}", "knees: {limits: [-5, 115]}", "has no entry"),
        ("box: [trunk_depth,", "box: [trunk_depth, 1,", "must be 3 numbers"),
        ("shape: rounded_box", "shape: blob", "'blob' is not one of"),
        ("material: shell", "material: gold", "no material is called 'gold'"),
        ("contacts:\n  - r_foot_heel_right", "contacts:\n  - heel", "no tag is called"),
        ("base_rotation: zyx", "base_rotation: zzx", "an order such as"),
        ("    - r_knee\n", "", "joints missing from the list: r_knee"),
        ("    - r_knee\n", "    - r_hip_roll\n", "'r_hip_roll' stands twice"),
        ("    com: [0, 0.5*trunk_height, 0]\n", "", "a mass needs the key 'com'"),
        ("sides: true", "sides: maybe", "'maybe' is not one of"),
        ("sides: true", "sides: false", "no frame|no body|has no entry"),
        ("joint_defaults:", "defaults:", "unknown key"),
        ("\nmaterials:", "\nderived2:", "unknown key"),
        ("- {name: l_sole, body", "- {name: left, body", "no frame is called 'l_sole'"),
    ],
)
def test_malformed_model_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The error names the file and the line of the fault."""
    path = broken(tmp_path, old, new)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        TreeFile(path).describe()
    assert caught.value.path == path
    assert caught.value.line is not None and caught.value.line > 0


def test_the_line_is_right(tmp_path: Path) -> None:
    """The line of the error is the line of the fault."""
    path = broken(tmp_path, "toe: 0.065", "toe: tow")
    expected = (
        path.read_text()
        .splitlines()
        .index("  toe: tow               # ankle to the front edge of the sole")
    )
    with pytest.raises(hs.errors.ModelFileError, match="lengths.toe") as caught:
        TreeFile(path)
    assert caught.value.line == expected + 1
    assert caught.value.key == "lengths.toe"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("frame: 7, ref: 6", "frame: 7, ref: 60", "frame 60 is not defined above"),
        ("frame: 8, ref: 7", "frame: 7, ref: 7", "frame 7 stands twice"),
        ("ref: 7, r: 0,", "ref: 0, r: 0,", "a parent frame with a body"),
        (", sense: -1", "", "a body needs the key 'sense'"),
        (", mass: 3.2", "", "a body needs the key 'mass'"),
        ("inertia: [0.06,", "inertia: [", "must be 6 numbers"),
    ],
)
def test_malformed_denavit_hartenberg(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """A row that hangs on nothing, or lacks something, is found."""
    path = broken(tmp_path, old, new, "bip")
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        TreeFile(path).describe()
    assert caught.value.line is not None


LAYOUT = "humans: {joints: [%s], base_rotation: %s, base_height: 1, segments: [leg]}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</robot>", "", "not XML"),
        ("<robot name", "<model name", "not XML|root element"),
        ('<child link="leg"/>', '<child link="arm"/>', "child link is 'arm'"),
        ('<mass value="0.5"/>', '<mass value="-0.5"/>', "negative"),
        ('<mass value="0.5"/>', '<mass value="heavy"/>', "finite numbers"),
        ('xyz="0 0 -0.2"', 'xyz="0 0 nan"', "finite numbers"),
        ('upper="1"', 'upper="-2"', "above the upper"),
        ('upper="1"', 'upper="inf"', "finite numbers"),
        ('upper="1"', 'upper="1e308"', "too large"),
        ('effort="1"', 'effort="-1"', "negative"),
        ('ixy="0"', 'ixy="nan"', "finite numbers"),
        ('ixx="0.1"', 'ixx="-0.4"', "no solid"),
        ('ixx="0.1"', 'ixx="0.9"', "no solid"),
        ("<robot name", "<!DOCTYPE r><robot name", "document type"),
        ("</robot>", "<a>" * 100 + "</a>" * 100 + "</robot>", "deeply"),
        ('type="revolute"', 'type="floating"', "cannot be used"),
        ('type="revolute"', 'type="hinge"', "no type of a joint"),
        ("</joint>", '<mimic joint="hip"/></joint>', ":9: .*follows itself"),
        ("</joint>", '<mimic joint="hop"/></joint>', "did you mean 'hip'"),
        ("</joint>", f'{KNEES}<mimic joint="knee"/></joint>', "by way of 'shin'"),
        ("<axis ", '<axis xyz="0 0 1"/><axis ', ":9: joint hip <axis>: .* 2 of them"),
        ('xyz="0 1 0"', 'xyz="0 0 0"', "<axis xyz>: .* no direction"),
        ('xyz="0 1 0"', 'xzy="0 1 0"', "<axis xzy>: .* did you mean 'xyz'"),
    ],
)
def test_malformed_urdf(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A malformed URDF is refused with its file and element."""
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.replace(old, new))
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        hs.load_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ("tags: [{name: toe, link: foot, xyz: [0, 0, 0]}]", "no link 'foot'"),
        ("tags: [{name: toe, link: leg, xyz: [0, 0]}]", "must be 3 numbers"),
        ("contacts: [toe]", "no tag is called 'toe'"),
        ("soles: {r_sole: []}", "no link 'r_sole'"),
        ("limits: {knee: [0, 1]}", "no moving joint 'knee'"),
        ("tag: []", "unknown key"),
        (LAYOUT % ("", "zyx"), "joints missing from the list: hip"),
        (LAYOUT % ("hip", "zz"), "an order such as"),
        (LAYOUT % ("hip, hip", "zyx"), "stands twice"),
        (
            "rotors: {inertia: [1], ratios: {}, ankle: 0, knee: 0, hip: 0, trunk: 0}",
            "these drives need a joint called 'r_ankle_roll'",
        ),
        ("tags: {", "not YAML"),
        ("", "empty"),
    ],
)
def test_malformed_side_file(tmp_path: Path, side: str, message: str) -> None:
    """So is a malformed YAML beside it."""
    path = tmp_path / "robot.urdf"
    path.write_text(URDF)
    path.with_suffix(".yaml").write_text(side)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        hs.load_model(path)
    assert caught.value.path == path.with_suffix(".yaml")


def test_missing_urdf(tmp_path: Path) -> None:
    """A path with nothing at it."""
    with pytest.raises(hs.errors.ModelFileError, match="cannot read the file"):
        hs.load_model(tmp_path / "nothing.urdf")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{" * 100_000,
        "- " * 100_000,
        "a: &a [*a]",
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(
            f"{c}: &{c} [{', '.join([f'*{b}'] * 10)}]\n" for b, c in pairwise("abcdefg")
        ),
        "a\n---\nb",
        "? [a]\n: b",
        "a: !!python/object:os.system x",
        f"a: {'9' * 5000}",
        "a: .nan",
        "a: 2001-99-99",
    ],
)
def test_hostile_yaml(text: str) -> None:
    """Depth, aliases, tags, digits: an error that names the file."""
    with pytest.raises(hs.errors.ModelFileError, match="<text>"):
        parse_yaml(text).plain()


@pytest.mark.parametrize(
    "text",
    ["-" * 900 + "1", "9" * 900, "9" * 5000, "1e999", "h" * 2000, "(" * 300, "1\n2"],
)
def test_hostile_expressions(text: str) -> None:
    """Depth, digits and length: an error of one line."""
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, {})
    assert "\n" not in str(caught.value)
    with pytest.raises(ExpressionError):
        evaluate(10**400, {})


@given(st.text(max_size=40))
def test_expressions_never_run_code(text: str) -> None:
    """Any text is a finite number or an ExpressionError, nothing else."""
    try:
        value = evaluate(text, {"h": 1.741})
    except ExpressionError:
        return
    assert np.isfinite(value)


@given(st.text(max_size=60))
def test_yaml_never_fails_otherwise(text: str) -> None:
    """Any text is a YAML value or a ModelFileError."""
    try:
        parse_yaml(text).mapping()
    except hs.errors.ModelFileError:
        pass


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<child link="leg"/>', '<child link="base_link"/>', "joints form a circle"),
        ("</robot>", '<link name="leg"/></robot>', "2 links have this name"),
        ("</robot>", '<link name="arm"/></robot>', "'base_link' and 'arm' are both"),
        (
            "</robot>",
            '<joint name="back" type="fixed"><parent link="leg"/>'
            '<child link="base_link"/></joint></robot>',
            "joints form a circle",
        ),
        (
            "</robot>",
            '<joint name="two" type="fixed"><parent link="base_link"/>'
            '<child link="leg"/></joint></robot>',
            "joint two: its child link 'leg' is that of another joint",
        ),
    ],
)
def test_urdf_that_is_no_tree(old: str, new: str, words: str, tmp_path: Path) -> None:
    """What is not one tree of links is refused with the link or joint."""
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.replace(old, new))
    with pytest.raises(hs.errors.ModelFileError, match=words):
        hs.load_model(path)
    path.write_text(URDF)
    assert hs.load_model(path).joint_names == ("hip",)
