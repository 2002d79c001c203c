"""Fixtures shared by the tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models import NAMES

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", params=NAMES)
def model(request: pytest.FixtureRequest) -> hs.Model:
    """Each model of the package."""
    return hs.load_model(request.param)


@pytest.fixture(scope="session")
def human() -> hs.Model:
    """Human36 with its default stature and mass."""
    return hs.load_model("human36")


@pytest.fixture(scope="session")
def bip() -> hs.Model:
    """Bip with its rotors."""
    return hs.load_model("bip")


@pytest.fixture(scope="session")
def khr1() -> hs.Model:
    """The KHR-1."""
    return hs.load_model("khr1")


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded random generator."""
    return np.random.default_rng(20061023)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Outputs of the original software, which are no part of this repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"reference data of the original software not found at {folder}")
    return folder
