# SPDX-License-Identifier: Apache-2.0
"""Robots that share one scene: their names, which are namespaces and prefixes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model, load_model
from humans_sim.nodes.common.model_node import SHARED_FRAMES, ModelNode
from humans_sim.nodes.common.parameters import Parameters

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class NamedRobot:
    """A robot of a node.

    Attributes:
        name: namespace of its topics below that of the node, before the names of its
            frames; empty of a node's only robot, which has neither.
    """

    name: str
    model: Model

    def topic(self, name: str) -> str:
        """A topic or service of the robot, from the node's namespace on."""
        return f"{self.name}/{name}" if self.name else name

    def framed(self, node: ModelNode, frame: str) -> str:
        """Name in messages of a frame of the robot; shared ones and none stay."""
        shared = not frame or frame in SHARED_FRAMES
        return frame if shared else node.framed(self.topic(frame))

    def unframed(self, node: ModelNode, frame: str) -> str:
        """The robot's own name of a frame of a message."""
        return node.unframed(frame).removeprefix(self.topic(""))


def declare_robots(node: ModelNode, given: Parameters) -> list[NamedRobot]:
    """The robots of ``robots``, each ``robot.<name>.model``; or the node's only one."""
    names = given.texts("robots", "names, namespaces of robots; empty: one, without")
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if wrong:
        raise ParameterError(
            f"robots: a name is letters, digits and _, not '{wrong[0][:40]}'"
        )
    if len(set(names)) != len(names):
        raise ParameterError(f"robots: a name is given twice: {', '.join(names)}")
    robots = []
    for name in names:
        key = f"robot.{name}.model"
        model = given.text(key, "", "name, or file of a URDF; empty: that of model")
        loaded = load_model(model, xacro=False) if model else node.model
        robots.append(NamedRobot(name, loaded))
    return robots or [NamedRobot("", node.model)]
