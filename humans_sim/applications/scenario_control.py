# SPDX-License-Identifier: Apache-2.0
"""What drives a scenario: the actuation and the control law that a file names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import (
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
)
from humans_sim.actuation.commanded import Law
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.robots import walk_servos
from humans_sim.applications.scene_files import told_at
from humans_sim.control.bip.control import BipControl
from humans_sim.control.bip.step import StepShape, one_step, standing, start_of
from humans_sim.control.bip.task import BipTask
from humans_sim.control.fes.fes_stand import FesPlan, FesStand
from humans_sim.control.fes.fes_swing import KneeSwing
from humans_sim.control.task.whole_body import WholeBody
from humans_sim.control.trajectories.follow import Follow
from humans_sim.control.trajectories.motion import BASE, Curve, Motion
from humans_sim.control.trajectories.path import rising_path
from humans_sim.control.trajectories.traj3 import read_traj3
from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory
from humans_sim.control.walking import Velocity, Walker, WalkPattern
from humans_sim.control.walking.servo_walk import Order, ServoWalk
from humans_sim.control.walking.whole_body_walk import WholeBodyWalk
from humans_sim.core.yaml_file import YamlValue
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.sample_controller import SampleController
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import PERIOD, walk_stream
from humans_sim.models import Model
from humans_sim.models.soles import support_tags

SERVO = "servo"
"""Key of an actuation by the servos of a robot."""
_TIMING = ("period", "delay")


class Driven(NamedTuple):
    """An actuation with its law.

    Attributes:
        actuation: or None for a passive body.
        start: configuration at which the law wants to start, or None.
        controller: a law that wants whole samples, or None.
    """

    actuation: Actuation | None
    start: np.ndarray | None = None
    controller: SampleController | None = None


def drive(
    actuation: YamlValue | None,
    controller: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
    """The actuation and the control law that a scenario names.

    Args:
        actuation: its section ``actuation``.
        controller: its section ``controller``.
        model: the model.
        scene: arguments of the simulation that say what the model may touch.
    """
    if controller is None:
        return Driven(None if actuation is None else _alone(actuation, model))
    kind, section = _only(controller, tuple(_CONTROLLERS))
    with told_at(section):
        driven = _CONTROLLERS[kind](section, actuation, model, scene)
    return driven


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
        with told_at(value):
            made = make(*arguments, **numbers)
    except TypeError as error:
        raise value.error(f"these parameters do not fit: {error}") from None
    return made


def _alone(value: YamlValue, model: Model) -> Actuation:
    """An actuation that no law commands."""
    _, section = _only(value, (SERVO,))
    return _numbers(section, RobotSetup.of_model(model).servos, model)


def _torques(value: YamlValue | None, model: Model, law: Law) -> IdealTorque:
    """Torques in all joints, commanded by a law."""
    if value is None:
        return IdealTorque(model, law)
    _, section = _only(value, ("torque",))
    numbers = {k: v.number() for k, v in section.fields((), _TIMING).items()}
    with told_at(section):
        torques = IdealTorque(model, law, **numbers)
    return torques


def _bearing(value: YamlValue, system: ModelSystem) -> list[tuple[float, list[str]]]:
    """Contacts that bear, by the time until which they do."""
    found = []
    for item in value:
        part = item.fields(("contacts",), ("until",))
        until = part["until"].positive() if "until" in part else math.inf
        found.append((until, _contacts(part["contacts"], system)))
    return found


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
) -> Driven:
    """A body that follows a motion by torques in its joints."""
    given = value.fields(
        ("end", "feet", "curves", "bearing"),
        ("friction", "frames", "stiffness"),
    )
    system = ModelSystem(model, **scene)
    motion = _motion(given, model, given["end"].positive())
    friction = given["friction"].positive() if "friction" in given else 0.5
    extra: dict[str, Any] = {}
    if "frames" in given:
        extra["frames"] = [item.text() for item in given["frames"]]
    if "stiffness" in given:
        extra["stiffness"] = given["stiffness"].positive()
    bearing = _bearing(given["bearing"], system)
    law = Follow(WholeBody(system, friction), motion, bearing, **extra)
    return Driven(_torques(actuation, model, law), motion.postures[0])


def _motion(given: Mapping[str, YamlValue], model: Model, end: float) -> Motion:
    """The motion of ``feet`` and ``curves`` up to a time."""
    curves = {}
    for name, item in given["curves"].mapping().items():
        scale = 1.0 if name in BASE[:3] else math.pi / 180
        knots = [knot.vector(2) for knot in item]
        with told_at(item):
            curves[name] = Curve([(float(t), scale * float(x)) for t, x in knots])
    feet = [item.text() for item in given["feet"]]
    start = model.standing(np.zeros(len(model.joint_names)))
    with told_at(given["curves"]):
        motion = Motion(model, curves, feet, start, end)
    return motion


def _fes_stand(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
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
    law = FesStand(
        WholeBody(system, friction),
        muscles,
        seated,
        rising_path(whole, rise, straight),
        _contacts(given["seated"], system),
        _contacts(given["standing"], system),
        plan,
    )
    period = given["period"].positive() if "period" in given else 0.005
    both = CompositeActuation([muscles, IdealTorque(model)], law, period)
    return Driven(both, whole.postures[0])


def _fes_swing(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
    """A knee that stimulation drives from limit to limit."""
    given = value.fields((), ("recruitment", "margin", "period"))
    numbers = {key: item.positive() for key, item in given.items()}
    period = numbers.pop("period", 0.02)
    law: list[KneeSwing] = []
    muscles = _muscles(actuation, model, lambda *state: law[0](*state), period)
    law.append(KneeSwing(model, muscles, **numbers))
    return Driven(muscles)


def _muscles(
    value: YamlValue | None,
    model: Model,
    law: Law | None = None,
    period: float = 0.02,
) -> FesMuscles:
    """The muscles of an ``actuation: {muscles: ...}`` section."""
    if value is None:
        return FesMuscles(model, law=law, period=period)
    _, section = _only(value, ("muscles",))
    extra: dict[str, Any] = {}
    for key, item in section.fields((), ("sides", "scale", "delay")).items():
        if key == "sides":
            extra[key] = tuple(side.text() for side in item)
        else:
            extra[key] = item.number()
    with told_at(section):
        muscles = FesMuscles(model, law=law, period=period, **extra)
    return muscles


def _bip(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
    """Bip on a trajectory of its task function, through its motors."""
    given = value.fields(
        ("motion",), ("step", "stiffness", "damping", "friction", "margin")
    )
    timing: dict[str, Any] = {"period": 0.005, "delay": 0.0}
    if actuation is not None:
        _, section = _only(actuation, ("motors",))
        for key, item in section.fields((), (*_TIMING, "frozen_ratio")).items():
            timing[key] = item.number() if key in _TIMING else _truth(item)
    task = BipTask(model)
    shape = _numbers(given["step"], StepShape) if "step" in given else StepShape()
    trajectory = _bip_motion(given["motion"], task, shape)
    numbers = {
        key: item.positive()
        for key, item in given.items()
        if key not in ("motion", "step")
    }
    horizon = timing["delay"] + 0.5 * timing["period"]
    law = BipControl(task, trajectory, horizon=horizon, **numbers)
    motors = ScrewDriveMotors(model, law, **timing)
    return Driven(motors, start_of(task, trajectory))


def _walk(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
    """A body that walks by torques in its joints, or by its servos."""
    given = value.fields(("velocity",), ("start", "stop", "friction", "period"))
    velocity = Velocity(*given["velocity"].vector(3).tolist())
    times: dict[str, float] = {
        key: given[key].number() for key in ("start", "stop") if key in given
    }
    if actuation is not None and SERVO in actuation.mapping():
        period = RobotSetup.of_model(model).sampling_period
        if "period" in given:
            period = given["period"].positive()
        return _servo_walk(actuation, model, velocity, times, period)
    friction = given["friction"].positive() if "friction" in given else 0.5
    pattern = WalkPattern(model)
    body = WholeBody(ModelSystem(model, **scene), friction)
    law = WholeBodyWalk(body, pattern, velocity, **times)
    return Driven(_torques(actuation, model, law), law.point.q.copy())


def _servo_walk(
    actuation: YamlValue,
    model: Model,
    velocity: Velocity,
    times: Mapping[str, float],
    period: float,
) -> Driven:
    """Servos led by a walker."""
    orders = [Order(times.get("start", 0.5), velocity)]
    if "stop" in times:
        orders.append(Order(times["stop"], None))
    walker = Walker(model, period=period)
    _, section = _only(actuation, (SERVO,))
    setup = RobotSetup.of_model(model)
    servos = _numbers(section, lambda **given: walk_servos(setup, walker, given))
    return Driven(servos, walker.start(), ServoWalk(walker, orders))


def _walk_stream(
    value: YamlValue,
    actuation: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
) -> Driven:
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
        lambda **given: setup.servos(
            model,
            lambda t, q, v, z: joints(t + PERIOD),
            PERIOD,
            **{"command_period": PERIOD, **given},
        ),
    )
    return Driven(servos, model.standing(joints(0.0)))


def _truth(value: YamlValue) -> bool:
    return value.choice(("true", "false")) == "true"


def _bip_motion(value: YamlValue, task: BipTask, shape: StepShape) -> Trajectory:
    """A motion by its name, or a .traj3 file of positions in the task space."""
    word = value.text()
    if word == "step":
        return one_step(task, shape)
    if word == "stand":
        rest = standing(task, shape)
        return Trajectory([rest] * 3, [0.0, 1.0], [ContactPhase.DOUBLE])
    if not word.endswith(".traj3"):
        raise value.error("step, stand or a .traj3 file is wanted")
    with told_at(value):
        trajectory = read_traj3(word, task.size)
    return trajectory


_CONTROLLERS: dict[str, Callable[..., Driven]] = {
    "follow": _follow,
    "fes_stand": _fes_stand,
    "fes_swing": _fes_swing,
    "bip": _bip,
    "walk": _walk,
    "walk_stream": _walk_stream,
}
