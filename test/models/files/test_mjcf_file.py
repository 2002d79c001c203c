# SPDX-License-Identifier: Apache-2.0
"""MJCF files: the robot is the one that MuJoCo makes of them, or they are refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.core.errors import ModelFileWarning
from humans_sim.models.collision_shapes import collision_shapes, visual_shapes
from humans_sim.models.points import frame_index

pytestmark = pytest.mark.filterwarnings(
    "ignore::humans_sim.core.errors.ModelFileWarning"
)
ROBOT = """<mujoco model="walker">
<compiler angle="degree" eulerseq="zXy"/>
<option gravity="0 0 -9.81"/>
<default>
  <geom density="500" rgba="1 0 0 1"/>
  <joint damping="0.5"/>
  <default class="leg">
    <joint axis="0 2 0" armature="0.02" range="-30 90" frictionloss="0.1"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/>
    <motor gear="50" ctrlrange="-1 1"/>
    <default class="foot">
      <joint range="-10 20"/>
      <geom type="box" size="0.1 0.04 0.02" mass="0.7"/>
    </default>
  </default>
  <default class="tube"><geom density="300"/></default>
  <default class="drawn">
    <geom contype="0" conaffinity="0" group="2" mass="0"/>
  </default>
</default>
<worldbody>
  <geom type="plane" size="1 1 1"/><light pos="0 0 3"/>
  <body name="post" pos="3 0 0"><geom type="box" size="1 1 1"/></body>
  <body name="trunk" pos="0 0 1" euler="0 0 30">
    <freejoint/>
    <inertial pos="0.01 0.02 0.1" mass="8" fullinertia="0.3 0.25 0.1 0.01 -0.02 0.03"/>
    <geom type="box" size="0.1 0.15 0.2"/>
    <geom class="drawn" type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 0.4"/>
    <site name="imu" pos="0 0 0.1"/>
    <body name="thigh" pos="0 0.1 -0.2" euler="10 20 30" childclass="leg">
      <joint name="hip_yaw" axis="0 0 1" range="-45 45" pos="0.01 0.02 0.03"/>
      <joint name="hip_roll" axis="1 0 0.2" ref="15" limited="false"/>
      <joint name="hip_pitch" pos="-0.02 0 0.01" actuatorfrcrange="-40 30"/>
      <geom/>
      <geom name="a" type="sphere" size="0.06" pos="0 0 -0.4"/>
      <frame pos="0 0 -0.4" axisangle="0 1 1 25">
        <body name="shin" zaxis="0.1 0.2 1">
          <joint name="knee" ref="-20"/>
          <joint name="shin_slide" type="slide" axis="0 0 -1" range="0 0.1" ref="0.05"/>
          <geom class="tube" type="cylinder" fromto="0 0 0 0.1 0 -0.4" size="0.04"/>
          <geom type="ellipsoid" size="0.03 0.05 0.07" quat="1 2 3 4"/>
          <body name="sole" pos="0 0 -0.4" xyaxes="1 0.1 0 0.2 1 0.3">
            <joint name="ankle" class="foot"/>
            <geom name="b" class="foot" quat="0.9 0.1 0 0.2"/>
          </body>
          <body name="shield" pos="0.1 0 0" quat="0.7071068 0 0.7071068 0">
            <geom class="drawn" size="0.02" type="sphere"/>
            <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"
                      euler="10 0 5"/>
          </body>
        </body>
      </frame>
    </body>
  </body>
</worldbody>
<contact><exclude body1="trunk" body2="shin"/><pair geom1="a" geom2="b"/></contact>
<actuator>
  <motor class="leg" name="yaw" joint="hip_yaw"/>
  <motor class="leg" name="pitch" joint="hip_pitch"/>
  <position joint="knee" kp="10" forcerange="-60 60" ctrlrange="-1 2"/>
  <motor joint="knee" gear="-2" ctrlrange="-5 5"/>
  <motor joint="ankle"/>
