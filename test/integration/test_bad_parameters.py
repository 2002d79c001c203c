# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes that simulate, drive and command that make no sense."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint
from humans_sim.core.errors import ParameterError

pytestmark = pytest.mark.ros

BAD_ACTUATION = [
    ({"kind": "springs"}, "kind must be one of torque, servo, motors, muscles"),
    ({"kind": "motors"}, "khr1 has no rotors"),
    ({"kind": "servo", "servo.gain": -1}, "servo.gain must be 0 or more"),
    ({"kind": "servo", "servo.speed_step": 2.5}, "must be a whole number"),
    ({"kind": "servo", "delay": -0.1}, "delay must be 0 to 10"),
    ({"kind": "muscles", "muscles.joint": "{side}_fin"}, "no joint 'r_fin'"),
    ({"kind": "muscles", "muscles.knee.radius": 0}, "muscles.knee: radius"),
    ({"kind": "muscles", "muscles.names": ["biceps"]}, "there is no 'biceps'"),
    ({"kind": "muscles", "muscles.joint": "{leg}_knee"}, "may hold {side}"),
    ({"sync": "loose"}, "sync must be one of free, lockstep"),
    ({"kind": ["servo", "springs"]}, "not 'springs'"),
    ({"kind": ["servo", "servo"]}, "a word twice"),
    ({"kind": 3}, "or a list of them"),
    ({"kind": ["servo", "torque"]}, "both empty"),
    (
        {"kind": ["servo", "torque"], "servo.joints": ["tail"]},
        "servo.joints: khr1 has no 'tail'",
    ),
    (
        {
            "kind": ["servo", "torque"],
            "servo.joints": ["head_yaw"],
            "torque.joints": ["head_yaw"],
        },
        "one of servo.joints already",
    ),
    ({"kind": ["servo", "torque"], "torque.delay": -1.0}, "torque.delay must be 0"),
]
BAD_DYNAMICS = [
    ({"actuation": "servo", "armature": 1e-3}, "servo.rotor_inertia"),
    ({"unlocked": ["r_knee"]}, "out of locked"),
    ({"locked": ["*"], "unlocked": ["tail"]}, "no joint 'tail'"),
    ({"solids": ["step"]}, "solid.step: either box or half_space"),
    ({"solids": ["step"], "solid.step.box": [0.1, 0.1]}, "must be 3 numbers"),
    ({"solids": ["step"], "solid.step.box": [0.1, -1.0, 0.1]}, "above zero"),
    ({"gravity": [0.0, -9.81]}, "gravity must be 3 numbers"),
    ({"impact": "newton"}, "impact must be one of inequality, humans"),
    ({"rtol": -1.0}, "rtol must be 0 or more"),
    ({"limits.head_yaw": [1.0, -1.0]}, "limits.head_yaw: the lower limit"),
    ({"joint_limits": False, "limits.head_yaw": [-1.0, 1.0]}, "joint_limits: true"),
    ({"contacts": ["tail"]}, "tail"),
    ({"contact_geometry": "pins"}, "contact_geometry must be one of"),
    ({"scene": "nowhere"}, "nowhere"),
    ({"posture": "handstand"}, "no posture 'handstand'"),
    ({"posture": "fes-swing-up"}, "another model"),
    ({"joints.angle.noise": -1.0}, "joints.angle.noise must be 0 or more"),
]
BAD_LAWS = [
    ({}, "scenario must name a scenario"),
    ({"scenario": "nowhere"}, "nowhere"),
    ({"scenario": "drop"}, "no controller"),
    ({"scenario": "fes-swing-up"}, "not of the model khr1"),
]


def test_bad_parameters(node: Any) -> None:
    """Parameters that make no sense are named."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from rclpy.parameter import Parameter

    from humans_sim.nodes.actuation.node import Actuation
    from humans_sim.nodes.dynamics.node import Dynamics
    from humans_sim.nodes.scenario_law import ScenarioLaw

    cases = [(Actuation, *case) for case in BAD_ACTUATION]
    cases += [(Dynamics, *case) for case in BAD_DYNAMICS]
    cases += [(ScenarioLaw, *case) for case in BAD_LAWS]
    for kind, values, said in cases:
        given = [Parameter(name, value=value) for name, value in values.items()]
        with pytest.raises(ParameterError, match=re.escape(said)):
            kind("bad", context=node.context, parameter_overrides=given)


def test_small_servos_of_a_heavy_model_are_said(start: Callable[..., Any]) -> None:
    """A human on servos of a small robot falls: the node says why as it starts."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    process = start(
        *("-m", "humans_sim.nodes", "dynamics", "--ros-args", "-p", "model:=human36"),
        *("-p", "actuation:=servo", "-r", "__ns:=/heavy"),
    )
    assert any("too heavy for small servos" in line for line in process.stdout)
