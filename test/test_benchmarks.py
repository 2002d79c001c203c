# SPDX-License-Identifier: Apache-2.0
"""Every benchmark runs, at its smallest size: none is left behind by a change.

What they measure is not judged here: a script may say that a goal was missed (exit code
1), but must end by itself, without a traceback.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
LONGEST = 900.0
"""Time that one may take, with the compilation of its kernels [s]."""

SMALLEST = {
    "anatomy": "hand",
    "bag_recorder": "",
    "bip_feedback": "--seeds 1",
    "captured_forces": "",
    "carpus_methods": "--angle 1 --spacing 2.5 --motions adduction",
    "code_size": "--no-paths",
    "cold_start": "models",
    "compare_runs": "store {folder} bounce",
    "energy_of_steps": "--models khr1 --seeds 1",
    "event_driven_walk": "--end 1.32 --time-steps 1e-3",
    "free_bodies": "5 0.05",
    "fuzz_commands": "--cases 20 --processes 1",
    "fuzz_graphs": "walk --count 1",
    "fuzz_readers": "--cases 50",
    "get_up_trials": "--directions 1",
    "graph_agreement": "0.05",
    "human_gait": "--strides 1.5",
    "inverse_task": "--targets 3",
    "kernel_arguments": "--rounds 2",
    "kondo_faults": "--times 1",
    "kondo_jumps": "--minutes 0.02 --frees 1",
    "kondo_line": "1",
    "kondo_second_boards": "--seconds 1",
    "kondo_walks": "--steps 1",
    "lagrangian_terms": "--rounds 1",
    "line_trial": "",
    "lockstep_bags": "servos --steps 2 --folder {folder}",
    "long_run_memory": "--samples 500",
    "memory_growth": "page --minutes 0.05",
    "muscle_right_hand_side": "--rounds 2",
    "odometry": "--share 0.02",
    "osim_export": "--frames 2",
    "page_clients": "--clients 2 --together 1 --seconds 1 --loads 1",
    "pivot_turns": "--seconds 0.2 --rates 0.35",
    "push_trials": "random --seeds 1 --processes 1",
    "random_drops": "--models khr1 --methods time_stepping --seeds 1 --seconds 0.1",
    "random_walks": "--count 1 --seconds 0.2",
    "reconstruction": "--rounds 1",
    "reconstruction_batch": "--trials 4 --samples 20",
    "reconstruction_coverage": "--seeds 1 --seconds 0.5",
    "reconstruction_live": "0.2",
    "reconstruction_memory": "--frames 500",
    "retarget": "",
    "right_hand_side": "--rounds 2 --runs 1",
    "sand_walk": "--end 0.05",
    "scene_steps": "--boxes 1",
    "self_collision": "0.05",
    "simulation_client": "",
    "simulation_services": "--help",
    "skin": "--triangles 100",
    "soft_things": "--steps 2 --pins 1 --repeats 1",
    "startup": "models --repeats 1",
    "stop_processes": "--stops 1 --graph walk",
    "sweep": "--runs 4 --workers 1",
    "terrain": "--points 3",
    "time_stepping": "--seconds 0.1 --rounds 1",
    "timing": "",
    "urdf_damage": "--cases 1",
    "walk_speed": "khr1-walk",
    "walking_graph": "1",
    "walking_mpc": "khr1",
    "walking_trials": "--seeds 1 --only straight --workers 1",
    "work_precision": "--scenes 1 --settings 1",
    "worlds": "--worlds 2 --seconds 0.02 --rest 0.02",
    "wrist": "adduction",
}
"""Arguments with which each is as small as it gets."""

DATA = {
    "contact_problems": "public contact problems (--data)",
    "convention_angles": "recordings of markers, and angles of another program",
    "cube_tosses": "the recorded tosses (--data)",
    "marker_set_drafts": "recordings of markers",
    "validate_markers": "recordings of markers (--data)",
}
"""What the others need, which is not part of the sources."""

NEEDS = {
    "anatomy": ("coal", "trimesh"),
    "bag_recorder": ("mcap", "rclpy"),
    "fuzz_graphs": ("rclpy",),
    "lockstep_bags": ("mcap", "rclpy"),
    "osim_export": ("opensim",),
    "pivot_turns": ("mujoco",),
    "simulation_client": ("rclpy", "simulation_interfaces"),
    "simulation_services": ("rclpy", "simulation_interfaces"),
    "stop_processes": ("rclpy",),
}
"""Packages that they cannot do without."""


def test_every_benchmark_is_tried() -> None:
    """A new script has its smallest size here, or the data that it needs."""
    scripts = {path.stem for path in BENCHMARKS.glob("*.py")}
    assert scripts == set(SMALLEST) | set(DATA)
    assert not set(SMALLEST) & set(DATA) and set(NEEDS) <= set(SMALLEST)


def run(name: str, arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a person does, from the repository."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{name}.py"), *shlex.split(arguments)],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )


@pytest.mark.study
@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_it_runs(name: str, tmp_path: Path) -> None:
    """It ends by itself, without a traceback, and says what it measured."""
    for package in NEEDS.get(name, ()):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    done = run(name, SMALLEST[name].format(folder=tmp_path))
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1) and "Traceback" not in said, said[-4000:]
    is_script = "__main__" in (BENCHMARKS / f"{name}.py").read_text()
    assert bool(done.stdout.strip()) == is_script


@pytest.mark.study
@pytest.mark.parametrize("name", sorted(DATA))
def test_it_says_what_it_needs(name: str) -> None:
    """Without its data it says so, and what to give: its imports are sound."""
    done = run(name, "")
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in said, said[-4000:]
    assert "usage" in said.lower() or f"benchmarks/{name}.py" in said or "data" in said
    pytest.skip(f"its measurement needs {DATA[name]}")
