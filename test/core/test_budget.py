# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for more than any machine holds, one for each budget."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.anatomy import read_stack
from humans_sim.core import budget
from humans_sim.core.budget import BUDGETS, FREE_BYTES, Budget, check_expansion

MOST = 40e6
"""What refusing may take, libraries that are imported for it included [bytes]."""
DOCS = Path(__file__).parents[2] / "docs" / "safety.md"


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """Nothing is made before it is refused."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST


def ground(text: str) -> Callable[[Path], object]:
    """Reads a file with a ground."""

    def read(folder: Path) -> object:
        from humans_sim.applications.scene_files import read_ground

        (folder / "file.yaml").write_text(f"# a ground\n{text}\n")
        return read_ground(folder / "file.yaml")

    return read


def network(text: str) -> Callable[[Path], object]:
    """Reads a network with a box, or more."""

    def read(folder: Path) -> object:
        from humans_sim.soft import load_network

        law = "laws: {a: {type: visco_spring, stiffness: 1}}"
        (folder / "file.yaml").write_text(f"period: 1\n{law}\nboxes: {text}\n")
        return load_network(folder / "file.yaml")

    return read


def scenario(text: str) -> Callable[[Path], object]:
    """Reads a scenario."""

    def read(folder: Path) -> object:
        from humans_sim.applications.scenarios import read_scenario

        (folder / "file.yaml").write_text(f"title: x\n{text}\n")
        return read_scenario(str(folder / "file.yaml"))

    return read


def scene(count: int) -> Callable[[Path], object]:
    """Reads a scene of many bodies."""

    def read(folder: Path) -> object:
        from humans_sim.applications.scene_setup import read_scene

        bodies = "".join(
            f"  b{k}: {{box: [1, 1, 1], mass: 1, at: [{2 * k}, 0, 1]}}\n"
            for k in range(count)
        )
        (folder / "file.yaml").write_text(f"title: x\nbodies:\n{bodies}")
        return read_scene(str(folder / "file.yaml")).system(hs.Ground())

    return read


def sensor(folder: Path) -> object:
    """Reads a sensor of 1 THz."""
    from humans_sim.dynamics.sensors import read_sensors

    (folder / "file.yaml").write_text("a: {kind: imu, rate: 1e12}\n")
    return read_sensors(folder / "file.yaml")


def box(shape: str) -> str:
    """A box of masses."""
    return f"{{spacing: 0.1, mass: 1, law: a, shape: {shape}}}"


@pytest.mark.parametrize(
    ("read", "used", "key", "asked"),
    [
        (
            ground("steps: {count: 1e8, rise: 0.1, depth: 0.1, start: 0}"),
            *(budget.SOLIDS, "steps", "100000001 solids"),
        ),
        (
            ground("stairs: {count: 1e9, rise: 0.1, depth: 0.1, start: 0}"),
            *(budget.STEPS, "stairs", "1000000000 steps"),
        ),
        (
            ground("rubble: {seed: 1, height: 0.1, size: [1e3, 1e3], spacing: 1e-9}"),
            *(budget.HEIGHTS, "rubble", "1000000000001 x 1000000000001 = 1e+24"),
        ),
        (
            ground("deformable: {law: sand, shape: [100000, 100000]}"),
            *(budget.PINS, "deformable", "100000 x 100000 = 10000000000 pins"),
        ),
        (
            ground("deformable: {law: sand, spacing: 0.01, patch: 1e9}"),
            *(budget.PATCH_PINS, "deformable", "pins"),
        ),
        (
            network(f"{{b: {box('[300, 300, 300]')}}}"),
            *(budget.MASSES, "boxes.b", "300 x 300 x 300 = 27000000 masses"),
        ),
        (
            scenario(
                "problem: bouncing_ball\n"
                "time: {end: 1000000, sampling_period: 1e-9}\nstart: {q: [1]}"
            ),
            *(budget.SAMPLES, "time", "1e+15 samples"),
        ),
        (scene(201), budget.BODIES, "bodies", "201 free bodies"),
        (scene(70), budget.CONTACTS, "bodies", "contacts are"),
        (sensor, budget.RATE, "a.rate", "1000000000000 steps a second"),
        (
            scenario(
                "problem: bouncing_ball\ntime: {end: 1, sampling_period: 1}\n"
                "method: time_stepping\noptions: {time_step: 1e-30}"
            ),
            *(budget.RATE, "options.time_step", "1e+30 steps a second"),
        ),
        (
            ground("deformable: {law: {mass: 1e-20, period: 1e-9}}"),
            *(budget.RATE, "deformable.law", "1000000000 steps a second"),
        ),
    ],
)
def test_files_that_ask_for_too_much(
    tmp_path: Path,
    read: Callable[[Path], object],
    used: Budget,
    key: str,
    asked: str,
) -> None:
    """The message has the file, the key, the number, the limit and what to do."""
    with pytest.raises(hs.HumansError) as caught:
        read(tmp_path)
    text = str(caught.value)
    for part in ("file.yaml:", f" {key}:", asked, f"more than {used.most}: "):
        assert part in text
    assert text.endswith(used.advice)


def test_many_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are bounded together, not each by itself."""
    few = Budget("masses", 10, "make fewer")
    monkeypatch.setattr("humans_sim.soft.networks.network.MASSES", few)
    with pytest.raises(
        hs.errors.ModelFileError, match=r"boxes\.c: .* 12 masses are more"
    ):
        network(f"{{b: {box('[2, 2, 2]')}, c: {box('[2, 2, 1]')}}}")(tmp_path)


