# SPDX-License-Identifier: Apache-2.0
"""Boards opened with a patient line: a slow machine is not taken for a dead one."""

from __future__ import annotations

from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.protocol.link import SerialLink

TIMEOUT = 1.0
"""Wait for an answer [s]; all of it passes only where none comes."""
PAUSE = 30.0
"""How long a slow machine may keep the driver from running [s]."""


def open_patient(port: str, settings: RobotSettings) -> Rcb1Boards:
    """Open the boards of a robot."""
    return Rcb1Boards(SerialLink(port, timeout=TIMEOUT, adapt=False), settings)
