# SPDX-License-Identifier: Apache-2.0
"""Walking by velocity: a controller for a simulated biped with position servos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.actuation.robot_files import has_robot_file
from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.walking.footsteps import Velocity
from humans_sim.control.walking.servo_walk import ScheduledCommand, ServoWalk
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.walker import PERIOD, Walker
from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.integrators import ROSENBROCK
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import TIME_STEPPING, System
from humans_sim.models import Model


class Walk(Controller):
    """Walks with a velocity, by the servos of the model that is simulated.

    ``Simulation(model, Servo(model), Walk(forward=0.05)).run(t_end=5.0)`` is a whole
    walk: the run starts in the posture of :meth:`start`, by time stepping. Floor, what
    of the body touches, steps and period are those of the model's file in
    ``config/robots``, where it has one, so that it is the robot of the scenarios and of
    the viewer; what the simulation is given takes their place.

    Args:
        forward: velocity forwards [m/s].
        sideways: velocity to the left [m/s].
        turn: angular velocity to the left [rad/s].
        begin: when the walk begins; until then it stands [s].
        end: when it is asked to stop, or None: never [s].
        settings: how the biped walks; by default the package's for the model.
        period: time between two commands [s]; by default that of the robot's file,
            or 0.02.

    Attributes:
        velocity: forwards, to the left, turning.
        period: time between two commands [s]; None until a model is known.
    """

    def __init__(
        self,
        forward: float = 0.0,
        sideways: float = 0.0,
        turn: float = 0.0,
        *,
        begin: float = 0.5,
        end: float | None = None,
        settings: WalkSettings | None = None,
        period: float | None = None,
    ) -> None:
        finite_array([forward, sideways, turn], (3,), "velocity", ParameterError)
        if end is not None and end < begin:
            raise ParameterError(f"the walk ends at {end} s, before it begins: {begin}")
        self.velocity = Velocity(forward, sideways, turn)
        self.period = self._given_period = period
        self._settings = settings
        self._schedule = [ScheduledCommand(begin, self.velocity)]
        if end is not None:
            self._schedule.append(ScheduledCommand(end, None))
        self._servo_walk: ServoWalk | None = None

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Those of the robot's file, where it has one; time stepping in any case.

        Where the event-driven method is asked for, it takes the integrator for soles.
        """
        robot: dict[str, Any] = {}
        if has_robot_file(model):
            robot = RobotSetup.of_model(model).simulation_arguments()
        return {**robot, "method": TIME_STEPPING, "integrator": ROSENBROCK}

    def start(self, model: Model | None = None) -> np.ndarray:
        """The configuration in which the walk starts: standing, knees bent.

        Args:
            model: the biped; by default that of the simulation.

        Raises:
            ParameterError: no model is known, or there are no settings for it.
        """
        if model is not None:
            return self._walker(model).start()
        return self._attached().start()

    def attach(self, system: System) -> None:
        """Plan for the model of a simulation."""
        if not isinstance(system, ModelSystem):
            raise ParameterError(f"{system.name} is no biped model: it cannot walk")
        gravity = float(np.linalg.norm(system.gravity))
        walker = self._walker(system.model, gravity)
        self.period = walker.period
        lag = RobotSetup.of_model(system.model).lag
        self._servo_walk = ServoWalk(walker, self._schedule, lag)
        self._servo_walk.attach(system)

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Angles that the servos shall have reached one period later (njoints,)."""
        return self._attached()(t, state)

    def _walker(self, model: Model, gravity: float | None = None) -> Walker:
        """Plans for a model, with the period that was given or that of its robot."""
        period = self._given_period
        if period is None:
            period = PERIOD
            if has_robot_file(model):
                period = RobotSetup.of_model(model).sampling_period
        return Walker(model, self._settings, period=period, gravity=gravity)

    @property
    def walker(self) -> Walker:
        """What plans and balances; known once a simulation has this controller."""
        return self._attached().walker

    def _attached(self) -> ServoWalk:
        if self._servo_walk is None:
            raise ParameterError(
                "the walk has no model yet: give it to a Simulation, or call "
                "start(model)"
            )
        return self._servo_walk
