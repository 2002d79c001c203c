# SPDX-License-Identifier: Apache-2.0
"""Free bodies from URDFs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.scene_setup import UnsupportedShapeError, read_body

BOX = """<robot name="crate"><link name="body">
  <inertial><mass value="2"/>{inertia}</inertial>
  <collision>{origin}<geometry>{shape}</geometry></collision>
</link></robot>"""


def urdf(
    shape: str = '<box size="0.1 0.2 0.3"/>', inertia: str = "", origin: str = ""
) -> str:
    """A URDF of one link."""
    return BOX.format(shape=shape, inertia=inertia, origin=origin)


def test_a_box_is_even_unless_its_inertia_is_given() -> None:
    """Moments of an even box, m (a^2 + b^2) / 12; then those of the file."""
    body = read_body(urdf(), Path("crate.urdf"))
    assert body.name == "crate"
    sides = np.array([0.1, 0.2, 0.3]) ** 2
    expected = 2.0 / 12.0 * (sides.sum() - sides)
    np.testing.assert_allclose(np.diag(body.properties.inertia), expected)
    given = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/>'
    body = read_body(urdf(inertia=given), Path("crate.urdf"), "other")
    assert body.name == "other"
    np.testing.assert_allclose(np.diag(body.properties.inertia), [0.02, 0.02, 0.03])


def test_a_ball() -> None:
    """Its one point is the centre."""
    body = read_body(urdf('<sphere radius="0.1"/>'), Path("ball.urdf"))
    assert body.radius == 0.1
    np.testing.assert_allclose(body.properties.inertia, 0.4 * 2.0 * 0.01 * np.eye(3))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<robot", "not XML"),
        ("<robot name='a'/>", "one link"),
        (urdf().replace("<mass", "<other"), "has no <mass>"),
        (
            urdf().replace('value="2"', 'value="x"'),
            ":2: <mass value>: .*finite numbers",
        ),
        (urdf().replace('value="2"', 'value="1_0"'), "finite numbers"),
        (urdf().replace('value="2"', 'value="-2"'), "positive"),
        (urdf('<box size="1 2"/>'), "2 numbers, not 3"),
        (urdf('<box size="1 2 nan"/>'), "finite numbers"),
        (urdf('<box size="1 2 0"/>'), ":3: <box size>: .*no extent"),
        (urdf('<sphere radius="1e-31"/>'), "<sphere radius>: .*no extent"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + urdf(), "document type"),
    ],
)
def test_wrong_files(text: str, problem: str) -> None:
    """Said with the file."""
    with pytest.raises(hs.errors.ModelFileError, match=problem) as caught:
        read_body(text, Path("wrong.urdf"))
    assert "wrong.urdf" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        urdf('<cylinder radius="1" length="1"/>'),
        urdf('<mesh filename="a.stl"/>'),
        urdf(origin='<origin xyz="0 0 1"/>'),
        urdf().replace("<collision>", "<visual>").replace("</collision>", "</visual>"),
    ],
)
def test_shapes_that_cannot_be(text: str) -> None:
    """Cylinders, meshes, shapes off the frame and none at all."""
    with pytest.raises(UnsupportedShapeError):
        read_body(text, Path("other.urdf"))
