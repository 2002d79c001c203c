# SPDX-License-Identifier: Apache-2.0
"""Definitions of the ROS 2 messages that motions are written as.

A file of messages carries their definitions, so that it can be read where the message
packages are not installed; it is written, too, where they are not. They stand in
``config/messages/ros2.msg``, without comments, each below a line that names it. The
definitions of humans_msgs are those of ``msgs/msg``; a test compares them.
"""

from __future__ import annotations

from functools import cache

from humans_sim.core.resources import resource

_HEAD = f"{'=' * 80}\nMSG: "
"""Above each definition inside another one, by rosbag2."""


@cache
def definitions() -> dict[str, str]:
    """By package and name, without the ``msg`` between them."""
    text = resource("config", "messages", "ros2.msg").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split(_HEAD)[1:])
    return {name: fields.strip() for name, _, fields in parts}


@cache
def schema(name: str) -> str:
    """Definition of a message, followed by those of all messages inside it.

    Args:
        name: package and message, e.g. ``sensor_msgs/JointState``.

    Returns:
        The text in the form that rosbag2 stores (``ros2msg``).
    """
    needed = [name]
    for known in needed:  # grows on the way
        needed += [inner for inner in _inside(known) if inner not in needed]
    first, *others = needed
    parts = [definitions()[first]]
    parts += [f"{_HEAD}{other}\n{definitions()[other]}" for other in others]
    return "\n".join(parts) + "\n"


def _inside(name: str) -> list[str]:
    """Messages that a definition names, each once."""
    package = name.partition("/")[0]
    types = []
    for line in definitions()[name].split("\n"):
        kind = line.partition(" ")[0].partition("[")[0]
        full = kind if "/" in kind else f"{package}/{kind}"
        if full in definitions() and full not in types:
            types.append(full)
    return types
