# SPDX-License-Identifier: Apache-2.0
"""The actuation and the controller that the file of a scenario names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.actuation import (
    CompositeActuation,
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
)
from humans_sim.actuation.hoist import SuspendedActuation
from humans_sim.actuation.ideal_torque import TorqueLaw
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.bip_station import MOTIONS, STEP, bip_trajectory
from humans_sim.applications.control_sections import (
    LAW,
    SERVO,
    ControlSection,
    ControlSetup,
    gait_control,
    numbers_of,
    only,
    period_of,
    torques_of,
)
from humans_sim.applications.scene_files import truth_of
from humans_sim.applications.walk_control import stream_control, walk_control
from humans_sim.control.bip.control import BipControl, LetDown, let_down
from humans_sim.control.bip.task import BipTask, StepShape, start_of
from humans_sim.control.fes import FesPlan, FesStand, KneeSwing
from humans_sim.control.task.whole_body import WholeBody
from humans_sim.control.trajectories.motion import (
    BASE,
    Curve,
    Follow,
    Motion,
    PostureLaw,
    rising_path,
)
from humans_sim.control.trajectories.trajectory import Trajectory
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.models import Model
from humans_sim.models.legs import support_tags

WALK = "walk"
"""Key of the controller that walks."""


def build_controller(
    actuation: YamlValue | None,
    controller: YamlValue | None,
    model: Model,
    scene: Mapping[str, Any],
    walking: Path | None = None,
    pace: tuple[float, ...] | None = None,
) -> ControlSetup:
    """The actuation and the controller that a scenario's sections name.

    Args:
        actuation: its section ``actuation``.
        controller: its section ``controller``.
        model: the model.
        scene: arguments of the simulation that say what the model may touch.
        walking: file of a walk, instead of the model's own.
        pace: of a walk, instead of the scenario's: shares of the fastest one.
    """
    if controller is None or WALK not in controller.mapping():
        for unused in (walking, pace):
            if unused is not None:
                raise ParameterError(
                    f"nothing walks in this scenario: no use for {unused}"
                )
    if controller is None:
        return ControlSetup(None) if actuation is None else _alone(actuation, model)
    kind, section = only(controller, tuple(_CONTROLLERS))
    with located_errors(section):
        if kind == WALK:
            return walk_control(section, actuation, model, scene, walking, pace)
        return _CONTROLLERS[kind](ControlSection(section, actuation, model, scene))


def _alone(value: YamlValue, model: Model) -> ControlSetup:
    """An actuation without a controller: servos, or a law of its own."""
    kind, section = only(value, (SERVO, LAW))
    if kind == SERVO:
        servos = numbers_of(section, RobotSetup.of_model(model).servos, model)
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


def _follow(request: ControlSection) -> ControlSetup:
    """A body that follows a motion by torques in its joints."""
    value, actuation, model, scene = request
    given = value.fields(
        ("end", "feet", "curves", "support"),
        ("friction", "frames", "stiffness", "period"),
    )
    system = ModelSystem(model, **scene)
    motion = _motion(given, model, given["end"].positive())
    friction = given["friction"].positive() if "friction" in given else 0.5
    extra: dict[str, Any] = {"period": period_of(given)}
    if "frames" in given:
        extra["frames"] = [item.text() for item in given["frames"]]
    if "stiffness" in given:
        extra["stiffness"] = given["stiffness"].positive()
    support = _support(given["support"], system)
    follow = Follow(WholeBody(system, friction), motion, support, **extra)
    return ControlSetup(torques_of(actuation, model), motion.postures[0], follow)


def _motion(given: Mapping[str, YamlValue], model: Model, end: float) -> Motion:
    """The motion of ``feet`` and ``curves`` up to a time."""
    curves = _curves(given["curves"])
    feet = [item.text() for item in given["feet"]]
    start = model.standing(np.zeros(len(model.joint_names)))
    with located_errors(given["curves"]):
        return Motion(model, curves, feet, start, end)


def _fes_stand(request: ControlSection) -> ControlSetup:
    """A body that stands up, its knees driven by stimulated muscles."""
    value, actuation, model, scene = request
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
    plan = numbers_of(given["plan"], FesPlan) if "plan" in given else FesPlan()
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
        period_of(given),
    )
    both = CompositeActuation([muscles, IdealTorque(model)])
    return ControlSetup(both, whole.postures[0], stand)


def _fes_swing(request: ControlSection) -> ControlSetup:
    """A knee that stimulation drives from limit to limit."""
    value, actuation, model, scene = request
    given = value.fields((), ("recruitment", "margin", "period"))
    numbers = {key: item.positive() for key, item in given.items()}
    muscles = _muscles(actuation, model)
    return ControlSetup(muscles, controller=KneeSwing(model, muscles, **numbers))


def _muscles(value: YamlValue | None, model: Model) -> FesMuscles:
    """The muscles of an ``actuation: {muscles: ...}`` section."""
    if value is None:
        return FesMuscles(model)
    _, section = only(value, ("muscles",))
    extra: dict[str, Any] = {}
    for key, item in section.fields((), ("sides", "scale", "delay")).items():
        if key == "sides":
            extra[key] = tuple(side.text() for side in item)
        else:
            extra[key] = item.number()
    with located_errors(section):
        return FesMuscles(model, **extra)


def _bip(request: ControlSection) -> ControlSetup:
    """Bip on a trajectory of its task function, through its motors."""
    value, actuation, model, scene = request
    given = value.fields(
        ("motion",),
        ("step", "let_down", "stiffness", "damping", "friction", "margin", "period"),
    )
    numbers: dict[str, Any] = {}
    if actuation is not None:
        _, section = only(actuation, ("motors",))
        for key, item in section.fields((), ("delay", "frozen_ratio")).items():
            numbers[key] = item.number() if key == "delay" else truth_of(item)
    task = BipTask(model)
    shape = numbers_of(given["step"], StepShape) if "step" in given else StepShape()
    plan = numbers_of(given["let_down"], LetDown) if "let_down" in given else None
    trajectory = _bip_motion(given["motion"], task, shape, plan)
    gains = {
        key: item.positive()
        for key, item in given.items()
        if key not in ("motion", "step", "let_down", "period")
    }
    motors, period = ScrewDriveMotors(model, **numbers), period_of(given)
    horizon = motors.delay + 0.5 * period
    control = BipControl(task, trajectory, horizon=horizon, period=period, **gains)
    start = start_of(task, trajectory)
    if plan is None:
        return ControlSetup(motors, start, control)
    hung = SuspendedActuation(motors, plan.hoist(task))
    return ControlSetup(hung, plan.start(start), control, standing=start)


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
        raise value.error("must be step, stand or a .traj3 file")
    with located_errors(value):
        return bip_trajectory(task, word, shape)


_CONTROLLERS: dict[str, Callable[..., ControlSetup]] = {
    "follow": _follow,
    "fes_stand": _fes_stand,
    "fes_swing": _fes_swing,
    "bip": _bip,
    WALK: walk_control,
    "gait": gait_control,
    "walk_stream": stream_control,
}
