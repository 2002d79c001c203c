# SPDX-License-Identifier: Apache-2.0
"""The actuation and the controller that the file of a scenario names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import (
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
)
from humans_sim.actuation.hoist import SuspendedActuation
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.torque_law import TorqueLaw
from humans_sim.applications.bip_station import MOTIONS, STEP, bip_trajectory
from humans_sim.applications.robots import rising_walker, walk_servos
from humans_sim.control.bip.control import BipControl
from humans_sim.control.bip.let_down import LetDown, let_down
from humans_sim.control.bip.step import StepShape, start_of
from humans_sim.control.bip.task import BipTask
from humans_sim.control.falls.rising_walk import RisingWalk
from humans_sim.control.fes.fes_stand import FesPlan, FesStand
from humans_sim.control.fes.fes_swing import KneeSwing
from humans_sim.control.task.whole_body import WholeBody
from humans_sim.control.trajectories.follow import Follow
from humans_sim.control.trajectories.motion import BASE, Curve, Motion
from humans_sim.control.trajectories.path import rising_path
from humans_sim.control.trajectories.posture_law import PostureLaw
from humans_sim.control.trajectories.trajectory import Trajectory
from humans_sim.control.walking import Velocity, Walker, WalkPattern, WalkSettings
from humans_sim.control.walking.servo_walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.whole_body_walk import WholeBodyWalk
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import PERIOD, walk_stream
from humans_sim.models import Model
from humans_sim.models.soles import support_tags

WALK = "walk"
"""Key of the controller that walks."""
SERVO, LAW = "servo", "law"
"""Keys of actuations by the servos of a robot, and by a torque law of the joints."""
_WALK = (
    "velocity",
    "pace",
    "steps",
    "start",
    "stop",
    "friction",
    "period",
    "get_up",
    "settings",
)
_PERIOD = 0.005
"""Time between two commands of torques and voltages unless a file gives it [s]."""


class ControlSetup(NamedTuple):
    """An actuation with its controller.

    Attributes:
        actuation: or None for a passive body.
        start: configuration from which the controller starts, or None.
        controller: what commands the actuation, or None.
        standing: configuration in which the first foot on the ground will be, where
            the start has none there; or None.
    """

    actuation: Actuation | None
    start: np.ndarray | None = None
    controller: Controller | None = None
    standing: np.ndarray | None = None


def build_controller(
    actuation: YamlValue | None,
    controller: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
    walking: Path | None = None,
) -> ControlSetup:
    """The actuation and the controller that a scenario names.

    Args:
        actuation: its section ``actuation``.
        controller: its section ``controller``.
        model: the model.
        scene: arguments of the simulation that say what the model may touch.
        walking: file of a walk, instead of the model's own.

    Raises:
        ModelFileError: a section is wrong; with file and line.
        ParameterError: a file of a walk is given, and nothing walks.
    """
    if walking is not None and (controller is None or WALK not in controller.mapping()):
        raise ParameterError(f"nothing walks in this scenario: no use for {walking}")
    if controller is None:
        return ControlSetup(None) if actuation is None else _alone(actuation, model)
    kind, section = _only(controller, tuple(_CONTROLLERS))
    with located_errors(section):
        if kind == WALK:
            return _walk(section, actuation, model, scene, walking)
        control = _CONTROLLERS[kind](section, actuation, model, scene)
    return control


def _only(value: YamlValue, choices: tuple[str, ...]) -> tuple[str, YamlValue]:
    """The one key of a mapping, with its value."""
    given = value.fields((), choices)
    if len(given) != 1:
        raise value.error(f"exactly one of {', '.join(choices)} is wanted")
    return next(iter(given.items()))


def _numbers(value: YamlValue, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``make`` with the numbers of a mapping."""
    numbers = {key: item.number() for key, item in value.mapping().items()}
    try:
        with located_errors(value):
            made = make(*arguments, **numbers)
    except TypeError as error:
        raise value.error(f"these parameters do not fit: {error}") from None
    return made


def _alone(value: YamlValue, model: Model) -> ControlSetup:
    """An actuation without a controller: servos, or a law of its own."""
    kind, section = _only(value, (SERVO, LAW))
    if kind == SERVO:
        servos = _numbers(section, RobotSetup.of_model(model).servos, model)
        return ControlSetup(servos)
    given = section.fields(("curves",), ("frequency",))
    numbers = {"frequency": given["frequency"].positive()} if len(given) > 1 else {}
    with located_errors(section):
        law = PostureLaw(model, _curves(given["curves"]), **numbers)
    return ControlSetup(TorqueLaw(model, law), model.standing(law.posture(0.0)))


def _curves(value: YamlValue) -> dict[str, Curve]:
    """Curves of a motion, by the coordinate; metres and degrees in the file."""
    curves = {}
    for name, item in value.mapping().items():
        scale = 1.0 if name in BASE[:3] else math.pi / 180
        knots = [knot.vector(2) for knot in item]
        with located_errors(item):
            curves[name] = Curve([(float(t), scale * float(x)) for t, x in knots])
    return curves


