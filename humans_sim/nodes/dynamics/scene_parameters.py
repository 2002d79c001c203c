# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics`` for what the body meets: solids, gravity, limits.

Nothing here knows ROS: ``given`` is what declares parameters of a node, the nodes'
``Parameters``.
"""

from __future__ import annotations

from typing import Any

import pinocchio as pin

from humans_sim.contact import Box, HalfSpace
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model


def declare_solids(given: Any) -> tuple[Box | HalfSpace, ...]:
    """Solids that stand fast, each by its name.

    ``solids: [step]`` declares ``solid.step.box`` (edge lengths) and ``.half_space``
    (normal out of it), of which one is given; ``.centre`` (of a half-space: a point of
    its plane), ``.turn`` of a box and ``.friction``.

    Raises:
        ParameterError: a solid has no shape or both, or one that cannot be.
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

    Raises:
        ParameterError: a lower limit above its upper one.
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
