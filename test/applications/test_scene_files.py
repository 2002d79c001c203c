# SPDX-License-Identifier: Apache-2.0
"""Scenes and laws as files describe them; errors name file, line and key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import (
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
)
from humans_sim.applications.scenario_control import build_controller
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.scene_files import ground_of, limits_of, pushes_of
from humans_sim.contact import Box
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.yaml_file import YamlValue, parse_yaml


def section_of(text: str) -> YamlValue:
    """A value as a file gives it."""
    return parse_yaml(text, "mine.yaml")


def test_ground_by_default() -> None:
    """No section: the floor."""
    assert ground_of(None) == Ground()
    assert ground_of(section_of("{}")) == Ground()


def test_ground_with_everything() -> None:
    """Numbers, steps, a chair and boxes arrive where they should."""
    ground = ground_of(
        section_of(
            """
friction: 0.4
restitution: 0.1
law: sticking
steps: {count: 2, rise: 0.1, depth: 0.3, start: 1.0}
chair: {x: -0.2, seat_height: 0.4, friction: 0.3}
boxes:
  - {size: [1, 2, 3], centre: [4, 5, 6]}
  - {size: [1, 1, 1], centre: [0, 0, 9], name: crate, friction: 0.9}
"""
        )
    )
    assert (ground.friction, ground.restitution, ground.law) == (0.4, 0.1, "sticking")
    names = [solid.name for solid in ground.solids]
    assert names[1:] == [
        "step_0",
        "step_1",
        "chair_seat",
        "chair_back",
        "box_0",
        "crate",
    ]
    plain, crate = ground.solids[-2:]
    assert isinstance(plain, Box) and plain.size == (1, 2, 3)
    assert plain.centre == (4, 5, 6) and plain.friction is None
    assert isinstance(crate, Box) and crate.friction == 0.9
    assert ground.solids[3].friction == 0.3


def test_slope_and_nothing() -> None:
    """A slope climbs along x by its angle in degrees; empty is empty."""
    (plane,) = ground_of(section_of("slope: 30")).solids
    np.testing.assert_allclose(plane.normal, [-0.5, 0.0, math.sqrt(0.75)])
    assert ground_of(section_of("empty: true")).solids == ()
    assert len(ground_of(section_of("empty: false")).solids) == 1


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("\nfriction: -1", 2, "friction must be 0 or more"),
        ("restitution: 2", 1, "restitution must be 0 to 1"),
        ("law: ice", 1, "law: 'ice' is not one of"),
        ("friction: 1\nwind: 3", 2, "wind: unknown key"),
        ("slope: {}", 1, "slope: must be a number"),
        ("empty: maybe", 1, "empty: 'maybe' is not one of"),
        (
            "steps:\n  count: 2.5\n  rise: 1\n  depth: 1\n  start: 0",
            2,
            "steps.count: must be a whole number",
        ),
        ("steps: {count: 0, rise: 1, depth: 1, start: 0}", 1, "count: .*above zero"),
        ("steps: {count: 2, rise: 1, depth: 1}", 1, "'start' is missing"),
        ("law: sticking\nchair: {x: 0, friction: -2}", 2, "chair: friction must be"),
        ("chair: {}", 1, "'x' is missing"),
        ("boxes: 3", 1, "boxes: must be a list"),
        (
            "boxes:\n  - {size: [1, 1, 1], centre: [0, 0, 0]}\n"
            "  - {size: [1, 1, 0], centre: [0, 0, 0]}",
            3,
            "boxes.1: size of box_1: edges must be above zero",
        ),
        ("boxes: [{size: [1, 1], centre: [0, 0, 0]}]", 1, "size: must be 3 numbers"),
    ],
)
def test_bad_ground(text: str, where: int, message: str) -> None:
    """What is wrong, and in which line."""
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        ground_of(section_of(text))
    assert caught.value.line == where and str(caught.value).startswith("mine.yaml:")


def test_pushes() -> None:
    """With and without link, point and duration."""
    assert pushes_of(None) == []
    one, two = pushes_of(
        section_of(
            "- {time: 1, impulse: [1, 2, 3]}\n"
            "- {time: 2, impulse: [0, 0, 1], link: torso, point: [0, 0, 0.1],"
            " duration: 0.5}"
        )
    )
    assert (one.time, one.impulse, one.link, one.duration) == (1, (1, 2, 3), "", 0.0)
    assert (two.link, two.point, two.duration) == ("torso", (0, 0, 0.1), 0.5)


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("time: 1", 1, "must be a list"),
        ("- {time: 1}", 1, "0: the key 'impulse' is missing"),
        ("- {time: 1, impulse: [1, 2]}", 1, "0.impulse: must be 3 numbers"),
        (
            "- {time: 1, impulse: [1, 2, 3]}\n"
            "- {time: 1, impulse: [1, 2, 3], duration: -1}",
            2,
            "1: a push wants",
        ),
        ("- {time: 1, impulse: [1, 2, 3], power: 1}", 1, "0.power: unknown key"),
    ],
)
def test_bad_pushes(text: str, where: int, message: str) -> None:
    """The push at fault is named."""
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        pushes_of(section_of(text))
    assert caught.value.line == where


def test_limits() -> None:
    """Yes, no, or degrees for some joints."""
    assert limits_of(section_of("true")) is True
    assert limits_of(section_of("false")) is False
    limits = limits_of(section_of("{l_knee: [-150, -6]}"))
    assert limits == {"l_knee": (math.radians(-150), math.radians(-6))}
    for text, message in (
        ("maybe", "'maybe' is not one of"),
        ("l_hip_yaw: [0, 1]\nl_knee: [3, 2]", ":2: l_knee: the lower limit 3 is above"),
        ("l_knee: [3]", "l_knee: must be 2 numbers"),
    ):
        with pytest.raises(hs.errors.ModelFileError, match=message):
            limits_of(section_of(text))


FOLLOW = """
follow:
  end: 0.1
  feet: [l_sole, r_sole]
  curves:
    base_x: [[0, 0.02]]
    base_z: [[0, 0.88]]
  support:
    - {contacts: [l_sole, r_sole]}
