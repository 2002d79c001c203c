# SPDX-License-Identifier: Apache-2.0
"""One stride for all tests of it: it takes some seconds to make."""

from __future__ import annotations

import pytest

import humans_sim as hs


@pytest.fixture(scope="session")
def cycle(human: hs.Model) -> hs.GaitCycle:
    """A stride at 1 m/s."""
    return hs.GaitCycle(human)


@pytest.fixture(scope="session")
def turning(human: hs.Model) -> hs.GaitCycle:
    """The same to the left, on a circle of 2.5 m."""
    return hs.GaitCycle(human, hs.GaitSettings(turn=0.4))
