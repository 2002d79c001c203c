# SPDX-License-Identifier: Apache-2.0
r"""Task-space control of Bip through its motors.

.. math::
   v = \ddot s^* + K_p (s^* - s) + K_v (\dot s^* - H \dot q) - h, \qquad
   \ddot q = H^{-1} v, \qquad \tau = M \ddot q + N - C^T \lambda

The contact forces :math:`\lambda` follow from the equations of the base; which feet
share them, and how, is given by the contact phases of the trajectory. The voltages are
those that give the torques now, back EMF and friction of the motors compensated.

Where Bip hangs (contact code 4) the tags of its suspension carry it, upwards alone, and
the base is where the suspension puts it: its rows of the task are not followed. In a
transition from there to feet, they are more and more.

*Demonstration* (manual sections 7.1 and 8.2): Bip hangs, is let down, stands and makes
a step. It hangs in the posture in which it will stand (contact code 4). The hoist lets
it down until the feet touch, a little further, and holds. The law plans no forces of
the feet till then, so that legs give way and feet carry a few per cent of the weight;
in the transition (code 5) it lets them take over; then the cables are paid out, and Bip
stands (code 3) and steps. The hoist goes by the clock: nobody commands it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from humans_sim.actuation import ScrewDriveMotors
from humans_sim.actuation.hoist import Hoist
from humans_sim.control.bip.task import BipTask, StepShape, one_step
from humans_sim.control.task.task_law import TaskLaw, share_forces
from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory
from humans_sim.core.arrays import PositiveNumbers
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models.links import SUSPENSION_PREFIX

_BARE = 1e4
"""Price of the force of a foot that is about to leave the ground, or has just come."""
_HUNG = ContactPhase.SUSPENSION
_CARRIERS = {ContactPhase.RIGHT_FOOT: "r", ContactPhase.LEFT_FOOT: "l", _HUNG: "s"}
"""What carries in a phase; both feet in the others."""
_BASE = slice(-6, None)
"""Rows of the task function that are the base."""


class BipControl(Controller):
    """Voltages that carry Bip along a trajectory of its task function.

    Args:
        task: Bip's task function.
        trajectory: positions in the task space over time.
        stiffness: Kp [1/s^2].
        damping: Kv [1/s]; critical unless given.
        friction: coefficient that the planned forces may use.
        margin: share of a foot, from its edges inwards, that the planned forces spare.
        horizon: how long after its call the command acts [s], in the middle of its
            time: control delay and half a period. The law foresees the state by then;
            without that the back EMF, which is as strong as the inertia of the rotors,
            would be compensated too late.

    Attributes:
        motor_names: in the order of the voltages.
        damped: whether the task was near singular at the last call and followed by
            damped least squares.
    """

    def __init__(
        self,
        task: BipTask,
        trajectory: Trajectory,
        stiffness: float = 60.0,
        damping: float | None = None,
        friction: float = 0.4,
        margin: float = 0.15,
        horizon: float = 0.0,
        period: float = 0.005,
    ) -> None:
        if trajectory.size != task.size:
            raise ParameterError(
                f"the trajectory has {trajectory.size} coordinates, not {task.size}"
            )
        if not 0 <= margin < 1:
            raise ParameterError(f"margin must be 0 or more, below 1, not {margin}")
        self._task, self._trajectory = task, trajectory
        if damping is None:
            damping = 2.0 * math.sqrt(stiffness)
        self._law = TaskLaw(task, stiffness, damping)
        self.damped, self.period = False, period
        self._margin, self._horizon = margin, horizon
        model = task.model
        self._motors = ScrewDriveMotors(model)
        self.motor_names = self._motors.names
        names = list(model.contact_names)
        corners = {s.name[0]: [names.index(c) for c in s.contacts] for s in model.soles}
        hung = [k for k, name in enumerate(names) if name.startswith(SUSPENSION_PREFIX)]
        if _HUNG in trajectory.phases and not hung:
            raise ParameterError(
                f"{model.name} has no contacts '{SUSPENSION_PREFIX}...' to hang by, "
                "which contact code 4 needs"
            )
        self._points = [*corners["r"], *corners["l"], *hung]
        carriers = "r" * len(corners["r"]) + "l" * len(corners["l"]) + "s" * len(hung)
        self._carriers = np.array(list(carriers))
        # Cables do not push sideways.
        self._frictions = np.where(self._carriers == "s", 0.0, friction)
        # Joints of the model in the order of the HuMAnS vector.
        order = model.humans.coordinate_names
        self._place = np.array([order.index(name) for name in model.joint_names])

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Voltages at time t (nmotors,) [V]."""
        humans, ahead = self._task.model.humans, self._horizon
        q_h, rate = humans.from_pin(state.q, state.v)
        if ahead:
            acceleration = self.acceleration(t, q_h, rate)
            q_h = q_h + ahead * rate + 0.5 * ahead**2 * acceleration
            rate = rate + ahead * acceleration
        torques = self.torques(t + ahead, q_h, rate)
        return self._motors.voltages(*humans.to_pin(q_h, rate), torques)

    def acceleration(self, t: float, q_h: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Acceleration that follows the trajectory, HuMAnS coordinates (21,)."""
        goal = self._trajectory.at(t)
        # How much of Bip hangs by the trajectory: 0, 1, or between.
        hung = sum(share for phase, share in self._shares(t) if phase == _HUNG)
        if hung:
            for target, present in ((goal.value, q_h), (goal.velocity, rate)):
                target[_BASE] += hung * (present[_BASE] - target[_BASE])
            goal.acceleration[_BASE] *= 1.0 - hung
        motion = self._law.solve(
            q_h, rate, goal.value, goal.velocity, goal.acceleration
        )
        self.damped = motion.damped
        return motion.acceleration

    def torques(self, t: float, q_h: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Joint torques, in the order of the model's joints (njoints,) [N m]."""
        humans = self._task.model.humans
        load = humans.inertia(q_h) @ self.acceleration(t, q_h, rate)
        load += humans.nl_effects(q_h, rate)
        # Of the points that may be loaded: up, forward, right (k, 3, 21).
        jacobian = humans.contact_jacobian(q_h)
        rows = jacobian.reshape(3, len(jacobian) // 3, -1)[[1, 0, 2]].transpose(1, 0, 2)
        rows = rows[self._points]
        for side in "rl":
            foot = self._carriers == side
            rows[foot] += self._margin * (rows[foot].mean(axis=0) - rows[foot])
        # The price of a force at each point, by the contact phases.
        shares, prices = self._shares(t), np.ones(len(self._points))
        for phase, share in shares:
            idle = ~np.isin(self._carriers, list(_CARRIERS.get(phase, "rl")))
            prices[idle] *= math.inf if len(shares) == 1 else _BARE**share
        if not any(phase == _HUNG for phase, _ in shares):
            prices[self._carriers == "s"] = math.inf
        contacts = share_forces(rows[:, :, -6:], load[-6:], self._frictions, prices)
        torques = load - np.einsum("crn,cr->n", rows, contacts.forces)
        return torques[self._place]

    def _shares(self, t: float) -> list[tuple[ContactPhase, float]]:
        """Phases that hold at a time, and how much: two of them in a transition."""
        path = self._trajectory
        k = int(np.searchsorted(path.times, t, side="right")) - 1
        k = min(max(k, 0), len(path.phases) - 1)
        if path.phases[k] != ContactPhase.TRANSITION:
            return [(path.phases[k], 1.0)]
        elapsed = (t - path.times[k]) / (path.times[k + 1] - path.times[k])
        elapsed = min(max(elapsed, 0.0), 1.0)
        before = path.phases[k - 1] if k else ContactPhase.DOUBLE
        after = path.phases[min(k + 1, len(path.phases) - 1)]
        return [(after, elapsed), (before, 1.0 - elapsed)]


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
