# SPDX-License-Identifier: Apache-2.0
"""The locks: one version of a package for every Python, with hashes, and no more."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "requirements"
LOCKS = ["library.lock", "ros.lock", "build.lock", "bench.lock", "docs.lock"]
OLDEST = "oldest.lock"
"""Installed over the others, for one run of tests."""
HASH = "    --hash=sha256:[0-9a-f]{64}"


def pins(name: str) -> list[tuple[str, str]]:
    """Package and version of every line of a lock file."""
    text = (FOLDER / name).read_text()
    return re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!-]+)", text, re.M)


@pytest.mark.parametrize("name", [*LOCKS, OLDEST])
def test_one_version_for_every_python(name: str) -> None:
    """No package is locked twice, so all Pythons and machines test the same code."""
    count = Counter(package for package, _ in pins(name))
    assert count
    assert [package for package, times in count.items() if times > 1] == []


@pytest.mark.parametrize("name", [*LOCKS, OLDEST])
def test_every_package_has_hashes(name: str) -> None:
    """A package is a pinned version followed by hashes; there is nothing else."""
    package = rf"[\w.\[\]-]+==[^\s;]+( ; [^\n]+)?( \\\n{HASH})+\n"
    text = (FOLDER / name).read_text()
    assert re.sub(rf"^{package}", "", text, flags=re.M) == ""


def test_locks_agree() -> None:
    """What several files lock has one version: they are installed together."""
    versions: dict[str, str] = {}
    for name in LOCKS:
        for package, version in pins(name):
            assert versions.setdefault(package, version) == version, package


def test_the_oldest_are_those_that_are_asked_for() -> None:
    """Every dependency at its lower bound, and what Ubuntu 24.04 has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = dict(pins(OLDEST))
    for line in project["dependencies"]:
        name, bound = re.match(r"([\w-]+)>=([\w.]+)", line).groups()
        version = locked[name]
        assert version == bound or version.startswith(f"{bound}."), name
    for line in (FOLDER / "noble_versions.txt").read_text().splitlines()[1:]:
        assert line.split("==")[1] == locked[line.split("==")[0]], line


@pytest.mark.parametrize(
    "folder",
    [
        ".",
        "msgs",
        "msgs/compat/tf2_msgs",
        "msgs/compat/control_msgs",
        "msgs/compat/simulation_interfaces",
    ],
)
def test_build_inputs_are_pinned(folder: str) -> None:
    """What builds a package of this project is pinned to the locked version."""
    locked = {pin for name in LOCKS for pin in pins(name)}
    build = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())[
        "build-system"
    ]
    for requirement in build["requires"]:
        assert tuple(requirement.split("==")) in locked, requirement


def test_make_installs_locked_files_only() -> None:
    """What make installs is hashed or our own, and no build fetches anything."""
    text = (ROOT / "Makefile").read_text()
    for line in re.findall(r"^.*\bpip install\b.*$", text, re.M):
        assert "--no-build-isolation" in line, line
    for line in re.findall(r"^.*\$\(INSTALL\).*$", text, re.M):
        assert "--no-deps" in line or "--require-hashes" in line, line


def test_no_registry_is_named() -> None:
    """Where packages come from is a matter of the machine: no file names a host."""
    hosts = ["py" + "pi.org", "python" + "hosted", "index" + "-url"]
    command = ["git", "grep", "-il", *(f"-e{host}" for host in hosts)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode > 1:
        pytest.skip("not a git checkout")
    assert result.stdout == ""
