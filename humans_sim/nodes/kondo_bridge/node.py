# SPDX-License-Identifier: Apache-2.0
"""Node ``kondo_bridge``: a robot with Kondo boards on a serial line, or emulated ones.

A lifecycle node: configure opens the port, activate energises the servos, deactivate
holds or frees them, cleanup closes the port. Takes ``joint_commands``
(sensor_msgs/JointState), ``joint_trajectory`` and the action
``follow_joint_trajectory``. Gives ``joint_states``, ``joint_states_source`` (what they
are: ``read back``, ``commanded`` or ``none``) and ``/diagnostics``. Services: ``home``,
``free``, ``stop`` (std_srvs/Trigger), ``play_motion``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from humans_msgs.srv import PlayMotion
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from humans_sim.control.trajectories.joint_path import JointPath, Progress
from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.joint_path import PathFollower, path_home
from humans_sim.kondo.driver.robot import KondoRobot, Reading, RobotStateError
from humans_sim.kondo.driver.robot_health import ENERGISED, Health, RobotState
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.nodes.common.conversions import duration_of, time_of
from humans_sim.nodes.common.lifecycle_node import LifecycleModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.qos import latched
from humans_sim.nodes.common.refusals import warn_refused
from humans_sim.nodes.common.trajectory_goals import (
    DrivenRobot,
    Present,
    TrajectoryGoals,
)
from humans_sim.nodes.kondo_bridge.diagnostics import BridgeDiagnostics
from humans_sim.nodes.kondo_bridge.messages import command_of, joint_state
from humans_sim.nodes.kondo_bridge.motions import requested_path
from humans_sim.nodes.kondo_bridge.settings import BridgeSettings

_DEPTH = 10
_BEAT = 1.0
"""Wall time between diagnostics [s]."""
_READ, _COMMANDED, _NONE = "read back", "commanded", "none"
_STALE = 3.0
"""So many periods of reading old, a reading is no more published [-]."""
_MOVABLE = (RobotState.HOLDING, RobotState.FOLLOWING)
_RESTART = ": deactivate and activate the node (limp servos: or call home)"


class KondoBridge(LifecycleModelNode):
    """Passes commands on to the robot; what they may be, the robot decides."""

    blocks = True

    def __init__(self, name: str = "kondo_bridge", **options: Any) -> None:
        """Declare everything; nothing is opened yet."""
        super().__init__(name, **options)
        self._settings = BridgeSettings.declare(Parameters(self))
        self._robot: KondoRobot | None = None
        self._ends = False
        self._follower: PathFollower | None = None
        self._emulator: Emulator | None = None
        self._read_at, self._source = 0.0, ""
        kind = "emulated " if self._settings.fake else ""
        self._diagnostics = BridgeDiagnostics(self, f"{kind}{self.model.name}")
        self._make_topics()
        self._goals = TrajectoryGoals(
            self,
            self._settings.trajectories,
            self._driven,
            self._refuse,
            lambda: self.get_clock().now().nanoseconds,
        )
        self._make_timers()
        if self._settings.autostart:
            self.start_by_itself()

    def _make_topics(self) -> None:
        self._states = self.create_publisher(JointState, "joint_states", _DEPTH)
        self._sources = self.create_publisher(String, "joint_states_source", latched())
        self._publish_source(_NONE)
        self.create_subscription(JointState, "joint_commands", self._on_command, _DEPTH)
        self.create_service(Trigger, "home", self._answer(self._home))
        self.create_service(Trigger, "free", self._answer(self._free))
        self.create_service(Trigger, "stop", self._answer(self._stop))
        self.create_service(PlayMotion, "play_motion", self._on_play)

    def _make_timers(self) -> None:
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        rate = self._settings.read_back_rate
        if rate:
            self.create_timer(1.0 / rate, self._ask_servos, clock=steady)
        self.create_timer(1.0 / self._settings.publish_rate, self._tick, clock=steady)
        self.create_timer(_BEAT, self._diagnose, clock=steady)

    # -- life cycle ------------------------------------------------------------------

    def configure(self) -> None:
        """Open the port; every board must answer."""
        given, port = self._settings, self._settings.port
        if given.fake:
            self._emulator = Emulator()
            port = self._emulator.port
            self.get_logger().warning(
                "EMULATED BOARDS: no robot moves (use_fake_hardware is true)"
            )
        robot = KondoRobot(
            given.robot,
            port,
            command_timeout=given.command_timeout,
            free_timeout=given.free_timeout,
            pause_timeout=given.pause_timeout,
        )
        try:
            robot.open()
        except HumansError:
            self._unplug()
            raise
        self._robot, self._follower = robot, PathFollower(robot)

    def activate(self) -> None:
        """Energise the servos where they are."""
        if self._ends:
            raise RobotStateError("the node ends")
        self._opened().energise()

    def deactivate(self) -> None:
        """Hold the servos, or free them."""
        self._give_up("the node was deactivated")
        robot = self._opened()
        self._publish_source(_NONE)
        if robot.state not in ENERGISED:
            return
        if self._settings.on_deactivate == "free":
            robot.free()
        elif robot.state is not RobotState.STOPPED:
            robot.hold()

    def clean_up(self) -> None:
        """Stop, hold or free, and close the port."""
        self._release()
        robot, self._robot = self._robot, None
        self._follower = None
        self._goals.abort("the node was closed")
        if robot is not None:
            robot.close()
            self._unplug()

    def _release(self) -> None:
        """Stop the robot; free its servos, or let them hold, as the settings say."""
        robot = self._robot
        if robot is None:
            return
        try:
            robot.stop("the node was closed")
            if self._settings.on_shutdown == "free" and robot.state in ENERGISED:
                robot.free()
        except HumansError as error:
            self.get_logger().error(f"the servos were not freed: {error}")

    def make_safe(self) -> None:
        """Stop the robot before anything else ends."""
        self._ends = True
        self._release()

    def close(self) -> None:
        """Close the port."""
        self.clean_up()

    def _unplug(self) -> None:
        emulator, self._emulator = self._emulator, None
        if emulator is not None:
            emulator.close()

    # -- what comes in ---------------------------------------------------------------

    def _opened(self) -> KondoRobot:
        if self._robot is None:
            why = f" ({self.failure})" if self.failure else ""
            raise RobotStateError(f"the port is not open{why}: configure the node")
        return self._robot

    def _ready(self) -> KondoRobot:
        robot = self._opened()
        if self.stage != "active":
            raise RobotStateError(f"the node is {self.stage}: activate it")
        return robot

    def _on_command(self, message: JointState) -> None:
        try:
            robot, name = self._ready(), self._follower.name if self._follower else ""
            if name:
                raise RobotStateError(f"the robot is busy: {name}")
            robot.command(command_of(message))
        except HumansError as error:
            self._refuse("joint_commands", error)

    def _refuse(self, topic: str, error: HumansError) -> None:
        self._diagnostics.refuse(f"{topic}: {error}")
        warn_refused(self, topic, error)

    def _driven(self) -> DrivenRobot:
        robot = self._ready()
        assert self._follower is not None

        def set_points() -> Mapping[str, float]:
            if robot.state not in _MOVABLE:
                raise RobotStateError(f"the robot is {robot.state.value}{_RESTART}")
            return robot.set_points()

        def actual() -> Present:
            points, read = robot.set_points(), self._fresh(robot)
            if read is None:
                return Present(points, time.monotonic())
            return Present(points | read.angles, read.time)

        return DrivenRobot(self._follower, set_points, actual)

    # -- services --------------------------------------------------------------------

    def _answer(self, work: Callable[[], str]) -> Callable[[Any, Any], Any]:
        def answer(_: Any, response: Any) -> Any:
            try:
                response.success, response.message = True, work()
            except HumansError as error:
                response.success, response.message = False, str(error)
            return response

        return answer

    def _home(self) -> str:
        robot = self._ready()
        if robot.state is RobotState.LIMP:
            robot.energise()
        duration = self._lead(
            lambda: path_home(robot.settings, robot.set_points()), "home"
        )
        return f"on the way for {duration:.1f} s"

    def _free(self) -> str:
        robot = self._opened()
        self._give_up("the servos were freed")
        robot.free()
        return "the servos are limp"

    def _stop(self) -> str:
        robot = self._opened()
        robot.stop("by the service stop")
        self._give_up("the robot was stopped")
        if robot.state is not RobotState.STOPPED:
            return f"the robot is {robot.state.value}: nothing moves it"
        silent = robot.unacknowledged()
        if silent:
            raise RobotStateError(
                f"stopped, but {', '.join(silent)} did not acknowledge it yet: switch "
                "the robot off if it moves"
            )
        return "stopped: deactivate and activate the node, or free the servos"

    def _on_play(self, request: Any, response: Any) -> Any:
        try:
            robot = self._ready()
            seconds = self._lead(
                lambda: requested_path(
                    self.model, robot, request, self._settings.folder
                ),
                "motion",
            )
        except HumansError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.duration = True, duration_of(seconds)
        return response

    def _lead(self, make: Callable[[], JointPath], name: str) -> float:
        """Lead along a path from here on, in place of any other; its duration [s]."""
        driven = self._driven()
        driven.set_points()
        path = make()
        self._goals.abort(f"{name} took its place")
        driven.follower.begin(path, name)
        return path.duration

    def _give_up(self, reason: str) -> None:
        self._goals.abort(reason)
        if self._follower is not None:
            self._follower.drop()

    # -- what goes out ---------------------------------------------------------------

    def _tick(self) -> None:
        if self.stage != "active" or self._robot is None or self._follower is None:
            return
        if self._goals.active:
            self._goals.tick()
        else:
            name, progress = self._follower.name, self._follower.tick()
            if progress is Progress.ARRIVED:
                self._follower.finish()
            elif progress is Progress.BROKEN:
                self._diagnostics.note = f"{name} ended: {self._follower.reason}"
                self.get_logger().warning(self._diagnostics.note)
        self._publish(self._robot)

    def _ask_servos(self) -> None:
        if self.stage == "active" and self._robot is not None:
            self._robot.request_reading()

    def _fresh(self, robot: KondoRobot) -> Reading | None:
        """The last reading, where readings are wanted and it is not old."""
        rate, read = self._settings.read_back_rate, robot.reading()
        if not rate or read is None:
            return None
        return read if time.monotonic() < read.time + _STALE / rate + 0.1 else None

    def _publish(self, robot: KondoRobot) -> None:
        read, now = self._fresh(robot), self.get_clock().now()
        if read is None:
            angles = robot.set_points()
            self._publish_source(_COMMANDED if angles else _NONE)
            if angles:
                self._send(now.to_msg(), angles)
            return
        self._publish_source(_READ)
        if read.time > self._read_at:
            self._read_at = read.time
            age = round((time.monotonic() - read.time) * 1e9)
            self._send(time_of(now.nanoseconds - age), read.angles)

    def _send(self, stamp: Any, angles: Mapping[str, float]) -> None:
        self._states.publish(joint_state(stamp, self._settings.frame, angles))

    def _publish_source(self, source: str) -> None:
        if source != self._source:
            self._source = source
            self._sources.publish(String(data=source))

    def _diagnose(self) -> None:
        robot = self._robot
        health = Health() if robot is None else robot.health()
        self._diagnostics.failure = self.failure
        doing = self._follower.name if self._follower is not None else ""
        more = {
            "port": self._settings.port if robot is None else robot.port,
            "emulated": str(self._settings.fake).lower(),
            "joint_states": self._source,
            "doing": doing,
        }
        self._diagnostics.publish(self.stage, health, more)