def _torques(value: YamlValue | None, model: Model) -> IdealTorque:
    """Torques in all joints."""
    if value is None:
        return IdealTorque(model)
    _, section = _only(value, ("torque",))
    numbers = {k: v.number() for k, v in section.fields((), ("delay",)).items()}
    with located_errors(section):
        torques = IdealTorque(model, **numbers)
    return torques


def _period(given: Mapping[str, YamlValue], otherwise: float = _PERIOD) -> float:
    """Time between two calls of a controller [s]."""
    return given["period"].positive() if "period" in given else otherwise


def _support(value: YamlValue, system: ModelSystem) -> list[tuple[float, list[str]]]:
    """Contacts that carry the load, by the time until which they do."""
    support = []
    for item in value:
        part = item.fields(("contacts",), ("until",))
        until = part["until"].positive() if "until" in part else math.inf
        support.append((until, _contacts(part["contacts"], system)))
    return support


def _contacts(value: YamlValue, system: ModelSystem) -> list[str]:
    """Names of contacts; a sole stands for its corners or balls on the ground."""
    soles = {sole.name: support_tags(sole) for sole in system.model.soles}
    solids = system.ground.solids
    floor = f"/{solids[0].name}" if len(solids) > 1 else ""
    names: list[str] = []
    for word in value:
        corners = soles.get(word.text())
        names += [word.text()] if corners is None else [c + floor for c in corners]
    return names


