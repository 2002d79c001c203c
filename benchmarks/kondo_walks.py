# SPDX-License-Identifier: Apache-2.0
"""Walks of a simulated KHR-1 through its serial line, in real time.

``python benchmarks/kondo_walks.py [--motion walk.csv] [--memory] [--faults 0.01]``

Emulated boards and the body on a floor run in one process, the driver in another; a
pseudo-terminal at the rate of 115200 baud is all that is between them. The package's
own walk is streamed at 50 Hz. With ``--motion`` that motion is streamed too; with
``--memory`` it is also written into the boards and played by them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import humans_sim as hs
from humans_sim.analysis.gait import WalkSummary
from humans_sim.control.trajectories.joint_trajectory import JointPath
from humans_sim.kondo.driver.joint_path import MotionPath, StreamError, stream
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import walk_stream
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.emulation.simulated_body import BodySettings
from humans_sim.kondo.emulation.simulated_robot import SimulatedRobot
from humans_sim.kondo.motion.motion_file import KondoMotion, read_motion
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import SerialLink
from humans_sim.kondo.protocol.rcb1 import CHANNELS, MOTION

PERCENTS = (50, 95, 99, 100)
CLEARANCE = 2e-3
"""A foot that was lifted less did not step [m]."""
REST = 1.0
SLOT = 0


def emulate(line: Connection, friction: float, faults: float, start: dict) -> None:
    """The robot: sends its port, waits, sends how it ended."""
    broken = LineFaults(lost=faults, corrupted=faults)
    settings = BodySettings(friction=friction)
    with (
        Emulator(faults=broken) as boards,
        SimulatedRobot(boards, settings=settings, start=start) as body,
    ):
        line.send(boards.port)
        line.recv()
        body.catch_up()
        run = body.run()
        line.send(
            {
                "walk": WalkSummary.of_run(run),
                "check": run.check().ok,
                "lags": np.percentile(body.lags, PERCENTS),
            }
        )


def lead(port: str, path: JointPath) -> dict[str, Any]:
    """Stream a path through the driver; what the driver says."""
    settings = load_robot()
    with KondoRobot(settings, port) as robot:
        robot.energise()
        time.sleep(REST / 2)
        begun = time.monotonic()
        try:
            stream(robot, path, "path")
        except StreamError as error:
            print(f"given up {time.monotonic() - begun:.1f} s after it began: {error}")
        time.sleep(REST)
        health = robot.health()
        assert health.line is not None
        return {
            "given": health.given,
            "delivered": health.delivered,
            "set point": np.percentile(health.latencies, PERCENTS),
            "exchange": np.percentile(health.line.latencies, PERCENTS),
        }


def store_and_play(port: str, motion: KondoMotion, plays: int) -> dict[str, Any]:
    """Write a motion into the boards, let them play it; what the line says."""
    with SerialLink(port) as link:
        for board in range(2):
            part = slice(CHANNELS * board, CHANNELS * (board + 1))
            first = motion.poses[0].channels[part]
            link.exchange(rcb1.SetPositions(board, 7, first))
            link.exchange(rcb1.SetSwitches(board, MOTION))
            for k, pose in enumerate(motion.poses):
                channels = pose.channels[part]
                link.exchange(rcb1.WritePose(board, SLOT, k, pose.speed, channels))
            link.exchange(rcb1.SetMotionLength(board, SLOT, len(motion.poses)))
        length = hs.kondo.MotionPlayer(hs.load_model("khr1"), motion).duration
        for _ in range(plays):
            for board in (1, 0):
                link.exchange(rcb1.PlayMotion(board, SLOT))
            time.sleep(length)
        time.sleep(REST)
        latencies = np.percentile(link.statistics.latencies, PERCENTS)
        return {"exchange": latencies}


def trial(name: str, options: argparse.Namespace, start: dict, drive: Any) -> None:
    """One walk, and its lines of the table."""
    pipe, its = multiprocessing.Pipe()
    arguments = (its, options.friction, options.faults, start)
    process = multiprocessing.get_context("spawn").Process(
        target=emulate, args=arguments
    )
    process.start()
    try:
        report = drive(pipe.recv())
        pipe.send("end")
        body = pipe.recv()
    finally:
        process.join(20.0)
        process.kill()
    walk = body["walk"]
    steps = sum(step.clearance > CLEARANCE for step in walk.steps)
    print(
        f"{name}: {'FELL' if walk.fallen else 'stays up'}, {steps} steps, "
        f"{1000 * walk.forward:.0f} mm forwards, {1000 * walk.sideways:+.0f} mm to the "
        f"left, turned {np.degrees(walk.heading_change):+.1f} degrees, tilt "
        f"{np.degrees(walk.largest_tilt):.1f} degrees, {walk.duration:.1f} s, check "
        f"{'clean' if body['check'] else 'NOT CLEAN'}"
    )
    if "given" in report:
        print(f"  set points: {report['given']} given, {report['delivered']} delivered")
    spans = [
        (key, report[key]) for key in ("set point", "exchange") if key in report
    ] + [("simulation behind", body["lags"])]
    for key, values in spans:
        numbers = ", ".join(
            f"{p} %: {1000 * v:.1f}" for p, v in zip(PERCENTS, values, strict=True)
        )
        print(f"  {key} [ms]: {numbers}")


def main() -> None:
    """Run the walks that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motion", help="a Kondo motion file")
    parser.add_argument("--memory", action="store_true", help="play it by the boards")
    parser.add_argument("--plays", type=int, default=2)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--friction", type=float, default=0.3)
    parser.add_argument("--faults", type=float, default=0.0, help="share of bytes")
    options = parser.parse_args()
    model, settings = hs.load_model("khr1"), load_robot()
    walk = walk_stream(model, settings, options.steps)
    trial("own walk", options, {}, lambda port: lead(port, walk))
    if not options.motion:
        return
    motion = read_motion(options.motion)
    first = settings.channels.angles(motion.poses[0].channels)
    path = MotionPath(model, settings, motion, first, repetitions=options.plays)
    name = f"{motion.name} streamed {options.plays} times"
    trial(name, options, first, lambda port: lead(port, path))
    if options.memory:
        name = f"{motion.name} from the boards' memory {options.plays} times"

        def play(port: str) -> dict[str, Any]:
            return store_and_play(port, motion, options.plays)

        trial(name, options, first, play)


if __name__ == "__main__":
    main()
