# SPDX-License-Identifier: Apache-2.0
"""Where the package's data files lie: a checkout, a wheel or an ament prefix."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from humans_sim.core.errors import HumansError, ParameterError


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
