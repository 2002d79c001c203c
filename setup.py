# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say of the build: files below the ament prefix."""

import subprocess
import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
PACKAGE = "humans_sim"
SHARE = Path("share") / PACKAGE

# `colcon build --symlink-install` runs a link to this file in a folder of links to
# packages and data, without these.
for name in ("pyproject.toml", "README.md"):
    if not Path(name).exists():
        Path(name).symlink_to(ROOT / name)

# Before data_files() looks: colcon asks for these without a command of a build.
subprocess.run([sys.executable, str(ROOT / "tools" / "generate_files.py")], check=True)


def data_files() -> list[tuple[str, list[str]]]:
    """The ament marker, package.xml, data, and the executables of ``ros2 run``."""
    installed = [
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (str(SHARE), ["package.xml"]),
        (f"lib/{PACKAGE}", sorted(str(path) for path in Path("scripts").iterdir())),
    ]
    for folder in ("config", "launch", "urdf"):
        for path in [Path(folder), *sorted(Path(folder).rglob("*"))]:
            files = [str(f) for f in sorted(path.glob("*")) if f.is_file()]
            if path.is_dir() and path.name != "__pycache__" and files:
                installed.append((str(SHARE / path), files))
    return installed


# Here and not in pyproject.toml, because colcon builds with the machine's setuptools.
# That of Ubuntu 24.04 (68) does not know the licence as a string, newer ones no longer
# as a table, and colcon cannot read back what they make of requires-python.
setup(license="Apache-2.0", python_requires=">=3.11", data_files=data_files())