</actuator>
</mujoco>
"""


def load(folder: Path, text: str, name: str = "robot.xml") -> hs.Model:
    """The model of a text."""
    path = folder / name
    path.write_text(text)
    return hs.load_model(path)


class Oracle:
    """MuJoCo's own model of a text, asked in the coordinates of ours."""

    def __init__(self, text: str, model: hs.Model) -> None:
        self.mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not there")
        self.model = self.mujoco.MjModel.from_xml_string(text)
        self.data = self.mujoco.MjData(self.model)
        names = [self.model.joint(k).name for k in range(1, self.model.njnt)]
        self.places = [model.joint_names.index(name) for name in names]

    def move(self, q: np.ndarray, v: np.ndarray) -> None:
        """Take a state of ours: velocities of the base are in its own frame there."""
        turn = pin.Quaternion(q[6], *q[3:6]).matrix()
        joints = np.array(self.places, dtype=int)
        self.data.qpos[:] = [*q[:3], *q[[6, 3, 4, 5]], *q[7 + joints]]
        self.data.qvel[:] = [*turn @ v[:3], *v[3:6], *v[6 + joints]]
        self.mujoco.mj_forward(self.model, self.data)
        self.change = np.zeros((len(v), len(v)))
        self.change[:3, :3], self.change[3:6, 3:6] = turn, np.eye(3)
        for row, place in enumerate(joints):
            self.change[6 + row, 6 + place] = 1.0
        drift = np.zeros(len(v))
        drift[:3] = turn @ np.cross(v[3:6], v[:3])
        self.drift = drift

    def inertia(self) -> np.ndarray:
        """The mass matrix of ours."""
        columns = []
        for k in range(self.model.nv):
            unit, made = np.zeros(self.model.nv), np.zeros(self.model.nv)
            unit[k] = 1.0
            self.mujoco.mj_mulM(self.model, self.data, made, unit)
            columns.append(made)
        self.mass = np.array(columns)
        return self.change.T @ self.mass @ self.change

    def effects(self) -> np.ndarray:
        """Nonlinear effects and gravity of ours."""
        bias = self.data.qfrc_bias + self.mass @ self.drift
        return np.asarray(self.change.T @ bias)


def compare(folder: Path, text: str, rng: np.random.Generator) -> hs.Model:
    """Compare a robot with MuJoCo's: dynamics, places of geoms, limits."""
    model = load(folder, text)
    oracle = Oracle(text, model)
    theirs = oracle.model
    for _ in range(5):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        oracle.move(q, v)
        mass = oracle.inertia()
        np.testing.assert_allclose(
            model.inertia(q), mass, atol=1e-10 * np.abs(mass).max()
        )
        effects = oracle.effects()
        np.testing.assert_allclose(
            model.nl_effects(q, v), effects, atol=1e-9 * np.abs(effects).max()
        )
        base = oracle.data.body(theirs.body(int(theirs.jnt_bodyid[0])).name)
        np.testing.assert_allclose(model.com(q), base.subtree_com, atol=1e-11)
        placed = [*collision_shapes(model), *visual_shapes(model)]
        data = model.data()
        pin.forwardKinematics(model.pin, data, q)
        centres = np.array([data.oMi[s.joint].act(s.pose).translation for s in placed])
        for k in range(theirs.ngeom):
            if theirs.body_rootid[theirs.geom_bodyid[k]] == base.id:
                away = np.linalg.norm(centres - oracle.data.geom_xpos[k], axis=1)
                assert away.min() < 1e-9
    for place, joint in zip(oracle.places, range(1, theirs.njnt), strict=True):
        ends = theirs.jnt_range[joint]
        if not theirs.jnt_limited[joint]:
            ends = (-math.inf, math.inf)
        own = model.lower_limits[place], model.upper_limits[place]
        np.testing.assert_allclose(own, ends, rtol=1e-14)
    columns = [theirs.jnt_dofadr[k] for k in range(1, theirs.njnt)]
    for own, given in (
        (model.joint_damping, theirs.dof_damping),
        (model.joint_friction, theirs.dof_frictionloss),
        (model.pin.armature[6:], theirs.dof_armature),
    ):
        np.testing.assert_array_equal(own[oracle.places], np.ravel(given)[columns])
    return model


