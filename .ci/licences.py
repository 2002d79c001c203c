# SPDX-License-Identifier: Apache-2.0
"""Lists the licences of the locked packages that are installed, and checks them.

A licence comes from the package's metadata, or, for a package of ROS 2, from its
package.xml. `requirements/licences.toml` says which may be used. Libraries that a wheel
carries inside are not looked into.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from importlib.metadata import Distribution, distributions
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"


def normal(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_names() -> set[str]:
    """Names of all packages in the lock files."""
    return {
        normal(name)
        for path in REQUIREMENTS.glob("*.lock")
        for name in re.findall(r"^([\w.-]+)(?:\[.*\])?==", path.read_text(), re.M)
    }


def ros_licences(name: str, site: Path) -> list[str]:
    """Licences in the package.xml of a ROS 2 package, which its wheel installs."""
    package = re.sub(r"^ros-(jazzy-)?", "", name).replace("-", "_")
    for prefix in site.parents:
        path = prefix / "share" / package / "package.xml"
        if name.startswith("ros-") and path.is_file():
            root = ElementTree.parse(path).getroot()
            return [(element.text or "").strip() for element in root.iter("license")]
    return []


def licences(distribution: Distribution) -> list[str]:
    """Licences that a package names, all of which hold; none if it is silent."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return re.split(r"\s+AND\s+", expression)
    found = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    if not found and (text := (metadata.get("License") or "").strip()):
        found = re.split(r"\s+AND\s+", text.splitlines()[0])
    site = Path(str(distribution.locate_file("")))
    return found or ros_licences(normal(metadata["Name"]), site)


def main(arguments: list[str] | None = None) -> int:
    """Print a row a package; 1 if one may not be used."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--path", help="a folder of installed packages instead of this one"
    )
    options = parser.parse_args(arguments)
    rules = tomllib.loads((REQUIREMENTS / "licences.toml").read_text())
    allowed, exceptions = set(rules["allowed"]), rules["exceptions"]
    locked = locked_names()
    refused = []
    rows = {}
    for distribution in distributions(
        path=[options.path] if options.path else sys.path
    ):
        name = normal(distribution.metadata["Name"])
        if name in locked:
            rows.setdefault(name, distribution)
    for name, distribution in sorted(rows.items()):
        found = licences(distribution)
        covered = found and all(
            part in allowed or any(choice in allowed for choice in part.split(" OR "))
            for part in found
        )
        licence, reason = ", ".join(found), ""
        if name in exceptions:
            licence, reason = exceptions[name]
        elif not covered:
            reason = "NOT ALLOWED: see requirements/licences.toml"
            refused.append(name)
        print(f"{name:42} {distribution.version:16} {licence or 'unknown':40} {reason}")
    unlocked = sorted(set(exceptions) - locked)
    if refused or unlocked or not rows:
        print(f"licences not allowed: {', '.join(refused) or 'none'}", file=sys.stderr)
        print(f"exceptions of no package: {', '.join(unlocked)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
