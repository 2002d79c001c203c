# SPDX-License-Identifier: Apache-2.0
"""The group of contact choices: what goes over what, and few arguments beside it."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError

import pytest

import humans_sim as hs


def test_simulation_has_ten_arguments() -> None:
    """What is chosen rarely is grouped."""
    assert len(inspect.signature(hs.Simulation).parameters) <= 10


def test_given_choices_go_over_defaults() -> None:
    """Points that are given touch alone; without any, the defaults' touch."""
    robot = hs.Contacts(points=["l_heel"], radii={"l_heel": 0.01}, whole_body=True)
    assert hs.Contacts().over(robot) == robot
    own = hs.Contacts(points=["r_heel"], limits=False)
    both = own.over(robot)
    assert both.points == ["r_heel"] and both.radii is None and not both.limits
    assert both.whole_body is False
    balls = hs.Contacts(geometry="spheres").over(robot)
    assert balls.points is None and balls.whole_body
    assert hs.Contacts(points=[], whole_body=True).over(hs.Contacts()).whole_body


def test_contacts_stay_as_they_are() -> None:
    """A group is a value; an unknown choice is refused."""
    with pytest.raises(FrozenInstanceError):
        hs.Contacts().limits = False  # type: ignore[misc]
    with pytest.raises(TypeError, match="walls"):
        hs.Contacts(walls=True)  # type: ignore[call-arg]


def test_a_list_of_contacts_is_refused(khr1: hs.Model) -> None:
    """Tags alone, an empty list among them, are no group of choices."""
    for tags in ([], ["l_heel"]):
        with pytest.raises(hs.errors.ParameterError, match="points="):
            hs.Simulation(khr1, contacts=tags)  # type: ignore[arg-type]


def test_feet_of_a_model(khr1: hs.Model) -> None:
    """Balls under the soles come with radii; given ones go over them."""
    chosen = hs.Contacts(geometry="spheres", whole_body=False)
    feet, touching, body = chosen.of_model(khr1, points_alone=True)
    assert body is None and feet is not khr1
    assert touching.radii is not None and set(touching.radii) <= set(feet.tag_names)
    name = next(iter(touching.radii))
    changed = hs.Contacts(geometry="spheres", radii={name: 0.001})
    assert (changed.of_model(khr1, points_alone=False)[1].radii or {})[name] == 0.001
