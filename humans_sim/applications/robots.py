# SPDX-License-Identifier: Apache-2.0
"""A simulated robot with its walk: servos, floor and steps of its file, and a walker.

What a robot is without a controller is :class:`humans_sim.actuation.robots.RobotSetup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.walking import Walker
from humans_sim.control.walking.servo_walk import ScheduledCommand, ServoWalk
from humans_sim.dynamics.simulation import Simulation


class WalkingRobot(NamedTuple):
    """A robot that walks by its servos.

    Attributes:
        simulation: ready to run.
        walk: its controller.
    """

    simulation: Simulation
    walk: ServoWalk


def walking_robot(
    walker: Walker,
    schedule: Sequence[ScheduledCommand] = (),
    *,
    setup: RobotSetup | None = None,
    servo: Mapping[str, Any] | None = None,
    **changes: Any,
) -> WalkingRobot:
    """Put a robot on its floor, its servos led by a walker.

    Args:
        walker: of the robot.
        schedule: velocities, and when they are to be walked with.
        setup: of the robot, its own unless given.
        servo: numbers of the servos instead of the robot's own.
        changes: arguments of the simulation instead of the robot's own, e.g. ground.
    """
    setup = RobotSetup.of_model(walker.model) if setup is None else setup
    walk = ServoWalk(walker, schedule)
    servos = walk_servos(setup, walker, servo or {})
    return WalkingRobot(setup.simulation(walker.model, servos, walk, **changes), walk)


def walk_servos(setup: RobotSetup, walker: Walker, servo: Mapping[str, Any]) -> Servo:
    """Servos whose set points run evenly from command to command of a walker."""
    numbers = {"command_period": walker.period, **servo}
    return setup.servos(walker.model, **numbers)
