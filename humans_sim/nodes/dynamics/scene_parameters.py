# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics``: scene, soft ground, integration.

Nothing here knows ROS: ``given`` is what declares parameters of a node, the nodes'
``Parameters``. The scene has solids, gravity and limits; a ground that gives way the
keys ``soft_ground.*``; integration its laws and tolerances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pinocchio as pin

from humans_sim.applications.scenarios import TOLERANCES
from humans_sim.contact import Box, HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.impact import LAWS
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import integrators
from humans_sim.dynamics.simulation import METHODS
from humans_sim.models import Model
from humans_sim.soft.ground.deformable_ground import PRESETS, DeformableGround
from humans_sim.soft.ground.screen_design import ScreenLaw


def declare_solids(given: Any) -> tuple[Box | HalfSpace, ...]:
    """Solids that stand fast, each by its name.

    ``solids: [step]`` declares ``solid.step.box`` (edge lengths) and ``.half_space``
    (normal out of it), of which one is given; ``.centre`` (of a half-space: a point of
    its plane), ``.turn`` of a box and ``.friction``.
    """
    names = given.texts("solids", "names of solids beside the floor")
    if len(set(names)) != len(names):
        raise ParameterError("solids: a name is given twice")
    return tuple(_solid(given, name) for name in names)


def _solid(given: Any, name: str) -> Box | HalfSpace:
    prefix = f"solid.{name}"

    def three(key: str, text: str) -> Any:
        return given.numbers(f"{prefix}.{key}", text, 3)

    box = three("box", "edge lengths of a box [m]")
    normal = three("half_space", "normal of a plane, out of the solid")
    centre = three("centre", "middle of a box, point of a plane [m]") or (0.0, 0.0, 0.0)
    turn = three("turn", "roll, pitch and yaw of a box [rad]")
    friction = given.number(
        f"{prefix}.friction", -1.0, "Coulomb's coefficient; -1: the ground's", -1.0
    )
    if bool(box) == bool(normal):
        raise ParameterError(f"{prefix}: either box or half_space must be given")
    own = None if friction < 0.0 else friction
    solid: Box | HalfSpace = HalfSpace(normal, centre, name=name, friction=own)
    if box:
        rotation = pin.rpy.rpyToMatrix(*turn) if turn else None
        solid = Box(box, centre, rotation, name=name, friction=own)
    elif turn:
        raise ParameterError(f"{prefix}.turn: a half-space has its normal")
    try:
        solid.row()
    except ParameterError as error:
        raise ParameterError(f"{prefix}: {error}") from None
    return solid


def declare_gravity(given: Any) -> tuple[float, ...]:
    """Acceleration of gravity [m/s^2]; empty: the scene's, or 9.81 downwards."""
    text = "of gravity, in the world [m/s^2]; empty: the scene's"
    gravity: tuple[float, ...] = given.numbers("gravity", text, 3)
    return gravity


def declare_limits(given: Any, model: Model) -> bool | dict[str, tuple[float, float]]:
    """Whether joints stop at their limits, or other limits for some.

    ``limits.<joint>`` is declared for each joint of the model.
    """
    changed: dict[str, tuple[float, float]] = {}
    for joint in model.joint_names:
        text = "lower and upper limit [rad]; empty: the model's"
        pair = given.numbers(f"limits.{joint}", text, 2)
        if not pair:
            continue
        if not pair[0] < pair[1]:
            raise ParameterError(
                f"limits.{joint}: the lower limit {pair[0]:g} rad is not below "
                f"{pair[1]:g} rad"
            )
        changed[joint] = (pair[0], pair[1])
    if not given.flag("joint_limits", True, "whether joints stop at their limits"):
        if changed:
            raise ParameterError("limits of joints go with joint_limits: true")
        return False
    return changed or True


OWN = "own"
"""A law by numbers, those of the thesis' table 8.1."""
_LAW = {
    "mass": "of a pin [kg]",
    "period": "of its samples [s]",
    "ground_stiffness": "k_s, of a pin to the ground [N/m]",
    "ground_viscosity": "z_s, of a pin to the ground [N s/m]",
    "stiffness": "k_v, between neighbouring pins [N/m]",
    "viscosity": "z_v, between neighbouring pins [N s/m]",
}


def declare_soft_ground(given: Any, ground: Ground) -> Ground:
    """A scene whose floor gives way, where the parameters say so; else as it is."""
    text = "a floor that gives way: a preset, or 'own' by numbers; empty: none"
    law = given.choice("soft_ground.law", "", text, ("", OWN, *PRESETS))
    defaults = ScreenLaw(ground_viscosity=10.0)
    numbers = {
        word: given.number(f"soft_ground.{word}", getattr(defaults, word), meaning)
        for word, meaning in _LAW.items()
    }
    shape = given.numbers("soft_ground.shape", "numbers of pins along x and y", 2)
    spacing = given.number("soft_ground.spacing", 0.01, "of pins [m]", 1e-4)
    origin = given.numbers("soft_ground.origin", "place of the first pin [m]", 3)
    firmness = given.number("soft_ground.firmness", 1.0, "times heavier pins", 1e-6)
    patch = given.number(
        "soft_ground.patch", 0.0, "half the width a point presses on [m]; 0: spacing", 0
    )
    thickness = given.number("soft_ground.thickness", 0.1, "of the ground [m]", 1e-4)
    if not law:
        return ground
    if ground.surface is not None:
        raise ParameterError("soft_ground.law goes without a scene that has its own")
    size = (int(shape[0]), int(shape[1])) if shape else (200, 100)
    if not origin:
        origin = tuple(-0.5 * spacing * (n - 1) for n in size) + (0.0,)
    soft = DeformableGround(
        ScreenLaw(**numbers) if law == OWN else law,
        size,
        spacing,
        (origin[0], origin[1], origin[2]),
        firmness=firmness,
        patch=patch or None,
        thickness=thickness,
    )
    return replace(ground, solids=soft.scene(ground.friction).solids, surface=soft)


def declare_integration(given: Any, time_step: float) -> dict[str, Any]:
    """Options of a simulation; the time step is for where none is given [s]."""
    number, choice = given.number, given.choice
    options = {
        "method": choice("method", "event_driven", "how to simulate", [*METHODS]),
        "integrator": choice(
            "integrator",
            integrators.AUTOMATIC,
            "of the event-driven method",
            integrators.NAMES,
        ),
        "time_step": number(
            "time_step", time_step, "step of the time-stepping method [s]", 1e-6, 0.1
        ),
        "impact": choice("impact", LAWS[0], "impact law", LAWS),
        "hand_over": given.flag(
            "hand_over", True, "time steps go on where events jam (event_driven)"
        ),
    }
    for name, text in TOLERANCES.items():
        value = number(name, 0.0, f"{text}; 0: as the integrator has it", 0.0)
        if value:
            options[name] = value
    return options