def _follow(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """A body that follows a motion by torques in its joints."""
    given = value.fields(
        ("end", "feet", "curves", "support"),
        ("friction", "frames", "stiffness", "period"),
    )
    system = ModelSystem(model, **scene)
    motion = _motion(given, model, given["end"].positive())
    friction = given["friction"].positive() if "friction" in given else 0.5
    extra: dict[str, Any] = {"period": _period(given)}
    if "frames" in given:
        extra["frames"] = [item.text() for item in given["frames"]]
    if "stiffness" in given:
        extra["stiffness"] = given["stiffness"].positive()
    support = _support(given["support"], system)
    follow = Follow(WholeBody(system, friction), motion, support, **extra)
    return ControlSetup(_torques(actuation, model), motion.postures[0], follow)


def _motion(given: Mapping[str, YamlValue], model: Model, end: float) -> Motion:
    """The motion of ``feet`` and ``curves`` up to a time."""
    curves = _curves(given["curves"])
    feet = [item.text() for item in given["feet"]]
    start = model.standing(np.zeros(len(model.joint_names)))
    with located_errors(given["curves"]):
        motion = Motion(model, curves, feet, start, end)
    return motion


def _fes_stand(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """A body that stands up, its knees driven by stimulated muscles."""
    given = value.fields(
        ("rise", "end", "feet", "curves", "seated", "standing"),
        ("friction", "period", "plan"),
    )
    system = ModelSystem(model, **scene)
    muscles = _muscles(actuation, model)
    rise = given["rise"].positive()
    whole = _motion(given, model, given["end"].positive())
    seated = _motion(given, model, rise)
    friction = given["friction"].positive() if "friction" in given else 0.5
    plan = _numbers(given["plan"], FesPlan) if "plan" in given else FesPlan()
    knee = model.joint_names.index(muscles.joint_names[0])
    straight = float(system.joint_limits[1][knee])
    stand = FesStand(
        WholeBody(system, friction),
        muscles,
        seated,
        rising_path(whole, rise, straight),
        _contacts(given["seated"], system),
        _contacts(given["standing"], system),
        plan,
        _period(given),
    )
    both = CompositeActuation([muscles, IdealTorque(model)])
    return ControlSetup(both, whole.postures[0], stand)


def _fes_swing(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """A knee that stimulation drives from limit to limit."""
    given = value.fields((), ("recruitment", "margin", "period"))
    numbers = {key: item.positive() for key, item in given.items()}
    muscles = _muscles(actuation, model)
    return ControlSetup(muscles, controller=KneeSwing(model, muscles, **numbers))


def _muscles(value: YamlValue | None, model: Model) -> FesMuscles:
    """The muscles of an ``actuation: {muscles: ...}`` section."""
    if value is None:
        return FesMuscles(model)
    _, section = _only(value, ("muscles",))
    extra: dict[str, Any] = {}
    for key, item in section.fields((), ("sides", "scale", "delay")).items():
        if key == "sides":
            extra[key] = tuple(side.text() for side in item)
        else:
            extra[key] = item.number()
    with located_errors(section):
        muscles = FesMuscles(model, **extra)
    return muscles


def _bip(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """Bip on a trajectory of its task function, through its motors."""
    given = value.fields(
        ("motion",),
        ("step", "let_down", "stiffness", "damping", "friction", "margin", "period"),
    )
    numbers: dict[str, Any] = {}
    if actuation is not None:
        _, section = _only(actuation, ("motors",))
        for key, item in section.fields((), ("delay", "frozen_ratio")).items():
            numbers[key] = item.number() if key == "delay" else _truth(item)
    task = BipTask(model)
    shape = _numbers(given["step"], StepShape) if "step" in given else StepShape()
    plan = _numbers(given["let_down"], LetDown) if "let_down" in given else None
    trajectory = _bip_motion(given["motion"], task, shape, plan)
    gains = {
        key: item.positive()
        for key, item in given.items()
        if key not in ("motion", "step", "let_down", "period")
    }
    motors, period = ScrewDriveMotors(model, **numbers), _period(given)
    horizon = motors.delay + 0.5 * period
    control = BipControl(task, trajectory, horizon=horizon, period=period, **gains)
    start = start_of(task, trajectory)
    if plan is None:
        return ControlSetup(motors, start, control)
    hung = SuspendedActuation(motors, plan.hoist(task))
    return ControlSetup(hung, plan.start(start), control, standing=start)


def _walk(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
    walking: Path | None = None,
) -> ControlSetup:
    """A body that walks by torques in its joints, or by its servos."""
    given = value.fields((), _WALK)
    if walking is None and "settings" in given:
        walking = given["settings"].folder / given["settings"].text()
    settings = WalkSettings.of_model(model)
    if walking is not None:
        settings = WalkSettings.from_file(model, walking)
    velocity = _walk_velocity(value, given, settings)
    times: dict[str, float] = {
        key: given[key].number() for key in ("start", "stop") if key in given
    }
    if "steps" in given:
        begin = times.get("start", 0.5) + settings.shift_duration
        steps = given["steps"].positive()
        times["stop"] = begin + (steps - 1.5) * settings.step_duration
    if actuation is not None and SERVO in actuation.mapping():
        period = _period(given, RobotSetup.of_model(model).sampling_period)
        rises = "get_up" in given and _truth(given["get_up"])
        walker = Walker(model, settings, period=period)
        return _servo_walk(actuation, walker, velocity, times, rises)
    if "get_up" in given:
        raise given["get_up"].error("only a walk by servos gets up")
    friction = given["friction"].positive() if "friction" in given else 0.5
    pattern = WalkPattern(model, settings)
    start = pattern.standing()
    body = WholeBody(ModelSystem(model, **scene), friction)
    walk = WholeBodyWalk(body, pattern, velocity, period=_period(given), **times)
    return ControlSetup(_torques(actuation, model), start, walk)


def _walk_velocity(
    value: YamlValue, given: Mapping[str, YamlValue], settings: WalkSettings
) -> Velocity:
    """A velocity, or a share of the fastest walk forwards."""
    if ("velocity" in given) == ("pace" in given):
        raise value.error("either a velocity or a pace is wanted")
    if "velocity" in given:
        return Velocity(*given["velocity"].vector(3).tolist())
    fastest = settings.max_forward / settings.step_duration
    return Velocity(given["pace"].positive() * fastest)


def _servo_walk(
    actuation: YamlValue,
    walker: Walker,
    velocity: Velocity,
    times: Mapping[str, float],
    rises: bool,
) -> ControlSetup:
    """Servos led by a walker, which gets up where it may fall."""
    schedule = [ScheduledCommand(times.get("start", 0.5), velocity)]
    if "stop" in times:
        schedule.append(ScheduledCommand(times["stop"], None))
    _, section = _only(actuation, (SERVO,))
    setup = RobotSetup.of_model(walker.model)
    servos = _numbers(section, lambda **given: walk_servos(setup, walker, given))
    start = walker.start()
    if rises:
        walk = RisingWalk(rising_walker(walker), schedule)
        return ControlSetup(servos, start, walk)
    return ControlSetup(servos, start, ServoWalk(walker, schedule))


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


def _walk_stream(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> ControlSetup:
    """Servos that follow a walk as it is planned, without sensors."""
    given = value.fields(("robot", "steps", "velocity"), ("start", "joints"))
    if actuation is None:
        raise value.error("a servo is wanted as actuation")
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

    _, section = _only(actuation, (SERVO,))
    setup = RobotSetup.of_model(model)
    servos = _numbers(
        section,
        lambda **given: setup.servos(model, **{"command_period": PERIOD, **given}),
    )
    return ControlSetup(servos, model.standing(joints(0.0)), _StreamedAngles(joints))


def _truth(value: YamlValue) -> bool:
    return value.choice(("true", "false")) == "true"


def _bip_motion(
    value: YamlValue, task: BipTask, shape: StepShape, plan: LetDown | None
) -> Trajectory:
    """A motion by its name, or a .traj3 file of positions in the task space."""
    word = value.text()
    if word == STEP and plan is not None:
        return let_down(task, plan, shape)
    if word in MOTIONS:
        return bip_trajectory(task, word, shape)
    if not word.endswith(".traj3"):
        raise value.error("step, stand or a .traj3 file is wanted")
    with located_errors(value):
        trajectory = bip_trajectory(task, word, shape)
    return trajectory


_CONTROLLERS: dict[str, Callable[..., ControlSetup]] = {
    "follow": _follow,
    "fes_stand": _fes_stand,
    "fes_swing": _fes_swing,
    "bip": _bip,
    WALK: _walk,
    "walk_stream": _walk_stream,
}
