# SPDX-License-Identifier: Apache-2.0
"""What pinocchio built is what the URDF says, or there is an error with its place."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from urdf_numbers import NUMERIC
from urdf_reading import EQUAL, REFUSED, judge, read_independently, same

import humans_sim as hs
from humans_sim.cli.commands import run_app
from humans_sim.core.bounded_text import parse_xml
from humans_sim.core.errors import ModelFileWarning
from humans_sim.models.files import named_models, urdf_file
from humans_sim.models.files.named_models import write_urdf
from humans_sim.models.files.urdf_compare import compare_with_urdf

INERTIA = '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="-0.02"/>'
ROBOT = f"""<robot name="two">
<link name="base_link"><inertial><mass value="1"/>{INERTIA}</inertial></link>
<link name="leg"><inertial><origin xyz="0 0.1 -0.2" rpy="0.1 0.2 0.3"/>
  <mass value="0.5"/>{INERTIA}</inertial></link>
<link name="shoe"><inertial><origin xyz="0.3 0 -0.1" rpy="0 0.5 0"/>
  <mass value="0.25"/>{INERTIA}</inertial></link>
<link name="slide"><inertial><mass value="0.125"/>{INERTIA}</inertial></link>
<joint name="hip" type="revolute"><parent link="base_link"/><child link="leg"/>
  <origin xyz="0.1 0.2 1" rpy="0.2 -0.1 0.4"/><axis xyz="0 2 1"/>
  <limit lower="-1" upper="2" effort="3" velocity="4"/>
  <dynamics damping="0.1" friction="0.2"/></joint>
<joint name="laces" type="fixed"><parent link="leg"/><child link="shoe"/>
  <origin xyz="0.1 0 -0.4" rpy="0 0 0.3"/></joint>
<joint name="rail" type="prismatic"><parent link="shoe"/><child link="slide"/>
  <origin xyz="0 0 0.1" rpy="0.3 0 0"/><axis xyz="0 0 -1"/>
  <limit lower="0" upper="0.5" effort="5" velocity="6"/></joint>
</robot>
"""


def build(text: str) -> pin.Model:
    """Pinocchio's model of a text, whatever it drops."""
    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())


def write(folder: Path, text: str) -> Path:
    """A URDF file."""
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def khr1_urdf(khr1: hs.Model) -> str:
    """The text of a sound robot."""
    return khr1.urdf()


