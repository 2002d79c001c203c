"""The package as ROS tools see it: package.xml, setup.py, launch files, layers."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "humans_sim"

ROSDEP = {
    "coal": "coal",
    "matplotlib": "python3-matplotlib",
    "numba": "python3-numba",
    "numpy": "python3-numpy",
    "serial": "python3-serial",
    "pinocchio": "pinocchio",
    "rich": "python3-rich",
    "scipy": "python3-scipy",
    "trimesh": "python3-trimesh-pip",
    "typer": "python3-typer",
    "yaml": "python3-yaml",
    "xacro": "xacro",
    "hypothesis": "python3-hypothesis",
    "pytest": "python3-pytest",
    "catkin_pkg": "python3-catkin-pkg",
    "PIL": "python3-pil",
}
NO_KEY = {"distributed", "ezc3d", "mcap", "mcap_ros2", "osqp", "sksundae", "viser"}
NO_KEY |= {"yourdfpy"}
NO_KEY |= {"msgspec", "websockets", "zstandard"}  # they come with viser


@pytest.mark.parametrize(
    "folder", [".", "msgs", "msgs/compat/tf2_msgs", "msgs/compat/control_msgs"]
)
def test_package_xml_is_valid(folder: str) -> None:
    """Format 3, valid for catkin_pkg, without warnings."""
    warnings: list[str] = []
    package = parse_package(str(ROOT / folder / "package.xml"), warnings=warnings)
    package.validate(warnings=warnings)
    assert package.package_format == 3
    assert package.licenses == ["Apache-2.0"]
    assert warnings == []


def imports(folder: Path) -> set[str]:
    """Top-level modules that the Python files of a folder import."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found


def test_every_import_is_a_dependency() -> None:
    """What the code imports stands in package.xml by its rosdep key."""
    package = parse_package(str(ROOT / "package.xml"))
    listed = {d.name for d in package.exec_depends + package.test_depends}
    used = imports(LIBRARY) | imports(ROOT / "launch") | imports(ROOT / "test")
    own = {"humans_sim", *(path.stem for path in (ROOT / "test").rglob("*.py"))}
    for module in used - set(sys.stdlib_module_names) - NO_KEY - own:
        assert ROSDEP.get(module, module) in listed, module


def test_versions_agree() -> None:
    """package.xml, setup.py and the library say the same version."""
    import humans_sim

    version = parse_package(str(ROOT / "package.xml")).version
    assert humans_sim.__version__ == version
    assert f'version="{version}"' in (ROOT / "setup.py").read_text()
    assert parse_package(str(ROOT / "msgs" / "package.xml")).version == version


def test_requirements_agree() -> None:
    """setup.py and the locked requirements name the same libraries."""
    setup = (ROOT / "setup.py").read_text()
    listed = re.search(r"install_requires=\[(.*?)\]", setup, re.S)
    assert listed is not None
    wanted = set(re.findall(r'"([\w-]+)[";]', listed.group(1)))
    text = (ROOT / "requirements" / "library.in").read_text().split("# Checks")[0]
    named = set(re.findall(r"^([a-z][\w-]*)", text, re.M))
    assert wanted == named


def test_nodes_are_executables() -> None:
    """The nodes of the graphs are in setup.py, each a class in a module of its name."""
    from humans_sim.graphs import graph_names, read_graph

    setup = (ROOT / "setup.py").read_text()
    listed = set(
        re.findall(r'"(\w+)"', re.search(r"NODES = \((.*?)\)", setup, re.S).group(1))
    )
    assert listed == {node for name in graph_names() for node in read_graph(name).nodes}
    for name in listed:
        text = (LIBRARY / "nodes" / f"{name}.py").read_text()
        assert f"\nclass {name.title().replace('_', '')}(" in text


def test_launch_files_run_the_nodes_of_their_graph() -> None:
    """x.launch.py starts the nodes of the graph x."""
    from humans_sim.graphs import graph_names, read_graph

    for name in graph_names():
        text = (ROOT / "launch" / f"{name}.launch.py").read_text()
        assert f'describe("{name}"' in text
        assert read_graph(name).nodes


def test_every_launch_file_has_a_launch_test() -> None:
    """x.launch.py is tried by test_x_launch.py."""
    for path in (ROOT / "launch").glob("*.launch.py"):
        name = path.name.removesuffix(".launch.py")
        test = ROOT / "test" / "launch" / f"test_{name.replace('-', '_')}_launch.py"
        assert f'launch_graph("{name}"' in re.sub(r"\(\s+", "(", test.read_text())


def test_layers() -> None:
    """Only nodes import rclpy; a layer imports only those above it."""
    order = ["models", "contact", "dynamics", "actuation", "control", "observation"]
    order += ["kondo", "bodies", "anatomy", "soft"]
    for path in LIBRARY.rglob("*.py"):
        text = path.read_text()
        layer = path.relative_to(LIBRARY).parts[0]
        if layer != "nodes":
            assert not re.search(r"^\s*(import|from) rclpy", text, re.M), path
        if layer in order:
            used = set(re.findall(r"from humans_sim\.(\w+)", text))
            later = set(order[order.index(layer) + 1 :]) | {"nodes", "view", "cli"}
            assert not used & later, path
