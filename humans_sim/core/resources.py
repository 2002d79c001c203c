# SPDX-License-Identifier: Apache-2.0
"""Where data files lie: the package's own, and ROS packages around a file.

The package's own are in a checkout, a wheel or an ament prefix. Robots of others name
files by the ROS package that they are in; without ROS it mostly lies around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from humans_sim.core.errors import FileError, HumansError, ParameterError
from humans_sim.core.files import is_file, read_text

_MOST_ABOVE = 6
"""Folders above a file in which packages are looked for."""
_MANIFEST = 1 << 20
"""Largest ``package.xml`` [bytes]."""


@cache
def share_directory() -> Path:
    """Folder that holds ``config/``, ``urdf/`` and ``launch/``.

    In a checkout it is the root of the repository; once installed it is
    ``share/humans_sim`` of the prefix that holds the Python package (a virtual
    environment, or an ament prefix made by colcon).
    """
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    if (checkout / "package.xml").is_file() and (checkout / "config").is_dir():
        return checkout
    for prefix in package.parents:
        candidate = prefix / "share" / "humans_sim"
        if (candidate / "config").is_dir():
            return candidate
    raise HumansError(
        f"the data files of humans_sim were not found around {package}; "
        "install the package with pip or colcon, or run it from a checkout"
    )


def resource(*parts: str) -> Path:
    """Path of a data file, e.g. ``resource("config", "models", "bip.yaml")``."""
    return share_directory().joinpath(*parts)


def resource_names(folder: str, start: str = "", suffix: str = ".yaml") -> list[str]:
    """Names of the files in a folder of ``config`` that begin and end so."""
    names = (path.stem for path in resource("config", folder).glob(f"*{suffix}"))
    return sorted(name for name in names if name.startswith(start))


def named_file(folder: str, name: str, what: str) -> Path:
    """A YAML file of the package by its name, or one's own by its path."""
    path = Path(name)
    if path.suffix == ".yaml":
        return path
    if name not in resource_names(folder):
        known = ", ".join(resource_names(folder))
        raise ParameterError(f"no {what} is called '{name}' (there are: {known})")
    return resource("config", folder, f"{name}.yaml")


def folders_above(folder: Path, count: int = _MOST_ABOVE) -> list[Path]:
    """A folder and some of those above it, but not the whole disk."""
    return [above for above in (folder, *folder.parents)[:count] if above.name]


def packages_around(name: str, folder: Path) -> Iterator[Path]:
    """Folders of a ROS package: above a folder, or beside it or one above it.

    A package above bears its name, or says so in its ``package.xml``; one beside bears
    it, and has a ``package.xml``.
    """
    for above in folders_above(folder):
        if above.name == name or _is_of_package(above / "package.xml", name):
            yield above
        if is_file(above / name / "package.xml"):
            yield above / name


def _is_of_package(manifest: Path, name: str) -> bool:
    """Whether a ``package.xml`` is that of a package."""
    if not is_file(manifest):
        return False
    try:
        text = read_text(manifest, FileError, _MANIFEST)
    except FileError:
        return False
    return re.search(rf"<name>\s*{re.escape(name)}\s*</name>", text) is not None
