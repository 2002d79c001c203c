# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes ``actuation`` and ``dynamics`` that make no sense."""

from __future__ import annotations

import re
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
]
BAD_DYNAMICS = [
    ({"actuation": "servo", "armature": 1e-3}, "servo.rotor_inertia"),
    ({"unlocked": ["r_knee"]}, "out of locked"),
    ({"locked": ["*"], "unlocked": ["tail"]}, "no joint 'tail'"),
]


def test_bad_parameters(node: Any) -> None:
    """Parameters that make no sense are named."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from rclpy.parameter import Parameter

    from humans_sim.nodes.actuation.node import Actuation
    from humans_sim.nodes.dynamics.node import Dynamics

    cases = [(Actuation, *case) for case in BAD_ACTUATION]
    for kind, values, said in [*cases, *((Dynamics, *case) for case in BAD_DYNAMICS)]:
        given = [Parameter(name, value=value) for name, value in values.items()]
        with pytest.raises(ParameterError, match=re.escape(said)):
            kind("bad", context=node.context, parameter_overrides=given)
