# SPDX-License-Identifier: Apache-2.0
"""The reference of the ROS 2 interfaces: messages, and what each node declares.

Read from the files of msgs/ and from the code of the nodes, without ROS 2: the calls
that make topics, services and actions, and those that declare parameters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from generated_pages import (
    contents,
    keep_only,
    literal,
    repository,
    table,
    title,
    write,
)
from node_declarations import Declarations, nodes_of

KINDS = {"msg": "Messages", "srv": "Services", "action": "Actions"}
PARTS = {"msg": ["Fields"], "srv": ["Request", "Response"]}
PARTS["action"] = ["Goal", "Result", "Feedback"]


def _described(lines: list[str]) -> str:
    comments = []
    for line in lines:
        if not line.startswith("#"):
            break
        comments.append(line.lstrip("# ").rstrip())
    return " ".join(text for text in comments if not text.startswith("SPDX"))


def _rows(lines: list[str]) -> list[tuple[str, str, str]]:
    rows = []
    for line in lines:
        code, _, comment = line.partition("#")
        if words := code.split(maxsplit=1):
            rows.append((literal(words[0]), literal(words[1].strip()), comment.strip()))
    return rows


def interface(path: Path) -> list[str]:
    """The page of a file .msg, .srv or .action."""
    kind = path.suffix[1:]
    text = path.read_text()
    lines = [*title(f"humans_msgs/{kind}/{path.stem}"), ""]
    lines += [_described(text.splitlines()), ""]
    for name, part in zip(PARTS[kind], text.split("\n---\n"), strict=True):
        rows = _rows(part.splitlines())
        lines += [*title(name, "-"), *table(("type", "name", "what"), rows)]
        lines += [] if rows else ["Nothing.", ""]
    return lines


def node_page(name: str, found: Declarations) -> list[str]:
    """The page of a node: its docstring, and what it declares."""
    lines = [*title(f"Node {name}"), found.docstring, ""]
    lines += ["``<...>`` stands for names that parameters or the model give.", ""]
    for heading, rows in found.interfaces.items():
        cells = [
            (literal(topic), literal(kind), found.qos.get((heading, topic), ""))
            for topic, kind in sorted(set(rows))
        ]
        if cells and any(row[2] for row in cells):
            lines += [*title(heading, "-"), *table(("name", "type", "QoS"), cells)]
        elif cells:
            short = [row[:2] for row in cells]
            lines += [*title(heading, "-"), *table(("name", "type"), short)]
    rows = [
        (literal(parameter), literal(default), text)
        for parameter, default, text in found.parameters
    ]
    lines += title("Parameters", "-")
    return lines + table(("name", "default", "what"), rows)


def _write_pages(app: Any, config: Any) -> None:
    source = Path(app.srcdir)
    folder, root = source / "reference", repository()
    lines = title("ROS 2 interfaces")
    lines += [
        "What nodes declare, and what messages hold. :doc:`/ros` explains them",
        "",
    ]
    lines[-2] += " and has examples."
    every = []
    for kind, heading in KINDS.items():
        pages = []
        for path in sorted((root / "msgs" / kind).glob(f"*.{kind}")):
            pages.append(f"ros/{path.stem}_{kind}")
            write(folder / f"{pages[-1]}.rst", interface(path))
        lines += [*title(heading, "-"), *contents(pages)]
        every += pages
    pages = []
    for name, found in nodes_of(root / "humans_sim" / "nodes").items():
        pages.append(f"ros/node_{name}")
        write(folder / f"{pages[-1]}.rst", node_page(name, found))
    lines += [*title("Nodes", "-"), *contents(pages)]
    names = [page.removeprefix("ros/") for page in [*every, *pages]]
    keep_only(folder / "ros", [f"{name}.rst" for name in names])
    write(folder / "ros.rst", lines)


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.connect("config-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
