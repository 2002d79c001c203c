# SPDX-License-Identifier: Apache-2.0
"""Scenes of free bodies on a ground, with one robot, several, or none.

All of them stand in one tree of joints: the robot first, then a root for each body,
then further robots. So they share one mass matrix and one contact problem: a robot can
push a box, or another robot. Made for the method ``time_stepping``.

Actuation and control of a robot see that robot alone.
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
from humans_sim.dynamics.scene_bodies import RobotPart, SceneBody, SceneRobot
from humans_sim.models import Model
from humans_sim.results.record import model_and_ground

_ENERGY = 1e-4
"""Energy that a step may add, relative: putting gaps right does a little work."""


class SceneSystem(ModelSystem):
    """Free bodies on a ground, with one robot, several, or none.

    Configurations are the robot's, then seven numbers for each body: place of its
    centre of mass, quaternion (x, y, z, w); velocities are the robot's, then six
    numbers each: velocity of the centre in the world's frame, spin in the body's.
    Those of further robots come last, as their models have them.
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
        others: Sequence[SceneRobot] = (),
    ) -> None:
        """Put bodies, a robot and others on a ground.

        ``armature`` is that of the robot's drives; ``gravity`` [m/s^2] 9.81 downwards,
        or the robot's, unless given; ``whole_body``: whether the robot's links touch
        the ground with their solids; ``radii``, ``contacts``, ``self_collision`` and
        ``dissipation`` are as of a ``ModelSystem``.
        """
        if not (bodies or others):
            raise BodyError("a scene needs a body")
        names = [body.name for body in bodies] + [robot.name for robot in others]
        if len(set(names)) != len(names):
            raise BodyError(f"two bodies have one name: {', '.join(names)}")
        if not all(robot.name for robot in others):
            raise ParameterError("further robots need names")
        if others and robot is None:
            raise ParameterError("further robots need a first one")
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
            others=others,
        )

    def record(self) -> dict[str, Any]:
        """The record of the scene in a run."""
        return {
            **model_and_ground(self.robot, self.ground),
            **({} if self.robot is None else touching_record(self)),
            "bodies": [body.record() for body in self.bodies],
            **self._robot_record(),
            "energy_tolerance": _ENERGY,
            **self.dissipation.record(self.velocity_names),
        }

    def _robot_record(self) -> dict[str, Any]:
        """Names and models of further robots; empty where there are none."""
        records = [
            {
                "name": robot.name,
                "coordinates": robot.model.nq,
                "model": model_and_ground(robot.model, self.ground)["model"],
            }
            for robot, *_ in self.others
        ]
        return {"robots": records} if records else {}

    def configuration(
        self,
        places: Mapping[str, Sequence[float]],
        robot: np.ndarray | None = None,
        rotations: Mapping[str, np.ndarray] | None = None,
        others: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """A configuration from what is usually known.

        Args:
            places: centres of mass of all bodies, by name [m].
            robot: the robot's configuration.
            rotations: of bodies that are turned, by name (3, 3).
            others: configurations of further robots, by name.

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
        robots, known = [part.robot for part in self.others], others or {}
        if set(known) != {robot.name for robot in robots}:
            text = ", ".join(robot.name for robot in robots) or "no further robot"
            raise ConfigurationError(f"configurations of {text} must be given")
        parts += [
            robot.model.check_configuration(known[robot.name]) for robot in robots
        ]
        return np.concatenate(parts)

    def _quaternions(self) -> list[int]:
        first = [3] if self.robot is not None else []
        first += [self.robot_nq + 7 * k + 3 for k in range(len(self.bodies))]
        return first + [part.q.start + 3 for part in self.others]


class SceneActuation(PartActuation):
    """Actuation of a robot among free bodies, on which loads act, and of other robots.

    Args:
        scene: that the robots are in.
        robot: actuation of the first one.
        loads: on the bodies, in their order.
        others: actuations of further robots, by name; without states or events of their
            own. Commands are then those of all robots in the scene's order; None: none.
    """

    def __init__(
        self,
        scene: SceneSystem,
        robot: Actuation | None = None,
        loads: Sequence[Load] = (),
        others: Mapping[str, Actuation] | None = None,
    ) -> None:
        self._scene, self._loads, nv = scene, tuple(loads), scene.robot_nv
        super().__init__(robot or Actuation(), scene.robot_nq, nv, scene.nv - nv)
        if robot is not None and robot.armature is not None:
            scene.take_armature(robot.armature)
        given = others or {}
        unknown = set(given) - {part.robot.name for part in scene.others}
        if unknown:
            raise ParameterError(f"the scene has no robot '{min(unknown)}'")
        self._others = [
            (part, given.get(part.robot.name, Actuation())) for part in scene.others
        ]
        for part, own in self._others:
            if own.nz:
                raise ParameterError(
                    f"{part.robot.name}: {type(own).__name__} has states of its own: "
                    "only the first robot's may"
                )
            if own.armature is not None:
                scene.take_robot_armature(part, own.armature)

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Start all actuations."""
        for part, own in self._others:
            own.initialise(t, q[part.q], v[part.v])
        return super().initialise(t, q, v)

    def command(self, t: float, command: Any) -> None:
        """Hand commands on, each to its robot."""
        if not self._others:
            super().command(t, command)
            return
        every = [self._inner, *(own for _, own in self._others)]
        for actuation, given in zip(every, command, strict=True):
            if given is not None:
                actuation.command(t, given)

    def expect_commands_every(self, period: float) -> None:
        """Hand it on."""
        super().expect_commands_every(period)
        for _, own in self._others:
            own.expect_commands_every(period)

    def drives(self) -> DriveTable | None:
        """Those of all robots; None where there are loads."""
        if self._loads:
            return None
        table = self._inner.drives()
        if table is None:
            return None
        if table.held.size:
            table = table._replace(held=np.concatenate([table.held, self._rest]))
        for part, own in self._others:
            further = own.drives()
            if further is None:
                return None
            table = _joined(table, further, part, self._scene.nv)
        return table

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the actuations and of the loads."""
        forces, rates = super().dynamics(t, q, v, z)
        if self._loads:
            moving = moving_bodies(self._scene, q, v)
            force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
            for load in self._loads:
                load.add(t, moving, force, torque)
            turned = np.einsum("nji,nj->ni", moving.frames, torque)
            wrenches = np.concatenate([force, turned], axis=1).ravel()
            forces[self._nv : self._nv + len(wrenches)] = wrenches
        for part, own in self._others:
            forces[part.v] = own.dynamics(t, q[part.q], v[part.v], z[:0])[0]
        return forces, rates


def _joined(
    table: DriveTable, other: DriveTable, part: RobotPart, nv: int
) -> DriveTable:
    """Drives of the robots before, and those of one more at its place in the scene."""
    first = np.arange(len(table.origin))
    places = np.column_stack([7 + first, 6 + first])
    if len(table.places):
        places = table.places
    own = np.arange(len(other.origin))
    further = np.column_stack([part.q.start + 7 + own, part.v.start + 6 + own])
    held = np.zeros(nv)
    held[: len(table.held)] = table.held
    held[part.v][: len(other.held)] = other.held
    return DriveTable(
        start=table.start,
        origin=np.concatenate(
            [table.origin, other.origin + other.rate * (table.start - other.start)]
        ),
        rate=np.concatenate([table.rate, other.rate]),
        parameters=np.concatenate([table.parameters, other.parameters]),
        held=held,
        places=np.concatenate([places, further]).astype(np.int64),
    )


def moving_bodies(scene: SceneSystem, q: np.ndarray, v: np.ndarray) -> Moving:
    """The motion of a scene's bodies, in the world's frame."""
    count = len(scene.bodies)
    places = q[scene.robot_nq : scene.robot_nq + 7 * count].reshape(-1, 7)
    speeds = v[scene.robot_nv : scene.robot_nv + 6 * count].reshape(-1, 2, 3)
    frames = np.array(
        [pin.Quaternion(row[3:].copy()).normalized().matrix() for row in places]
    )
    spins = np.einsum("nij,nj->ni", frames, speeds[:, 1])
    return Moving(places[:, :3], frames, speeds[:, 0], spins)


class SceneController(Controller):
    """Shows each robot's controller its robot alone, without contacts and forces.

    Args:
        scene: that the robots are in.
        robot: controller of the first one; of no robot with ``others``: None.
        others: those of further robots, by name. All are called at one time.

    Raises:
        ParameterError: the controllers have several periods.
    """

    def __init__(
        self,
        scene: SceneSystem,
        robot: ControlFunction | None,
        others: Mapping[str, ControlFunction] | None = None,
    ) -> None:
        given = others or {}
        self._robots = [(slice(scene.robot_nq), slice(scene.robot_nv), robot)]
        self._robots += [
            (part.q, part.v, given.get(part.robot.name)) for part in scene.others
        ]
        every = [law for _, _, law in self._robots if isinstance(law, Controller)]
        periods = {law.period for law in every}
        if len(periods) > 1:
            raise ParameterError("controllers of one scene must have one period")
        self.period = periods.pop() if periods else None

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command of the robot's controller; with further robots those of all."""
        commands = []
        for k, (q, v, law) in enumerate(self._robots):
            z = state.z if k == 0 else state.z[:0]
            own = ControlState(state.q[q], state.v[v], z)
            commands.append(None if law is None else law(t, own))
        return commands[0] if len(commands) == 1 else commands


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
        actuation = SceneActuation(scene, actuation)
    if controller is not None and not isinstance(controller, SceneController):
        controller = SceneController(scene, controller)
    return actuation, controller