def test_the_robot_is_that_of_mujoco(tmp_path: Path, rng: np.random.Generator) -> None:
    """Mass matrix and effects to 1e-10, geoms to 1e-9 m, limits to the last bit."""
    model = compare(tmp_path, ROBOT, rng)
    again = hs.load_model(model.save(tmp_path / "again.urdf"))
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    np.testing.assert_allclose(again.inertia(q), model.inertia(q), atol=1e-12)
    np.testing.assert_allclose(again.nl_effects(q, v), model.nl_effects(q, v))
    assert again.parts.self_collision == model.parts.self_collision


def random_robot(rng: np.random.Generator) -> str:
    """A tree of bodies in all the ways to say where they are and what they weigh."""

    def three(scale: float = 1.0) -> str:
        return " ".join(map(repr, (rng.normal(size=3) * scale).tolist()))

    def turned() -> str:
        kind = rng.integers(6)
        if kind == 0:
            return f'quat="{float(rng.normal())!r} {three()}"'
        if kind == 1:
            return f'axisangle="{three()} {float(rng.normal())!r}"'
        if kind == 2:
            return f'xyaxes="{three()} {three()}"'
        return ("", f'zaxis="{three()}"', f'euler="{three()}"')[kind - 3]

    def geom() -> str:
        kind = rng.choice(["sphere", "capsule", "cylinder", "box", "ellipsoid"])
        sizes = " ".join(map(repr, rng.uniform(0.02, 0.2, 3).tolist()))
        mass = rng.choice(["", 'mass="0.3"', 'density="700"'])
        if kind in ("capsule", "cylinder") and rng.random() < 0.5:
            return (
                f'<geom type="{kind}" fromto="{three(0.2)} {three(0.2)}" '
                f'size="0.05" {mass}/>'
            )
        where = f'pos="{three(0.1)}" {turned()}'
        return f'<geom type="{kind}" size="{sizes}" {where} {mass}/>'

    def body(number: int, depth: int) -> str:
        joints = "".join(
            f'<joint name="j{number}{k}" type="{rng.choice(["hinge", "slide"])}" '
            f'pos="{three(0.1)}" axis="{three()}" ref="{float(rng.normal())!r}" '
            f'armature="{float(rng.uniform(0, 0.1))!r}"/>'
            for k in "abc"[: rng.integers(4)]
        )
        inner = "".join(body(number * 3 + k, depth - 1) for k in range(depth and 2))
        if rng.random() < 0.3:
            inner = f'<frame pos="{three(0.1)}" {turned()}>{inner}{geom()}</frame>'
        own = geom()
        if rng.random() < 0.5:
            own += f'<inertial mass="2" diaginertia="0.1 0.2 0.15" pos="{three(0.1)}" '
            own += f"{turned()}/>"
        where = f'name="b{number}" pos="{three(0.3)}" {turned()}'
        return f"<body {where}>{joints}{own}{inner}</body>"

    base = body(1, 3)
    head, _, rest = base.partition(">")
    while rest.startswith("<joint"):
        rest = rest.partition("/>")[2]
    sequence = "".join(rng.choice(list("xyzXYZ"), 3))
    angle = rng.choice(["radian", "degree"])
    return (
        f'<mujoco><compiler eulerseq="{sequence}" angle="{angle}"/><worldbody>{head}>'
        f'<joint name="free" type="free"/>{rest}</worldbody></mujoco>'
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_robots(seed: int, tmp_path: Path) -> None:
    """All orientations, frames, joints beside their bodies' origins, several in one."""
    rng = np.random.default_rng(seed)
    compare(tmp_path, random_robot(rng), rng)


def test_what_was_read(tmp_path: Path) -> None:
    """Forces, names, pairs that do not touch, notes: against the file by hand."""
    with pytest.warns(ModelFileWarning):
        model = load(tmp_path, ROBOT)
    effort = dict(zip(model.joint_names, model.effort_limits, strict=True))
    assert effort == {
        "hip_yaw": 50.0,
        "hip_roll": math.inf,
        "hip_pitch": 30.0,
        "knee": 70.0,
        "shin_slide": math.inf,
        "ankle": math.inf,
    }
    assert model.parts.self_collision.exclude == (("trunk", "shin"),)
    assert model.name == "walker" and model.nv == 12
    assert model.notes == (
        "bodies of the world are left out: post",
        "hip_pitch: of the limits -40 and 30 of its force the smaller counts both ways",
        "joints without an actuator: hip_roll, shin_slide",
    )
    links = {shape.link for shape in collision_shapes(model)}
    assert links == {"trunk", "thigh", "shin", "sole"}  # a shield that is drawn alone
    assert sum(s.link == "trunk" for s in visual_shapes(model)) == 1
    rotor = model.pin.armature[6 + model.joint_names.index("ankle")]
    assert rotor == 0.02


def test_armature_counts_once(tmp_path: Path, rng: np.random.Generator) -> None:
    """In the model, its inverse dynamics, the compiled tree; drives replace it."""
    model = load(tmp_path, ROBOT)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    a = rng.normal(size=model.nv)
    force = model.inertia(q) @ a + model.nl_effects(q, v)
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a), force, atol=1e-9)
    bare = ROBOT.replace('armature="0.02"', "")
    difference = model.inertia(q) - load(tmp_path, bare, "bare.xml").inertia(q)
    np.testing.assert_allclose(difference, np.diag(model.pin.armature), atol=1e-12)
    for own, whole in ((0.0, model.pin.armature), (0.3, np.full(model.nv, 0.3))):
        actuation = hs.IdealTorque(model)
        actuation.armature = np.repeat([0.0, own], [6, model.nv - 6])
        if own:
            whole = np.where(np.arange(model.nv) < 6, 0.0, whole)
        system = hs.Simulation(model, actuation).system
        terms = system.terms(q, v, np.zeros(0, dtype=int))
        expected = model.inertia(q) - np.diag(model.pin.armature) + np.diag(whole)
        np.testing.assert_allclose(terms.mass, expected, atol=1e-12)
        assert system.tree is not None
        np.testing.assert_allclose(system.tree.armature, whole, atol=1e-15)


