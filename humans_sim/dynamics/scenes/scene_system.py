# SPDX-License-Identifier: Apache-2.0
"""Scenes of free bodies on a ground, with a robot or without one.

All of them stand in one tree of joints: the robot first, then a root for each body. So
they share one mass matrix and one contact problem, and a robot can push a box. Made for
the method ``time_stepping``.

Actuation and control of the robot see the robot alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.loads import Load, Moving
from humans_sim.bodies.mass_properties import BodyError
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.actuation_interface import (
    Actuation,
    DriveTable,
    PartActuation,
)
from humans_sim.dynamics.contacts import own_links
from humans_sim.dynamics.controller import ControlFunction, Controller, ControlState
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.model_system import ModelSystem, touching_record
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.models import Model
from humans_sim.results.record import model_and_ground

_ENERGY = 1e-4
"""Energy that a step may add, relative: putting gaps right does a little work."""


class SceneSystem(ModelSystem):
    """Free bodies on a ground, with a robot or without one.

    Configurations are the robot's, then seven numbers for each body: place of its
    centre of mass, quaternion (x, y, z, w); velocities are the robot's, then six
    numbers each: velocity of the centre in the world's frame, spin in the body's.
    """

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        ground: Ground | None = None,
        *,
        robot: Model | None = None,
        radii: Mapping[str, float] | None = None,
        contacts: Sequence[str] | None = None,
        armature: np.ndarray | None = None,
        gravity: Sequence[float] | None = None,
        self_collision: bool | Mapping[str, Any] | None = None,
        whole_body: bool = True,
        dissipation: JointDissipation | None = None,
    ) -> None:
        """Put bodies, and a robot, on a ground.

        ``armature`` is that of the robot's drives; ``gravity`` [m/s^2] 9.81 downwards,
        or the robot's, unless given; ``whole_body``: whether the robot's links touch
        the ground with their solids; ``radii``, ``contacts``, ``self_collision`` and
        ``dissipation`` are as of a ``ModelSystem``.
        """
        if not bodies:
            raise BodyError("a scene needs a body")
        names = [body.name for body in bodies]
        if len(set(names)) != len(names):
            raise BodyError(f"two bodies have one name: {', '.join(names)}")
        ground = Ground() if ground is None else ground
        if ground.rolling or ground.torsional:
            raise ParameterError(
                "rolling and torsional friction are those of a model's own contact "
                "points: a scene of bodies does not know them"
            )
        own = None
        if robot is not None:
            own = own_links(robot, self_collision)
        super().__init__(
            robot,
            ground,
            radii=radii,
            contacts=contacts,
            armature=armature,
            gravity=gravity,
            self_collision=own,
            solid=whole_body,
            dissipation=dissipation,
            bodies=bodies,
        )

    def record(self) -> dict[str, Any]:
        """The record of the scene in a run."""
        return {
            **model_and_ground(self.robot, self.ground),
            **({} if self.robot is None else touching_record(self)),
            "bodies": [body.record() for body in self.bodies],
            "energy_tolerance": _ENERGY,
            **self.dissipation.record(self.velocity_names),
        }

    def configuration(
        self,
        places: Mapping[str, Sequence[float]],
        robot: np.ndarray | None = None,
        rotations: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """A configuration from what is usually known.

        Args:
            places: centres of mass of all bodies, by name [m].
            robot: the robot's configuration.
            rotations: of bodies that are turned, by name (3, 3).

        Raises:
            ConfigurationError: a body is left out, or unknown.
        """
        names = [body.name for body in self.bodies]
        given = {*places, *(rotations or {})}
        if set(places) != set(names) or not given <= set(names):
            raise ConfigurationError(f"places of {', '.join(names)} must be given")
        parts = []
        if self.robot is not None:
            if robot is None:
                raise ConfigurationError("the robot's configuration is missing")
            parts.append(self.robot.check_configuration(robot))
        for name in names:
            turn = np.eye(3) if rotations is None else rotations.get(name, np.eye(3))
            parts.append(real_array(places[name], f"place of {name}"))
            turn = finite_array(turn, (3, 3), f"rotation of {name}")
            parts.append(pin.Quaternion(turn).coeffs())
        return np.concatenate(parts)

    def _quaternions(self) -> list[int]:
        first = [3] if self.robot is not None else []
        return first + [self.robot_nq + 7 * k + 3 for k in range(len(self.bodies))]


class SceneActuation(PartActuation):
    """The actuation of a robot among free bodies, on which loads act in their order."""

    def __init__(
        self,
        scene: SceneSystem,
        robot: Actuation | None = None,
        loads: Sequence[Load] = (),
    ) -> None:
        self._scene, self._loads, nv = scene, tuple(loads), scene.robot_nv
        super().__init__(robot or Actuation(), scene.robot_nq, nv, scene.nv - nv)

    def drives(self) -> DriveTable | None:
        """Those of the robot's actuation; None where there are loads."""
        if self._loads:
            return None
        table = self._inner.drives()
        if table is None or not table.held.size:
            return table
        return table._replace(held=np.concatenate([table.held, self._rest]))

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the robot's actuation and of the loads."""
        forces, rates = super().dynamics(t, q, v, z)
        if self._loads:
            moving = moving_bodies(self._scene, q, v)
            force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
            for load in self._loads:
                load.add(t, moving, force, torque)
            turned = np.einsum("nji,nj->ni", moving.frames, torque)
            forces[self._nv :] = np.concatenate([force, turned], axis=1).ravel()
        return forces, rates


def moving_bodies(scene: SceneSystem, q: np.ndarray, v: np.ndarray) -> Moving:
    """The motion of a scene's bodies, in the world's frame."""
    places = q[scene.robot_nq :].reshape(-1, 7)
    speeds = v[scene.robot_nv :].reshape(-1, 2, 3)
    frames = np.array(
        [pin.Quaternion(row[3:].copy()).normalized().matrix() for row in places]
    )
    spins = np.einsum("nij,nj->ni", frames, speeds[:, 1])
    return Moving(places[:, :3], frames, speeds[:, 0], spins)


class SceneController(Controller):
    """Shows a robot's controller the robot alone, without contacts and forces."""

    def __init__(self, scene: SceneSystem, robot: ControlFunction) -> None:
        self._robot, self._nq, self._nv = robot, scene.robot_nq, scene.robot_nv
        self.period = robot.period if isinstance(robot, Controller) else None

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command of the robot's controller."""
        own = ControlState(state.q[: self._nq], state.v[: self._nv], state.z)
        return self._robot(t, own)


def scene_control(
    scene: SceneSystem, actuation: Actuation | None, controller: ControlFunction | None
) -> tuple[Actuation | None, ControlFunction | None]:
    """A robot's actuation and controller as those of the scene that it is in.

    Raises:
        ParameterError: the scene has no robot.
    """
    if actuation is not None and not isinstance(actuation, SceneActuation):
        if scene.robot is None:
            raise ParameterError("a scene without a robot has nothing to actuate")
        if actuation.armature is not None:
            scene.take_armature(actuation.armature)
        actuation = SceneActuation(scene, actuation)
    if controller is not None and not isinstance(controller, SceneController):
        controller = SceneController(scene, controller)
    return actuation, controller
