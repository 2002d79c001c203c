# SPDX-License-Identifier: Apache-2.0
"""config/nav2: names as Nav2 declares them, footprint and speeds of the walk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

import humans_sim as hs
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.footsteps import FootstepPlanner
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.models.collision_shapes import collision_shapes

ROOT = Path(__file__).resolve().parents[3]
PARAMETERS = yaml.safe_load((ROOT / "config" / "nav2" / "khr1.yaml").read_text())
DECLARED = yaml.safe_load((ROOT / "test" / "data" / "nav2_parameters.yaml").read_text())
LISTS = {
    *("controller_plugins", "goal_checker_plugins", "progress_checker_plugins"),
    *("planner_plugins", "plugins"),
}
OF_RCLCPP = {"use_sim_time"}


def nodes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Kinds of the file's nodes, and their parameters."""
    for name, entry in PARAMETERS.items():
        if "ros__parameters" in entry:
            yield name, entry["ros__parameters"]
        else:
            yield "costmap", entry[name]["ros__parameters"]


def node(name: str) -> dict[str, Any]:
    """Parameters of a node."""
    entry = PARAMETERS[name]
    own: dict[str, Any] = entry.get("ros__parameters") or entry[name]["ros__parameters"]
    return own


def test_names_are_declared_by_nav2() -> None:
    """Each name is one that the node declares, or a plugin of it."""
    for kind, parameters in nodes():
        plugins = {n for key in LISTS & parameters.keys() for n in parameters[key]}
        assert set(parameters) - plugins - OF_RCLCPP <= set(DECLARED[kind]), kind
        for name in plugins:
            given = dict(parameters[name])
            kind = given.pop("plugin")
            assert set(given) <= set(DECLARED[kind]), kind


@pytest.fixture(scope="module")
def walker(khr1: hs.Model) -> Walker:
    """Of the KHR-1."""
    return Walker(khr1, period=0.02)


def test_speeds_are_those_of_the_walk(walker: Walker) -> None:
    """Everything that Nav2 may command is walked as commanded, while turning, too."""
    planner = FootstepPlanner(walker.settings)
    smoother = node("velocity_smoother")
    for limits in (smoother["max_velocity"], smoother["min_velocity"]):
        ahead, aside, turn = (float(value) for value in limits)
        for one in (
            Velocity(ahead, 0.0, 0.0),
            Velocity(0.0, aside, 0.0),
            Velocity(0.0, 0.0, turn),
        ):
            assert planner.limited(one) == one
        # Steps with a turn take longer.
        turning = planner.limited(Velocity(10 * ahead, 0.0, 1e-6))
        assert abs(ahead) <= abs(turning.vx)
    follow = node("controller_server")["FollowPath"]
    fastest = smoother["max_velocity"]
    assert follow["desired_linear_vel"] <= fastest[0]
    assert follow["rotate_to_heading_angular_vel"] <= fastest[2]
    dead = walker.settings.dead_zone * planner.limited(Velocity(10.0, 0.0, 0.0)).vx
    assert follow["min_approach_linear_velocity"] > dead
    assert follow["regulated_linear_scaling_min_speed"] > dead
    step = walker.settings.max_forward
    checker = node("controller_server")["goal_checker"]
    assert checker["xy_goal_tolerance"] > 0.5 * step


@pytest.mark.study
def test_footprint_holds_the_walking_robot(khr1: hs.Model, walker: Walker) -> None:
    """All links, forwards, backwards, aside and turning, and with little to spare."""
    footprints = {
        name: np.array(yaml.safe_load(node(name)["footprint"]))
        for name in ("local_costmap", "global_costmap")
    }
    low, high = footprints["local_costmap"].min(0), footprints["local_costmap"].max(0)
    assert (footprints["global_costmap"] == footprints["local_costmap"]).all()
    assert len(footprints["local_costmap"]) == 4
    smoother = node("velocity_smoother")
    ahead, aside, turn = smoother["max_velocity"]
    back = smoother["min_velocity"][0]
    commands = [
        ScheduledCommand(0.2, Velocity(ahead, 0.0, 0.0)),
        ScheduledCommand(3.0, Velocity(0.0, 0.0, turn)),
        ScheduledCommand(6.0, Velocity(0.0, aside, 0.0)),
        ScheduledCommand(8.0, Velocity(back, 0.0, 0.0)),
    ]
    simulation, _ = walking_robot(walker, commands, method="time_stepping")
    run = simulation.run(walker.start(), t_end=10.0, sampling_period=0.04)
    least, most = np.full(2, np.inf), np.full(2, -np.inf)
    data = khr1.pin.createData()
    for q in run.q:
        back_to_floor = khr1.base_footprint(q).inverse()
        pin.forwardKinematics(khr1.pin, data, q)
        for shape in collision_shapes(khr1):
            pose = back_to_floor * data.oMi[shape.joint]
            there = shape.vertices @ pose.rotation.T + pose.translation
            least = np.minimum(least, there[:, :2].min(0) - shape.radius)
            most = np.maximum(most, there[:, :2].max(0) + shape.radius)
    assert np.linalg.norm(run.q[-1, :2]) > 0.02 and run.q[:, 2].min() > 0.15
    assert (low <= least).all() and (most <= high).all(), (least, most)
    assert (least - low).max() < 0.02 and (high - most).max() < 0.02, (least, most)
