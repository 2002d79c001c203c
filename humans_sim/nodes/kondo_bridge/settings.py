# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``kondo_bridge``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from humans_sim.core.settings import setting
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
    """Parameters of the node."""

    robot: RobotSettings
    oldest_command: float
    trajectories: TrajectorySettings
    folder: RequestFolder
    port: str = setting("/dev/ttyUSB0", "serial port of the boards")
    fake: bool = setting(False, "emulated boards, no port", name="use_fake_hardware")
    command_timeout: float = setting(0.5, "without a command: hold [s]", 0.0)
    free_timeout: float = setting(10.0, "after holding: free [s]", 0.0)
    pause_timeout: float = setting(PAUSE, "the driver pauses: stop [s]", LEAST_PAUSE)
    on_fault: OnFault = setting("keep", "what the servos do then", choices=_FAULTS)
    clock_tolerance: float = setting(0.1, "stamps ahead of now [s]", 0.0)
    least_voltage: float = setting(0.0, "of battery_state [V]", 0.0)
    on_deactivate: str = setting("hold", "what the servos do then", choices=_ENDS)
    on_shutdown: str = setting("free", "what the servos do then", choices=_ENDS)
    read_back_rate: float = setting(0.0, "asks the servos [Hz]", 0.0, 50.0)
    publish_rate: float = setting(50.0, "of joint_states [Hz]", 1.0, 200.0)
    autostart: bool = setting(True, "configures and activates itself")
    frame: str = setting("", "frame of joint_states", name="frame_id")

    @classmethod
    def declare(cls, given: Parameters) -> BridgeSettings:
        """Declare the parameters and read them."""
        robot = load_robot(given.text("robot", "khr1", "name or file of the robot"))
        if not given.flag("self_collision", True, "refuses what makes links touch"):
            robot = replace(robot, self_collision=None)
        oldest = given.number("oldest_command", 0.5, "age of commands [s]", 0.0)
        return cls(
            robot,
            oldest or math.inf,
            TrajectorySettings.declare(given, joint_limits(robot)),
            given.request_folder(),
            **given.settings(cls),
        )
