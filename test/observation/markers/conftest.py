# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of marker files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from humans_sim.observation.markers import MarkerTrial, read_markers


@pytest.fixture
def read_as(tmp_path: Path) -> Callable[..., MarkerTrial]:
    """Reads text or bytes as a marker file of a name, with options of the reader."""

    def read(name: str, content: str | bytes, **options: object) -> MarkerTrial:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_markers(path, **options)  # type: ignore[arg-type]

    return read


@pytest.fixture
def read_c3d(read_as: Callable[..., MarkerTrial]) -> Callable[..., MarkerTrial]:
    """Reads bytes as a C3D file."""
    return partial(read_as, "walk.c3d")
