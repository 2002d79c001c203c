# SPDX-License-Identifier: Apache-2.0
"""How soon a posture follows its markers at 100 Hz: in the library, and over topics.

    python benchmarks/reconstruction_live.py [SECONDS]

The library: from a frame as an array to its posture, frames coming at 100 Hz, with the
28 canonical markers and with those of a laboratory. Over topics, where rclpy is there:
from the moment before ``markers`` is published to the moment after ``joint_states`` of
the same stamp is taken, the node reconstruction in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

import humans_sim as hs
from humans_sim.applications.graphs import read_graph
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.live import LivePostures

RATE = 100.0
PERIOD = 1.0 / RATE
PATIENCE = 300.0


def tell(what: str, seconds: list[float], missed: int = 0) -> None:
    """Print percentiles."""
    middle, high, top, most = 1e3 * np.percentile(seconds, (50, 95, 99, 100))
    print(
        f"{what:34s} median {middle:6.2f}  95 % {high:6.2f}  99 % {top:6.2f}  "
        f"most {most:6.2f} ms  ({len(seconds)} frames, {missed} missed)",
        flush=True,
    )


def wait_until(moment: float) -> None:
    """Sleep until a moment of the performance counter."""
    left = moment - time.perf_counter()
    if left > 0:
        time.sleep(left)


def trial_of(model: hs.Model, marker_set: str, seconds: float) -> MarkerTrial:
    """A noisy motion with occlusions."""
    return synthetic_trial(
        model, marker_set, duration=seconds, rate=RATE, noise=0.003, dropout=0.05
    )


def library(model: hs.Model, marker_set: str, seconds: float) -> None:
    """Frames to postures in this process."""
    trial = trial_of(model, marker_set, seconds)
    live = LivePostures(model, load_marker_set(marker_set, model))
    spent, due = [], time.perf_counter()
    for t, positions in zip(trial.times, trial.positions, strict=True):
        wait_until(due)
        begun = time.perf_counter()
        live.push(float(t), trial.names, positions)
        spent.append(time.perf_counter() - begun)
        due = max(due + PERIOD, begun)
    tell(f"library, {len(trial.names)} markers", spent[1:])


def topics(model: hs.Model, seconds: float) -> None:
    """Frames to joint_states through another process."""
    import rclpy
    from humans_msgs.msg import MarkerFrame
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Header

    from humans_sim.nodes.common.conversions import nanoseconds_of, time_of
    from humans_sim.nodes.common.marker_messages import marker_frame

    trial = trial_of(model, "canonical", seconds)
    parameters = [
        "--ros-args",
        "--params-file",
        str(read_graph("reconstruct").parameters),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "humans_sim.nodes", "reconstruction", *parameters]
    )
    rclpy.init()
    node = rclpy.create_node("stopwatch")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sent: dict[int, float] = {}
    spent: list[float] = []

    def taken(message: JointState) -> None:
        begun = sent.pop(nanoseconds_of(message.header.stamp), None)
        if begun is not None:
            spent.append(time.perf_counter() - begun)

    node.create_subscription(JointState, "joint_states", taken, 100)
    markers = node.create_publisher(MarkerFrame, "markers", 100)
    try:
        end = time.monotonic() + PATIENCE
        while not markers.get_subscription_count() or not node.count_publishers(
            "joint_states"
        ):
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit("the node reconstruction did not come")
            executor.spin_once(timeout_sec=0.1)
        due = time.perf_counter() + 2.0
        for row in range(len(trial)):
            while (left := due - time.perf_counter()) > 0:
                executor.spin_once(timeout_sec=left)
            stamp = 10**9 + round(trial.times[row] * 1e9)
            message = marker_frame(
                Header(stamp=time_of(stamp), frame_id="world"), row + 1, trial, row
            )
            begun = time.perf_counter()
            sent[stamp] = begun
            markers.publish(message)
            due = max(due + PERIOD, begun)
        over = time.perf_counter() + 1.0
        while time.perf_counter() < over:
            executor.spin_once(timeout_sec=0.1)
    finally:
        process.terminate()
        process.wait()
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()
    tell("topics, 28 markers, both ways", spent[1:], len(sent))


def main() -> None:
    """Measure."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    model = hs.load_model("human36")
    for marker_set in ("canonical", "rajagopal"):
        library(model, marker_set, seconds)
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print("topics: rclpy is not here")
        return
    topics(model, seconds)


if __name__ == "__main__":
    main()
