# SPDX-License-Identifier: Apache-2.0
"""Commands out of messages: by name, and nothing of what makes no sense."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Stimulator
from humans_sim.actuation.joint_groups import JointGroup
from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.actuation.commands import joint_commands, pulse_trains
from humans_sim.nodes.common.command_checks import named_values

KNOWN = ("a", "b", "c")
MUSCLES = ("r_quadriceps", "r_hamstrings")
LAST = np.array([1.0, 2.0, 3.0])


def stimulation(**fields: Any) -> Any:
    """A Stimulation message of one good train, some fields replaced."""
    good = {
        "muscle_names": ["r_hamstrings"],
        "pulse_width": [4e-4],
        "pulse_current": [0.05],
        "pulse_period": [0.02],
    }
    return SimpleNamespace(**{**good, **fields})


def test_values_by_name() -> None:
    """Values go where their names are; the others keep the last ones."""
    values = named_values(KNOWN, ["c", "a"], [7.0, 8.0], LAST, "effort", "bip")
    np.testing.assert_array_equal(values, [8.0, 2.0, 7.0])
    np.testing.assert_array_equal(LAST, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("names", "values", "said"),
    [
        (["a"], [1.0, 2.0], "1 names and 2 efforts"),
        (["a", "a"], [1.0, 2.0], "twice"),
        (["tail"], [1.0], "'tail'"),
        (["b"], [math.nan], "effort of 'b' is nan"),
        (["b"], [math.inf], "effort of 'b' is inf"),
    ],
)
def test_bad_values(names: list[str], values: list[float], said: str) -> None:
    """Each fault is named."""
    with pytest.raises(ConfigurationError, match=said):
        named_values(KNOWN, names, values, LAST, "effort", "bip")


def test_trains_of_a_message() -> None:
    """Charge is width times current; muscles that are not named have NaN."""
    trains = pulse_trains(stimulation(), MUSCLES, Stimulator())
    assert np.isnan(trains[0]).all()
    np.testing.assert_allclose(trains[1], [2e-5, 0.02])
    empty = stimulation(
        muscle_names=[], pulse_width=[], pulse_current=[], pulse_period=[]
    )
    assert np.isnan(pulse_trains(empty, MUSCLES, Stimulator())).all()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"muscle_names": ["biceps"]}, "'biceps'"),
        ({"muscle_names": ["r_hamstrings"] * 2, "pulse_width": [1e-4] * 2}, "twice"),
        ({"pulse_width": []}, "1 names and 0 pulse_widths"),
        ({"pulse_current": [0.1, 0.1]}, "1 names and 2 pulse_currents"),
        ({"pulse_width": [-1e-4]}, "pulse_width of 'r_hamstrings'"),
        ({"pulse_width": [6e-4]}, "0 to 0.0005 s"),
        ({"pulse_current": [0.2]}, "0 to 0.1 A"),
        ({"pulse_current": [math.nan]}, "pulse_current of 'r_hamstrings' is nan"),
        ({"pulse_period": [math.inf]}, "pulse_period of 'r_hamstrings' is inf"),
    ],
)
def test_bad_stimulation(fields: dict[str, Any], said: str) -> None:
    """Each fault is named, also where width times current would be fine."""
    with pytest.raises(ConfigurationError, match=said):
        pulse_trains(stimulation(**fields), MUSCLES, Stimulator())


def test_one_message_for_several_kinds(khr1: hs.Model) -> None:
    """Servos take positions, torques take efforts; what is not named stays."""
    names = list(khr1.joint_names)
    groups = [
        JointGroup(khr1, "servo", hs.Servo(khr1), names[:2]),
        JointGroup(khr1, "torque", hs.IdealTorque(khr1), names[2:]),
    ]
    message = SimpleNamespace(
        name=[names[1], names[3]], position=[0.1, 0.2], effort=[3.0, 4.0]
    )
    angles, torques = joint_commands(message, groups, "khr1")
    np.testing.assert_array_equal(angles, [0.0, 0.1])
    np.testing.assert_array_equal(torques[:3], [0.0, 4.0, 0.0])
    alone = SimpleNamespace(name=[names[0]], position=[0.3], effort=[])
    np.testing.assert_array_equal(joint_commands(alone, groups, "khr1")[0], [0.3, 0.0])
    for bad, said in (
        (SimpleNamespace(name=[], position=[], effort=[]), "nothing is named"),
        (SimpleNamespace(name=["tail"], position=[0.0], effort=[0.0]), "'tail'"),
        (SimpleNamespace(name=[names[3]], position=[0.1], effort=[]), "0 efforts"),
        (SimpleNamespace(name=[names[0]] * 2, position=[0, 1], effort=[]), "twice"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            joint_commands(bad, groups, "khr1")
