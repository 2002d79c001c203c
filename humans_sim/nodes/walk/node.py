# SPDX-License-Identifier: Apache-2.0
"""Node ``walk``: leads a biped with position servos by a velocity or by steps.

Takes ``cmd_vel`` (geometry_msgs/Twist), ``path`` (nav_msgs/Path, from standing),
``joint_states``, ``imu``, ``<sole>/wrench`` of both feet and odometry. Gives
``joint_commands``, ``walk_status``, ``footsteps`` and ``walk_markers``
(visualization_msgs/MarkerArray), ``/diagnostics``, and ``events`` (falls and what
follows). Action: ``walk``. Service: ``get_up``.

A tick is made when joint_states, imu and both wrenches of one stamp are there; its
command carries that stamp, so that a simulation in lock-step does not depend on the
load of the machine. Odometry is used for drawings and displacements alone.

A path (``nav_msgs/Path``) becomes points of its plan.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Twist, TwistStamped, WrenchStamped
from humans_msgs.action import Walk as WalkAction
from nav_msgs.msg import Odometry, Path
from sensor_msgs.msg import Imu, JointState

from humans_sim.control.walking import (
    SoleWrench,
    WalkCommand,
    Walker,
    WalkPhase,
    WalkSensors,
)
from humans_sim.control.walking.com_estimator import Approach
from humans_sim.control.walking.listed_footsteps import path_footsteps
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.nodes.common.conversions import (
    base_motion,
    joint_state,
    joint_values,
    joints_of,
    nanoseconds_of,
    rotation_of,
    time_of,
    vector_of,
    velocity_of,
)
from humans_sim.nodes.common.diagnostics import gone
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import REPEAT, StampSynchronizer
from humans_sim.nodes.walk.action import Rising, WalkGoals, begin_steps
from humans_sim.nodes.walk.reports import BaseSample, TickReports, WalkTick
from humans_sim.nodes.walk.settings import WalkNodeSettings
from humans_sim.nodes.walk.topics import StatusTopics, WalkDiagnostics


def path_points(message: Path, frame: str, plan: pin.SE3) -> np.ndarray:
    """Points of a path in the world of the plan (n, 2) [m].

    Heights and headings of the path are not used. It must be in the frame of the
    odometry, in which the plan has its pose.
    """
    given = message.header.frame_id
    if given and given != frame:
        raise ConfigurationError(f"the path must be in '{frame}', not in '{given}'")
    if not message.poses:
        raise ConfigurationError("the path has no poses")
    places = [pose.pose.position for pose in message.poses]
    points = np.array([(place.x, place.y, 0.0) for place in places])
    if not np.isfinite(points).all():
        raise ConfigurationError("a pose of the path is not finite")
    back = plan.inverse()
    return np.array([back.act(point)[:2] for point in points])


def _attitude(message: Imu) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and angular velocity (3,) [rad/s]."""
    return rotation_of(message.orientation), vector_of(message.angular_velocity)


def _sole_wrench(message: WrenchStamped) -> SoleWrench:
    wrench = message.wrench
    return SoleWrench(vector_of(wrench.force), vector_of(wrench.torque))


_DEPTH = 100
"""Messages kept while the node is busy."""
_BEAT, _BEATS = 0.1, 10
"""Wall time between two looks at the sensors [s]; as many of them to diagnostics."""
_CALM = 0.05
"""Speed of a centre of mass that stands, relative to its height [1/s]."""
_STATES, _IMU = "joint_states", "imu"
_RESET = "reset the simulation, or set the robot up and start anew"


