# SPDX-License-Identifier: Apache-2.0
"""The package as pip and ROS see it: metadata, programs, data, launch files, layers."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

import humans_sim
from humans_sim.applications.graphs import graph_names, read_graph
from humans_sim.core.doctor import LIBRARIES

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "humans_sim"

ROSDEP = {
    "coal": "coal",
    "jinja2": "python3-jinja2",
    "matplotlib": "python3-matplotlib",
    "numpy": "python3-numpy",
    "serial": "python3-serial",
    "pinocchio": "pinocchio",
    "rich": "python3-rich",
    "scipy": "python3-scipy",
    "yaml": "python3-yaml",
    "xacro": "xacro",
    "hypothesis": "python3-hypothesis",
    "pytest": "python3-pytest",
    "catkin_pkg": "python3-catkin-pkg",
    "PIL": "python3-pil",
}
NO_KEY = {"distributed", "ezc3d", "mcap", "mcap_ros2", "osqp", "sksundae", "viser"}
NO_KEY |= {"numba", "trimesh", "typer", "yourdfpy"}
NO_KEY |= {"msgspec", "websockets", "zstandard"}  # they come with viser
# Packages whose name is not that of their module.
PACKAGES = {
    "catkin_pkg": "catkin-pkg",
    "mcap_ros2": "mcap-ros2-support",
    "PIL": "pillow",
    "pinocchio": "pin",
    "serial": "pyserial",
    "sksundae": "scikit-sundae",
    "yaml": "pyyaml",
}


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
def test_package_xml_is_valid(folder: str) -> None:
    """Format 3, valid for catkin_pkg, without warnings."""
    warnings: list[str] = []
    package = parse_package(str(ROOT / folder / "package.xml"), warnings=warnings)
    package.validate(warnings=warnings)
    assert package.package_format == 3
    assert package.licenses == ["Apache-2.0"]
    assert warnings == []


@cache
def imports(folder: Path) -> set[str]:
    """Top-level modules that the Python files of a folder import."""
    imported: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    return imported


def third_party(folder: Path) -> set[str]:
    """Modules of others that the Python files of a folder import."""
    own = {"humans_sim"}
    for name in ("test", "benchmarks", "tools"):
        own |= {path.stem for path in (ROOT / name).rglob("*.py")}
    return imports(folder) - set(sys.stdlib_module_names) - own


@pytest.mark.study
def test_imports_are_dependencies_of_ros() -> None:
    """What the code imports stands in package.xml by its rosdep key."""
    package = parse_package(str(ROOT / "package.xml"))
    run = {dependency.name for dependency in package.exec_depends}
    test = run | {dependency.name for dependency in package.test_depends}
    for module in (third_party(LIBRARY) | third_party(ROOT / "launch")) - NO_KEY:
        assert ROSDEP.get(module, module) in run, module
    for module in third_party(ROOT / "test") - NO_KEY:
        assert ROSDEP.get(module, module) in test, module


def declared(requirements: list[str]) -> set[str]:
    """Names of the packages in a list of requirements."""
    return {re.match(r"[\w.-]+", line).group() for line in requirements}


def bounds(requirements: list[str]) -> dict[str, str]:
    """Lower bounds of requirements, by package."""
    pairs = [re.match(r"([\w-]+)[>=]=([\w.]+)", line) for line in requirements]
    return {pair[1]: pair[2] for pair in pairs if pair}


def test_ubuntu_has_all_that_is_needed() -> None:
    """By a rosdep key, in a version that is enough, or by pip beside it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = bounds(project["dependencies"])
    folder = ROOT / "requirements"
    noble = bounds((folder / "noble.txt").read_text().splitlines())
    apt = bounds((folder / "noble_versions.txt").read_text().splitlines())
    package = parse_package(str(ROOT / "package.xml"))
    run = {dependency.name for dependency in package.exec_depends}
    keys = {PACKAGES.get(module, module): key for module, key in ROSDEP.items()}
    for name, bound in needed.items():
        by_pip = name in noble
        assert by_pip != (keys.get(name) in run), name
        # The oldest version that is tested is that of Ubuntu.
        assert (noble[name] if by_pip else apt.get(name, bound)) == bound, name
    extras = project["optional-dependencies"]
    assert set(noble) - set(needed) == {"ezc3d"} and bounds(extras["c3d"]).items() <= (
        noble.items()
    )


