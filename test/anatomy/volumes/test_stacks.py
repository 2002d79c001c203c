# SPDX-License-Identifier: Apache-2.0
"""Stacks of slices: files, gaps, spacing, values that are no numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bone_volumes import dice
from PIL import Image

import humans_sim as hs
from humans_sim.anatomy import (
    fill_between_slices,
    of_ellipsoid,
    read_stack,
    stack_of,
)
from humans_sim.anatomy.volumes.segmentation import NORMALISATION, spline_basis
from humans_sim.anatomy.volumes.volume import Volume

PIXEL = 2.5e-4
SPACING = (1e-3, PIXEL, PIXEL)


def slices() -> np.ndarray:
    """An ellipsoid in every fourth plane of its voxels."""
    volume = of_ellipsoid((9e-3, 8e-3, 12e-3), PIXEL)
    return volume.inside.transpose(2, 1, 0)[::4]


def agreement(volume: Volume) -> float:
    """Dice's coefficient with the ellipsoid at full resolution."""
    exact = of_ellipsoid((9e-3, 8e-3, 12e-3), PIXEL)
    return dice(volume, Volume(exact.inside, PIXEL, np.zeros(3)))


def test_basis_is_a_partition_of_unity() -> None:
    """64/6 of the annex' basis sum to one; its knots are 1/64, 4/64, 1/64."""
    t = np.linspace(0.75, 1.0, 60)
    total = sum(NORMALISATION * spline_basis(t - k / 4) for k in range(4))
    assert np.abs(total - 1).max() < 1e-12
    assert spline_basis(np.array([0.25, 0.5, 0.75])) * 64 == pytest.approx([1, 4, 1])


@pytest.mark.parametrize(
    ("field", "smoothing"), [("density", 1.0), ("density", 2.0), ("distance", 1.0)]
)
def test_slices_between_are_inferred(field: str, smoothing: float) -> None:
    """Three planes of four are inferred with a Dice coefficient above 0.98."""
    volume = fill_between_slices(
        stack_of(slices(), SPACING), smoothing=smoothing, field=field
    )
    assert agreement(volume) > 0.98


def test_missing_slices_are_interpolated_and_reported() -> None:
    """A stack without two of its slices gives nearly the same bone, and says so."""
    values = slices()
    gone = [7, 14]
    kept = np.delete(values, gone, axis=0)
    stack = stack_of(kept, SPACING, missing=gone)
    assert "7, 14" in stack.notes[0]
    assert agreement(fill_between_slices(stack)) > 0.97
    with pytest.raises(
        hs.errors.ImageStackError, match="5 slices are missing after slice 3"
    ):
        stack_of(np.delete(values, range(4, 9), 0), SPACING, missing=range(4, 9))


def test_files(tmp_path: Path) -> None:
    """Arrays, folders of PNG and pages of TIFF give the same stack."""
    grey = (slices() * 200).astype(np.uint8)
    np.save(tmp_path / "stack.npy", grey)
    pages = [Image.fromarray(plane) for plane in grey]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    folder = tmp_path / "slices"
    folder.mkdir()
    for n, page in enumerate(pages):
        page.save(folder / f"ct_{n + 3}.png")
    for name in ("stack.npy", "stack.tif", "slices"):
        stack = read_stack(tmp_path / name, SPACING)
        assert np.array_equal(stack.values, grey), name
        with pytest.raises(hs.errors.ImageStackError, match="does not say its spacing"):
            read_stack(tmp_path / name)
    (folder / "ct_8.png").unlink()
    assert "slices 5 are missing" in read_stack(folder, SPACING).notes[0]
    Image.fromarray(grey[0][:-1]).save(folder / "ct_8.png")
    with pytest.raises(hs.errors.ImageStackError, match="ct_8.png"):
        read_stack(folder, SPACING)
    (folder / "ct_8.png").write_bytes(b"no picture")
    with pytest.raises(hs.errors.FileError, match="not a picture"):
        read_stack(folder, SPACING)
    with pytest.raises(hs.errors.FileError):
        read_stack(tmp_path / "other.txt", SPACING)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "stack.npy").read_bytes()[:999])
    with pytest.raises(hs.errors.FileError, match="not a stack"):
        read_stack(tmp_path / "cut.npy", SPACING)


def test_values_that_are_no_numbers() -> None:
    """NaN is refused with its slice, or replaced and reported."""
    values = slices().astype(float)
    values[5, 3, 3:6] = np.nan
    with pytest.raises(hs.errors.ImageStackError, match="slice 5 has 3 values"):
        stack_of(values, SPACING)
    stack = stack_of(values, SPACING, replace_nan=0.0)
    assert np.isfinite(stack.values).all() and "3 values" in stack.notes[0]
    for level in (None, 0.0):  # nothing is left to be replaced
        with pytest.raises(
            hs.errors.ImageStackError, match="none of its values is a number"
        ):
            stack_of(np.full_like(values, np.nan), SPACING, replace_nan=level)


def test_wrong_spacing_is_refused() -> None:
    """Millimetres, zero and negative distances are refused."""
    for spacing, why in (
        ((1.0, 0.25, 0.25), "give metres"),
        ((0.0, PIXEL, PIXEL), "positive"),
        ((1e-3, -PIXEL, PIXEL), "positive"),
        ((1e-3, np.nan, PIXEL), "finite"),
        ((1e-3, PIXEL), "3 finite"),
    ):
        with pytest.raises(hs.errors.ImageStackError, match=why):
            stack_of(slices(), spacing)
    with pytest.raises(hs.errors.ImageStackError, match="2 slices or more"):
        stack_of(slices()[:1], SPACING)
    with pytest.raises(hs.errors.ImageStackError, match="truth values"):
        fill_between_slices(stack_of(slices().astype(float), SPACING))
