# SPDX-License-Identifier: Apache-2.0
"""Node ``kondo_bridge``: a robot with Kondo boards on a serial line, or emulated ones.

A lifecycle node: configure opens the port, activate energises the servos, deactivate
holds or frees them, cleanup closes the port. Takes ``joint_commands``
(sensor_msgs/JointState), ``joint_trajectory``, ``battery_state`` and the actions
``follow_joint_trajectory`` and ``play_motion``. Gives ``joint_states``,
``joint_states_source`` (what they are: ``read back``, ``commanded`` or ``none``),
``robot_state`` and ``/diagnostics``.
Services: ``home``, ``free``, ``stop``, ``energize``, ``preview_energize``
(std_srvs/Trigger).

A robot that a fault or a stop has stopped follows nothing, whatever still commands it,
until somebody calls ``energize`` or activates the node anew.

Also its messages and its diagnostics (REP-107).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from humans_msgs.action import PlayMotion
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from humans_sim.control.trajectories.joint_trajectory import JointPath, Progress
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.kondo.driver.board import ENERGISED, MOVABLE, Boards, Health, RobotState
from humans_sim.kondo.driver.joint_path import MotionPath, PathFollower, path_home
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot import KondoRobot, Reading, RobotStateError
from humans_sim.kondo.driver.safety import JointCommandError
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_file import KondoMotion, load_motion
from humans_sim.models import Model
from humans_sim.nodes.common.command_checks import CommandStamps, LateStampError
from humans_sim.nodes.common.conversions import (
    joint_state,
    nanoseconds_of,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, REFUSED, Diagnostics
from humans_sim.nodes.common.model_node import LifecycleModelNode, latched
from humans_sim.nodes.common.motion_goals import MotionGoals
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.request_files import RequestFolder
from humans_sim.nodes.common.services import answered
from humans_sim.nodes.common.trajectory_goals import (
    DrivenRobot,
    Present,
    TrajectoryGoals,
)
from humans_sim.nodes.kondo_bridge.settings import BridgeSettings


def command_of(message: Any) -> dict[str, float]:
    """Angles by joint of a JointState message; refused where a joint is named twice."""
    names, angles = list(message.name), list(message.position)
    if len(names) != len(angles):
        raise JointCommandError(f"{len(names)} names and {len(angles)} positions")
    if len(set(names)) != len(names):
        raise JointCommandError("a joint is named twice")
    return dict(zip(names, angles, strict=True))


def requested_path(
    model: Model, robot: KondoRobot, goal: Any, folder: RequestFolder
) -> MotionPath:
    """The motion that a goal asks for.

    A motion of the boards' memory is read and played over the line, so that the limits
    hold for it too.
    """
    rate, repetitions = goal.rate or 1.0, goal.repetitions or 1
    motion = _motion(robot, goal, folder)
    present = robot.set_points()
    return MotionPath(model, robot.settings, motion, present, rate, repetitions)


def _motion(robot: KondoRobot, goal: Any, folder: RequestFolder) -> KondoMotion:
    if goal.source == PlayMotion.Goal.MOTION_FILE:
        return load_motion(folder.known_or_path(goal.file, ".csv"))
    if goal.source != PlayMotion.Goal.BOARD_MOTION:
        raise ParameterError(f"source must be 0 (file) or 1 (board), not {goal.source}")

    def ask(boards: Boards) -> KondoMotion | None:
        if not isinstance(boards, Rcb1Boards):
            raise ParameterError("the motions of these boards cannot be read")
        return boards.memory.stored(goal.number)

    motion = robot.ask(ask)
    if motion is None:
        raise ParameterError(f"the boards have no motion {goal.number}")
    return motion


_WRONG = (RobotState.LOST, RobotState.STOPPED)
_RESTING = (RobotState.HOLDING, RobotState.LIMP)


class BridgeDiagnostics(Diagnostics):
    """Counts what was refused, and reports what the robot says of itself.

    Attributes:
        note: what else went wrong last; reported once.
    """

    note = ""

    def report(
        self, stage: str, problem: str, health: Health, more: dict[str, str]
    ) -> None:
        """Report the stage of the node, its problem if there is one, and the robot."""
        state = health.state.value
        failure, warnings = problem, [self.note]
        if health.state in _WRONG:
            failure = f"{state}: {health.reason}" if health.reason else state
        elif health.state in _RESTING:
            warnings.append(health.reason)
        warnings.append(self.refused())
        self.note = ""
        values = {"stage": stage, "reason": health.reason, **more}
        values |= _figures(health) | self.refusals(REFUSED, "refused_stamps")
        self.publish(state, failure, "; ".join(filter(None, warnings)), values)


def _figures(health: Health) -> dict[str, str]:
    share = 100.0 * health.delivered / health.given if health.given else 100.0
    figures = {
        "set_points": str(health.given),
        "delivered [%]": f"{share:.2f}",
        "limited": str(health.limited),
        "refused_commands": str(health.refused),
        "holds_by_watchdog": str(health.held),
        "faults": str(health.faults),
        "reconnections": str(health.reconnections),
    }
    if health.latencies:
        median, most = np.percentile(list(health.latencies), [50, 99]) * 1e3
        figures["latency_median [ms]"] = f"{median:.1f}"
        figures["latency_99 [ms]"] = f"{most:.1f}"
    if health.line is not None:
        figures["frames"] = str(health.line.sent)
        figures["repeated_frames"] = str(health.line.repeated)
        figures["unanswered"] = str(health.line.failed)
    return figures


_DEPTH = 10
_READ, _COMMANDED, _NONE = "read back", "commanded", "none"
_STALE = 3.0
"""So many periods of reading old, a reading is no more published [-]."""
_QUEUED = 0.25
"""Commands without a stamp may have waited in the queue while the servos were energised
for so long [s]."""
_MOTION = "motion"
"""Of the paths led for goals of ``play_motion``."""
_RESTART = ": call energize (preview_energize says before what will move)"


class KondoBridge(LifecycleModelNode):
    """Passes commands on to the robot; what they may be, the robot decides."""

    blocks = True

    def __init__(self, name: str = "kondo_bridge", **options: Any) -> None:
        super().__init__(name, **options)
        self._settings = BridgeSettings.declare(Parameters(self))
        self._robot: KondoRobot | None = None
        self._ends = False
        self._follower: PathFollower | None = None
        self._emulator: Emulator | None = None
        self._read_at, self._source, self._state = 0.0, "", ""
        self._stamps = CommandStamps(
            self._settings.oldest_command, self._settings.clock_tolerance
        )
        self._begun_at = -math.inf
        kind = "emulated " if self._settings.fake else ""
        self._diagnostics = BridgeDiagnostics(self, "robot", f"{kind}{self.model.name}")
        self._make_topics()
        self._goals = TrajectoryGoals(
            self,
            self._settings.trajectories,
            self._driven,
            self._diagnostics.refuse,
            lambda: self.get_clock().now().nanoseconds,
        )
        self._motions = MotionGoals(self, self._begin_motion, self._stop_motion)
        rate = self._settings.read_back_rate
        if rate:
            self.every(1.0 / rate, self._ask_servos)
        self.every(1.0 / self._settings.publish_rate, self._tick)
        self.every(BEAT, self._diagnose)
        if self._settings.autostart:
            self.start_by_itself()

    def _make_topics(self) -> None:
        self._states = self.create_publisher(JointState, "joint_states", _DEPTH)
        self._sources = self.create_publisher(String, "joint_states_source", latched())
        self._robot_states = self.create_publisher(String, "robot_state", latched())
        self._publish_source(_NONE)
        self._publish_state(RobotState.CLOSED.value)
        self.create_subscription(JointState, "joint_commands", self._on_command, _DEPTH)
        if self._settings.least_voltage:
            self.create_subscription(
                BatteryState, "battery_state", self._on_battery, _DEPTH
            )
        self.create_service(Trigger, "home", self._answer(self._home))
        self.create_service(Trigger, "free", self._answer(self._free))
        self.create_service(Trigger, "stop", self._answer(self._stop))
        self.create_service(Trigger, "energize", self._answer(self._energize))
        self.create_service(Trigger, "preview_energize", self._answer(self._preview))

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
        if given.robot.self_collision is None:
            self.get_logger().warning(
                "SELF-COLLISION IS NOT CHECKED: links of the robot may hit each other"
            )
        robot = KondoRobot(
            given.robot,
            port,
            command_timeout=given.command_timeout,
            free_timeout=given.free_timeout,
            pause_timeout=given.pause_timeout,
            on_fault=given.on_fault,
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
        self._energise(self._opened())

    def _energise(self, robot: KondoRobot) -> None:
        """Energise the servos; what was commanded before does not count."""
        robot.energise()
        self._begun_at = time.monotonic()
        self._stamps.begin(self.get_clock().now().nanoseconds)

    def deactivate(self) -> None:
        """Hold the servos, or free them."""
        self._give_up("the node was deactivated")
        robot = self._opened()
        self._publish_source(_NONE)
        self._publish_state("inactive")
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
        self._abort_goals("the node was closed")
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
            stamp = nanoseconds_of(message.header.stamp)
            self._check_stamp(stamp)
            if name:
                raise RobotStateError(f"the robot is busy: {name}")
            robot.command(command_of(message))
            self._stamps.take(stamp)
        except HumansError as error:
            self._diagnostics.refuse("joint_commands", error)

    def _check_stamp(self, stamp: int) -> None:
        """Refuse what is old, of the future, or was sent before the servos held."""
        try:
            self._stamps.check(stamp, self.get_clock().now().nanoseconds)
            if stamp == 0 and time.monotonic() < self._begun_at + _QUEUED:
                raise LateStampError(
                    "it has no stamp, and may be from before the servos were energised"
                )
        except ConfigurationError:
            self._diagnostics.counts["refused_stamps"] += 1
            raise

    def _on_battery(self, message: BatteryState) -> None:
        robot, least = self._robot, self._settings.least_voltage
        # A battery whose voltage is not known reports none (NaN).
        if robot is not None and message.voltage < least and robot.state in MOVABLE:
            robot.fault(f"the battery has {message.voltage:.1f} V, below {least:g}")

    def _driven(self) -> DrivenRobot:
        robot = self._ready()
        assert self._follower is not None

        def set_points() -> Mapping[str, float]:
            if robot.state not in MOVABLE:
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
        return lambda _, response: answered(response, work)

    def _home(self) -> str:
        robot = self._ready()
        if robot.state is RobotState.LIMP:
            self._energise(robot)
        duration = self._lead(
            lambda: path_home(robot.settings, robot.set_points()), "home"
        )
        return f"on the way for {duration:.1f} s"

    def _energize(self) -> str:
        robot = self._ready()
        moves = robot.preview()
        self._give_up("the servos are energised")
        self._energise(robot)
        return f"energised: {moves}"

    def _preview(self) -> str:
        return str(self._ready().preview())

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
        return f"stopped{_RESTART}, or free the servos"

    def _begin_motion(self, goal: Any) -> float:
        robot, folder = self._ready(), self._settings.folder
        return self._lead(
            lambda: requested_path(self.model, robot, goal, folder), _MOTION
        )

    def _stop_motion(self) -> None:
        if self._follower is not None:
            self._follower.finish()

    def _lead(self, make: Callable[[], JointPath], name: str) -> float:
        """Lead along a path from here on, in place of any other; its duration [s]."""
        driven = self._driven()
        driven.set_points()
        path = make()
        driven.follower.begin(path, name)  # or it is refused, and all goes on
        self._abort_goals(f"{name} took its place")
        return path.duration

    def _abort_goals(self, reason: str) -> None:
        self._goals.abort(reason)
        self._motions.abort(reason)

    def _give_up(self, reason: str) -> None:
        self._abort_goals(reason)
        if self._follower is not None:
            self._follower.drop()

    # -- what goes out ---------------------------------------------------------------

    def _tick(self) -> None:
        if self.stage != "active" or self._robot is None or self._follower is None:
            return
        self._publish_state(self._described(self._robot, self._follower))
        if self._goals.active:
            self._motions.abort("a trajectory took its place")
            self._goals.tick()
        else:
            self._follow(self._follower)
        self._publish(self._robot)

    def _follow(self, follower: PathFollower) -> None:
        """Lead along a motion or home, and look how it goes."""
        name, progress = follower.name, follower.tick()
        self._motions.report(follower.time(time.monotonic()) or 0.0)
        if progress is Progress.ARRIVED:
            follower.finish()
            self._motions.succeed()
        elif progress is Progress.BROKEN:
            self._diagnostics.note = f"{name} ended: {follower.reason}"
            self.get_logger().warning(self._diagnostics.note)
            self._motions.abort(follower.reason)

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
        frame, values = self.framed(self._settings.frame), list(angles.values())
        self._states.publish(joint_state(stamp, list(angles), values, frame=frame))

    def _publish_source(self, source: str) -> None:
        if source != self._source:
            self._source = source
            self._sources.publish(String(data=source))

    def _described(self, robot: KondoRobot, follower: PathFollower) -> str:
        """State of the robot and why, or what it is busy with."""
        health = robot.health()
        if health.state in MOVABLE and follower.name:
            return f"busy: {follower.name}"
        return f"{health.state.value}: {health.reason}".removesuffix(": ")

    def _publish_state(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._robot_states.publish(String(data=state))

    def _moves(self, robot: KondoRobot) -> str:
        """The motion of energising; the servos are asked, until the next time."""
        resting = robot.state in (RobotState.STOPPED, RobotState.LIMP)
        if self.stage != "active" or not resting:
            return ""
        robot.request_reading()
        read = robot.reading()
        return "" if read is None else str(robot.move_from(read.angles))

    def _diagnose(self) -> None:
        robot = self._robot
        health = Health() if robot is None else robot.health()
        checked = "off" if self._settings.robot.self_collision is None else "on"
        doing = self._follower.name if self._follower is not None else ""
        more = {
            "port": self._settings.port if robot is None else robot.port,
            "emulated": str(self._settings.fake).lower(),
            "joint_states": self._source,
            "doing": doing,
            "energize": "" if robot is None else self._moves(robot),
            "self_collision": checked,
        }
        self._diagnostics.report(self.stage, self.failure, health, more)
