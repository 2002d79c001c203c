# SPDX-License-Identifier: Apache-2.0
"""Walks that scenarios name: by torques, by servos, or as a stream of angles.

Also a simulated robot with its walk: servos, floor and steps of its file, and a walker.

The robot without a controller is :class:`humans_sim.actuation.robots.RobotSetup`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.control_sections import (
    SERVO,
    ControlSection,
    ControlSetup,
    gravity_of,
    numbers_of,
    only,
    period_of,
    torques_of,
)
from humans_sim.applications.scene_files import truth_of
from humans_sim.contact.geometry.ground import Ground, ground_heights
from humans_sim.control.falls.rising_walker import RisingWalk, RisingWalker
from humans_sim.control.task.whole_body import JointLimits, WholeBody
from humans_sim.control.walking import Velocity, Walker, WalkPattern, WalkSettings
from humans_sim.control.walking.footsteps import Footprint, FootstepPlanner, Side
from humans_sim.control.walking.listed_footsteps import ListedStep
from humans_sim.control.walking.rocking_walk import MOST_PERIOD, RockingWalk
from humans_sim.control.walking.sole_legs import sole_legs
from humans_sim.control.walking.walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.whole_body_walk import WholeBodyWalk
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.simulation import Simulation
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import PERIOD, walk_stream
from humans_sim.kondo.motion.pose_servo import get_up_motions
from humans_sim.models import Model


class WalkingRobot(NamedTuple):
    """A robot that walks by its servos.

    Attributes:
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


_WALK = (
    *("velocity", "pace", "steps", "start", "stop", "friction", "period"),
    *("get_up", "settings", "footsteps", "sees_ground"),
)


def walk_control(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
    walking: Path | None = None,
    pace: tuple[float, ...] | None = None,
) -> ControlSetup:
    """A body that walks by torques in its joints, or by its servos."""
    given = value.fields((), _WALK)
    if walking is None and "settings" in given:
        walking = given["settings"].folder / given["settings"].text()
    settings = WalkSettings.of_model(model)
    if walking is not None:
        settings = WalkSettings.from_file(model, walking)
    if scene.get("radii"):
        # Soles that roll are not what steps that catch believe of them.
        settings = replace(settings, catch_error=0.0)
    footsteps = _footsteps(given["footsteps"]) if "footsteps" in given else ()
    heights = None
    if "sees_ground" in given and truth_of(given["sees_ground"]):
        if scene["ground"].surface is not None:
            raise given["sees_ground"].error("ground that gives way has no levels")
        heights = partial(ground_heights, scene["ground"])
    velocity = Velocity()
    if pace is not None:
        velocity, footsteps = _paced(settings, pace), ()
    elif not footsteps:
        velocity = _walk_velocity(value, given, settings)
    times: dict[str, float] = {
        key: given[key].number() for key in ("start", "stop") if key in given
    }
    if "steps" in given and not footsteps:
        begin = times.get("start", 0.5) + settings.shift_duration
        steps = given["steps"].positive()
        times["stop"] = begin + (steps - 1.5) * settings.step_duration
    if actuation is not None and SERVO in actuation.mapping():
        period = period_of(given, RobotSetup.of_model(model).sampling_period)
        rises = "get_up" in given and truth_of(given["get_up"])
        walker = Walker(
            model, settings, period=period, heights=heights, gravity=gravity_of(scene)
        )
        return _servo_walk(actuation, walker, velocity, times, rises, footsteps)
    if "get_up" in given:
        raise given["get_up"].error("only a walk by servos gets up")
    friction = given["friction"].positive() if "friction" in given else 0.5
    gravity = gravity_of(scene)
    pattern = WalkPattern(model, settings, heights=heights, gravity=gravity)
    start = pattern.standing()
    limits = JointLimits.of_model(model)
    # Levels that feet stand on push as a floor does, whatever their height.
    believed = {**scene, "ground": Ground()} if heights is not None else scene
    body = WholeBody(ModelSystem(model, **believed), friction, limits)
    legs = sole_legs(model, settings.left, settings.right)
    if not all(leg.rolls_ankle for leg in legs):
        if footsteps or heights or velocity.vy or velocity.wz:
            raise value.error("ankles without roll walk straight ahead, on the level")
        period = min(period_of(given), MOST_PERIOD)
        rocking = RockingWalk(body, pattern, velocity.vx, period=period, **times)
        return ControlSetup(torques_of(actuation, model), start, rocking)
    walk = WholeBodyWalk(
        body,
        pattern,
        velocity,
        period=period_of(given),
        footsteps=footsteps,
        **times,
    )
    return ControlSetup(torques_of(actuation, model), start, walk)


