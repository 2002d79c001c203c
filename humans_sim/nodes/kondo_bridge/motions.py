# SPDX-License-Identifier: Apache-2.0
"""The service ``play_motion`` of the Kondo bridge."""

from __future__ import annotations

from typing import Any

from humans_msgs.srv import PlayMotion

from humans_sim.core.errors import ParameterError
from humans_sim.kondo import KondoMotion
from humans_sim.kondo.driver.board import Boards
from humans_sim.kondo.driver.joint_path import MotionPath
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.motion.motion_library import load_motion
from humans_sim.models import Model
from humans_sim.nodes.common.request_files import RequestFolder


def requested_path(
    model: Model, robot: KondoRobot, request: Any, folder: RequestFolder
) -> MotionPath:
    """The motion that a request asks for.

    A motion of the boards' memory is read and played over the line, so that the limits
    hold for it too.

    Args:
        model: of the robot.
        robot: with its boards.
        request: of the service.
        folder: where files of requests are.

    Raises:
        HumansError: it cannot be played.
    """
    rate, repetitions = request.rate or 1.0, request.repetitions or 1
    motion = _motion(robot, request, folder)
    present = robot.set_points()
    return MotionPath(model, robot.settings, motion, present, rate, repetitions)


def _motion(robot: KondoRobot, request: Any, folder: RequestFolder) -> KondoMotion:
    if request.source == PlayMotion.Request.MOTION_FILE:
        return load_motion(folder.known_or_path(request.file, ".csv"))
    if request.source != PlayMotion.Request.BOARD_MOTION:
        raise ParameterError("motions are played, scenarios are not: give a motion")

    def ask(boards: Boards) -> KondoMotion | None:
        if not isinstance(boards, Rcb1Boards):
            raise ParameterError("the motions of these boards cannot be read")
        return boards.memory.stored(request.number)

    motion = robot.ask(ask)
    if motion is None:
        raise ParameterError(f"the boards have no motion {request.number}")
    return motion
