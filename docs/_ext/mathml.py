# SPDX-License-Identifier: Apache-2.0
"""Equations as MathML, which browsers show by themselves, without scripts or fonts."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

ACCENTS = set("˙¨ˉˆ^˜~→")
"""Marks over one letter: dots, a bar, a hat, a tilde, an arrow."""
BARS = ("‖", "|")
APPLY = "&ApplyFunction;"
NAMESPACE = "http://www.w3.org/1998/Math/MathML"


def _element(tag: str, *children: ElementTree.Element) -> ElementTree.Element:
    element = ElementTree.Element(f"{{{NAMESPACE}}}{tag}")
    element.extend(children)
    return element


def _is_accent(element: ElementTree.Element) -> bool:
    return element.tag.endswith("}mo") and (element.text or "") in ACCENTS


def _corrected(element: ElementTree.Element) -> ElementTree.Element:
    """An index of an accented letter beside it (docutils: below); bars of one size."""
    children = [_corrected(child) for child in element]
    element[:] = children
    kind = element.tag.rpartition("}")[2]
    if kind == "mo" and element.text in BARS and not element.attrib:
        element.attrib.update(stretchy="false", lspace="0", rspace="0")
    if kind in ("munderover", "mover") and _is_accent(children[-1]):
        letter = _element("mover", children[0], children[-1])
        letter.set("accent", "true")
        return letter if kind == "mover" else _element("msub", letter, children[1])
    if kind == "msup" and children[0].tag.endswith("}msub"):
        return _element("msubsup", *children[0], children[1])
    return element


def mathml(text: str, block: bool) -> str:
    """An equation of TeX as MathML."""
    source = tex2mathml(text, as_block=block).replace(APPLY, "\u2061")
    root = _corrected(ElementTree.fromstring(source))
    ElementTree.register_namespace("", NAMESPACE)
    return ElementTree.tostring(root, encoding="unicode")


def parts(text: str) -> list[str]:
    """Equations of one line, which a narrow screen shows below each other."""
    found = text.split(r"\qquad")
    whole = all(part.count("{") == part.count("}") for part in found)
    return found if whole and r"\begin" not in text else [text]


def _mathml(node: nodes.Node, text: str, block: bool) -> str:
    try:
        return mathml(text, block)
    except MathError as error:
        getLogger(__name__).warning("%s", error, location=node)
        return ""


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, node.astext(), block=False))
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    equations = [_mathml(node, part, block=True) for part in parts(node.astext())]
    inner = "".join(f"<div>{equation}</div>" for equation in equations)
    self.body.append(self.starttag(node, "div", CLASS="equation"))
    self.body.append(f"{inner}</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
