"""Launch descriptions of graphs, for the files in ``launch/``."""

from __future__ import annotations

from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from humans_sim.graphs import read_graph
from launch import LaunchDescription

_CLOCK = "dynamics"
"""The node that is the clock of its graph."""


def describe(graph: str, model: str = "khr1", sync: str = "free") -> LaunchDescription:
    """The nodes of a graph as processes.

    Arguments of the launch file are ``model``, ``gui``, ``use_sim_time``,
    ``params_file`` and, where the graph simulates, ``sync`` and ``real_time_factor``.

    Args:
        graph: its name.
        model: default of the argument of that name.
        sync: default of the argument of that name.
    """
    chosen = read_graph(graph)
    simulates = _CLOCK in chosen.nodes
    defaults = {
        "model": model,
        "gui": "true",
        "use_sim_time": str(simulates).lower(),
        "params_file": str(chosen.parameters),
    }
    if simulates:
        defaults |= {"sync": sync, "real_time_factor": "1.0"}
    given = {name: LaunchConfiguration(name) for name in defaults}
    nodes = []
    for name in chosen.nodes:
        own = {key: given[key] for key in ("model", "use_sim_time")}
        if name == _CLOCK:
            own |= {key: given[key] for key in ("sync", "real_time_factor")}
            own["use_sim_time"] = False
        nodes.append(
            Node(
                package="humans_sim",
                executable=name,
                name=name,
                output="screen",
                parameters=[given["params_file"], own],
                condition=IfCondition(given["gui"]) if name in chosen.pages else None,
            )
        )
    arguments = [
        DeclareLaunchArgument(name, default_value=value)
        for name, value in defaults.items()
    ]
    return LaunchDescription([*arguments, *nodes])
