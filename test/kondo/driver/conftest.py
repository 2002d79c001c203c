# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the driver's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from humans_sim.kondo.emulation.emulator import Emulator


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Boards of a KHR-1."""
    with Emulator() as boards:
        yield boards
