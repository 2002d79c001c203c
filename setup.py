"""Build description of the ament_python package humans_sim."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "humans_sim"
SHARE = Path("share") / PACKAGE
NODES = (
    "actuation",
    "dynamics",
    "joint_demo",
    "kondo_bridge",
    "kondo_walk",
    "marker_player",
    "motion_player",
    "observer",
    "pusher",
    "reconstruction",
    "state_publisher",
    "viewer",
    "walk",
)


def data_files() -> list[tuple[str, list[str]]]:
    """Files that go below the prefix: the ament marker, package.xml, data."""
    found = [
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (str(SHARE), ["package.xml"]),
    ]
    for folder in ("config", "launch", "urdf"):
        for path in [Path(folder), *sorted(Path(folder).rglob("*"))]:
            files = [str(f) for f in sorted(path.glob("*")) if f.is_file()]
            if path.is_dir() and path.name != "__pycache__" and files:
                found.append((str(SHARE / path), files))
    return found


setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    data_files=data_files(),
    zip_safe=False,
    maintainer="humans_sim maintainers",
    maintainer_email="maintainers@humans-sim.org",
    description="Simulate, observe and drive bipeds: humans and robots",
    license="Apache-2.0",
    python_requires=">=3.11",
    install_requires=[
        "coal",
        "ezc3d",
        "matplotlib",
        "mcap-ros2-support",
        "msgspec",
        "numba",
        "numpy",
        "osqp",
        "pin",
        "pyserial",
        "pyyaml",
        "rich",
        "scikit-sundae; sys_platform != 'linux' or platform_machine == 'x86_64'",
        "scipy",
        "setuptools",
        "trimesh",
        "typer",
        "viser",
        "websockets",
    ],
    extras_require={
        "bench": [
            "mujoco",
            "opensim; sys_platform != 'linux' or platform_machine == 'x86_64'",
        ],
        "cluster": ["distributed"],
        "test": ["hypothesis", "pytest", "xacro"],
    },
    entry_points={
        "console_scripts": [
            "humans-sim = humans_sim.cli:main",
            *(f"{node} = humans_sim.nodes.__main__:main" for node in NODES),
        ],
    },
)
