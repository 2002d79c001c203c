# SPDX-License-Identifier: Apache-2.0
"""A simulated robot with its walk: servos, floor and steps of its file, and a walker.

What a robot is without a controller is :class:`humans_sim.actuation.robots.RobotSetup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.falls.rising_walk import RisingWalk
from humans_sim.control.falls.rising_walker import RisingWalker
from humans_sim.control.walking import Walker
from humans_sim.control.walking.servo_walk import ScheduledCommand, ServoWalk
from humans_sim.dynamics.simulation import Simulation
from humans_sim.kondo.motion.get_up import get_up_motions


class WalkingRobot(NamedTuple):
    """A robot that walks by its servos.

    Attributes:
        simulation: ready to run.
        walk: its controller; a ``RisingWalk`` where it gets up.
    """

    simulation: Simulation
    walk: ServoWalk


def walking_robot(
    walker: Walker,
    schedule: Sequence[ScheduledCommand] = (),
    *,
    setup: RobotSetup | None = None,
    servo: Mapping[str, Any] | None = None,
    rising: RisingWalker | None = None,
    **changes: Any,
) -> WalkingRobot:
    """Put a robot on its floor, its servos led by a walker.

    Args:
        walker: of the robot.
        schedule: velocities, and when they are to be walked with.
        setup: of the robot, its own unless given.
        servo: numbers of the servos instead of the robot's own.
        rising: gets it up where it falls; of the same walker. It lies unless given.
        changes: arguments of the simulation instead of the robot's own, e.g. ground.
    """
    setup = RobotSetup.of_model(walker.model) if setup is None else setup
    walk = ServoWalk(walker, schedule, setup.lag)
    if rising is not None:
        walk = RisingWalk(rising, schedule, setup.lag)
    servos = walk_servos(setup, walker, servo or {})
    return WalkingRobot(setup.simulation(walker.model, servos, walk, **changes), walk)


def rising_walker(walker: Walker, automatic: bool = True) -> RisingWalker:
    """A walker that gets up by the package's motions for its robot.

    Args:
        walker: leads it while it is on its feet.
        automatic: whether it gets up by itself, or is asked to.

    Raises:
        ParameterError: the package has no such motions.
    """
    return RisingWalker(walker, get_up_motions(walker.model), automatic=automatic)


def walk_servos(setup: RobotSetup, walker: Walker, servo: Mapping[str, Any]) -> Servo:
    """Servos whose set points run evenly from command to command of a walker."""
    numbers = {"command_period": walker.period, **servo}
    return setup.servos(walker.model, **numbers)
