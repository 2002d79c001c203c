# SPDX-License-Identifier: Apache-2.0
"""HTML of reports and of the viewer, from the templates beside this file.

Values are escaped wherever a template inserts them, so that a name out of a file
cannot become a part of the page.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("humans_sim.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "allow_nan": False,
    }
    return environment


def render(template: str, **values: Any) -> str:
    """Text of a template, named without ``.html.j2``, with values by name."""
    return _environment().get_template(f"{template}.html.j2").render(**values)
