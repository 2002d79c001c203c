# SPDX-License-Identifier: Apache-2.0
"""Fixtures shared by the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.doctor import ros_hint
from humans_sim.models import NAMES

ROOT = Path(__file__).resolve().parents[1]
LAUNCH_TESTS = ROOT / "test" / "launch"


def no_launch() -> str:
    """Why the launch tests cannot run; nothing where they can."""
    for module in ("launch_testing", "launch_ros"):
        if find_spec(module) is None:
            return f"{module} is not installed: it comes with a ROS 2 installation"
    for module in ("rclpy", "humans_msgs", "tf2_msgs"):
        if find_spec(module) is None:
            return f"{module} is not installed: {ros_hint()}"
    return ""


class SkippedModule(pytest.Module):
    """A module of launch tests that is not even imported."""

    def collect(self) -> Iterable[pytest.Item]:
        """Say why."""
        pytest.skip(no_launch(), allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Put launch tests aside that would import what is not there."""
    if module_path.parent == LAUNCH_TESTS and no_launch():
        return SkippedModule.from_parent(parent, path=module_path)
    return None


_RESULT = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the result for the very end."""
    session.config.stash[_RESULT] = int(exitstatus)


def pytest_unconfigure(config: pytest.Config) -> None:
    """A process that has run ROS 2 ends with its result, whatever its threads do then.

    An interpreter that ends while libraries still run can lose its exit code.
    """
    worker = hasattr(config, "workerinput")  # of xdist: it has to report yet
    if "rclpy" in sys.modules and _RESULT in config.stash and not worker:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[_RESULT])


_MANY_TESTS = 4000
"""So many need about all kernels."""


@pytest.fixture(scope="session", autouse=True)
def shared_compilation(request: pytest.FixtureRequest) -> None:
    """Two workers compile half of the kernels each, not both of them all.

    A few folders compile what they need.
    """
    worker = getattr(request.config, "workerinput", None)  # of xdist
    if worker is None or len(request.session.items) <= _MANY_TESTS:
        return
    from kernels import METHODS, compile_kernels  # loads all of the dynamics

    if worker["workercount"] == len(METHODS):
        compile_kernels([METHODS[int(worker["workerid"].removeprefix("gw"))]])


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