@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
@pytest.mark.parametrize("name", NUMERIC)
def test_damage_is_not_silent(name: str, khr1_urdf: str, tmp_path: Path) -> None:
    """Loaded as a second reading of the file says, or refused with line and name."""
    damage = NUMERIC[name](khr1_urdf, random.Random(name))
    assert damage.text != khr1_urdf
    outcome, why = judge(write(tmp_path, damage.text), damage.words, damage.line)
    assert outcome in (EQUAL, REFUSED), f"{outcome}: {why}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('value="0.25"', 'value="0.251"'),
        ('ixx="0.1"', 'ixx="0.101"'),
        ('xyz="0 2 1"', 'xyz="0 2 1.001"'),
        ('xyz="0.1 0.2 1"', 'xyz="0.100001 0.2 1"'),
        ('rpy="0 0 0.3"', 'rpy="0 0 0.301"'),
        ('upper="2"', 'upper="2.001"'),
        ('velocity="6"', 'velocity="6.001"'),
    ],
)
def test_the_second_reading_can_differ(old: str, new: str, tmp_path: Path) -> None:
    """It tells a gram, a micrometre and a milliradian."""
    model = hs.load_model(write(tmp_path, ROBOT))
    assert len(NUMERIC) >= 40 and same(model, read_independently(ROBOT))
    assert not same(model, read_independently(ROBOT.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('value="0.5"', 'value="0.5 "'),
        ('value="0.25"', 'value=""'),
        ('value="0.125"', 'value="1e-320"'),
        ('xyz="0.3 0 -0.1"', 'xyz="0.3 0"'),
        ('<mass value="0.5"/>', '<mass vaule="0.5"/>'),
        ('xyz="0 2 1"', 'xzy="0 2 1"'),
    ],
)
def test_what_urdfdom_drops_is_found(old: str, new: str) -> None:
    """Without the checks before it, the comparison alone finds what is missing."""
    robot = parse_xml(ROBOT, Path("robot.urdf"))
    compare_with_urdf(robot, build(ROBOT))
    assert ROBOT.count(old) == 1
    with pytest.raises(
        hs.errors.ModelFileError, match=r"robot\.urdf:\d+: (link|joint) \w+ <"
    ):
        compare_with_urdf(robot, build(ROBOT.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('value="1"', 'value="1.0001"', 2, "link base_link <mass value>: .* 1.0001"),
        ('value="0.5"', 'value="0.50001"', 3, "link leg <mass value>"),
        ('value="0.25"', 'value="0.2500001"', 5, "link shoe <mass value>"),
        ('xyz="0 0.1 -0.2"', 'xyz="0 0.1 -0.20001"', 3, "first moments"),
        ('rpy="0.1 0.2 0.3"', 'rpy="0.1 0.2 0.3001"', 3, "leg <inertia>"),
        ('rpy="0 0.5 0"', 'rpy="0 0.5001 0"', 3, "moments of inertia"),
        ('xyz="0.1 0.2 1"', 'xyz="0.1 0.2 1.000001"', 8, "joint hip <origin>.*at 0.1"),
        ('rpy="0.2 -0.1 0.4"', 'rpy="0.2 -0.1 0.4001"', 8, "joint hip .*turned"),
        ('xyz="0.1 0 -0.4"', 'xyz="0.1 0 -0.4001"', 5, "link shoe <origin>"),
        ('xyz="0 2 1"', 'xyz="0 2 1.001"', 8, "joint hip <axis xyz>"),
        ('xyz="0 0 -1"', 'xyz="0 0 1"', 14, "joint rail <axis xyz>"),
        ('type="prismatic"', 'type="revolute"', 14, "joint rail <axis xyz>: a prism"),
        ('type="revolute"', 'type="continuous"', 8, "joint hip <joint type>"),
        ('type="prismatic"', 'type="fixed"', 14, "left the joint out"),
        ('lower="-1"', 'lower="-1.1"', 10, "joint hip <limit lower>: -1.0 in the file"),
        ('upper="0.5"', 'upper="0.6"', 16, "joint rail <limit upper>"),
        ('effort="3"', 'effort="3.0001"', 10, "<limit effort>"),
        ('velocity="6"', 'velocity="7"', 16, "<limit velocity>"),
        ('damping="0.1"', 'damping="0.2"', 11, "<dynamics damping>"),
        ('friction="0.2"', 'friction="0"', 11, "<dynamics friction>"),
        ('<parent link="shoe"/>', '<parent link="base_link"/>', 14, "rail <parent>"),
    ],
)
def test_every_number_counts(old: str, new: str, line: int, words: str) -> None:
    """A model with one other number is refused, with the line of the file's number."""
    robot = parse_xml(ROBOT, Path("robot.urdf"))
    assert ROBOT.count(old) == 1
    with pytest.raises(hs.errors.ModelFileError, match=words) as caught:
        compare_with_urdf(robot, build(ROBOT.replace(old, new)))
    assert caught.value.line == line


