# SPDX-License-Identifier: Apache-2.0
"""xacro files: what xacro itself makes of them, and nothing that they should not do."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.resources import resource
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.models.files.xacro_file import expand_xacro
from humans_sim.observation.posture.subject import Subject
from humans_sim.results.record import recorded_model

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
INCLUDED = (
    HEAD
    + """<xacro:property name="seven" value="7"/>
<xacro:macro name="box" params="s:=1 *origin"><visual>
<xacro:insert_block name="origin"/><box size="${s} ${s*2} ${s/4}"/></visual>
</xacro:macro></robot>"""
)
WHOLE = (
    HEAD
    + """
<xacro:arg name="robot" default="bob"/><xacro:include filename="parts.xacro"/>
<xacro:property name="w" value="${2*h}"/><xacro:property name="h" value="0.5"/>
<xacro:property name="flag" value="true"/><xacro:property name="outer" value="3"/>
<xacro:property name="block"><origin xyz="0 0 ${w}"/><a/></xacro:property>
<xacro:macro name="leg"
 params="side reflect:=1 size:=${w*2} *org **more name:='x y' outer:=^ other:=^|5">
 <link name="${side}_leg"><xacro:insert_block name="org"/>
 <mass value="${size*reflect}"/><xacro:insert_block name="more"/>
 <xacro:if value="${side == 'left' and reflect > 0}"><l n="${name}"/></xacro:if>
 <xacro:unless value="${side == 'left'}"><r/></xacro:unless>
 <xacro:property name="h" value="9"/><v v="${h} ${seven} ${outer} ${other}"/></link>
</xacro:macro>
<xacro:leg side="left"><origin xyz="${pi/2} 0 ${sin(radians(30))}"/>
 <more><m1/><m2 v="${h}"/></more></xacro:leg>
<xacro:leg side="right" reflect="${-1}" size="4" other="2"><origin/><more/></xacro:leg>
<xacro:box><origin rpy="0 0 ${-pi}"/></xacro:box><xacro:insert_block name="block"/>
<t robot="$(arg robot)" z="$${x} $$$(x) $3" v="${h} ${1+1} ${7//2} ${2**3} ${10%3}
 ${max(1,2.5)} ${'a'+'b'} ${1 if flag else 2} ${not flag} ${1e-3} ${0.1+0.2}">${w}</t>
</robot>"""
)
ATTACKS = (
    "${(lambda: ().__class__.__bases__[0].__subclasses__())()}",
    "${[1]*9**9*w}",
    "${9**9**9}",
    "${'a'*10**9}",
    "${__import__('os').system('touch hit')}",
    "${open('/etc/passwd').read()}",
    "${w.__class__}",
    "${[x for x in (1,)]}",
    "${round(5, -10**9)}",
    "${(x:=1)}",
    "${math.__dict__}",
    "${max(*w)}",
    "${self}",
    "${" + "-" * 900 + "1}",
    "${" + "9" * 5000 + "}",
    "$(find humans_sim)",
    "$(eval 1)",
    "$(env HOME)",
)


def write(folder: Path, body: str, name: str = "evil.xacro") -> Path:
    """A xacro file."""
    path = folder / name
    path.write_text(f'{HEAD}<xacro:property name="w" value="1"/>{body}</robot>')
    return path


def test_as_xacro_itself(tmp_path: Path) -> None:
    """Properties, macros, blocks, conditions, arguments, files: the same document."""
    xacro = pytest.importorskip("xacro")
    (tmp_path / "parts.xacro").write_text(INCLUDED)
    path = tmp_path / "whole.xacro"
    path.write_text(WHOLE)
    for given in ({}, {"robot": "zed"}):
        theirs = xacro.process_file(str(path), mappings=dict(given)).toxml()
        expected = ET.canonicalize(theirs, strip_text=True)
        expected = re.sub(' xmlns:xacro="[^"]*"', "", expected)
        expanded = ET.tostring(expand_xacro(path, given), encoding="unicode")
        assert ET.canonicalize(expanded, strip_text=True) == expected


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs, nothing grows: a typed error that names the file."""
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, f'<t v="{attack}"/>')
    with pytest.raises(hs.errors.ModelFileError, match=r"evil\.xacro"):
        hs.load_model(path)
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<xacro:macro name="a" params=""><xacro:a/></xacro:macro><xacro:a/>', "deep"),
        (
            '<xacro:macro name="a8" params=""><l/></xacro:macro>'
            + "".join(
                f'<xacro:macro name="a{k}" params="">{f"<xacro:a{k + 1}/>" * 10}'
                "</xacro:macro>"
                for k in range(8)
            )
            + "<xacro:a0/>",
            "elements",
        ),
        (
            f'<xacro:property name="p0" value="{"x" * 1000}"/>'
            + "".join(
                f'<xacro:property name="p{k + 1}" value="{f"${{p{k}}}" * 10}"/>'
                for k in range(8)
            )
            + '<t v="${p8}"/>',
            "characters",
        ),
        ('<xacro:property name="a" value="${a}"/><t v="${a}"/>', "deep"),
        ('<xacro:include filename="evil.xacro"/>', "files"),
        ('<xacro:include filename="../other.xacro"/>', "beside"),
        ('<xacro:include filename="/etc/passwd"/>', "beside"),
        ("<xacro:unknown/>", "no such macro"),
        ('<xacro:if value="perhaps"/>', "neither true nor false"),
        ('<t v="$(arg none)"/>', "not given"),
        ('<t v="${none}"/>', "unknown name"),
    ],
)
def test_files_without_an_end(tmp_path: Path, body: str, message: str) -> None:
    """Recursion, growth, files elsewhere and unknown words end in an error."""
    with pytest.raises(hs.errors.ModelFileError, match=message):
        expand_xacro(write(tmp_path, body))


