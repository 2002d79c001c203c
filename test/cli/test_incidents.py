# SPDX-License-Identifier: Apache-2.0
"""A robot that is too weak: ``humans-sim run`` tells joint and time."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from humans_sim.cli.commands import app

runner = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"})
WEAK = [
    "run",
    "khr1-walk",
    "--end",
    "2.4",
    "--set",
    "actuation.servo.stall_torque=0.15",
]


def test_a_weak_robot() -> None:
    """The fall and the knees are told to people and in the object; the run fails."""
    done = runner.invoke(app, [*WEAK, "--json"])
    assert done.exit_code != 0
    answer = json.loads(done.stdout)
    kinds = {incident["kind"] for incident in answer["incidents"]}
    assert kinds == {"fall", "torque_limit"}
    (fall,) = [i for i in answer["incidents"] if i["kind"] == "fall"]
    assert fall["share"] is None and 1.0 < fall["time"] < 2.4
    knee = next(i for i in answer["incidents"] if i["joint"] == "l_knee")
    assert knee["share"] > 0.6 and knee["time"] < fall["time"]
    assert f"fell at {fall['time']:.2f} s (trunk tilt" in done.output
    assert "l_knee at its torque limit" in done.output