MIMIC = """<mujoco><worldbody><body name="hand"><freejoint/>
<geom size="0.1"/>
<body name="a"><joint name="a"/><geom size="0.1" pos="0.1 0 0"/></body>
<body name="b"><joint name="b" ref="10"/><geom size="0.1" pos="0.1 0 0"/></body>
<body name="c"><joint name="c"/><geom size="0.1" pos="0.1 0 0"/></body>
</body></worldbody><equality>
<joint joint1="b" joint2="a" polycoef="0.25 2 0 0 0"/>
<joint joint1="c" polycoef="0.5 0 0 0 0"/>
<joint joint1="a" joint2="c" active="false"/>
</equality></mujoco>"""


def test_coupled_joints_are_locked(tmp_path: Path) -> None:
    """Where they stand while the one that leads is at zero, with the file's ref."""
    model = load(tmp_path, MIMIC)
    assert model.joint_names == ("a",)
    q = model.neutral()
    for name, angle in (("b", 0.25), ("c", 0.5)):
        pose = model.frame_pose(q, name)
        np.testing.assert_allclose(pose.rotation, pin.utils.rotate("z", angle))
    assert [note.partition(":")[0] for note in model.notes] == ["locked"] * 2


def test_couplings_that_are_not_linear(tmp_path: Path) -> None:
    """The joint is where the file's polynomial has it while the other is at zero."""
    text = MIMIC.replace("0.25 2 0 0 0", "0.25 2 3 1 0")
    text = text.replace('<joint name="a"/>', '<joint name="a" ref="20"/>')
    model = load(tmp_path, text)
    away = -math.radians(20.0)
    angle = 0.25 + 2 * away + 3 * away**2 + away**3 + math.radians(10.0)
    turn = pin.utils.rotate("z", angle - math.radians(10.0))
    pose = model.frame_pose(model.neutral(), "b")
    np.testing.assert_allclose(pose.rotation, turn, atol=1e-14)
    assert "couplings are taken as linear: b" in model.notes