class Walk(ModelNode):
    """Answers each state with the angles that the servos shall have next."""

    def __init__(self, name: str = "walk", **options: Any) -> None:
        super().__init__(name, **options)
        self._settings = WalkNodeSettings.declare(Parameters(self), self.model)
        walking = self._settings.walking
        self._walker = Walker(self.model, walking, period=self._settings.period)
        self._rising = Rising(self, self._walker, self._settings.get_up)
        # First a trial: it may have to compile, and states should be answered at once.
        self._walker.tick(0.0)
        self._left, self._right = f"{walking.left}/wrench", f"{walking.right}/wrench"
        self._synchronizer = StampSynchronizer(_STATES, [_IMU, self._left, self._right])
        self._joints = self.model.neutral()[7:]
        self._speeds = np.zeros_like(self._joints)
        self._frame = self.framed("odom")
        odometry = self._settings.odometry_topic
        self._reports = TickReports(
            lambda: bool(self.count_publishers(odometry)), self._publish_status
        )
        self._heard_at = self._answered_at = -math.inf
        self._waits_since, self._blind = math.inf, ""
        self._beats = 0
        self._forget()
        self._diagnostics = WalkDiagnostics(self, self.model.name)
        self._make_topics()
        self._goals = WalkGoals(
            self,
            self._begin_steps,
            self._stop,
            walking.shift_duration,
            _CALM * walking.com_height,
        )
        self.every(_BEAT, self._beat)

    def _make_topics(self) -> None:
        make = self.create_publisher
        self._commands = make(JointState, "joint_commands", _DEPTH)
        self._topics = StatusTopics(
            self, self._settings.walking, self._settings.drawing_period
        )
        listen = self.create_subscription
        kind = TwistStamped if self._settings.stamped else Twist
        listen(kind, "cmd_vel", self._on_velocity, 10)
        listen(Path, "path", self._on_path, 1)
        listen(Odometry, self._settings.odometry_topic, self._on_odometry, _DEPTH)
        taker = self._diagnostics.taker
        listen(Imu, _IMU, taker(_IMU, _attitude, self._put), _DEPTH)
        for topic in (self._left, self._right):
            listen(WrenchStamped, topic, taker(topic, _sole_wrench, self._put), _DEPTH)
        listen(JointState, _STATES, self._on_state, _DEPTH)

    def _forget(self) -> None:
        """Wait for a first state; nothing of before counts."""
        self._begun = 0
        self._t, self._stamp = -math.inf, -1
        self._command: WalkCommand | None = None
        self._approach: Approach | None = None
        self._sent: np.ndarray | None = None
        self._velocity_at = math.inf
        self._failure = self._note = ""

    # -- what comes in ---------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        try:
            if not message.name:
                raise ConfigurationError("no joint is named")
            joints = joints_of(self.model, message, self._joints)
            if len(message.velocity):
                self._speeds = joint_values(
                    self.model, message.name, message.velocity, self._speeds, "velocity"
                )
        except ConfigurationError as error:
            self._diagnostics.refuse(_STATES, error)
            return
        self._joints, self._heard_at = joints, time.monotonic()
        self._waits_since = min(self._waits_since, self._heard_at)
        stamp = nanoseconds_of(message.header.stamp)
        speeds = self._speeds if len(message.velocity) else None
        self._put(_STATES, stamp, (joints, speeds))
        if self._blind and stamp > self._stamp:
            self._answer_blindly()

    def _on_odometry(self, message: Odometry) -> None:
        try:
            base, twist = base_motion(message)
        except ConfigurationError as error:
            self._diagnostics.refuse(self._settings.odometry_topic, error)
            return
        self._frame = message.header.frame_id or self._frame
        stamp = nanoseconds_of(message.header.stamp)
        self._reports.see(BaseSample(stamp, base, twist, self._frame))

    def _put(self, topic: str, stamp: int, value: Any) -> None:
        complete = self._synchronizer.put(topic, stamp, value)
        if complete is None:
            return
        self._blind = ""
        attitude, spin = complete[_IMU]
        joints, speeds = complete[_STATES]
        soles = complete[self._left], complete[self._right]
        sensors = WalkSensors(attitude, spin, *soles, joints, speeds)
        self._answer(stamp, joints, sensors)

    # -- ticks -----------------------------------------------------------------------

    def _answer(
        self, stamp: int, joints: np.ndarray, sensors: WalkSensors | None
    ) -> None:
        """Answer a state: by a tick, or again where it came again."""
        if self._begun != self._synchronizer.beginnings:
            self._reports.begin(stamp)
            self._goals.end(WalkAction.Result.ABORTED, "the time began anew")
            self._forget()
            self._begin(stamp, joints)
        self._waits_since, now = math.inf, time.monotonic()
        if stamp > self._stamp:
            self._tick(stamp, sensors)
        elif stamp < self._stamp or now < self._answered_at + REPEAT:
            return
        self._answered_at = now
        assert self._sent is not None
        names = self.model.joint_names
        self._commands.publish(joint_state(time_of(stamp), names, self._sent))

    def _begin(self, stamp: int, joints: np.ndarray) -> None:
        """Stand where the robot is, from this state on."""
        self._begun = self._synchronizer.beginnings
        self._diagnostics.counts["starts"] += 1
        self._topics.begin()
        self._walker.reset(self._time_of(stamp))
        self._rising.reset(self._time_of(stamp))
        self._sent = joints
        target = self._walker.start()[7:]
        if np.abs(joints - target).max() > self._settings.rise_tolerance:
            rise = self._settings.rise_time
            self._approach = Approach(joints, target, self._time_of(stamp), rise)
        else:
            self._set_off()

    def _time_of(self, stamp: int) -> float:
        """Time of a stamp [s]: as many periods, where it was rounded from that."""
        period = self._settings.period
        even = round(stamp / 1e9 / period) * period
        return even if round(even * 1e9) == stamp else stamp / 1e9

    def _set_off(self) -> None:
        """Walk with the velocity of the parameters."""
        if self._settings.velocity is not None and not self._blind:
            self._rising.leader.command(*self._settings.velocity)

    def _tick(self, stamp: int, sensors: WalkSensors | None) -> None:
        start = time.perf_counter()
        self._stamp, self._t = stamp, self._time_of(stamp)
        if self._t > self._velocity_at + self._settings.velocity_timeout:
            self._velocity_at = math.inf
            self._note = "no cmd_vel came any more"
            self._stop()
        if not self._failure:
            try:
                self._sent = self._next(sensors)
            except HumansError as error:
                self._fail(f"at {self._t:.9g} s: {error}")
        spent = time.perf_counter() - start
        self._diagnostics.spend(spent)
        self._diagnostics.counts["blind_ticks"] += sensors is None
        if self._command is not None:
            self._reports.add(self._made_tick(self._command, spent))

    def _next(self, sensors: WalkSensors | None) -> np.ndarray:
        """The angles to send."""
        rising = self._rising.walker
        if sensors is None and self._rising.lies:
            assert self._sent is not None
            return self._sent  # which way is down is not known
        if rising is None or sensors is None:
            self._command = self._walker.tick(self._t, sensors)
            return self._set_points(self._command)
        rises = rising.tick(self._t, sensors)
        self._command = rises.walk
        self._rising.report()
        if not self._rising.lies:
            return self._set_points(self._command)
        self._approach = None
        return rises.joints

    def _set_points(self, command: WalkCommand) -> np.ndarray:
        """Angles to send: the command's, or those of the approach before the walk."""
        if command.fallen and not self._failure:
            self._fail(f"fallen at {self._t:.9g} s: {_RESET}")
        if self._approach is None:
            return command.joints
        due = self._t + self._settings.period
        joints = self._approach.at(due)
        if self._approach.over(due):
            self._approach = None
            self._set_off()
        return joints

    def _fail(self, reason: str) -> None:
        """Hold the joints from now on."""
        self._failure = reason
        self.get_logger().error(f"the walk ended: {reason}")

    def _answer_blindly(self) -> None:
        """Stop, and answer the newest state without the other sensors."""
        stamp = self._synchronizer.newest
        assert stamp is not None
        self._stop()
        self._goals.end(WalkAction.Result.ABORTED, self._blind)
        self._answer(stamp, self._joints, None)

    # -- what goes out ---------------------------------------------------------------

    def _made_tick(self, command: WalkCommand, spent: float) -> WalkTick:
        text = self._failure or self._blind or self._rising.text or self._note
        if not text and self._approach is not None:
            text = "goes to the posture of the walk"
        simulated = bool(self.get_parameter("use_sim_time").value)
        return WalkTick(
            self._stamp,
            self._t,
            command,
            self._joints,
            self._speeds,
            # Wall time is none of a simulation's, which is to be the same each time.
            0.0 if simulated else spent,
            text,
            self._failure,
            self._rising.lies,
        )

    def _publish_status(self, tick: WalkTick, seen: BaseSample | None) -> None:
        """Publish what a tick was, and where the base was then, if that is known."""
        status, place = self._topics.publish(tick, seen, self._frame)
        self._goals.tick(tick.t, place, status)
        if tick.failure and not tick.command.fallen:
            self._goals.end(WalkAction.Result.ABORTED, tick.failure)

    # -- commands --------------------------------------------------------------------

    def _on_velocity(self, message: Any) -> None:
        try:
            if self._goals.active:
                raise ParameterError("a goal of the action walk is walked for")
            self._check_ready()
            twist = message.twist if self._settings.stamped else message
            velocity = velocity_of(twist)
            self._rising.leader.command(velocity[0], velocity[1], velocity[5])
        except HumansError as error:
            self._diagnostics.refuse("cmd_vel", error)
            return
        self._note = ""
        self._velocity_at = self._t if velocity[[0, 1, 5]].any() else math.inf

    def _on_path(self, message: Path) -> None:
        try:
            if self._goals.active:
                raise ParameterError("a goal of the action walk is walked for")
            self._check_ready()
            pattern = self._walker.pattern
            points = path_points(message, self._frame, self._topics.placement.pose)
            pattern.follow(path_footsteps(self._settings.walking, pattern.feet, points))
        except HumansError as error:
            self._diagnostics.refuse("path", error)
            return
        self._note, self._velocity_at = "", math.inf

    def _begin_steps(self, steps: int, velocity: np.ndarray) -> None:
        """Begin a number of steps, or a walk without an end."""
        self._check_ready()
        command = self._command
        standing = command is not None and command.plan.phase == WalkPhase.STANDING
        begin_steps(self._rising.leader, standing, steps, velocity)
        self._note, self._velocity_at = "", math.inf

    def _check_ready(self) -> None:
        if self._failure:
            raise ParameterError(f"the walk has ended: {self._failure}")
        if self._command is None:
            raise ParameterError("no state of the robot has come yet")
        if self._blind:
            raise ParameterError(self._blind)
        if self._approach is not None:
            raise ParameterError("it goes to the posture of the walk yet")
        if self._rising.lies:
            raise ParameterError(self._rising.text)

    def _stop(self) -> None:
        self._rising.leader.stop()

    # -- diagnostics -----------------------------------------------------------------

    def _beat(self) -> None:
        now = time.monotonic()
        if now > self._waits_since + self._settings.sensor_timeout and not self._blind:
            assert self._synchronizer.newest is not None
            topics = ", ".join(self._synchronizer.missing(self._synchronizer.newest))
            self._blind = f"nothing comes on {topics}: it stands without feeling"
            self.get_logger().error(self._blind)
            self._answer_blindly()
        self._beats += 1
        if self._beats % _BEATS == 0:
            self._diagnose(now > self._heard_at + _BEAT * _BEATS)

    def _diagnose(self, silent: bool) -> None:
        state = "waiting for joint_states"
        if self._command is not None and not silent:
            state = self._rising.state(self._command.plan.phase.name.lower())
        if self._failure:
            state = "failed"
        failure, note = self._failure or self._blind, self._rising.text or self._note
        if self._rising.waits:
            failure = failure or self._rising.text
        if self._command is not None and silent:
            note = gone(self, _STATES) or note
        self._diagnostics.report(state, failure, note, max(self._t, 0.0))
