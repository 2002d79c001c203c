# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``kondo_bridge``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from humans_sim.kondo.driver.board import OnFault
from humans_sim.kondo.driver.joint_path import joint_limits
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.driver.watchdog import LEAST_PAUSE, PAUSE
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.request_files import RequestFolder
from humans_sim.nodes.common.trajectory_settings import TrajectorySettings

_ENDS = ("hold", "free")
_FAULTS = tuple(choice.value for choice in OnFault)


@dataclass(frozen=True)
class BridgeSettings:
    """Parameters of the node, described where they are declared.

    Attributes:
        command_timeout: no command for so long: it holds [s].
        free_timeout: it has held for so long: it is freed [s].
        pause_timeout: the driver was kept from running for so long: it stops [s].
        on_fault: what the servos do after a lost line, a pause or another fault.
        oldest_command: age of a joint_commands at most [s].
        least_voltage: of battery_state, below it the robot stops; 0: any [V].
        publish_rate: of joint_states and of the set points of paths [Hz].
    """

    robot: RobotSettings
    port: str
    fake: bool
    command_timeout: float
    free_timeout: float
    pause_timeout: float
    on_fault: OnFault
    oldest_command: float
    clock_tolerance: float
    least_voltage: float
    on_deactivate: str
    on_shutdown: str
    read_back_rate: float
    publish_rate: float
    autostart: bool
    frame: str
    trajectories: TrajectorySettings
    folder: RequestFolder

    @classmethod
    def declare(cls, given: Parameters) -> BridgeSettings:
        """Declare the parameters and read them."""
        robot = load_robot(given.text("robot", "khr1", "name or file of the robot"))
        if not given.flag("self_collision", True, "refuses what makes links touch"):
            robot = replace(robot, self_collision=None)
        return cls(
            robot,
            given.text("port", "/dev/ttyUSB0", "serial port of the boards"),
            given.flag("use_fake_hardware", False, "emulated boards, no port"),
            given.number("command_timeout", 0.5, "without a command: hold [s]", 0.0),
            given.number("free_timeout", 10.0, "after holding: free [s]", 0.0),
            given.number(
                "pause_timeout", PAUSE, "the driver pauses: stop [s]", LEAST_PAUSE
            ),
            OnFault(
                given.choice("on_fault", "keep", "what the servos do then", _FAULTS)
            ),
            given.number("oldest_command", 0.5, "age of commands [s]", 0.0) or math.inf,
            given.number("clock_tolerance", 0.1, "stamps ahead of now [s]", 0.0),
            given.number("least_voltage", 0.0, "of battery_state [V]", 0.0),
            given.choice("on_deactivate", "hold", "what the servos do then", _ENDS),
            given.choice("on_shutdown", "free", "what the servos do then", _ENDS),
            given.number("read_back_rate", 0.0, "asks the servos [Hz]", 0.0, 50.0),
            given.number("publish_rate", 50.0, "of joint_states [Hz]", 1.0, 200.0),
            given.flag("autostart", True, "configures and activates itself"),
            given.text("frame_id", "", "frame of joint_states"),
            TrajectorySettings.declare(given, joint_limits(robot)),
            given.request_folder(),
        )
