# SPDX-License-Identifier: Apache-2.0
"""Commands out of messages: by name, and nothing of what makes no sense."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from humans_sim.actuation import Stimulator
from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.actuation.commands import pulse_trains
from humans_sim.nodes.common.named_values import named_values

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
