# SPDX-License-Identifier: Apache-2.0
"""Equations as MathML, which browsers show by themselves, without scripts or fonts."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger


def _mathml(node: nodes.Node, block: bool) -> str:
    try:
        return str(tex2mathml(node.astext(), as_block=block))
    except MathError as error:
        getLogger(__name__).warning("%s", error, location=node)
        return ""


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    equation = _mathml(node, block=True)
    self.body.append(self.starttag(node, "div", CLASS="equation"))
    self.body.append(f"{equation}</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
