# SPDX-License-Identifier: Apache-2.0
"""A process of several nodes: a robot, a human with muscles, and drives without a body.

The robot has no name space; its parameters are those of ``--ros-args``. The human has
those of the graph ``fes``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

GLOBAL = ("clock", "tf", "diagnostics")
"""Topics that must not mix between name spaces."""
PARAMETERS = Path(__file__).parents[2] / "config" / "params"


def main() -> None:
    """Run until stopped."""
    from rclpy.parameter import Parameter

    from humans_sim.nodes.actuation.node import Actuation
    from humans_sim.nodes.common.process import NodeProcess, StopEvent
    from humans_sim.nodes.dynamics.node import Dynamics

    def make(node: Any, space: str, **values: Any) -> Any:
        given = {"use_sim_time": False, **values}
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        words = [w for topic in GLOBAL for w in ("-r", f"/{topic}:={topic}")]
        arguments = ["--ros-args", *words]
        return node(namespace=space, parameter_overrides=overrides, cli_args=arguments)

    graph = yaml.safe_load((PARAMETERS / "fes.yaml").read_text())
    human, muscles = (parameters_of(graph, name) for name in ("dynamics", "actuation"))
    human |= {"real_time_factor": 0, "command_timeout": 0, "start_paused": True}
    alone = {"model": "human36", "kind": "muscles"}
    motors = {"model": "bip", "kind": "motors", "sync": "lockstep"}
    with NodeProcess(sys.argv[1:], StopEvent()) as process:
        process.run(
            [
                Dynamics,
                lambda: make(Dynamics, "fes", **human),
                lambda: make(Actuation, "fes", **{**muscles, "use_sim_time": False}),
                lambda: make(Actuation, "muscles", **alone),
                lambda: make(Actuation, "motors", **motors),
            ]
        )


def parameters_of(graph: dict[str, Any], node: str) -> dict[str, Any]:
    """Parameters of a node in a parameter file, by their dotted names."""
    parameters: dict[str, Any] = {}

    def collect(values: dict[str, Any], prefix: str = "") -> None:
        for name, value in values.items():
            if isinstance(value, dict):
                collect(value, f"{prefix}{name}.")
            else:
                parameters[prefix + name] = value

    for part in ("/**", f"/**/{node}"):
        collect(graph[part]["ros__parameters"])
    return parameters


if __name__ == "__main__":
    main()