def test_calls_that_ask_for_too_much(tmp_path: Path) -> None:
    """The library's own functions are bounded by the same numbers."""
    from humans_sim.anatomy.volumes.volume import of_ball, of_box
    from humans_sim.control.trajectories.motion import Curve, Motion
    from humans_sim.core.surface_nets import net_of
    from humans_sim.observation.markers.filters import zero_phase

    model = hs.load_model("khr1")
    tracemalloc.clear_traces()
    for used, call in (
        (budget.VOXELS, lambda: of_ball(1e3, 1e-6)),
        (budget.VOXELS, lambda: of_box((1.0, 1.0, 1.0), 1e-6)),
        (budget.GRID_POINTS, lambda: net_of(abs, [[0] * 3, [1] * 3], 1e-9)),
        (budget.NUMBERS, lambda: zero_phase(np.zeros((9, 3)), 1e12, 1.0, 2)),
        (
            budget.POSTURES,
            lambda: Motion(model, dict[str, Curve](), (), model.neutral(), 1e12),
        ),
    ):
        with pytest.raises(hs.HumansError, match=f"more than {used.most}: "):
            call()


def test_archives_that_become_large(tmp_path: Path) -> None:
    """A small image that says to hold a gigabyte is refused by its header."""
    nibabel = pytest.importorskip("nibabel", reason="humans-sim[images] is not there")
    header = nibabel.Nifti1Header()
    header.set_data_shape((512, 512, 500))
    header.set_data_dtype(np.float32)
    path = tmp_path / "large.nii.gz"
    tracemalloc.clear_traces()
    with gzip.open(path, "wb") as stream:
        stream.write(header.binaryblock + bytes(4))
    with pytest.raises(
        hs.errors.FileError, match=rf"become \d+, more than {FREE_BYTES}: "
    ):
        read_stack(path)


def test_a_budget() -> None:
    """Sides are multiplied without overflow; what is no number is refused."""
    small = Budget("things", 100, "take fewer")
    assert small.check("a pile", 4, 25.0) == 100
    for counts in ((101,), (2**62, 4), (1e300, 1e300), (float("nan"),), (-1e9,)):
        with pytest.raises(
            hs.errors.ParameterError, match="things are more than 100: take"
        ):
            small.check("a pile", *counts)
    with pytest.raises(hs.errors.FileError, match="4 x 26 = 104 things"):
        small.check("a pile", 4, 26, error=hs.errors.FileError)
    check_expansion(FREE_BYTES, 1)
    check_expansion(100e9, 1_000_000_000)
    with pytest.raises(hs.errors.ParameterError, match="without compression"):
        check_expansion(FREE_BYTES + 1, 1000)


def test_the_documented_limits() -> None:
    """The table of docs/safety.md has every budget with its number."""
    text = DOCS.read_text()
    for own in BUDGETS:
        assert f"| {own.most:,} {own.things} |".replace(",", " ") in text, own
