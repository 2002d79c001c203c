# SPDX-License-Identifier: Apache-2.0
"""Graphs: which nodes run together, with which parameters. Read from YAML.

The same files serve ``humans-sim up`` (nodes composed in one process) and
``ros2 launch`` (nodes as processes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from humans_sim.core.errors import ParameterError, printable
from humans_sim.core.files import is_file
from humans_sim.core.resources import named_file, resource, resource_names
from humans_sim.core.yaml_file import read_yaml

_CONTROL, _CONTROLLERS = "ros2_control", "_controllers"
"""Folder of the files of controllers, and how their names end."""


@dataclass(frozen=True)
class Graph:
    """A graph of nodes.

    Attributes:
        nodes: node types, modules of ``humans_sim.nodes``.
        namespaces: of the nodes, in that of the graph; empty for none.
        pages: those of the nodes that open a page; left out without a display.
        topics: topics that must flow, with their types.
        latched: those of the topics that are published once.
    """

    name: str
    title: str
    nodes: tuple[str, ...]
    namespaces: tuple[str, ...]
    pages: frozenset[str]
    parameters: Path
    topics: dict[str, str]
    latched: frozenset[str]

    def only(self, *kinds: str) -> Graph:
        """With its nodes of these types alone."""
        pairs = zip(self.nodes, self.namespaces, strict=True)
        kept = [(kind, space) for kind, space in pairs if kind in kinds]
        return replace(
            self,
            nodes=tuple(kind for kind, _ in kept),
            namespaces=tuple(space for _, space in kept),
        )


def graph_names() -> list[str]:
    """Names of the graphs that come with the package."""
    return resource_names("graphs")


def read_graph(name: str) -> Graph:
    """Read a graph of the package, or a file of one's own."""
    path = named_file("graphs", name, "graph")
    fields = read_yaml(path).fields(
        ("title", "parameters", "nodes", "topics"), ("pages", "latched")
    )
    parameters = Path(fields["parameters"].text())
    if not parameters.is_absolute():
        own = path.parent / parameters
        parameters = own if is_file(own) else resource("config", str(parameters))
    if not is_file(parameters):
        raise fields["parameters"].error(f"there is no file {parameters}")

    def words(key: str) -> tuple[str, ...]:
        return tuple(item.text() for item in fields[key]) if key in fields else ()

    topics = {key: value.text() for key, value in fields["topics"].mapping().items()}
    # As robot1/walk: a node in a namespace.
    nodes = [name.rpartition("/") for name in words("nodes")]
    return Graph(
        name=path.stem,
        title=fields["title"].text(),
        nodes=tuple(kind for *_, kind in nodes),
        namespaces=tuple(space for space, *_ in nodes),
        pages=frozenset(words("pages")),
        parameters=parameters,
        topics=topics,
        latched=frozenset(words("latched")),
    )


_NAMESPACE = re.compile(r"(/?[A-Za-z_]\w*)*/?", re.ASCII)


def checked_namespace(namespace: str) -> str:
    """A namespace with its slash, as ``/robot1``; empty for none.

    Raises:
        ParameterError: it is not one of ROS 2.
    """
    if not _NAMESPACE.fullmatch(namespace):
        raise ParameterError(
            f"a namespace is letters, digits and _, parts separated by /, not "
            f"'{printable(namespace)}'"
        )
    name = namespace.strip("/")
    return f"/{name}" if name else ""


@dataclass(frozen=True)
class Placing:
    """Where nodes of a graph are.

    Attributes:
        namespace: with its slash, as ``/robot1``; empty for none.
        frame_prefix: before names of frames.
        tf: namespace of TF; empty for none.
    """

    namespace: str = ""
    frame_prefix: str = ""
    tf: str = ""

    @classmethod
    def of(cls, namespace: str, frame_prefix: str) -> Placing:
        """That of a graph: TF is in its namespace, unless its frames have a prefix.

        Frames of robots that share a tree need names of their own.
        """
        space = checked_namespace(namespace)
        return cls(space, frame_prefix, "" if frame_prefix else space)

    def within(self, namespace: str) -> Placing:
        """That of a node in a namespace of the graph, whose robots share one tree."""
        if not namespace:
            return self
        prefix = f"{self.frame_prefix}{namespace}/"
        return replace(
            self, namespace=f"{self.namespace}/{namespace}", frame_prefix=prefix
        )

    @property
    def remappings(self) -> list[tuple[str, str]]:
        """Topics of TF, and what they become."""
        names = ("tf", "tf_static") if self.tf else ()
        return [(f"/{name}", f"{self.tf}/{name}") for name in names]

    def arguments(self) -> list[str]:
        """The same as ROS arguments."""
        words = ["-r", f"__ns:={self.namespace}"] if self.namespace else []
        for topic, own in self.remappings:
            words += ["-r", f"{topic}:={own}"]
        if self.frame_prefix:
            words += ["-p", f"frame_prefix:={self.frame_prefix}"]
        return words


def controllers_file(model: str) -> Path:
    """Parameters of ros2_control's controllers for a model of the package."""
    known = [name.removesuffix(_CONTROLLERS) for name in resource_names(_CONTROL)]
    if model not in known:
        raise ParameterError(
            f"there are controllers of ros2_control for {', '.join(known)}, not for "
            f"'{model}': name a controllers_file"
        )
    return resource("config", _CONTROL, f"{model}{_CONTROLLERS}.yaml")