@pytest.mark.study
def test_imports_are_dependencies_of_pip() -> None:
    """Every import is declared in pyproject.toml, and what is declared is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = declared(project["dependencies"])
    # ROS 2 is not a requirement of the library: only nodes import it.
    package = parse_package(str(ROOT / "package.xml"))
    ros = {
        dependency.name for dependency in package.exec_depends + package.test_depends
    }
    ros -= set(ROSDEP.values())
    used = {PACKAGES.get(name, name) for name in third_party(LIBRARY) - ros}
    optional = declared(extras["c3d"]) | declared(extras["dask"])
    # ezc3d is loaded by its name in a string.
    assert used | {"ezc3d"} == needed | optional
    tests = {PACKAGES.get(name, name) for name in third_party(ROOT / "test") - ros}
    assert tests <= needed | optional | declared(extras["test"])


def test_colcon_runs_pytest() -> None:
    """An extra of the name ``test`` has pytest: else colcon runs unittest, no test."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "pytest" in declared(project["optional-dependencies"]["test"])


def test_requirements_have_lower_bounds() -> None:
    """What a user installs says from which version on it works."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["c3d"], *extras["dask"]]:
        assert re.match(r"[\w.-]+>=\d", line), line


def test_doctor_looks_for_the_requirements() -> None:
    """`humans-sim doctor` looks for what pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    looked_for = {package for _, package in LIBRARIES} | {"scikit-sundae"}
    assert looked_for == declared(project["dependencies"])


def test_versions_agree() -> None:
    """package.xml and the messages have the version of the library."""
    assert parse_package(str(ROOT / "package.xml")).version == humans_sim.__version__
    for folder in (
        "msgs",
        "msgs/compat/tf2_msgs",
        "msgs/compat/control_msgs",
        "msgs/compat/simulation_interfaces",
    ):
        version = parse_package(str(ROOT / folder / "package.xml")).version
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
        assert version == project["project"]["version"] == humans_sim.__version__


def test_nodes_are_executables() -> None:
    """Each node of a graph is a program for ros2 run, and a class in its module."""
    programs = {path.name for path in (ROOT / "scripts").iterdir()}
    assert programs == {n for name in graph_names() for n in read_graph(name).nodes}
    for name in programs:
        assert os.access(ROOT / "scripts" / name, os.X_OK)
        folder = LIBRARY / "nodes" / name
        inner = folder / "node.py"
        file = inner if inner.is_file() else folder.with_suffix(".py")
        text = file.read_text()
        assert f"\nclass {name.title().replace('_', '')}(" in text


