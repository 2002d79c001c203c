# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node ``dynamics``, and what they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.actuation import IdealTorque, Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.contact.geometry.ground import LAWS, Ground
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import integrators
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.model_system import ALL, BASE
from humans_sim.dynamics.simulation import METHODS, Simulation
from humans_sim.models import Model
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.start_posture import NEUTRAL, start_posture

LOCKSTEP, FREE = "lockstep", "free"
TORQUE, SERVO = "torque", "servo"


@dataclass(frozen=True)
class DynamicsSettings:
    """What the parameters say.

    Attributes:
        lockstep: whether each period waits for its command.
        period: between states [s].
        timeout: wall time to wait for a command [s], infinite for ever.
        paused: whether it begins paused.
        servos: whether commands are positions for servos, not torques.
        world: frame of the ground truth.
        tf: whether the transform from world to base_link is published.
        posture: at the start.
        height: above standing at the start [m].
        slope: of the floor [rad].
        ground: the scene.
        servo: numbers of the servos.
        armature: inertia of drives on every joint, without servos [kg m^2].
        whole_body: whether all links touch, not the feet alone
            do [m].
        unlocked: joints that move, although all are locked.
        walking: file of the walk whose posture is ``walk``; None: the model's own.
        record: file that a run is written to, None for none.
        record_samples: how many of its newest samples are kept.
        options: further options of the simulation.
    """

    lockstep: bool
    period: float
    timeout: float
    paused: bool
    servos: bool
    world: str
    tf: bool
    posture: str
    height: float
    slope: float
    ground: Ground
    servo: Mapping[str, Any]
    armature: float
    whole_body: bool
    unlocked: tuple[str, ...]
    walking: Path | None
    record: Path | None
    record_samples: int
    options: Mapping[str, Any]

    @classmethod
    def declare(cls, given: Parameters, model: Model) -> DynamicsSettings:
        """Declare the parameters and read them.

        Servos, friction, time step and body radius are those of the robot's file in
        ``config/robots`` unless given; with torques the feet alone touch.

        Raises:
            ParameterError: a value cannot be used.
        """
        number, choice = given.number, given.choice
        robot = RobotSetup.of_model(model)
        sync = choice("sync", LOCKSTEP, "when to integrate", (LOCKSTEP, FREE))
        period = number(
            "sampling_period", 0.01, "time between states [s]", 1e-6, high=1.0
        )
        timeout = number(
            "command_timeout",
            1.0,
            "lockstep: wall time after which the last command is held [s]; 0: never",
            low=0.0,
        )
        slope = math.radians(
            number("slope", 0.0, "the floor climbs along x [deg]", -80.0, 80.0)
        )
        ground = Ground(
            friction=number(
                "friction", robot.friction, "Coulomb's coefficient", low=0.0
            ),
            restitution=number("restitution", 0.0, "Newton's coefficient", 0.0, 1.0),
            law=choice("law", LAWS[0], "law of friction", LAWS),
            solids=Ground.slope(slope).solids,
        )
        actuation = choice("actuation", TORQUE, "what commands are", (TORQUE, SERVO))
        servo = {
            name: number(f"servo.{name}", value, "see humans_sim.actuation.Servo")
            for name, value in {"command_period": 0.0, **vars(robot.servo)}.items()
        }
        armature = number(
            "armature",
            0.0,
            "inertia of drives on every joint, with actuation torque [kg m^2]",
            low=0.0,
        )
        if armature and actuation == SERVO:
            raise ParameterError(
                "armature goes with actuation torque; servos have servo.rotor_inertia"
            )
        options = {
            "method": choice("method", "event_driven", "how to simulate", [*METHODS]),
            "integrator": choice(
                "integrator", "dop853", "of the event-driven method", integrators.NAMES
            ),
            "time_step": number(
                "time_step",
                robot.time_step,
                "step of the time-stepping method [s]",
                1e-6,
                0.1,
            ),
            "locked": given.texts(
                "locked", "joints that do not move; '*' for all, 'base' for the base"
            ),
        }
        return cls(
            lockstep=sync == LOCKSTEP,
            period=period,
            timeout=timeout or math.inf,
            paused=given.flag("start_paused", False, "wait for pause or step"),
            servos=actuation == SERVO,
            world=given.text("world_frame", "world", "frame of the ground truth"),
            tf=given.flag("publish_tf", True, "transform from world to base_link"),
            posture=given.text("posture", NEUTRAL, "posture at the start"),
            height=number(
                "start_height", 0.0, "height above standing at the start [m]", low=0.0
            ),
            slope=slope,
            ground=ground,
            servo=servo,
            armature=armature,
            whole_body=given.flag(
                "whole_body", robot.whole_body, "all links touch, not the feet alone"
            ),
            unlocked=given.texts(
                "unlocked", "joints that move, although '*' is locked"
            ),
            walking=given.path("walking", "how it walks; empty: the model's own"),
            record=_record(given),
            record_samples=given.count(
                "record_samples", 30_000, "newest samples kept for the record", 2
            ),
            options=options,
        )

    def pace(self, factor: float) -> float:
        """Least wall time between states at a real-time factor, 0 for none [s]."""
        return self.period / factor if factor else 0.0

    def simulation(self, model: Model) -> Simulation:
        """A simulation with an actuation of its own."""
        actuation: Actuation
        if self.servos:
            actuation = Servo(model, **self.servo)
        else:
            actuation = IdealTorque(model)
            joints = len(model.joint_names)
            actuation.armature = np.repeat([0.0, self.armature], [6, joints])
        options = {
            **self.options,
            "locked": self._locked(model),
            "whole_body": self.whole_body,
        }
        return Simulation(model, actuation, ground=self.ground, **options)

    def _locked(self, model: Model) -> tuple[str, ...]:
        """What does not move, by name where some joints are left out of all."""
        locked: tuple[str, ...] = self.options["locked"]
        if not self.unlocked:
            return locked
        unknown = sorted(set(self.unlocked) - set(model.joint_names))
        if unknown or ALL not in locked:
            raise ParameterError(
                f"unlocked takes joints out of locked: ['{ALL}']"
                + (f"; {model.name} has no joint '{unknown[0]}'" if unknown else "")
            )
        joints = [name for name in model.joint_names if name not in self.unlocked]
        return (*(name for name in locked if name == BASE), *joints)

    def start(self, model: Model, posture: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity at the start.

        Args:
            model: the model.
            posture: name of a posture; that of the parameters unless given.
        """
        name = posture or self.posture
        q = start_posture(model, name, self.walking, self.slope, self.height)
        return q, np.zeros(model.nv)


def _record(given: Parameters) -> Path | None:
    path = given.path("record", "run file (.npz) that a run is written to; empty: none")
    if path is not None and path.suffix != ".npz":
        raise ParameterError(f"record must be a file .npz, not '{path.name}'")
    return path
