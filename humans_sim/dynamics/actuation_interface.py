# SPDX-License-Identifier: Apache-2.0
"""The actuation interface: how actuation plugs into the dynamics.

An actuation has states z of its own, integrated with the mechanics in one vector, and
events of its own. The simulation calls its functions, in the words of the manual's
chapter 6:

====================  ============================================================
ActuationInitialisation  :meth:`Actuation.initialise`
ActuationDynamics        :meth:`Actuation.dynamics`
ActuationEventDetection  :meth:`Actuation.detect` and :meth:`Actuation.next_time`
ActuationEventHandling   :meth:`Actuation.handle`
ActuationStateReset      :meth:`Actuation.reset`
====================  ============================================================

Discrete states (modes, clocks, queues) are attributes of the actuation; they change in
``initialise``, ``command``, ``handle`` and ``reset`` only, never in ``dynamics``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.drive_kernels import NO_DRIVES, DriveTable
from humans_sim.results.events import Event
from humans_sim.results.signal import Signal


class Actuation:
    """An actuation without force and state; a parent for others.

    Attributes:
        nz: number of states.
        z_names: their names.
        armature: inertia that the actuation adds to the coordinates (nv,), or None.
        frictional_joints: joints whose friction is part of the actuation's torques:
            what the model says of their friction then does not act besides.
        decoupled: whether it has no states, and each of its forces depends on position
            and velocity of its own coordinate alone: derivatives then cost little.
    """

    nz: int = 0
    z_names: tuple[str, ...] = ()
    armature: np.ndarray | None = None
    frictional_joints: tuple[str, ...] = ()
    decoupled: bool = False

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Set the discrete states; return z at the start (nz,)."""
        return np.zeros(self.nz)

    def command(self, t: float, command: Any) -> None:
        """Take a command of the controller."""
        raise ParameterError(f"the actuation {type(self).__name__} takes no commands")

    def expect_commands_every(self, period: float) -> None:
        """Note the time between two commands of the controller [s]."""

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Generalised force (nv,) and the rates of z (nz,)."""
        return np.zeros(len(v)), z

    def drives(self) -> DriveTable | None:
        """The forces of :meth:`dynamics` until the next event, as kernels take them.

        None where they are no table: then :meth:`dynamics` is called at every stage of
        a step.
        """
        return NO_DRIVES if type(self).dynamics is Actuation.dynamics else None

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Functions whose change of sign is an event."""
        return _NONE

    def next_time(self, t: float) -> float:
        """Time of the next event that is known in advance, after t [s]."""
        return math.inf

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Handle events: those of ``detect`` that fired, and the time that came.

        Returns the new z and what to record.
        """
        return z, ()

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Adapt to a jump of the mechanics (impact, lift-off); returns the new z."""
        return z

    def signals(self) -> tuple[Signal, ...]:
        """What a run keeps of it beside z and torques, number by number."""
        return ()

    def signal_values(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The numbers of :meth:`signals` at a state; NaN where there is none."""
        return _NONE

    def record(self) -> dict[str, dict[str, Any]]:
        """What a run keeps of it in its info: mappings of plain data, by their keys."""
        return {}


_NONE = np.zeros(0)
