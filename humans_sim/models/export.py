# SPDX-License-Identifier: Apache-2.0
"""Writes the URDF files under ``urdf``: ``python -m humans_sim.models.export``."""

from __future__ import annotations

from pathlib import Path

from humans_sim.core.resources import resource
from humans_sim.models.catalogue import load_model
from humans_sim.models.files.named_models import NAMES


def export(folder: Path) -> list[Path]:
    """Write the package's models as URDF with their YAML; returns the URDF files."""
    return [load_model(name).save(folder / f"{name}.urdf") for name in NAMES]


if __name__ == "__main__":
    for written in export(resource("urdf")):
        print(written)
