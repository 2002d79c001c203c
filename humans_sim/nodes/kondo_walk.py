# SPDX-License-Identifier: Apache-2.0
"""Node ``kondo_walk``: the package's walk for a robot without sensors.

Takes ``joint_states`` (where the walk begins, and whether the robot follows),
``robot_state`` of the bridge and ``cmd_vel`` (geometry_msgs/Twist). Gives
``joint_commands``, ``walk_status`` and ``/diagnostics``. Action: ``walk``. As soon as
the robot reports its joints, it is led into the posture of the walk, slowly, and kept
there by a steady stream of commands. A robot that is stopped, lost, busy, or does not
follow ends the walk: nothing more is commanded until somebody calls the service
``start_walk`` (std_srvs/Trigger).
"""

from __future__ import annotations

import math
import time
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from humans_msgs.action import Walk as WalkAction
from humans_msgs.msg import WalkStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger

from humans_sim.control.walking import WalkPhase
from humans_sim.core.errors import (
    ConfigurationError,
    HumansError,
    ParameterError,
    printable,
)
from humans_sim.kondo.driver.board import MOVABLE, RobotState
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import BlindWalk
from humans_sim.nodes.common.conversions import (
    duration_of,
    joint_state,
    joints_of,
    set_vector,
    velocity_of,
)
from humans_sim.nodes.common.diagnostics import BEAT
from humans_sim.nodes.common.model_node import ModelNode, latched
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.start_posture import walk_settings
from humans_sim.nodes.walk.action import WalkGoals, begin_steps
from humans_sim.nodes.walk.topics import WalkDiagnostics

_DEPTH = 10
_QUIET_BEATS = 5
"""Of diagnostics without joint_states, before it says so."""
_SILENCE = 0.5
"""Wall time without joint_states after which the walk ends [s]."""
_LED = tuple(state.value for state in MOVABLE)
"""States of the robot in which it follows."""
_STATES = ("busy", *(state.value for state in RobotState))
_NOTHING = "nothing comes on joint_states"
_LONGEST = 300
"""Characters of a state of the robot that are taken."""
_PATIENCE = 1.0
"""Wall time that joints may be far from where they should be [s]."""
_CALM = 0.05
"""Speed of a centre of mass that stands, relative to its height [1/s]."""


