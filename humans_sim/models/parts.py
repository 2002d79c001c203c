# SPDX-License-Identifier: Apache-2.0
"""What a model is put together from, whether it comes from YAML or from a URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from humans_sim.models.description import HumansLayout, Sole, Tag
from humans_sim.models.self_collision import SelfCollision

if TYPE_CHECKING:
    from humans_sim.models.rotors import Rotors


TABLES = (".yaml", ".yml")
"""Endings of the names of model files with bodies or a Denavit-Hartenberg table."""


@dataclass(frozen=True)
class ModelParts:
    """What a :class:`Model` is put together from.

    Attributes:
        name: short name, e.g. ``khr1``.
        title: one line for people.
        pin_model: the pinocchio model, with a free-flyer base.
        tags: tags, positions in their link's frame.
        contacts: names of the tags that are contact points.
        soles: soles by name.
        humans: layout of the HuMAnS vector.
        urdf: text of the model's URDF.
        rotors: drive rotors that add to the dynamics, or None.
        parameters: values the model was made with (``height``, ``mass``).
        lengths: named lengths the model was made with [m].
        given_lengths: lengths set one by one [m].
        given_tags: tag positions set one by one, HuMAnS axes [m].
        source: the model file.
        self_collision: links that touch each other.
    """

    name: str
    title: str
    pin_model: pin.Model
    tags: tuple[Tag, ...]
    contacts: tuple[str, ...]
    soles: tuple[Sole, ...]
    humans: HumansLayout
    urdf: str
    rotors: Rotors | None
    parameters: Mapping[str, float]
    lengths: Mapping[str, float]
    given_lengths: Mapping[str, float]
    given_tags: Mapping[str, np.ndarray]
    source: Path
    self_collision: SelfCollision = field(default_factory=SelfCollision)

    @property
    def from_table(self) -> bool:
        """Whether it comes from a table, with parameters and lengths, not a URDF."""
        return self.source.suffix.lower() in TABLES