def _walk_velocity(
    value: YamlValue, given: Mapping[str, YamlValue], settings: WalkSettings
) -> Velocity:
    """A velocity, or shares of the fastest walk."""
    if ("velocity" in given) == ("pace" in given):
        raise value.error("either a velocity, a pace or footsteps must be given")
    if "velocity" in given:
        return Velocity(*given["velocity"].vector(3).tolist())
    pace = given["pace"]
    if pace.is_mapping():
        parts = pace.fields((), Velocity._fields)
        shares = tuple(
            parts[key].number() if key in parts else 0.0 for key in Velocity._fields
        )
    else:
        shares = (pace.positive(),)
    with located_errors(pace):
        return _paced(settings, shares)


def _paced(settings: WalkSettings, shares: Sequence[float]) -> Velocity:
    """Shares of the fastest walk forwards or backwards, aside, and turn."""
    if not 1 <= len(shares) <= 3 or not all(map(math.isfinite, shares)):
        raise ParameterError(
            f"a pace has one to three finite numbers, not {list(shares)}"
        )
    vx, vy, wz = (*shares, 0.0, 0.0)[:3]
    planner, far = FootstepPlanner(settings), 1e3
    most = (
        planner.limited(Velocity(math.copysign(far, vx))).vx,
        planner.limited(Velocity(0.0, math.copysign(far, vy))).vy,
        planner.limited(Velocity(0.0, 0.0, math.copysign(far, wz))).wz,
    )
    return Velocity(abs(vx) * most[0], abs(vy) * most[1], abs(wz) * most[2])


def _footsteps(value: YamlValue) -> tuple[ListedStep, ...]:
    """Steps as a file has them: ``left: [x, y, degrees]``, one after the other."""
    steps = []
    for item in value:
        word, place = only(item, tuple(_SIDES))
        x, y, yaw = place.vector(3).tolist()
        steps.append(ListedStep(_SIDES[word], Footprint(x, y, math.radians(yaw))))
    if not steps:
        raise value.error("one footstep at least must be given")
    return tuple(steps)


_SIDES = {"left": Side.LEFT, "right": Side.RIGHT}


def _servo_walk(
    actuation: YamlValue,
    walker: Walker,
    velocity: Velocity,
    times: Mapping[str, float],
    rises: bool,
    footsteps: tuple[ListedStep, ...] = (),
) -> ControlSetup:
    """Servos led by a walker, which gets up where it may fall."""
    begin = times.get("start", 0.5)
    schedule = [ScheduledCommand(begin, velocity, footsteps=footsteps)]
    if "stop" in times:
        schedule.append(ScheduledCommand(times["stop"], None))
    _, section = only(actuation, (SERVO,))
    setup = RobotSetup.of_model(walker.model)
    servos = numbers_of(section, lambda **given: walk_servos(setup, walker, given))
    start = walker.start()
    if rises:
        walk = RisingWalk(rising_walker(walker), schedule, setup.lag)
        return ControlSetup(servos, start, walk)
    return ControlSetup(servos, start, ServoWalk(walker, schedule, setup.lag))


class _StreamedAngles(Controller):
    """Joint angles that depend on time alone, each one period early.

    Servos take a period to a command.
    """

    period = PERIOD

    def __init__(self, angles: Callable[[float], np.ndarray]) -> None:
        self._angles = angles

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Where the joints shall be when the next command comes (njoints,) [rad]."""
        return self._angles(t + PERIOD)


def stream_control(request: ControlSection) -> ControlSetup:
    """Servos that follow a walk as it is planned, without sensors."""
    value, actuation, model, scene = request
    given = value.fields(("robot", "steps", "velocity"), ("start", "joints"))
    if actuation is None:
        raise value.error("the actuation must be a servo")
    begin = given["start"].number() if "start" in given else 0.0
    stream = walk_stream(
        model,
        load_robot(given["robot"].text()),
        int(given["steps"].positive()),
        given["velocity"].vector(3).tolist(),
    )
    held = {}
    for name, angle in given["joints"].mapping().items() if "joints" in given else ():
        if name not in model.joint_names:
            raise angle.error(f"{model.name} has no joint '{name}'")
        held[name] = math.radians(angle.number())

    def joints(t: float) -> np.ndarray:
        angles = stream.angles(stream.begin + max(t - begin, 0.0)) | held
        return np.array([angles.get(name, 0.0) for name in model.joint_names])

    _, section = only(actuation, (SERVO,))
    setup = RobotSetup.of_model(model)
    servos = numbers_of(
        section,
        lambda **given: setup.servos(model, **{"command_period": PERIOD, **given}),
    )
    return ControlSetup(servos, model.standing(joints(0.0)), _StreamedAngles(joints))