class KondoWalk(ModelNode):
    """Streams a walk that nobody's senses correct."""

    def __init__(self, name: str = "kondo_walk", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        robot = load_robot(given.text("robot", "khr1", "name or file of the robot"))
        path = given.path("walking", "how it walks; empty: slow steps of the model's")
        period = given.number("period", 0.02, "between commands [s]", 5e-3, 0.1)
        self._velocity = given.numbers("cmd_vel", "to walk with at the start", 3)
        # A real robot does not walk on when whoever leads it is gone.
        self._timeout = given.number(
            "cmd_vel_timeout", 1.0, "then cmd_vel does not count [s]; 0: never", 0.0
        )
        self._stamped = given.flag("stamped", False, "cmd_vel is a TwistStamped")
        self._tolerance = given.number(
            "tolerance", 0.5, "joints farther off do not follow [rad]", 0.05
        )
        walking = None if path is None else walk_settings(self.model, path)
        self._walk = BlindWalk(self.model, robot, walking, period)
        self._joints: dict[str, float] = {}
        self._angles = self.model.neutral()[7:]
        self._heard_at = -math.inf
        self._followed_at = self._velocity_at = math.inf
        self._begun, self._t, self._quiet = False, 0.0, 0
        self._failure = self._note = self._robot = self._ended = ""
        self._diagnostics = WalkDiagnostics(self, self.model.name)
        self._commands = self.create_publisher(JointState, "joint_commands", _DEPTH)
        self._status = self.create_publisher(WalkStatus, "walk_status", _DEPTH)
        kind = TwistStamped if self._stamped else Twist
        self.create_subscription(kind, "cmd_vel", self._on_velocity, _DEPTH)
        self.create_subscription(JointState, "joint_states", self._on_states, _DEPTH)
        self.create_subscription(String, "robot_state", self._on_robot, latched())
        self.create_service(Trigger, "start_walk", self._on_start)
        settings = self._walk.pattern.settings
        self._goals = WalkGoals(
            self,
            self._begin_steps,
            self._walk.pattern.stop,
            settings.shift_duration,
            _CALM * settings.com_height,
        )
        self._period = period
        self.every(period, self._tick)
        self.every(BEAT, self._diagnose)

    # -- what comes in ---------------------------------------------------------------

    def _on_states(self, message: JointState) -> None:
        try:
            self._angles = joints_of(self.model, message, self._angles)
        except ConfigurationError as error:
            self._diagnostics.refuse("joint_states", error)
            return
        pairs = zip(self.model.joint_names, self._angles.tolist(), strict=True)
        self._joints = dict(pairs)
        self._heard_at = time.monotonic()

    def _on_robot(self, message: String) -> None:
        if message.data.partition(":")[0] not in _STATES:
            error = ConfigurationError(
                f"'{printable(message.data[:_LONGEST])}' is no state"
            )
            self._diagnostics.refuse("robot_state", error)
            return
        self._robot = message.data[:_LONGEST]
        if self._obstacle():
            self._break(f"the robot is {self._robot}")

    def _obstacle(self) -> bool:
        """Whether the robot follows nothing now; one that says nothing may follow."""
        return bool(self._robot) and self._robot.partition(":")[0] not in _LED

    def _on_start(self, _: Any, response: Any) -> Any:
        """Begin anew after the walk has ended, for somebody who asks."""
        silent = time.monotonic() > self._heard_at + _SILENCE
        if self._begun and not self._failure:
            response.message = "it is started already"
        elif self._obstacle():
            response.message = f"the robot is {self._robot}: call energize first"
        elif silent:
            response.message = f"{_NOTHING}: call energize first"
        else:
            self._ended, self._begun = "", False
            self._walk.begin(self._joints)
            off = math.degrees(self._walk.farthest)
            response.success = True
            response.message = (
                f"a joint moves by {off:.0f} degrees at most, into the posture of the "
                f"walk, within {self._walk.approach_time:.1f} s"
            )
            if any(self._velocity):
                response.message += ", then it walks as the parameter cmd_vel says"
        return response

    def _on_velocity(self, message: Any) -> None:
        try:
            if self._goals.active:
                raise ParameterError("a goal of the action walk is walked for")
            self._check_ready()
            velocity = velocity_of(message.twist if self._stamped else message)
            self._walk.pattern.command(velocity[0], velocity[1], velocity[5])
        except HumansError as error:
            self._diagnostics.refuse("cmd_vel", error)
            return
        self._note = ""
        moves = bool(velocity[[0, 1, 5]].any())
        self._velocity_at = time.monotonic() if moves else math.inf

    def _begin_steps(self, steps: int, velocity: Any) -> None:
        self._check_ready()
        standing = self._walk.point.phase == WalkPhase.STANDING
        begin_steps(self._walk.pattern, standing, steps, velocity)
        self._note, self._velocity_at = "", math.inf

    def _check_ready(self) -> None:
        if self._failure or self._ended:
            why = self._failure or self._ended
            raise ParameterError(f"the walk has ended ({why}): call start_walk")
        if not self._begun:
            raise ParameterError("the robot does not report its joints")
        if not self._walk.ready:
            raise ParameterError("it goes to the posture of the walk yet")

    # -- ticks -----------------------------------------------------------------------

    def _tick(self) -> None:
        now = time.monotonic()
        if now > self._heard_at + _SILENCE:
            self._break(_NOTHING)
        if self._ended:
            status = self._state(0.0)
            status.phase = WalkStatus.IDLE
            status.message = f"the walk has ended ({self._ended}): call start_walk"
            self._status.publish(status)
        if self._ended or self._obstacle() or now > self._heard_at + _SILENCE:
            return
        if self._begun and self._walk.off(self._joints) < self._tolerance:
            self._followed_at = now
        elif self._begun and now > self._followed_at + _PATIENCE:
            self._break("the robot does not follow")
            return
        if not self._begun:
            self._begin(now)
        if self._timeout and now > self._velocity_at + self._timeout:
            self._velocity_at = math.inf
            self._note = "no cmd_vel came any more"
            self._walk.pattern.stop()
        self._send(now)

    def _begin(self, now: float) -> None:
        self._begun, self._followed_at = True, now
        self._failure = ""
        self._diagnostics.counts["starts"] += 1
        self._walk.begin(self._joints)

    def _break(self, reason: str) -> None:
        """End the walk until somebody starts it again."""
        if self._begun:
            self._begun, self._ended = False, reason
            self._velocity_at = math.inf
            self.get_logger().error(f"the walk ended: {reason}")
            self._goals.end(WalkAction.Result.ABORTED, reason)

    def _send(self, begun: float) -> None:
        was_ready = self._walk.ready
        try:
            if not self._failure:
                angles, stamp = self._walk.tick(), self.get_clock().now().to_msg()
                values = list(angles.values())
                self._commands.publish(joint_state(stamp, list(angles), values))
        except HumansError as error:
            self._failure = str(error)
            self.get_logger().error(f"the walk ended: {error}")
            self._goals.end(WalkAction.Result.ABORTED, self._failure)
            return
        if self._walk.ready and not was_ready and any(self._velocity):
            self._walk.pattern.command(*self._velocity)
        self._t += self._period
        spent = time.monotonic() - begun
        self._diagnostics.spend(spent)
        status = self._state(spent)
        self._status.publish(status)
        self._goals.tick(self._t, None, status)

    def _state(self, spent: float) -> WalkStatus:
        """The planned state; nothing is measured."""
        plan, status = self._walk.point, WalkStatus(message=self._note)
        stamp, frame = self.get_clock().now().to_msg(), self.framed("odom")
        status.header = Header(stamp=stamp, frame_id=frame)
        status.phase = int(plan.phase) if self._walk.ready else WalkStatus.STANDING
        status.steps = plan.steps
        status.commanded_velocity.linear.x = float(plan.velocity.vx)
        status.commanded_velocity.linear.y = float(plan.velocity.vy)
        status.commanded_velocity.angular.z = float(plan.velocity.wz)
        set_vector(status.center_of_mass, plan.com)
        set_vector(status.center_of_mass_velocity, plan.com_velocity)
        nowhere = status.zero_moment_point
        nowhere.x = nowhere.y = nowhere.z = math.nan
        set_vector(status.zero_moment_point_reference, plan.zmp)
        status.support_margin = math.nan
        status.solve_time = duration_of(spent)
        return status

    def _diagnose(self) -> None:
        waits = not self._begun and not self._ended
        self._quiet = self._quiet + 1 if waits else 0
        if self._quiet == _QUIET_BEATS:
            self.get_logger().warning(
                f"{_NOTHING}; servos that are limp report none, the service energize "
                "makes them hold"
            )
        state, failure = "waiting for joint_states", self._failure
        if self._ended:
            state, failure = "ended", f"{self._ended}: energize it, call start_walk"
        if self._begun:
            state = self._walk.point.phase.name.lower()
            if not self._walk.ready:
                state = "goes to the posture of the walk"
        self._diagnostics.report(state, failure, self._note, self._t)