def test_settings_and_classes_around_a_robot(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """A second <compiler> changes what it names; frames in the world have classes."""
    text = ROBOT.replace("<option", '<compiler autolimits="true"/><option')
    text = text.replace('angle="degree"', 'angle="radian"')
    text = text.replace("<worldbody>", '<worldbody><frame childclass="tube">')
    text = text.replace("</worldbody>", "</frame></worldbody>")
    head, _, rest = text.partition("<inertial")
    model = compare(tmp_path, head + rest.partition("/>")[2], rng)
    assert model.upper_limits[model.joint_names.index("knee")] == 90.0


def test_parts_of_the_world_are_noted(tmp_path: Path) -> None:
    """What may hold bodies, and is left out."""
    part = '<replicate count="2"><geom size="1"/></replicate>'
    notes = load(tmp_path, ROBOT.replace("<light", f"{part}<light")).notes
    assert "parts of the world are left out: <replicate>" in notes


def test_includes(tmp_path: Path) -> None:
    """Files beside the first one, in its place; none elsewhere, none without an end."""
    (tmp_path / "parts").mkdir()
    body = (
        '<mujoco><body name="b"><freejoint/><geom size="1" mass="2"/></body></mujoco>'
    )
    (tmp_path / "parts" / "body.xml").write_text(body)
    text = '<mujoco><worldbody><include file="{}"/></worldbody></mujoco>'
    assert load(tmp_path, text.format("parts/body.xml")).mass == 2.0
    for name in ("../body.xml", "/etc/passwd", "", "robot.xml", "none.xml"):
        with pytest.raises(hs.errors.ModelFileError):
            load(tmp_path, text.format(name))
    for k in range(9):
        more = f'<include file="{k + 1}.xml"/>' * 10
        (tmp_path / f"{k}.xml").write_text(f"<mujoco>{more if k < 8 else ''}</mujoco>")
    with pytest.raises(hs.errors.ModelFileError, match="50 files"):
        load(tmp_path, text.format("0.xml"))


def test_meshes(tmp_path: Path) -> None:
    """They are those of the asset's file, in its folder, scaled."""
    import trimesh

    (tmp_path / "assets").mkdir()
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "assets" / "Brick.STL")
    text = """<mujoco><compiler meshdir="assets"/><default><mesh scale="0.1 0.1 0.2"/>
    </default><asset><mesh file="brick.stl"/></asset><worldbody><body name="b">
    <freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="brick" pos="0 0 1"/></body></worldbody></mujoco>"""
    model = load(tmp_path, text)
    (shape,) = collision_shapes(model)
    np.testing.assert_allclose(shape.size, [0.1, 0.2, 0.6], atol=1e-7)
    assert model.neutral()[2] == pytest.approx(0.3 - 1.0, abs=1e-7)
    assert model.pin.frames[frame_index(model.pin, "b")].parentJoint == 1
    with pytest.raises(hs.errors.ModelFileError, match="give the body an <inertial>"):
        load(tmp_path, text.replace('<inertial pos="0 0 0" mass="1" diag', "<site x"))
    with pytest.raises(hs.errors.ModelFileError, match="did you mean 'brick'"):
        load(tmp_path, text.replace('mesh="brick"', 'mesh="bricks"'))


