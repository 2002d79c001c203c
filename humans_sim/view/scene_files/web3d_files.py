# SPDX-License-Identifier: Apache-2.0
"""Scenes as text: X3D 3.3 (XML, profile Interchange) and VRML97, which is ISO 14772."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from humans_sim.view.scene_files.moving_scene import MovingScene
from humans_sim.view.scene_files.web3d_tree import Value, Web3dNode, web3d_scene

_DIGITS = 9
"""Significant digits of numbers."""
_ROW = 8
"""Vectors of a list in one line."""
_X3D = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<X3D profile="Interchange" version="3.3"'
    ' xmlns:xsd="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsd:noNamespaceSchemaLocation="http://www.web3d.org/specifications/x3d-3.3.xsd">',
)


def x3d(scene: MovingScene) -> bytes:
    """The content of a .x3d file."""
    content = web3d_scene(scene)
    lines = [*_X3D, "  <head>"]
    lines.append(f'    <meta name="title" content={quoteattr(_plain(content.title))}/>')
    lines += ['    <meta name="generator" content="humans_sim"/>', "  </head>"]
    lines.append("  <Scene>")
    for node in content.nodes:
        lines += _xml(node, "    ")
    for route in content.routes:
        lines.append(
            f'    <ROUTE fromNode="{route.source}" fromField="{route.output}"'
            f' toNode="{route.target}" toField="{route.entry}"/>'
        )
    lines += ["  </Scene>", "</X3D>", ""]
    return "\n".join(lines).encode("utf-8")


def vrml(scene: MovingScene) -> bytes:
    """The content of a .wrl file."""
    content = web3d_scene(scene)
    lines = ["#VRML V2.0 utf8"]
    for node in content.nodes:
        lines += _braces(node, "")
    for route in content.routes:
        source, target = (route.source, route.output), (route.target, route.entry)
        lines.append(f"ROUTE {'.'.join(source)} TO {'.'.join(target)}")
    return ("\n".join(lines) + "\n").encode("utf-8")


def _xml(node: Web3dNode, indent: str) -> Iterator[str]:
    name = f' DEF="{node.name}"' if node.name else ""
    fields = "".join(
        f" {field}={quoteattr(_xml_value(value))}" for field, value in node.fields
    )
    if not node.nodes:
        yield f"{indent}<{node.kind}{name}{fields}/>"
        return
    yield f"{indent}<{node.kind}{name}{fields}>"
    for _, inner in node.nodes:
        yield from _xml(inner, indent + "  ")
    yield f"{indent}</{node.kind}>"


def _xml_value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _plain(value)
    return _number_text(value)


def _braces(node: Web3dNode, indent: str) -> Iterator[str]:
    name = f"DEF {node.name} " if node.name else ""
    yield f"{indent}{name}{node.kind} {{"
    for field, value in node.fields:
        yield f"{indent}  {field} {_vrml_value(value)}"
    several = [inner for field, inner in node.nodes if field == "children"]
    for field, inner in node.nodes:
        if field != "children":
            first, *others = _braces(inner, indent + "  ")
            yield f"{indent}  {field} {first.lstrip()}"
            yield from others
    if several:
        yield f"{indent}  children ["
        for inner in several:
            yield from _braces(inner, indent + "    ")
        yield f"{indent}  ]"
    yield f"{indent}}}"


def _vrml_value(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        text = _plain(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    text = _number_text(value)
    return f"[ {text} ]" if np.ndim(value) == 2 else text


def _number_text(value: float | np.ndarray) -> str:
    """Numbers, the vectors of a list with commas between them."""
    rows = np.atleast_2d(np.asarray(value))
    if rows.dtype.kind == "i":
        words = [" ".join(map(str, row)) for row in rows.tolist()]
    else:
        words = [
            " ".join(f"{x:.{_DIGITS}g}" for x in row) for row in (rows + 0.0).tolist()
        ]
    lines = [", ".join(words[k : k + _ROW]) for k in range(0, len(words), _ROW)]
    return ",\n".join(lines)


def _plain(text: str) -> str:
    """Text without what neither format can hold: control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