def random_robot(rng: np.random.Generator) -> str:
    """A tree of links of all sizes; a long way leads back to where it began."""
    scale = 10.0 ** rng.uniform(-3, 3)

    def three(size: float) -> str:
        return " ".join(map(repr, (rng.normal(size=3) * size).tolist()))

    def origin(reach: float) -> str:
        return f'<origin xyz="{three(reach)}" rpy="{three(1.0)}"/>'

    text = ""
    for k in range(12):
        mass = float(10.0 ** rng.uniform(-6, 2) * rng.integers(0, 3))
        matrix = rng.normal(size=(3, 3)) * scale
        matrix = mass * matrix @ matrix.T
        matrix = np.trace(matrix) * np.eye(3) - matrix
        moments = " ".join(
            f'i{a}{b}="{float(matrix[i, j])!r}"'
            for i, a in enumerate("xyz")
            for j, b in enumerate("xyz")
            if i <= j
        )
        text += f'<link name="l{k}"><inertial>{origin(scale)}<mass value="{mass!r}"/>'
        text += f"<inertia {moments}/></inertial></link>\n"
        if k:
            kind = rng.choice(["fixed", "revolute", "prismatic", "continuous"])
            axis = three(10.0 ** rng.uniform(-3, 3))
            far = scale * 10.0 ** rng.uniform(-2, 2)
            text += f'<joint name="j{k}" type="{kind}">{origin(far)}'
            text += f'<parent link="l{rng.integers(k)}"/><child link="l{k}"/>'
            text += f'<axis xyz="{axis}"/><limit lower="-1" upper="{rng.random()!r}" '
            text += 'effort="1" velocity="2"/></joint>\n'
    way = rng.normal(size=3) * 1000.0
    there, back = (" ".join(map(repr, (s * way).tolist())) for s in (1, -1))
    return f"""<robot name="r">{text}<link name="hub"/>
      <joint name="axle" type="continuous"><parent link="l0"/><child link="hub"/>
      </joint>
      <link name="back"><inertial><origin xyz="{back}"/><mass value="2"/>{INERTIA}
      </inertial></link><joint name="way" type="fixed"><parent link="hub"/>
      <child link="back"/><origin xyz="{there}" rpy="0 0 6.283185307179586"/></joint>
      </robot>"""


def test_rounding_is_no_difference(rng: np.random.Generator) -> None:
    """Robots of millimetres and kilometres, of grains and tons, are themselves."""
    for _ in range(40):
        text = random_robot(rng)
        compare_with_urdf(parse_xml(text, Path("robot.urdf")), build(text))


def test_a_link_that_was_lost() -> None:
    """The link itself is named."""
    other = ROBOT.replace('link name="shoe"', 'link name="boot"')
    other = other.replace('link="shoe"', 'link="boot"')
    with pytest.raises(
        hs.errors.ModelFileError, match="link shoe <link>: .*left the link"
    ):
        compare_with_urdf(parse_xml(ROBOT, Path("robot.urdf")), build(other))
    more = build(ROBOT)
    more.addJoint(1, pin.JointModelRX(), pin.SE3.Identity(), "tail")
    with pytest.raises(
        hs.errors.ModelFileError, match="2 moving joints, pinocchio built 3"
    ):
        compare_with_urdf(parse_xml(ROBOT, Path("robot.urdf")), more)