PAIRS = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
<geom name="floor" type="plane" size="1 1 1"/><body name="b"><freejoint/>
<geom type="box" size="1 1 1" group="2"/>
<geom name="foot" size="0.1" group="3" pos="0 0 -2"/>
<geom name="heel" size="0.2" group="3" pos="0 0 -2"/></body></worldbody>{}</mujoco>"""


def test_geoms_that_collide_by_pairs(tmp_path: Path) -> None:
    """Those of pairs do; where the file has none, those of the group for it, said."""
    pair = '<contact><pair geom1="floor" geom2="foot"/></contact>'
    model = load(tmp_path, PAIRS.format(pair))
    assert [shape.size for shape in collision_shapes(model)] == [(0.1,)]
    assert model.notes == ()
    model = load(tmp_path, PAIRS.format(""))
    assert [shape.size for shape in collision_shapes(model)] == [(0.1,), (0.2,)]
    assert model.notes == ("no geom collides in the file: those of group 3 do here",)
    bare = PAIRS.format("").replace('group="3"', 'group="2"')
    assert collision_shapes(load(tmp_path, bare)) == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<joint name="knee" ref', '<joint type="ball" name="knee" springref', "ball"),
        ('name="knee" ref="-20"', 'name="knee" stiffness="2"', "springs"),
        ('name="knee" ref', 'name="knee" reff', "mean 'ref'"),
        ('axis="1 0 0.2"', 'axis="0 0 0"', "no direction"),
        ('axis="1 0 0.2"', 'axis="1 0"', "2 numbers, not 3"),
        ('mass="8"', 'mass="8kg"', "not made of finite numbers"),
        ('mass="8"', 'mass="1_0"', "not made of finite numbers"),
        ('mass="8"', 'mass="nan"', "not made of finite numbers"),
        ('mass="8"', 'mess="8"', "mean 'mass'"),
        ('mass="8" ', "", "'mass' is missing"),
        ('range="-45 45"', 'range="5 4" limited="true"', "5 is not below 4"),
        ("<freejoint/>", "", None),
        ("<freejoint/>", '<joint type="slide"/>', "moves along joints"),
        ('class="foot" quat', 'class="feet" quat', "no class 'feet'"),
        ('<body name="shin"', '<replicate count="3"/><body name="shin"', "replic"),
        ('type="ellipsoid" size="0.03', 'type="sdf" size="0.03', "type 'sdf'"),
        ("</actuator>", '</actuator><equality><weld body1="a"/></equality>', "loop"),
        ("</actuator>", '<motor joint="hip"/></actuator>', "no joint 'hip'"),
        ('eulerseq="zXy"', 'eulerseq="zXw"', "order of three axes"),
        ('eulerseq="zXy"', 'settotalmass="5"', "change"),
        ('eulerseq="zXy"', 'coordinate="global"', "only 'local'"),
        ('size="0.06"', 'size="-0.06"', "sizes above zero"),
        ('zaxis="0.1 0.2 1"', 'zaxis="0 0 1" quat="1 0 0 0"', "stands twice"),
        ('zaxis="0.1 0.2 1"', 'gravcomp="1"', "taken off"),
        (
            '<body name="post" pos="3 0 0">',
            '<body name="post"><joint/>',
            "no part of the robot",
        ),
        (
            '<body name="post" pos="3 0 0">',
            '<body name="post"><freejoint/>',
            "2 free bodies",
        ),
        ('type="slide" axis', 'springdamper="1 1" axis', "springs"),
        ('fullinertia="0.3', 'fullinertia="9', "no solid has"),
        ('limited="false"', 'limited="ture"', "none of auto, true, false"),
        ('angle="degree"', 'angle="degrees"', "none of degree, radian"),
        ("<option gravity", "<options gravity", "did you mean 'option'"),
        ('<motor gear="50"', '<moter gear="50"', "did you mean 'motor'"),
        ('<light pos="0 0 3"/>', "<frames/>", "did you mean 'frame'"),
    ],
)
def test_what_is_refused(old: str, new: str, words: str | None, tmp_path: Path) -> None:
    """With the file, the line and what it is; a base without a joint floats."""
    assert ROBOT.count(old) == 1
    text = ROBOT.replace(old, new)
    if words is None:
        assert "floats here" in load(tmp_path, text).notes[0]
        return
    with pytest.raises(hs.errors.ModelFileError, match=words) as caught:
        load(tmp_path, text)
    assert caught.value.path == tmp_path / "robot.xml"
    line = ROBOT.count("\n", 0, ROBOT.index(old)) + 1
    assert abs(caught.value.line - line) <= 1  # the element, or the one around it


def test_other_xml_is_a_urdf(tmp_path: Path) -> None:
    """The root element says which it is; anything else is refused."""
    with pytest.raises(hs.errors.ModelFileError, match="not <robot>"):
        load(tmp_path, "<sdf/>")
    with pytest.raises(hs.errors.ModelFileError, match="0 bodies"):
        load(tmp_path, "<mujoco/>")


def test_a_robot_of_mujoco_falls(tmp_path: Path) -> None:
    """A run of it passes its check."""
    model = load(tmp_path, ROBOT)
    q = model.neutral()
    run = hs.Simulation(model, method="time_stepping").run(
        q, np.zeros(model.nv), t_end=0.2
    )
    assert run.check().ok, run.check()