def test_only_the_user_names_one(tmp_path: Path, khr1: hs.Model) -> None:
    """A scenario, a subject, a robot file or the header of a run cannot."""
    inertial = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    body = f'<link name="base_link"><inertial><mass value="2"/>{inertial}</inertial>'
    path = write(tmp_path, body + "</link>", "robot.xacro")
    assert hs.load_model(path).mass == pytest.approx(2.0)
    path = write(tmp_path, body + "</link>", "other.xacro")  # nobody named this one
    scenario = tmp_path / "s.yaml"
    for name in ("robot.xacro", str(path), "ROBOT.XACRO"):
        scenario.write_text(
            f"title: x\nmodel: {name}\ntime: {{end: 1, sampling_period: 0.1}}\n"
        )
        with pytest.raises(hs.errors.ModelFileError, match="cannot name"):
            read_scenario(str(scenario))
    robot = resource("config", "kondo", "khr1.yaml").read_text()
    assert "model: khr1" in robot
    scenario.write_text(robot.replace("model: khr1", "model: robot.xacro"))
    with pytest.raises(hs.errors.ModelFileError, match="cannot name"):
        load_robot(scenario)
    person = Subject("robot.xacro", 1.8, 70.0, {}, ()).save(tmp_path / "p.yaml")
    with pytest.raises(hs.errors.ModelFileError, match="cannot name"):
        hs.load_subject(person)
    with pytest.raises(hs.errors.RunFileError, match="cannot name"):
        recorded_model({"model": {"name": str(path)}})
    result = hs.reconstruct(khr1, hs.read_markers(_trial(tmp_path, khr1)))
    stored = result.save(tmp_path / "r.npz")
    with np.load(stored) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"]))
    header["model"] = {"name": str(path)}
    arrays["header"] = np.array(json.dumps(header))
    np.savez(stored, **arrays)
    with pytest.raises(hs.HumansError, match="cannot name"):
        hs.load_reconstruction(stored)


def _trial(folder: Path, model: hs.Model) -> Path:
    from humans_sim.observation.markers import MarkerTrial, write_trc

    tags = np.array([model.tags(model.neutral())[:-1]] * 2)
    trial = MarkerTrial(model.tag_names, np.array([0, 0.01]), tags, np.arange(2))
    return write_trc(trial, folder / "t.trc")


def test_packages_around_the_file(tmp_path: Path) -> None:
    """``$(find x)`` is a folder above, or one with a manifest beside one above."""
    urdf, other = tmp_path / "op3" / "urdf", tmp_path / "common" / "xacro"
    urdf.mkdir(parents=True)
    other.mkdir(parents=True)
    for folder, name in ((urdf, "a"), (other, "b"), (other, "c")):
        write(folder, f'<link name="{name}"/>', f"{name}.xacro")
    path = write(
        urdf,
        '<xacro:include filename="$(find op3)/urdf/a.xacro"/>'
        '<xacro:include filename="$(find common)/xacro/b.xacro"/>',
    )
    with pytest.raises(hs.errors.ModelFileError, match="'common' is in no folder"):
        expand_xacro(path)
    (tmp_path / "common" / "package.xml").write_text("<package/>")
    assert [link.get("name") for link in expand_xacro(path)] == ["a", "b"]
    # A package that nobody named is not read, nor what lies outside of one.
    for name in ("../../common/xacro/c.xacro", "$(find common)/../secret.xacro"):
        path = write(urdf, f'<xacro:include filename="{name}"/>')
        with pytest.raises(hs.errors.ModelFileError, match="only files beside"):
            expand_xacro(path)
    for name in ("..", "../common", "/etc", "a b", "."):
        path = write(urdf, f'<t v="$(find {name})"/>')
        with pytest.raises(hs.errors.ModelFileError, match="xacro"):
            expand_xacro(path)
