# SPDX-License-Identifier: Apache-2.0
"""Bip hangs, is let down, stands, and makes a step (manual sections 7.1 and 8.2).

It hangs in the posture in which it will stand (contact code 4). The hoist lets it down
until the feet touch, a little further, and holds. The law plans no forces of the feet
till then, so that legs give way and feet carry a few per cent of the weight; in the
transition (code 5) it lets them take over; then the cables are paid out, and Bip stands
(code 3) and steps. The hoist goes by the clock: nobody commands it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.actuation.hoist import Hoist
from humans_sim.control.bip.step import StepShape, one_step
from humans_sim.control.bip.task import BipTask
from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory
from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.constants import GRAVITY


@dataclass(frozen=True)
class LetDown(PositiveNumbers):
    """How Bip is let down (all assumed).

    Attributes:
        height: of the feet above the ground at the start [m].
        hang: time to hang at the start [s].
        descent: time of the way down [s].
        overtravel: how far the hoist goes below the landing, as a share of the stretch
            of its cables under the weight. Stiff legs would carry that share.
        load: time in which the feet take over [s].
        release: time in which the cables are paid out [s].
        slack: what is paid out then [m].
    """

    height: float = 0.05
    hang: float = 0.4
    descent: float = 1.2
    overtravel: float = 0.4
    load: float = 0.6
    release: float = 0.8
    slack: float = 0.3

    def hoist(self, task: BipTask) -> Hoist:
        """The hoist that lets Bip down, by its schedule."""
        model = task.model
        hoist = Hoist(model)
        stretch = GRAVITY * model.mass / (len(hoist.tags) * hoist.stiffness)
        down = self.height + self.overtravel * stretch
        times = np.cumsum([self.hang, self.descent, self.load, self.release])
        lengths = (0.0, down, down, down + self.slack)
        return Hoist(model, list(zip(times.tolist(), lengths, strict=True)))

    def start(self, standing: np.ndarray) -> np.ndarray:
        """The configuration in which it hangs (nq,), of that in which it stands."""
        hung: np.ndarray = standing.copy()
        hung[2] += self.height
        return hung


def let_down(
    task: BipTask, plan: LetDown | None = None, shape: StepShape | None = None
) -> Trajectory:
    """The trajectory of Bip that hangs, is let down, stands and steps."""
    plan = LetDown() if plan is None else plan
    step = one_step(task, shape)
    durations = [plan.hang + plan.descent, plan.load, plan.release]
    times = np.cumsum([0.0, *durations])
    rest = np.tile(step.positions[0], (2 * len(durations), 1))
    phases = [ContactPhase.SUSPENSION, ContactPhase.TRANSITION, ContactPhase.DOUBLE]
    return Trajectory(
        np.vstack([rest, step.positions]),
        [*times, *(step.times[1:] + times[-1])],
        [*phases, *step.phases],
    )
