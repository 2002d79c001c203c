# SPDX-License-Identifier: Apache-2.0
"""What supports a model: the one rule for which tags of a sole carry load.

A sole has corners, which outline it, and may stand on balls instead
(:mod:`humans_sim.contact.geometry.foot_spheres`). Everything that sums forces over a
foot, lets one stand, or draws its outline asks here:

- :func:`support_tags`: what a sole stands on, balls where it has any, else its corners.
- :func:`load_tags`: every tag through which a force on the sole may come. Of a contact
  table :func:`contacts_of` picks those that are there, whatever a scene put into it.
- :func:`corner_places`: the outline, which does not depend on what touches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models.description import Sole
from humans_sim.models.model import Model


def sole_named(model: Model, name: str) -> Sole:
    """A sole of a model by the name of its frame.

    Raises:
        ParameterError: the model has no such sole.
    """
    for sole in model.soles:
        if sole.name == name:
            return sole
    raise ParameterError(f"{model.name} has no sole called '{name}'")


def support_tags(sole: Sole) -> tuple[str, ...]:
    """The tags a sole stands on: its balls, or its corners where it has none."""
    return sole.spheres or sole.contacts


def load_tags(sole: Sole) -> tuple[str, ...]:
    """All tags through which a sole may carry load: corners and balls."""
    return sole.contacts + sole.spheres


def tag_of(contact: str) -> str:
    """The tag of a contact: what stands before the solid that it touches."""
    return contact.partition("/")[0]


def contacts_of(sole: Sole, contacts: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of the contacts that load a sole, by tag; tags without a row are left out.

    Args:
        sole: of a model.
        contacts: names of contacts, e.g. of a run's table.
    """
    tags = np.array([tag_of(name) for name in contacts], dtype=object)
    rows = {tag: np.flatnonzero(tags == tag) for tag in load_tags(sole)}
    return {tag: points for tag, points in rows.items() if len(points)}


def corner_places(model: Model, sole: Sole) -> np.ndarray:
    """Corners of a sole in its own frame (n, 3) [m]."""
    return tag_places(model, sole, sole.contacts)


def tag_places(model: Model, sole: Sole, tags: Sequence[str]) -> np.ndarray:
    """Some tags of a sole in its own frame, in the zero position (n, 3) [m]."""
    q = model.neutral()
    frame = model.frame_pose(q, sole.name)
    points = model.tags(q)[[model.tag_names.index(tag) for tag in tags]]
    return np.array([frame.actInv(point) for point in points]).reshape(-1, 3)
