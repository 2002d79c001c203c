# SPDX-License-Identifier: Apache-2.0
"""The installation: what is there, what is missing, and how to fix it."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import shutil
import sys
from dataclasses import dataclass

from humans_sim.core.errors import HumansError, MissingDependencyError
from humans_sim.core.resources import share_directory

LIBRARIES = (
    ("numpy", "numpy"),
    ("scipy", "scipy"),
    ("pinocchio", "pin"),
    ("coal", "coal"),
    ("jinja2", "jinja2"),
    ("matplotlib", "matplotlib"),
    ("mcap_ros2", "mcap-ros2-support"),
    ("msgspec", "msgspec"),
    ("numba", "numba"),
    ("osqp", "osqp"),
    ("PIL", "pillow"),
    ("serial", "pyserial"),
    ("trimesh", "trimesh"),
    ("yaml", "pyyaml"),
    ("viser", "viser"),
    ("websockets", "websockets"),
    ("rich", "rich"),
    ("typer", "typer"),
)
_ROS = (
    ("rclpy", "ros-rclpy"),
    ("sensor_msgs", "ros-sensor-msgs"),
    ("tf2_msgs", "humans-compat-tf2-msgs"),
    ("control_msgs", "humans-compat-control-msgs"),
    ("simulation_interfaces", "humans-compat-simulation-interfaces"),
    ("humans_msgs", "humans-msgs"),
)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Finding:
    """One thing looked for.

    Attributes:
        group: heading under which it stands.
        name: what was looked for.
        found: version or place, or None where missing.
        needed: whether humans_sim cannot work without it.
        fix: what to do where it is missing.
    """

    group: str
    name: str
    found: str | None
    needed: bool
    fix: str


def ros_hint() -> str:
    """How to get rclpy on this machine."""
    install = "install ROS 2 Jazzy and source its setup file"
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return f"run 'make setup' (wheels), or {install}"
    return (
        f"{install}; rclpy has no wheel for {platform.system()} {platform.machine()} "
        "(see docs/install.md)"
    )


def no_ros(error: ImportError) -> MissingDependencyError:
    """The message where nodes cannot be imported."""
    return MissingDependencyError(
        f"the nodes need ROS 2, and '{error.name}' is not here: {ros_hint()}"
    )


def find_chromium() -> str | None:
    """Path of a Chromium, if any."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def examine() -> list[Finding]:
    """Look at this machine."""
    version = sys.version.split()[0]
    system = f"{platform.system()} {platform.machine()}"
    try:
        data: str | None = str(share_directory())
    except HumansError:
        data = None
    new_enough = version if sys.version_info >= (3, 11) else None
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    old = f"this is Python {version}: install 3.11 or newer"
    sundae = "the integrator cvode: pip install scikit-sundae (not on arm64 Linux)"
    distro = os.environ.get("ROS_DISTRO")
    return [
        Finding("machine", "system", system, True, ""),
        Finding("machine", "Python >= 3.11", new_enough, True, old),
        Finding(
            *("machine", "C++ compiler", compiler, False),
            "install g++ (needed to build humans_msgs)",
        ),
        Finding("machine", "data files", data, True, "install the package again"),
        *(
            Finding("library", name, _version(name, pip), True, f"pip install {pip}")
            for name, pip in LIBRARIES
        ),
        Finding(
            "library", "sksundae", _version("sksundae", "scikit-sundae"), False, sundae
        ),
        *(
            Finding("ROS 2", module, _version(module, package), False, ros_hint())
            for module, package in _ROS
        ),
        Finding(
            "ROS 2", "distribution", distro, False, "none sourced: wheels are used"
        ),
        Finding(
            *("tests", "Chromium", find_chromium(), False),
            "install Debian's chromium for the browser test",
        ),
    ]


def _version(module: str, package: str) -> str | None:
    try:
        imported = importlib.import_module(module)
    except Exception:  # a broken install is as good as none, whatever it raises
        return None
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(imported, "__version__", "present"))


def ros_setup() -> str:
    """The set-up's choice about ROS 2: one word, or a line that says why not.

    ``installed``: a distribution is sourced; ``wheels``: install its wheels.
    """
    if os.environ.get("ROS_DISTRO"):
        return "installed"
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return "wheels"
    return f"No ROS 2 here: {ros_hint()}."


if __name__ == "__main__":
    if sys.argv[1:] == ["ros_setup"]:
        print(ros_setup())