def test_program_runs_its_node(tmp_path: Path) -> None:
    """A program runs the node it is called after, by the Python of its prefix."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib" / "humans_sim").mkdir(parents=True)
    program = tmp_path / "lib" / "humans_sim" / "walk"
    program.symlink_to(ROOT / "scripts" / "walk")
    for folder in (tmp_path / "bin", tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        python = folder / "python3"
        python.write_text(f'#!/bin/sh\necho {folder.name} "$@"\n')
        python.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'other'}:{os.environ['PATH']}"}
    for used in ("bin", "other"):
        command = [str(program), "--ros-args"]
        result = subprocess.run(
            command, capture_output=True, text=True, env=environment
        )
        assert result.stdout == f"{used} -m humans_sim.nodes walk --ros-args\n"
        (tmp_path / "bin" / "python3").unlink(missing_ok=True)


def kept_files(to: Path) -> Path:
    """A copy of what a build reads, without the files that are made."""
    for name in ("config", "humans_sim", "launch", "resource", "scripts", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "rviz", "foxglove")
        shutil.copytree(ROOT / name, to / name, ignore=ignored)
    shutil.copytree(ROOT / "urdf" / "meshes", to / "urdf" / "meshes")
    names = ("setup.py", "pyproject.toml", "package.xml", "README.md", "CHANGELOG.md")
    for name in (*names, "urdf/ball.urdf", "urdf/ball.yaml"):
        shutil.copy(ROOT / name, to / name)
    return to


@pytest.mark.study
def test_installed_data_are_found(tmp_path: Path) -> None:
    """Installed below a prefix, the library has its data, programs and types there."""
    checkout = kept_files(tmp_path / "checkout")
    build = [sys.executable, "setup.py", "-q", "install"]
    build += ["--prefix", str(tmp_path / "to"), "--single-version-externally-managed"]
    build += ["--record", str(tmp_path / "files")]
    subprocess.run(build, cwd=checkout, capture_output=True, check=True)
    site = next((tmp_path / "to").rglob("py.typed")).parents[1]
    code = "import humans_sim as hs\nhs.errors.FileError\n"
    code += "from humans_sim.core.resources import resource\nprint(resource('config'))"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", code]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    share = tmp_path / "to" / "share" / "humans_sim"
    assert Path(result.stdout.strip()) == share / "config", result.stderr
    for folder in ("config", "launch", "urdf"):
        assert files_below(share / folder) == files_below(checkout / folder)
    made = {f"config/rviz/{name}.rviz" for name in graph_names()}
    made |= {f"config/foxglove/{name}.json" for name in graph_names()}
    made |= {f"urdf/{name}.urdf" for name in ("bip", "human", "human36", "khr1")}
    assert made <= files_below(share)
    templates = files_below(site / "humans_sim" / "view" / "templates")
    assert templates == files_below(LIBRARY / "view" / "templates") != set()
    assert [path.name for path in (tmp_path / "to" / "bin").iterdir()] == ["humans-sim"]
    assert files_below(tmp_path / "to" / "lib" / "humans_sim") == {
        path.name for path in (ROOT / "scripts").iterdir()
    }


def files_below(folder: Path) -> set[str]:
    """Paths of the files in a folder, without what Python compiled."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(f.relative_to(folder)) for f in files if "__pycache__" not in f.parts}


def test_launch_files_run_the_nodes_of_their_graph() -> None:
    """x.launch.py starts the nodes of the graph x."""
    for name in graph_names():
        text = (ROOT / "launch" / f"{name}.launch.py").read_text()
        assert f'describe("{name}"' in text
        assert read_graph(name).nodes


def test_every_launch_file_has_a_launch_test() -> None:
    """x.launch.py is tried by test_x_launch.py."""
    for path in (ROOT / "launch").glob("*.launch.py"):
        name = path.name.removesuffix(".launch.py")
        test = ROOT / "test" / "launch" / f"test_{name.replace('-', '_')}_launch.py"
        assert f'launch_test("{name}"' in re.sub(r"\(\s+", "(", test.read_text())


ORDER = [
    *("core", "models", "contact", "bodies", "results", "dynamics", "anatomy", "soft"),
    *("actuation", "control", "observation", "analysis", "kondo", "applications"),
    *("view", "nodes", "cli"),
]
"""A folder imports only folders before it."""


def test_layers() -> None:
    """Only nodes import rclpy; a layer imports only those above it, never the root."""
    for path in LIBRARY.rglob("*.py"):
        text = path.read_text()
        place = path.relative_to(LIBRARY)
        if place.parts[0] != "nodes":
            assert not re.search(r"^\s*(import|from) rclpy", text, re.M), path
        if len(place.parts) == 1:
            continue
        assert not re.search(
            r"^\s*(import humans_sim$|from humans_sim import)", text, re.M
        )
        used = set(re.findall(r"(?:from|import) humans_sim\.(\w+)", text))
        later = set(ORDER[ORDER.index(place.parts[0]) + 1 :])
        assert not used & later, path
