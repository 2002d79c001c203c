# SPDX-License-Identifier: Apache-2.0
"""Reading lists of names and the HuMAnS layout, shared by all model files."""

from __future__ import annotations

from collections.abc import Mapping

from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import HumansLayout


def known_names(value: YamlValue, known: set[str], what: str) -> tuple[str, ...]:
    """A list of names, each of them known and standing once."""
    names: list[str] = []
    for item in value:
        if item.text() not in known:
            raise item.error(f"no {what} is called '{item.text()}'")
        if item.text() in names:
            raise item.error(f"'{item.text()}' stands twice")
        names.append(item.text())
    return tuple(names)


def read_layout(
    section: YamlValue, joints: set[str], links: set[str], names: Mapping[str, float]
) -> HumansLayout:
    """Read a ``humans`` section: the order of the HuMAnS vector of a model."""
    fields = section.fields(("joints", "base_rotation", "base_height", "segments"))
    order = known_names(fields["joints"], joints, "joint")
    if len(order) != len(joints):
        missing = ", ".join(sorted(joints - set(order)))
        raise fields["joints"].error(f"joints missing from the list: {missing}")
    rotation = fields["base_rotation"].text()
    if sorted(rotation) != ["x", "y", "z"]:
        raise fields["base_rotation"].error("an order such as 'zyx' is wanted")
    return HumansLayout(
        order,
        rotation,
        fields["base_height"].number(names),
        known_names(fields["segments"], links, "body"),
    )
