# SPDX-License-Identifier: Apache-2.0
"""Feedback from sensors: a controller that sees what is measured, not the true state.

The manual's loop (section 6.4.2): at each control period the sensors give joint angles
and forces of the feet, the observer (chapter 7) adds where the base is, and the control
law is called with that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlFunction, Controller, ControlState
from humans_sim.dynamics.sensor import Sensor
from humans_sim.dynamics.sensors import FootSensor, JointEncoders
from humans_sim.dynamics.system import System
from humans_sim.models import Model
from humans_sim.observation.base.observer import SUSPENSION, BaseEstimate, BaseObserver
from humans_sim.results.records import Signal

_AXES = ("x", "y", "z")
_SIGNALS = (
    *(Signal(f"observer/position_{axis}", "m") for axis in _AXES),
    *(Signal(f"observer/quaternion_{axis}", "1") for axis in (*_AXES, "w")),
    *(Signal(f"observer/linear_velocity_{axis}", "m/s") for axis in _AXES),
    *(Signal(f"observer/angular_velocity_{axis}", "rad/s") for axis in _AXES),
    Signal("observer/mismatch", "m"),
    Signal("observer/feet", "1"),
    Signal("observer/suspended", "1"),
)


class MeasuredState(ControlState):
    """The measured state of a robot, for a control law.

    ``q`` and ``v`` are the estimate of the base with the measured joints; ``z`` is that
    of the actuation, which nobody measures; ``sample`` and ``acceleration`` are not
    there.

    Attributes:
        estimate: of the base.
        sole_forces: of the ground on each sole, in its frame, by its name (3,) [N].
    """

    __slots__ = ("estimate", "sole_forces")

    def __init__(
        self,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray,
        estimate: BaseEstimate,
        sole_forces: Mapping[str, np.ndarray],
    ) -> None:
        super().__init__(q, v, z)
        self.estimate, self.sole_forces = estimate, dict(sole_forces)


class ObserverFeedback(Controller):
    """A controller behind sensors and the position observer.

    The pose of the base is known once, at the start of a run, as the manual supposes;
    from then on the observer follows it. Until all sensors have a reading (delays) the
    controller is not called and nothing is commanded.

    Args:
        controller: what is called, with a :class:`MeasuredState`.
        observer: follows the base.
        encoders: of the joints; a sensor of the same simulation.
        feet: one for each sole of the observer; sensors of the same simulation.
        standing: configuration that says where the first foot on the ground is (nq,),
            for a robot that starts in the air and is moved from outside; None: where
            the start puts it.
    """

    def __init__(
        self,
        controller: ControlFunction,
        observer: BaseObserver,
        encoders: JointEncoders,
        feet: Sequence[FootSensor],
        standing: np.ndarray | None = None,
    ) -> None:
        """Check that every sole is measured."""
        measured = {foot.sole: foot.name for foot in feet}
        for sole in observer.soles:
            if sole not in measured:
                raise ParameterError(
                    f"the observer of {observer.model.name} needs a foot sensor at "
                    f"'{sole}'"
                )
        self.controller, self.observer = controller, observer
        self._standing = standing
        self._joints = encoders.name
        self._feet = {sole: measured[sole] for sole in observer.soles}
        known = controller if isinstance(controller, Controller) else None
        self._known, self.period = known, None if known is None else known.period
        self._called, self._read = -math.inf, -math.inf
        self._estimate: BaseEstimate | None = None

    @classmethod
    def of_sensors(
        cls,
        controller: ControlFunction,
        model: Model,
        sensors: Sequence[Sensor],
        standing: np.ndarray | None = None,
        **options: Any,
    ) -> ObserverFeedback:
        """The same, with the encoders and the feet among some sensors.

        Options are those of :class:`BaseObserver`.

        Raises:
            ParameterError: there are no encoders, or a sole has no sensor.
        """
        encoders = [s for s in sensors if isinstance(s, JointEncoders)]
        if len(encoders) != 1:
            raise ParameterError(
                f"feedback from sensors needs one set of joint encoders, not "
                f"{len(encoders)}"
            )
        feet = [s for s in sensors if isinstance(s, FootSensor)]
        observer = BaseObserver(model, **options)
        return cls(controller, observer, encoders[0], feet, standing)

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Those of the controller."""
        return {} if self._known is None else self._known.simulation_arguments(model)

    def start(self) -> np.ndarray | None:
        """The configuration in which the controller starts."""
        return None if self._known is None else self._known.start()

    def attach(self, system: System) -> None:
        """Prepare the controller."""
        if self._known is not None:
            self._known.attach(system)
            self.period = self._known.period

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command that the controller gives for what is measured."""
        if t <= self._called or math.isinf(self._called):
            self.observer.reset(state.q[:7], self._standing)
            self._read, self._estimate = -math.inf, None
        self._called = t
        measured = self._measured(state)
        return None if measured is None else self.controller(t, measured)

    def _measured(self, state: ControlState) -> MeasuredState | None:
        """The state by the newest readings; None before all sensors have one."""
        for name in (self._joints, *self._feet.values()):
            if name not in state.sensors:
                raise ParameterError(
                    f"the simulation has no sensor '{name}', which feedback needs"
                )
            if state.sensors[name] is None:
                return None
        joints = state.sensors[self._joints]
        forces = {sole: state.sensors[name].force for sole, name in self._feet.items()}
        if joints.t > self._read or self._estimate is None:
            self._read = joints.t
            self._estimate = self.observer.update(
                joints.t,
                joints.angles,
                joints.speeds,
                sole_forces={sole: float(f[2]) for sole, f in forces.items()},
            )
        base = self._estimate
        q = np.concatenate([base.pose, joints.angles])
        v = np.concatenate([base.velocity, joints.speeds])
        measured = MeasuredState(q, v, state.z, base, forces)
        measured.sensors = state.sensors
        return measured

    def signals(self) -> tuple[Signal, ...]:
        """The estimate of the base, then what the controller records."""
        return (*_SIGNALS, *(() if self._known is None else self._known.signals()))

    def signal_values(self) -> np.ndarray:
        """Numbers of the newest estimate; NaN before the first."""
        own, base = np.full(len(_SIGNALS), np.nan), self._estimate
        if base is not None:
            hangs = float(base.reference == SUSPENSION)
            last = [base.mismatch, float(len(base.feet)), hangs]
            own = np.concatenate([base.pose, base.velocity, last])
        if self._known is None:
            return own
        return np.concatenate([own, self._known.signal_values()])