"""
SCENE: dict[str, Any] = {"ground": Ground()}


def test_passive_and_servo(human: hs.Model, khr1: hs.Model) -> None:
    """Nothing, and an actuation without a controller."""
    assert build_controller(None, None, human, SCENE).actuation is None
    control = build_controller(section_of("servo: {}"), None, khr1, SCENE)
    assert control.actuation is not None and control.start is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("chair-sit-to-stand", IdealTorque),
        ("bip-stand", ScrewDriveMotors),
        ("fes-swing-up", FesMuscles),
        ("fes-sit-to-stand", CompositeActuation),
    ],
)
def test_scenarios_are_driven_as_they_say(name: str, kind: type) -> None:
    """Each controller comes with its actuation, and starts at rest on the ground."""
    simulation, q, v = read_scenario(name).prepare()
    assert isinstance(simulation.actuation, kind)
    assert not v.any()
    gaps = simulation.system.gaps(q)
    assert gaps.min() > -1e-9


def test_start_of_the_motion(human: hs.Model) -> None:
    """Where the curves begin."""
    control = build_controller(None, section_of(FOLLOW), human, SCENE)
    assert control.start is not None
    np.testing.assert_allclose(control.start[:3], [0.02, 0.0, 0.88])


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("follow", "fly", None, "fly: unknown key .*follow, fes_stand"),
        ("end: 0.1", "end: -1", 3, "follow.end: must be a number above zero"),
        ("  end: 0.1\n", "", 3, "follow: the key 'end' is missing"),
        ("[[0, 0.88]]", "[[0, 0.88], [0, 1]]", 7, "base_z: the times .* must grow"),
        ("[[0, 0.88]]", "[]", 7, "base_z: a curve wants pairs"),
        ("[[0, 0.88]]", "[[0, 0.88, 1]]", 7, "base_z.0: must be 2 numbers"),
        ("[[0, 0.88]]", "[[0, high]]", 7, "base_z.0.1: unknown name 'high'"),
        ("[[0, 0.88]]", "[[0, 1.2]]", 6, "follow.curves: human36 does not reach"),
        ("base_x", "tail", 6, "curves: human36 has no coordinate 'tail'"),
        ("base_x", "l_knee", 6, "l_knee is moved by its foot"),
        ("feet: [l_sole", "feet: [wing", None, "no frame called 'wing'"),
        ("contacts: [l_sole", "contacts: [wing", None, "no contact 'wing'"),
        ("    - {contacts: [l_sole, r_sole]}", "    []", None, "times that grow"),
        ("end: 0.1", "end: 0.1\n  frames: [wing]", None, "no frame called 'wing'"),
        (
            "end: 0.1",
            "end: 0.1\n  friction: 0",
            4,
            "friction: must be a number above zero",
        ),
        ("end: 0.1", "end: 0.1\n  period: 0", 4, "period: must be a number above zero"),
    ],
)
def test_bad_follow(
    human: hs.Model, old: str, new: str, where: int | None, message: str
) -> None:
    """Every fault has a line of the file."""
    text = FOLLOW.replace(old, new)
    assert text != FOLLOW
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        build_controller(None, section_of(text), human, SCENE)
    assert caught.value.line is not None
    assert where is None or caught.value.line == where


@pytest.mark.parametrize(
    ("actuation", "message"),
    [
        ("muscles: {}", "muscles: unknown key"),
        ("torque: {period: 0.01}", "torque.period: unknown key"),
        ("torque: {delay: -1}", "torque: the control delay"),
        ("torque: {power: 1}", "torque.power: unknown key"),
    ],
)
def test_bad_actuation_of_follow(human: hs.Model, actuation: str, message: str) -> None:
    """The section of the actuation is blamed."""
    with pytest.raises(hs.errors.ModelFileError, match=message):
        build_controller(section_of(actuation), section_of(FOLLOW), human, SCENE)


@pytest.mark.parametrize(
    ("text", "actuation", "message"),
    [
        ("bip: {}", None, "'motion' is missing"),
        (
            "bip: {motion: dance}",
            None,
            "bip.motion: must be step, stand or a .traj3 file",
        ),
        ("bip: {motion: no.traj3}", None, "bip.motion: no.traj3: cannot read the file"),
        ("bip: {motion: step, step: {length: 2}}", None, "bip: the legs are too short"),
        ("bip: {motion: step, step: {lift: -1}}", None, "bip.step: lift of a step"),
        ("bip: {motion: step, step: {wings: 1}}", None, "bip.step: .*do not fit"),
        ("bip: {motion: stand, stiffness: 0}", None, "bip.stiffness: .*above zero"),
        ("bip: {motion: stand, margin: 2}", None, "bip: margin must be"),
        ("bip: {motion: stand}", "torque: {}", "torque: unknown key"),
        ("bip: {motion: stand, period: 0}", None, "bip.period: .*above zero"),
        ("bip: {motion: stand}", "motors: {delay: -1}", "the control delay"),
        ("bip: {motion: stand}", "motors: {period: 1}", "motors.period: unknown key"),
        ("bip: {motion: stand}", "motors: {frozen_ratio: 2}", "frozen_ratio: '2'"),
    ],
)
def test_bad_bip(bip: hs.Model, text: str, actuation: str | None, message: str) -> None:
    """Motions, shapes, gains and motors that cannot be."""
    section = None if actuation is None else section_of(actuation)
    with pytest.raises(hs.errors.ModelFileError, match=message):
        build_controller(section, section_of(text), bip, SCENE)


def test_bip_controls_bip(human: hs.Model) -> None:
    """Another model is refused."""
    with pytest.raises(
        hs.errors.ModelFileError, match="bip: .*human36 has no 'r_ankle'"
    ):
        build_controller(None, section_of("bip: {motion: stand}"), human, SCENE)


@pytest.mark.parametrize(
    ("text", "actuation", "message"),
    [
        ("fes_swing: {}", None, "fes_swing: .*two muscles of one knee"),
        ("fes_swing: {recruitment: 2}", "muscles: {sides: [r]}", "recruitment must be"),
        ("fes_swing: {period: 0}", "muscles: {sides: [r]}", "period: .*above zero"),
        ("fes_swing: {}", "muscles: {sides: [x]}", "muscles: .*no joint 'x_knee'"),
        ("fes_swing: {}", "muscles: {sides: [r], scale: -1}", "muscles: scale must"),
        ("fes_swing: {}", "servo: {}", "servo: unknown key"),
        ("fes_stand: {}", None, "fes_stand: the key 'rise' is missing"),
    ],
)
def test_bad_stimulation(
    human: hs.Model, text: str, actuation: str | None, message: str
) -> None:
    """Muscles and controllers that do not fit."""
    section = None if actuation is None else section_of(actuation)
    with pytest.raises(hs.errors.ModelFileError, match=message):
        build_controller(section, section_of(text), human, SCENE)


@pytest.mark.parametrize("text", ["servo: {wings: 2}", "torque: {}", "{}"])
def test_bad_actuation_alone(khr1: hs.Model, text: str) -> None:
    """Without a controller there are servos, with their own parameters."""
    with pytest.raises(hs.errors.ModelFileError, match="mine.yaml:1"):
        build_controller(section_of(text), None, khr1, SCENE)