def test_it_stands_behind_the_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose damage nothing noticed before is refused, and so is a table."""
    monkeypatch.setattr(urdf_file, "check_urdf", lambda robot, path: False)
    text = ROBOT.replace('value="0.5"', 'value="0.5 "')
    with pytest.raises(
        hs.errors.ModelFileError, match="link leg <mass value>.*0.75 kg"
    ):
        hs.load_model(write(tmp_path, text))
    monkeypatch.setattr(
        named_models,
        "write_urdf",
        lambda *given: write_urdf(*given).replace('effort="', 'effort="1'),
    )
    with pytest.raises(hs.errors.ModelFileError, match="<limit effort>"):
        hs.load_model("khr1")


@pytest.mark.parametrize("name", ["khr1", "bip", "human36", "human"])
def test_models_of_tables(name: str) -> None:
    """The URDF that a packaged model publishes is the model that is simulated."""
    model = hs.load_model(name)
    compare_with_urdf(parse_xml(model.urdf(), Path("robot.urdf")), model.pin)
    heavier = model.urdf().replace("<mass value=", '<mass value="0.1" a=', 1)
    with pytest.raises(hs.errors.ModelFileError, match="<mass value>"):
        compare_with_urdf(parse_xml(heavier, Path("robot.urdf")), model.pin)


def test_the_blank_counts_for_other_readers(tmp_path: Path) -> None:
    """The text that the model hands on has the number as urdfdom reads it."""
    for blank in (" ", "\n  ", "\t", "&#10;"):
        text = ROBOT.replace('value="0.5"', f'value="0.5{blank}"')
        model = hs.load_model(write(tmp_path, text))
        assert model.mass == 1.875
        assert sum(i.mass for i in build(model.urdf()).inertias) == 1.875
    text = ROBOT.replace('xyz="0 0.1 -0.2"', 'xyz="0\n0.1\t-0.2"')
    handed_on = build(hs.load_model(write(tmp_path, text)).urdf())
    compare_with_urdf(parse_xml(ROBOT, Path("robot.urdf")), handed_on)
    assert hs.load_model(write(tmp_path, ROBOT)).urdf() == ROBOT


def test_lines_of_a_xacro(tmp_path: Path) -> None:
    """An error in what a macro makes has the file and the line of the macro."""
    part = tmp_path / "part.xacro"
    head = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">\n'
    part.write_text(
        f'{head}<xacro:macro name="body" params="m">\n<link name="base_link"><inertial>'
        f'\n<mass\n  value="${{m}}"/>{INERTIA}</inertial></link></xacro:macro></robot>'
    )
    whole = tmp_path / "robot.xacro"
    text = f'{head}<xacro:include filename="part.xacro"/><xacro:body m="%s"/></robot>'
    whole.write_text(text % "2")
    assert hs.load_model(whole).mass == 2.0
    whole.write_text(text % "2 kg")
    with pytest.raises(
        hs.errors.ModelFileError, match="<mass value>: '2 kg'"
    ) as caught:
        hs.load_model(whole)
    assert (caught.value.path, caught.value.line) == (part, 5)


def test_notes(tmp_path: Path) -> None:
    """Shapes without extent and joints that follow are reported, in a line each."""
    ball = '<collision><geometry><sphere radius="0"/></geometry></collision></link>'
    text = ROBOT.replace("</link>", ball, 1)
    with pytest.warns(ModelFileWarning, match="left out: 1 of link base_link") as one:
        model = hs.load_model(write(tmp_path, text))
    assert len(one) == 1 and model.mass == 1.875
    text = ROBOT.replace("</joint>\n</robot>", '<mimic joint="hip"/></joint></robot>')
    with pytest.warns(ModelFileWarning, match=r"locked: rail \(follows hip\)"):
        model = hs.load_model(write(tmp_path, text))
    assert model.joint_names == ("hip",)
    assert model.notes == ("locked: rail (follows hip)",)


ROBOTS = sorted(
    (Path(__file__).resolve().parents[4] / "shared" / "data" / "robots").glob(
        "*/*.urdf"
    )
)


@pytest.mark.filterwarnings("ignore::humans_sim.core.errors.ModelFileWarning")
@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.parent.name)
def test_published_robots(path: Path) -> None:
    """They are what a second reading says, with the joints that were locked at zero."""
    model = hs.load_model(path)
    reading = read_independently(path.read_text())
    if len(reading.joints) > len(model.joint_names):
        assert any(note.startswith("locked") for note in model.notes)
    assert same(model, reading.of_joints(model.joint_names))


def test_notes_of_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command prints each in one line, before what it fails with."""
    ball = '<visual><geometry><sphere radius="0"/></geometry></visual></link>'
    path = write(tmp_path, ROBOT.replace("</link>", ball, 1))
    assert run_app(["init-robot", str(path)]) != 0
    lines = capsys.readouterr().err.splitlines()  # others' libraries warn, too
    first, *rest = (line for line in lines if line.startswith("humans-sim: "))
    assert first.startswith(f"humans-sim: warning: {path}: shapes without extent")
    assert len(rest) == 1
